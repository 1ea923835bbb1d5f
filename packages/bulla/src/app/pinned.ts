import type { DataObject } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import type { Artifact, Lock, LockWarning } from '@bulla/core/lock';
import { targetOf } from '../locks/index.ts';
import type { StdioTarget, Target } from '../mcp/index.ts';
import { createFetcher, type Fetcher } from '../os/index.ts';
import {
  type Cache,
  commandOf,
  type Installed,
  install,
  isExecCommand,
  matches,
  type NpmArtifact,
  type NpmCommand,
  networkOf,
  npmArtifact,
  npmSettings,
  openCache,
  openFolder,
  openRegistry,
  parsePinCommand,
  programOf,
  type Registry,
  resolveNpm,
  resolveOci,
  withDigest,
} from '../pin/index.ts';
import type { Observer } from './observer.ts';
import { pathsOf } from './paths.ts';

/** How pinned programs are fetched. */
export interface Fetching {
  /** The data directory, which keeps them. */
  readonly home?: string | undefined;
  /** Whether npm's own registry may be at a private address. Default: as `BULLA_ALLOW_PRIVATE_REGISTRY` says. */
  readonly allowPrivateRegistry?: boolean | undefined;
}

/** What fetches and keeps pinned programs. npm is asked for its settings only when something must be fetched. */
interface Supply extends Disposable {
  readonly cache: Cache;
  /** The folder in which unpacked packages are kept. */
  readonly trees: string;
  registry(): Promise<Registry>;
  /** For what comes from no registry of npm. */
  fetcher(): Fetcher;
}

/** Whether npm's own registry may be at a private address, by an option or for the whole machine. */
export function isPrivateAllowed({ allowPrivateRegistry }: Fetching): boolean {
  return allowPrivateRegistry ?? process.env.BULLA_ALLOW_PRIVATE_REGISTRY === '1';
}

export function openSupply(fetching: Fetching): Supply {
  const { cache, trees } = pathsOf(fetching.home);
  const isAllowed = isPrivateAllowed(fetching);
  let [registry, fetcher]: [Promise<Registry> | undefined, Fetcher | undefined] = [undefined, undefined];
  return {
    cache: openCache(cache),
    trees,
    registry() {
      registry ??= npmSettings().then((settings) => openRegistry(settings, networkOf(settings, isAllowed)));
      return registry;
    },
    fetcher() {
      fetcher ??= createFetcher();
      return fetcher;
    },
    [Symbol.dispose]() {
      registry?.then(
        (opened) => opened.close(),
        () => undefined,
      );
      fetcher?.close();
    },
  };
}

/** Installs a pinned package. */
export async function installPinned(
  artifact: NpmArtifact,
  supply: Supply,
  { onPackages, onNotice }: Observer,
): Promise<Installed> {
  const bar = onPackages?.(artifact.tree.packages.size);
  try {
    const { cache, trees, registry } = supply;
    return await install(artifact, {
      ...{ cache, trees, registry },
      onProgress: (done) => bar?.update(done),
      onNotice: (text) => onNotice?.(text),
    });
  } finally {
    bar?.done();
  }
}

/** For what runs long: tells when others can make a `node_modules` above the unpacked packages. */
export function tellOpenFolder(folder: string, { onNotice }: Observer): void {
  const open = openFolder(folder);
  if (open === null) return;
  onNotice?.(
    `Others can write ${open}, above the packages of the pinned program, where Node looks for packages too. Set BULLA_HOME to a folder of your own.`,
  );
}

/** The command that a lock names. Throws `LOCK_NO_SERVER`, and `PIN_COMMAND` for a server at an address. */
export function lockedCommand(lock: Lock): StdioTarget {
  return stdioOf(targetOf(lock));
}

function stdioOf(target: Target): StdioTarget {
  if (target.kind === 'stdio') return target;
  throw new BullaError('PIN_COMMAND', 'A server at an address has no program that can be pinned.');
}

/**
 * What is run: the command of the lock, or the words that somebody gave instead. They are a whole command, which must
 * name the pinned package and no other version, or else the arguments. Throws `PIN_OTHER`, and what `parsePinCommand`
 * throws.
 */
export function meantCommand(
  words: readonly string[],
  artifact: NpmArtifact,
  locked: StdioTarget,
): NpmCommand {
  const isWhole = isExecCommand(words);
  const { command, args } = isWhole ? { command: words[0]!, args: words.slice(1) } : locked;
  const meant = parsePinCommand(command, args);
  if (meant.kind !== 'npm' || !matches(meant, artifact.name, artifact.version)) {
    const message = `The command is not for ${artifact.name} ${artifact.version}, which is what the lock pins.`;
    throw new BullaError('PIN_OTHER', message);
  }
  return isWhole || words.length === 0 ? meant : { ...meant, args: words };
}

/** A server that runs what is pinned, and what it takes to end it. */
interface PinnedTarget extends Disposable {
  readonly target: StdioTarget;
  readonly installed: Installed | null;
  /** The files and folders of the program, which it must be able to read. */
  readonly program: readonly string[];
}

/** The server of a command, but of the pinned program: the unpacked package, or the image of the digest. */
async function pinnedTarget(
  target: StdioTarget,
  artifact: Artifact,
  supply: Supply,
  observer: Observer,
): Promise<PinnedTarget> {
  const command = parsePinCommand(target.command, target.args);
  if (command.kind === 'oci') {
    const args = withDigest(target.args, command, artifact.digest!);
    return { target: { ...target, args }, installed: null, program: [], [Symbol.dispose]: () => undefined };
  }
  const installed = await installPinned(npmArtifact(artifact), supply, observer);
  try {
    const program = programOf(installed, command.bin);
    const [node, ...args] = commandOf(installed, program, command.args);
    const paths = [installed.folder, installed.fence];
    return {
      target: { ...target, command: node!, args },
      ...{ installed, program: paths, [Symbol.dispose]: installed.release },
    };
  } catch (error) {
    installed.release();
    throw error;
  }
}

/** The server of a lock, of the program that it pins. Rejects with `PIN_OTHER` for a command of another package. */
export async function pinnedServer(
  lock: Lock,
  target: Target,
  options: Fetching & Observer,
): Promise<PinnedTarget> {
  using supply = openSupply(options);
  const stdio = stdioOf(target);
  const { artifact } = lock;
  if (artifact?.type === 'oci') return await pinnedTarget(stdio, artifact, supply, options);
  const npm = npmArtifact(artifact);
  meantCommand([stdio.command, ...stdio.args], npm, stdio);
  return await pinnedTarget(stdio, npm, supply, options);
}

/**
 * What an image is now that a lock pins: its digest in the command, else that of its tag. Nothing for other locks: what
 * an npm package is now, only `--pinned` decides.
 */
export async function artifactNow(lock: Lock, target: Target): Promise<{ artifact?: Artifact }> {
  if (lock.artifact?.type !== 'oci' || target.kind !== 'stdio') return {};
  const command = parsePinCommand(target.command, target.args);
  if (command.kind !== 'oci')
    throw new BullaError('PIN_OTHER', 'The lock pins an image, and the command names none.');
  const fetcher = createFetcher();
  try {
    const { image, digest } = await resolveOci(command, () => fetcher);
    return { artifact: { ...lock.artifact, image, digest } };
  } finally {
    fetcher.close();
  }
}

/** What a receipt says of a pinned program. */
export function artifactFacts(artifact: Artifact): DataObject {
  const { type, name, version, integrity, image, digest, tree } = artifact;
  return type === 'oci'
    ? { type, image, digest }
    : { type, name, version, integrity, tree: tree?.digest ?? null };
}

/** A program that is pinned now, and the server that runs that very program. */
export interface Pinned extends Disposable {
  readonly artifact: Artifact;
  /** What is scanned: not the command that is recorded, but what is pinned for it. */
  readonly target: StdioTarget;
  /** The files and folders of the program, which it must be able to read. */
  readonly program: readonly string[];
  readonly warnings: readonly LockWarning[];
}

/**
 * Pins the program of a command: resolves it, installs it, and gives the server to scan. Rejects with the `PIN_…` and
 * `DOWNLOAD_…` codes.
 */
export async function pinProgram(given: Target, options: Fetching & Observer): Promise<Pinned> {
  const target = stdioOf(given);
  const command = parsePinCommand(target.command, target.args);
  using supply = openSupply(options);
  const artifact =
    command.kind === 'npm'
      ? await resolveNpm(command, await supply.registry())
      : await resolveOci(command, supply.fetcher);
  const pinned = await pinnedTarget(target, artifact, supply, options);
  const { sha256 = null, size = null } = pinned.installed?.tarball ?? {};
  return {
    artifact: { ...artifact, tarball_sha256: sha256, tarball_size: size },
    target: pinned.target,
    program: pinned.program,
    warnings: scriptWarnings(artifact),
    [Symbol.dispose]: () => pinned[Symbol.dispose](),
  };
}

function scriptWarnings({ tree }: Artifact): LockWarning[] {
  const entries = [...(tree?.packages.values() ?? [])].filter(({ hasInstallScript }) => hasInstallScript);
  return entries.map(({ name, version }) => ({
    code: 'install-script',
    tool: null,
    message: `${name} ${version} has scripts for its installation, which never run; what they would build is missing.`,
  }));
}
