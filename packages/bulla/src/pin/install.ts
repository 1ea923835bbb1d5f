import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import type { Artifact, Tree, TreePackage } from '@bulla/core/lock';
import { createDirectory } from '../os/index.ts';
import { type Cache, MAX_TARBALL } from './cache.ts';
import { fenceIn } from './fence.ts';
import { type Layout, layOut, type Manifest, overLimit } from './layout.ts';
import { eachOf } from './parallel.ts';
import { checkPermissions } from './permissions.ts';
import type { Registry } from './registry.ts';
import { collect, compareTree, newDraft, settle, takeAway, touch, use } from './trees.ts';

/** A pinned package with all that it needs, unpacked into a folder that is kept and shared with other processes. */
export interface Installed {
  /** The folder; its `node_modules` holds the tree. */
  readonly folder: string;
  /** The file that Node must load first. */
  readonly fence: string;
  readonly root: string;
  readonly manifest: Manifest;
  /** How many packages and bytes it has, and how many tarballs had to be fetched. */
  readonly packages: number;
  readonly bytes: number;
  readonly fetched: number;
  /** Of the package's own tarball. */
  readonly tarball: Layout['tarball'];
  /** To be called when the folder is no longer used; it stays for the next time. */
  release(): void;
}

/** For which machine packages are chosen. */
interface Platform {
  readonly os: string;
  readonly cpu: string;
  /** Null where packages do not tell by it. */
  readonly libc: string | null;
}

export interface InstallOptions {
  readonly cache: Cache;
  /** The folder in which unpacked trees are kept. */
  readonly trees: string;
  /** Asked for only when something is missing, since it costs a run of npm. */
  readonly registry: () => Promise<Registry>;
  readonly platform?: Platform;
  /** The most bytes that all tarballs, and all that is unpacked, may have. Default 2 GiB. */
  readonly maxBytes?: number;
  readonly onProgress?: (done: number, total: number) => void;
  /** Told in a sentence what the operator should know. */
  readonly onNotice?: (text: string) => void;
}

const CONCURRENT = 8;

/** A lock's artifact that can be installed: an npm package with its tree. */
export interface NpmArtifact extends Artifact {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  readonly tree: Tree;
}

/** Throws `PIN_NONE` for a lock that pins no package with its tree, and `PIN_COMMAND` for an image. */
export function npmArtifact(artifact: Artifact | null): NpmArtifact {
  if (artifact === null || artifact.type === 'local')
    throw new BullaError('PIN_NONE', 'The lock pins no package; lock it with --pin.');
  if (artifact.type === 'oci')
    throw new BullaError(
      'PIN_COMMAND',
      'The lock pins an image: the digest is recorded and compared, not run.',
    );
  if (artifact.tree === null)
    throw new BullaError(
      'PIN_NONE',
      'The lock pins a package without what it needs; lock it anew with --pin.',
    );
  // Reading the lock made sure that the tree is that of the package.
  return artifact as NpmArtifact;
}

/**
 * Gives a folder with exactly what is pinned. Each tarball is hashed, also one that was kept from before, and every file
 * of a tree that was kept is compared with it; what is missing or differs is unpacked anew. Each package must say that
 * it is the one that was pinned, and find what it needs in the tree. No script of a package runs. On any failure nothing
 * new is left. Rejects with `PIN_INTEGRITY`, `PIN_CACHE_TAMPERED`, `PIN_TARBALL`, the `DOWNLOAD_…`
 * codes, `PIN_TREE`, `PIN_COMMAND`, `PIN_PLACE_SHARED` and `PIN_INSTALL_FAILED`.
 */
export async function install(artifact: NpmArtifact, options: InstallOptions): Promise<Installed> {
  const { cache, maxBytes = 2 ** 31, onProgress = () => undefined, onNotice = () => undefined } = options;
  const chosen = choose(artifact.tree, options.platform ?? thisPlatform());
  const missing = chosen.filter(([, entry]) => !cache.has(entry));
  if (missing.length > 0)
    await fetchAll(new Map(missing.map(([, entry]) => [entry.integrity, entry])), options, maxBytes);
  createDirectory(options.trees);
  // Node knows modules by the path that no link is part of, and so does the fence.
  const trees = realpathSync(options.trees);
  checkPermissions(trees);
  const fence = fenceIn(trees);
  const folder = join(trees, nameOf(chosen));
  const all = { cache, maxBytes, onProgress };
  const check = async () => {
    const comparison = compareTree(folder);
    const layout = await layOut(artifact, chosen, all, comparison.take);
    return { layout, difference: comparison.done(layout) };
  };
  const given = ({ manifests, bytes, tarball }: Layout): Installed => {
    const root = `node_modules/${artifact.name}`;
    return {
      ...{ folder, fence, root: join(folder, root), manifest: manifests.get(root)!, bytes, tarball },
      ...{ packages: chosen.length, fetched: missing.length, release: use(folder) },
    };
  };
  if (existsSync(folder)) {
    touch(folder);
    const { layout, difference } = await check();
    if (difference === null) return given(layout);
    onNotice(`The kept packages of ${artifact.name} were changed (${difference}): they are unpacked anew.`);
  }
  const draft = newDraft(trees);
  try {
    const layout = await layOut(artifact, chosen, all, draft.write);
    for (let tries = 0; !settle(draft, folder); tries++) {
      // Another process may have been faster.
      if ((await check()).difference === null) break;
      if (tries === 3)
        throw new BullaError('PIN_INSTALL_FAILED', `${folder} is changed again and again by somebody else.`);
      takeAway(folder);
    }
    collect(trees, Date.now());
    return given(layout);
  } finally {
    draft.discard();
  }
}

/** A tree is what its packages are, and where they lie. */
function nameOf(chosen: readonly (readonly [string, TreePackage])[]): string {
  const places = chosen.map(([path, { integrity }]) => [path, integrity]);
  return createHash('sha256').update(JSON.stringify(places)).digest('hex');
}

/** Folders come before what lies in them. What is optional and for other machines is left out, with what lies in it. */
function choose(tree: Tree, platform: Platform): [string, TreePackage][] {
  const left = new Set<string>();
  return [...tree.packages]
    .sort(([a], [b]) => depth(a) - depth(b))
    .filter(([path, entry]) => {
      if (holdersOf(path).some((above) => left.has(above))) return false;
      if (isFor(entry, platform)) return true;
      if (!entry.optional)
        throw new BullaError('PIN_COMMAND', `${entry.name} ${entry.version} is not for this machine.`);
      left.add(path);
      return false;
    });
}

function thisPlatform(): Platform {
  const { platform: os, arch: cpu } = process;
  return { os, cpu, libc: os === 'linux' ? libcHere() : null };
}

function libcHere(): string {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** Whether a package is for a machine, by npm's rule: every list that it has must take it. */
function isFor(entry: Pick<TreePackage, 'os' | 'cpu' | 'libc'>, platform: Platform): boolean {
  return (
    takes(entry.os, platform.os) &&
    takes(entry.cpu, platform.cpu) &&
    (entry.libc === null || (platform.libc !== null && takes(entry.libc, platform.libc)))
  );
}

/** `!x` is for all but x; where no other word stands, that is enough. */
function takes(list: readonly string[] | null, word: string): boolean {
  if (list === null || (list.length === 1 && list[0] === 'any')) return true;
  if (list.includes(`!${word}`)) return false;
  const positive = list.filter((item) => !item.startsWith('!'));
  return positive.length === 0 || positive.includes(word);
}

/** The packages in whose folders a package lies. */
function holdersOf(path: string): string[] {
  const at = path.lastIndexOf('/node_modules/');
  return at < 0 ? [] : [path.slice(0, at), ...holdersOf(path.slice(0, at))];
}

function depth(path: string): number {
  return path.split('/').length;
}

async function fetchAll(
  wanted: ReadonlyMap<string, TreePackage>,
  { cache, registry: open, onProgress }: InstallOptions,
  maxBytes: number,
): Promise<void> {
  const registry = await open();
  let [left, done] = [maxBytes, 0];
  await eachOf(wanted.values(), CONCURRENT, async (entry) => {
    left -= await cache.fetch(entry, registry, Math.min(MAX_TARBALL, left));
    if (left < 0) throw overLimit(maxBytes);
    onProgress?.(++done, wanted.size);
  });
}
