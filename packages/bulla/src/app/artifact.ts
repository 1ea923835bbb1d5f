import { BullaError } from '@bulla/core/error';
import { lockDigest } from '@bulla/core/lock';
import {
  type Checked,
  type NpmArtifact,
  npmArtifact,
  parsePinCommand,
  resolveOci,
  verifyTree,
} from '../pin/index.ts';
import { type LockTrust, openLock } from './locked.ts';
import type { Observer } from './observer.ts';
import { artifactFacts, type Fetching, lockedCommand, openSupply } from './pinned.ts';

interface ArtifactInput extends LockTrust, Fetching, Observer {
  readonly lockfile: string;
  /** Also fetch every tarball and hash it. */
  readonly deep?: boolean | undefined;
}

/** Whether the registry still says what a lock pins: of an image the digest of its tag, else of every package. */
export type VerifiedArtifact =
  | {
      readonly type: 'oci';
      readonly ok: boolean;
      readonly image: string;
      readonly pinned: string | null;
      readonly found: string | null;
    }
  | {
      readonly type: 'npm';
      readonly ok: boolean;
      readonly artifact: NpmArtifact;
      readonly checked: Checked;
    };

/** Asks the registry about what a lock pins. Rejects with `PIN_OTHER`, and as `openLock` and the registry do. */
export async function verifyArtifact(input: ArtifactInput): Promise<VerifiedArtifact> {
  const { lock } = openLock(input.lockfile, input);
  input.onFacts?.({ lock: lockDigest(lock) });
  if (lock.artifact !== null) input.onFacts?.({ artifact: artifactFacts(lock.artifact) });
  using supply = openSupply(input);
  if (lock.artifact?.type === 'oci') {
    const { digest: pinned } = lock.artifact;
    const { command, args } = lockedCommand(lock);
    const parsed = parsePinCommand(command, args);
    if (parsed.kind !== 'oci' || lock.artifact.image !== parsed.image)
      throw new BullaError('PIN_OTHER', 'The command of the lock is not for the image that it pins.');
    const { digest: found } = await resolveOci(parsed, supply.fetcher);
    return { type: 'oci', ok: found === pinned, image: parsed.image, pinned, found };
  }
  const artifact = npmArtifact(lock.artifact);
  const registry = await supply.registry();
  const bar = input.onPackages?.(artifact.tree.packages.size);
  const checked = await verifyTree(artifact, registry, input.deep === true, (done) =>
    bar?.update(done),
  ).finally(() => bar?.done());
  return { type: 'npm', ok: checked.differences.length === 0, artifact, checked };
}
