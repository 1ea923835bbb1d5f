import { BullaError } from '@bulla/core/error';
import type { Artifact, Lock, LockWarning } from '@bulla/core/lock';
import type { StdioTarget, Target } from '../../mcp/index.ts';
import { parsePinCommand, resolveNpm, resolveOci } from '../../pin/index.ts';
import { type FetchOptions, openSupply, pinnedTarget, stdioOf } from '../run/pinned.ts';

/** A program that is pinned now, and the server that runs that very program. */
export interface Pinned {
  readonly artifact: Artifact;
  /** What is scanned: not the command that is recorded, but what is pinned for it. */
  readonly target: StdioTarget;
  readonly warnings: readonly LockWarning[];
  release(): void;
}

/**
 * Pins the program of a command: resolves it, installs it, and gives the server to scan. Rejects with the `PIN_…` and
 * `DOWNLOAD_…` codes.
 */
export async function pin(given: Target, options: FetchOptions): Promise<Pinned> {
  const target = stdioOf(given);
  const command = parsePinCommand(target.command, target.args);
  const supply = openSupply(options);
  try {
    const artifact =
      command.kind === 'npm'
        ? await resolveNpm(command, await supply.registry())
        : await resolveOci(command, supply.fetcher);
    const pinned = await pinnedTarget(target, artifact, supply, options);
    const { sha256 = null, size = null } = pinned.installed?.tarball ?? {};
    return {
      artifact: { ...artifact, tarball_sha256: sha256, tarball_size: size },
      target: pinned.target,
      warnings: scriptWarnings(artifact),
      release: pinned.release,
    };
  } finally {
    supply.close();
  }
}

function scriptWarnings({ tree }: Artifact): LockWarning[] {
  const entries = [...(tree?.packages.values() ?? [])].filter(({ hasInstallScript }) => hasInstallScript);
  return entries.map(({ name, version }) => ({
    code: 'install-script',
    tool: null,
    message: `${name} ${version} has scripts for its installation, which never run; what they would build is missing.`,
  }));
}

/** What the new lock pins: what was pinned now, what the old one pinned, or nothing. */
export function artifactFor(
  pinned: Pinned | null,
  old: Lock | null,
  pin: boolean | undefined,
): Artifact | null {
  return pinned?.artifact ?? (pin === false ? null : (old?.artifact ?? null));
}

/**
 * A lock with a tree says what the pinned package shows. Locking the server without pinning would make it say what some
 * other program shows. Throws `USAGE`.
 */
export function refuseUnpinned(old: Lock | null, pin: boolean | undefined): void {
  if (pin !== undefined || !old?.artifact?.tree) return;
  const message = 'This lock pins its program. Pin it anew with --pin, or drop the pin with --no-pin.';
  throw new BullaError('USAGE', message);
}
