import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { type Artifact, rootOf, type Tree, type TreePackage } from '@bulla/core/lock';
import { type Cache, MAX_TARBALL } from './cache.ts';
import { eachOf } from './parallel.ts';
import { isFor, type Platform, thisPlatform } from './platform.ts';
import type { Registry } from './registry.ts';
import { untar } from './untar.ts';

/** A pinned package with all that it needs, unpacked into a folder of its own. */
export interface Installed {
  /** The folder; its `node_modules` holds the tree. */
  readonly folder: string;
  /** Where the package itself lies. */
  readonly root: string;
  readonly manifest: Manifest;
  /** How many packages were unpacked, how many bytes, and how many tarballs had to be fetched. */
  readonly packages: number;
  readonly bytes: number;
  readonly fetched: number;
  /** Of the package's own tarball. */
  readonly tarball: { readonly sha256: string; readonly size: number };
  /** Removes the folder. */
  remove(): void;
}

/** What is read of a `package.json`. */
export interface Manifest {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly bin?: unknown;
  readonly dependencies?: unknown;
  readonly optionalDependencies?: unknown;
}

export interface InstallOptions {
  readonly cache: Cache;
  /** Asked for only when something is missing, since it costs a run of npm. */
  readonly registry: () => Promise<Registry>;
  readonly platform?: Platform;
  /** The most bytes that all tarballs, and all that is unpacked, may have. Default 2 GiB. */
  readonly maxBytes?: number;
  readonly onProgress?: (done: number, total: number) => void;
}

const CONCURRENT = 8;

/** A lock's artifact that can be installed: an npm package with its tree. */
export interface NpmArtifact extends Artifact {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  readonly tree: Tree;
}

/** Throws `PIN_NONE`, `PIN_OCI`, `PIN_NO_TREE` for what is not such an artifact. */
export function npmArtifact(artifact: Artifact | null): NpmArtifact {
  if (artifact === null || artifact.type === 'local')
    throw new BullaError('PIN_NONE', 'The lock pins no package; lock it with --pin.');
  if (artifact.type === 'oci')
    throw new BullaError('PIN_OCI', 'The lock pins an image: the digest is recorded and compared, not run.');
  if (artifact.tree === null)
    throw new BullaError(
      'PIN_NO_TREE',
      'The lock pins a package but not what it needs; lock it anew with --pin.',
    );
  // Reading the lock made sure that the tree is that of the package.
  return artifact as NpmArtifact;
}

/**
 * Makes a fresh folder with exactly what is pinned. Each tarball is hashed, also one that was kept from before, and
 * unpacked from the very bytes that were hashed; each package must say that it is the one that was pinned, and find what
 * it needs in the tree. No script of a package runs. On any failure nothing is left. Rejects with `PIN_INTEGRITY`,
 * `PIN_CACHE_TAMPERED`, the `PIN_TARBALL_…`, `PIN_PACKAGE_…` and `DOWNLOAD_…` codes, `PIN_TREE_MISSING`, `PIN_PLATFORM`
 * and `PIN_INSTALL_FAILED`.
 */
export async function install(artifact: NpmArtifact, options: InstallOptions): Promise<Installed> {
  const { cache, maxBytes = 2 ** 31, onProgress = () => undefined } = options;
  const chosen = choose(artifact.tree, options.platform ?? thisPlatform());
  const missing = chosen.filter(([, entry]) => !cache.has(entry));
  if (missing.length > 0)
    await fetchAll(new Map(missing.map(([, entry]) => [entry.integrity, entry])), options, maxBytes);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulla-run-')));
  const remove = () => {
    process.off('exit', remove);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  process.on('exit', remove);
  try {
    let [bytes, done] = [0, 0];
    let tarball: Installed['tarball'] | undefined;
    const manifests = new Map<string, Manifest>();
    for (const [path, entry] of chosen) {
      const packed = cache.read(entry);
      if (packed === null) throw gone(entry);
      if (entry === rootOf(artifact.tree, artifact.name)) tarball = checkTarball(packed, artifact);
      if (existsSync(join(folder, path)))
        throw new BullaError(
          'PIN_TARBALL_COLLISION',
          `Another package has already put something at ${path}.`,
        );
      bytes += unpack(packed, join(folder, path), entry, maxBytes - bytes);
      manifests.set(path, readManifest(join(folder, path), entry));
      onProgress(++done, chosen.length);
    }
    // One that is optional may lack what is for other machines; it then fails where it is asked for.
    for (const [path, entry] of chosen) if (!entry.optional) checkNeeds(folder, path, manifests.get(path)!);
    const root = `node_modules/${artifact.name}`;
    return {
      ...{ folder, root: join(folder, root), manifest: manifests.get(root)!, bytes, remove },
      ...{ packages: chosen.length, fetched: missing.length, tarball: tarball! },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Folders come before what lies in them. What is optional and for other machines is left out, with what lies in it. */
function choose(tree: Tree, platform: Platform): [string, TreePackage][] {
  const left: string[] = [];
  return [...tree.packages]
    .sort(([a], [b]) => depth(a) - depth(b))
    .filter(([path, entry]) => {
      if (left.some((above) => path.startsWith(`${above}/`))) return false;
      if (isFor(entry, platform)) return true;
      if (!entry.optional)
        throw new BullaError('PIN_PLATFORM', `${entry.name} ${entry.version} is not for this machine.`);
      left.push(path);
      return false;
    });
}

function depth(path: string): number {
  return path.split('/').length;
}

function gone({ name, version }: TreePackage): BullaError {
  return new BullaError(
    'PIN_CACHE_UNREADABLE',
    `The tarball of ${name} ${version} went away while it was used.`,
  );
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

function overLimit(maxBytes: number): BullaError {
  return new BullaError(
    'PIN_TARBALL_LIMIT',
    `The package and what it needs have more than ${maxBytes} bytes.`,
  );
}

/** The released program's own fields about the tarball, where the lock has them. */
function checkTarball(packed: Buffer, artifact: NpmArtifact): Installed['tarball'] {
  const sha256 = createHash('sha256').update(packed).digest('hex');
  if (artifact.tarball_sha256 !== null && artifact.tarball_sha256 !== sha256) {
    const message = `sha256 mismatch (${artifact.name} is pinned to ${artifact.tarball_sha256}, the tarball is ${sha256}).`;
    throw new BullaError('PIN_INTEGRITY', message);
  }
  return { sha256, size: packed.length };
}

function unpack(packed: Buffer, folder: string, { name, version }: TreePackage, left: number): number {
  try {
    return untar(packed, folder, { maxBytes: Math.max(0, Math.min(2 ** 30, left)) });
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    throw new BullaError(error.code, `${name} ${version}: ${error.message}`, { cause: error });
  }
}

/** What a package says of itself must be what was pinned. Throws `PIN_PACKAGE_FORM` and `PIN_PACKAGE_OTHER`. */
function readManifest(folder: string, { name, version }: TreePackage): Manifest {
  let manifest: Manifest | null;
  try {
    manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8').replace(/^\ufeff/, ''));
  } catch (cause) {
    throw new BullaError('PIN_PACKAGE_FORM', `The package.json of ${name} ${version} cannot be read.`, {
      cause,
    });
  }
  if (typeof manifest !== 'object' || manifest === null || Array.isArray(manifest))
    throw new BullaError('PIN_PACKAGE_FORM', `The package.json of ${name} ${version} is not an object.`);
  if (manifest.name !== name || plain(manifest.version) !== plain(version)) {
    const said = `${JSON.stringify(manifest.name)} ${JSON.stringify(manifest.version)}`;
    throw new BullaError('PIN_PACKAGE_OTHER', `What is pinned as ${name} ${version} calls itself ${said}.`);
  }
  return manifest;
}

/** Registries leave out a `v` before a version and what stands behind `+`. */
function plain(version: unknown): string {
  return String(version)
    .trim()
    .replace(/^[v=]+\s*/, '')
    .replace(/\+.*$/s, '');
}

/** Each package that is needed must be where Node looks for it, inside of the tree. Throws `PIN_TREE_MISSING`. */
function checkNeeds(folder: string, path: string, manifest: Manifest): void {
  const optional = new Set(namesIn(manifest.optionalDependencies));
  for (const name of namesIn(manifest.dependencies)) {
    if (optional.has(name)) continue;
    let above = path;
    while (!existsSync(join(folder, above, 'node_modules', name))) {
      if (above === '')
        throw new BullaError('PIN_TREE_MISSING', `${path} needs ${name}, which is not in the pinned tree.`);
      above = above.slice(0, Math.max(0, above.lastIndexOf('node_modules/') - 1));
    }
  }
}

function namesIn(dependencies: unknown): string[] {
  return typeof dependencies === 'object' && dependencies !== null ? Object.keys(dependencies) : [];
}
