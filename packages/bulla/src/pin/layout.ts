import { createHash } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import { rootOf, type TreePackage } from '@bulla/core/lock';
import type { InstallOptions, NpmArtifact } from './install.ts';
import { eachOf } from './parallel.ts';
import { type Contents, contentsOf, foldPath } from './untar.ts';

/** A `package.json`. */
export type Manifest = Readonly<Record<string, unknown>>;

export type Layout = Awaited<ReturnType<typeof layOut>>;

type Options = Required<Pick<InstallOptions, 'cache' | 'maxBytes' | 'onProgress'>>;

/** One is unzipped by another thread while one is compared. Each may take a gigabyte of memory. */
const CONCURRENT = 2;

/**
 * Reads every package of a tree from its tarball, whose hash is checked, and hands it on. Each package must say that it
 * is the one that was pinned, and find what it needs in the tree. Rejects with `PIN_CACHE_TAMPERED`, `PIN_INTEGRITY`,
 * `PIN_TREE`, `PIN_TARBALL`, and what `take` throws.
 */
export async function layOut(
  artifact: NpmArtifact,
  chosen: readonly (readonly [string, TreePackage])[],
  { cache, maxBytes, onProgress }: Options,
  take: (path: string, contents: Contents) => void,
) {
  const roots = new Set(chosen.map(([path]) => foldPath(path)));
  const root = rootOf(artifact.tree, artifact.name);
  const manifests = new Map<string, Manifest>();
  const [files, folders] = [new Set<string>(), new Set<string>()];
  let [bytes, done] = [0, 0];
  let tarball: ReturnType<typeof checkTarball> | undefined;
  await eachOf(chosen, CONCURRENT, async ([path, entry]) => {
    const packed = cache.read(entry);
    if (packed === null) {
      const message = `The tarball of ${entry.name} ${entry.version} went away while it was used.`;
      throw new BullaError('PIN_INSTALL_FAILED', message);
    }
    if (entry === root) tarball = checkTarball(packed, artifact);
    const contents = await unpacked(packed, entry, maxBytes - bytes);
    bytes += contents.size;
    if (bytes > maxBytes) throw overLimit(maxBytes);
    manifests.set(path, readManifest(contents, entry));
    for (const folder of foldersOf(path)) folders.add(folder);
    for (const [names, all] of [
      [contents.folders, folders],
      [contents.files.keys(), files],
    ] as const) {
      for (const name of names) {
        const full = `${path}/${name}`;
        if (roots.has(foldPath(full)))
          throw new BullaError('PIN_TARBALL', `Another package has already put something at ${full}.`);
        all.add(full);
      }
    }
    take(path, contents);
    onProgress(++done, chosen.length);
  });
  // One that is optional may lack what is for other machines; it then fails where it is asked for.
  for (const [path, entry] of chosen) if (!entry.optional) checkNeeds(folders, path, manifests.get(path)!);
  return { manifests, files, folders, bytes, tarball: tarball! };
}

/** A folder and those above it, from the top. */
function foldersOf(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}

export function overLimit(maxBytes: number): BullaError {
  return new BullaError('PIN_TARBALL', `The package and what it needs have more than ${maxBytes} bytes.`);
}

/** The released program's own fields about the tarball, where the lock has them. */
function checkTarball(packed: Buffer, artifact: NpmArtifact) {
  const sha256 = createHash('sha256').update(packed).digest('hex');
  if (artifact.tarball_sha256 !== null && artifact.tarball_sha256 !== sha256) {
    const message = `sha256 mismatch (${artifact.name} is pinned to ${artifact.tarball_sha256}, the tarball is ${sha256}).`;
    throw new BullaError('PIN_INTEGRITY', message);
  }
  return { sha256, size: packed.length };
}

async function unpacked(packed: Buffer, { name, version }: TreePackage, left: number): Promise<Contents> {
  try {
    return await contentsOf(packed, { maxBytes: Math.max(0, Math.min(2 ** 30, left)) });
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    throw new BullaError(error.code, `${name} ${version}: ${error.message}`, { cause: error });
  }
}

/** What a package says of itself must be what was pinned. Throws `PIN_TARBALL`. */
function readManifest({ files }: Contents, { name, version }: TreePackage): Manifest {
  let manifest: Manifest | null;
  try {
    const text = files.get('package.json')!.bytes.toString('utf8');
    manifest = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    throw new BullaError('PIN_TARBALL', `The package.json of ${name} ${version} cannot be read.`, {
      cause,
    });
  }
  if (typeof manifest !== 'object' || manifest === null || Array.isArray(manifest))
    throw new BullaError('PIN_TARBALL', `The package.json of ${name} ${version} is not an object.`);
  if (manifest.name !== name || plain(manifest.version) !== plain(version)) {
    const said = `${JSON.stringify(manifest.name)} ${JSON.stringify(manifest.version)}`.slice(0, 300);
    throw new BullaError('PIN_TARBALL', `What is pinned as ${name} ${version} calls itself ${said}.`);
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

/** Each package that is needed must be where Node looks for it, inside of the tree. Throws `PIN_TREE`. */
function checkNeeds(folders: ReadonlySet<string>, path: string, manifest: Manifest): void {
  const optional = new Set(namesIn(manifest.optionalDependencies));
  for (const name of namesIn(manifest.dependencies)) {
    if (optional.has(name)) continue;
    let above = path;
    while (!folders.has(above === '' ? `node_modules/${name}` : `${above}/node_modules/${name}`)) {
      if (above === '')
        throw new BullaError('PIN_TREE', `${path} needs ${name}, which is not in the pinned tree.`);
      above = above.slice(0, Math.max(0, above.lastIndexOf('node_modules/') - 1));
    }
  }
}

function namesIn(dependencies: unknown): string[] {
  return typeof dependencies === 'object' && dependencies !== null ? Object.keys(dependencies) : [];
}
