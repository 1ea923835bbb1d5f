import { join } from 'node:path';
import type { DataObject } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import type { Artifact, Lock } from '@bulla/core/lock';
import type { Command } from 'commander';
import { targetOf } from '../../locks/index.ts';
import type { StdioTarget, Target } from '../../mcp/index.ts';
import { createFetcher, type Fetcher } from '../../os/index.ts';
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
  resolveOci,
  withDigest,
} from '../../pin/index.ts';
import { home } from '../place.ts';
import { type ReportOptions, say } from '../terminal/io.ts';
import { progressBar } from '../terminal/progress.ts';

/** How pinned programs are fetched. */
export interface FetchOptions extends ReportOptions {
  allowPrivateRegistry?: boolean;
}

export function fetchOptions(command: Command): Command {
  return command.option(
    '--allow-private-registry',
    "let npm's own registry be at a private address, or plain http (or BULLA_ALLOW_PRIVATE_REGISTRY=1)",
  );
}

/** What fetches and keeps pinned programs. npm is asked for its settings only when something must be fetched. */
export interface Supply {
  readonly cache: Cache;
  /** The folder in which unpacked packages are kept. */
  readonly trees: string;
  registry(): Promise<Registry>;
  /** For what comes from no registry of npm. */
  fetcher(): Fetcher;
  close(): void;
}

/** Whether npm's own registry may be at a private address, by an option or for the whole machine. */
export function isPrivateAllowed({ allowPrivateRegistry }: FetchOptions): boolean {
  return allowPrivateRegistry ?? process.env.BULLA_ALLOW_PRIVATE_REGISTRY === '1';
}

export function openSupply(options: FetchOptions): Supply {
  const isAllowed = isPrivateAllowed(options);
  let [registry, fetcher]: [Promise<Registry> | undefined, Fetcher | undefined] = [undefined, undefined];
  return {
    cache: openCache(join(home(), 'cache')),
    trees: join(home(), 'trees'),
    registry() {
      registry ??= npmSettings().then((settings) => openRegistry(settings, networkOf(settings, isAllowed)));
      return registry;
    },
    fetcher() {
      fetcher ??= createFetcher();
      return fetcher;
    },
    close() {
      registry?.then(
        (opened) => opened.close(),
        () => undefined,
      );
      fetcher?.close();
    },
  };
}

/** Installs a pinned package, with a bar on a terminal. */
export async function installPinned(
  artifact: NpmArtifact,
  supply: Supply,
  options: ReportOptions,
): Promise<Installed> {
  const bar = progressBar({ total: artifact.tree.packages.size }, options);
  try {
    const { cache, trees, registry } = supply;
    const onNotice = (text: string) => tell(text, options);
    return await install(artifact, { cache, trees, registry, onProgress: bar.update, onNotice });
  } finally {
    bar.done();
  }
}

function tell(text: string, { quiet }: ReportOptions): void {
  if (!quiet) say([`bulla: ${text}`]);
}

/** For what runs long: says when others can make a `node_modules` above the unpacked packages. */
export function tellOpenPlace(folder: string, options: ReportOptions): void {
  const open = openFolder(folder);
  if (open === null) return;
  const text = `Others can write ${open}, above the packages of the pinned program, where Node looks for packages too. Set BULLA_HOME to a folder of your own.`;
  tell(text, options);
}

/** The command that a lock names. Throws `LOCK_NO_SERVER`, and `PIN_COMMAND` for a server at an address. */
export function lockedCommand(lock: Lock): StdioTarget {
  return stdioOf(targetOf(lock));
}

export function stdioOf(target: Target): StdioTarget {
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
export interface PinnedTarget {
  readonly target: StdioTarget;
  readonly installed: Installed | null;
  release(): void;
}

/** The server of a command, but of the pinned program: the unpacked package, or the image of the digest. */
export async function pinnedTarget(
  target: StdioTarget,
  artifact: Artifact,
  supply: Supply,
  options: ReportOptions,
): Promise<PinnedTarget> {
  const command = parsePinCommand(target.command, target.args);
  if (command.kind === 'oci') {
    const args = withDigest(target.args, command, artifact.digest!);
    return { target: { ...target, args }, installed: null, release: () => undefined };
  }
  const installed = await installPinned(npmArtifact(artifact), supply, options);
  try {
    const program = programOf(installed, command.bin);
    const [node, ...args] = commandOf(installed, program, command.args);
    return { target: { ...target, command: node!, args }, installed, release: installed.release };
  } catch (error) {
    installed.release();
    throw error;
  }
}

/** The server of a lock, of the program that it pins. Rejects with `PIN_OTHER` for a command of another package. */
export async function pinnedServer(lock: Lock, target: Target, options: FetchOptions): Promise<PinnedTarget> {
  const supply = openSupply(options);
  try {
    const stdio = stdioOf(target);
    const { artifact } = lock;
    if (artifact?.type !== 'oci') {
      const npm = npmArtifact(artifact);
      meantCommand([stdio.command, ...stdio.args], npm, stdio);
      return await pinnedTarget(stdio, npm, supply, options);
    }
    return await pinnedTarget(stdio, artifact, supply, options);
  } finally {
    supply.close();
  }
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
