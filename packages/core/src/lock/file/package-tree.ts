import { digest, sortNames } from '../../canon/index.ts';
import { JsonObject, type JsonValue, type Member, type Path } from '../../json/index.ts';
import { inconsistent, located, strictly } from './reading.ts';

/** Every package that a pinned npm package needs, each with the hash of its bytes. The key is ours. */
export interface Tree {
  /** `sha256:` and the SHA-256 of the canonical (JCS) `packages`. */
  readonly digest: string;
  /** By the folder where each is installed, such as `node_modules/a/node_modules/@b/c`; sorted. */
  readonly packages: ReadonlyMap<string, TreePackage>;
}

export interface TreePackage {
  /** The name under which the registry has it; an alias is installed under another. */
  readonly name: string;
  readonly version: string;
  /** The SHA-512 of the tarball, as `sha512-` and base64. */
  readonly integrity: string;
  /** Where the tarball lies, relative to the registry: a mirror has it there too. */
  readonly tarball: string;
  /** What needs it works without it. */
  readonly optional: boolean;
  /** Systems that it is for, or with `!` those that it is not for; null for all. */
  readonly os: readonly string[] | null;
  readonly cpu: readonly string[] | null;
  readonly libc: readonly string[] | null;
  /** It has scripts for its installation, which are never run. */
  readonly hasInstallScript: boolean;
}

const NAME = '(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*';
const PLACE = new RegExp(`^node_modules/${NAME}(?:/node_modules/${NAME})*$`);
const PACKAGE_NAME = new RegExp(`^${NAME}$`);
const MAX_NAME = 214;
const SHA512 = /^sha512-[A-Za-z0-9+/]{85}[AQgw]==$/;
const VERSION = /^[0-9]{1,16}\.[0-9]{1,16}\.[0-9]{1,16}(?:[-+][0-9A-Za-z.+-]{1,200})?$/;

/** Whether a registry can have a package of this name: one or two parts that are plain names of folders. */
export function isPackageName(name: string): boolean {
  return PACKAGE_NAME.test(name) && name.length <= MAX_NAME && !name.split('/').includes('node_modules');
}

/** Whether this is a folder for a package: names of packages, each below a `node_modules`. */
export function isInstallPath(path: string): boolean {
  return PLACE.test(path) && path.split(/(?:^|\/)node_modules\//).every((n) => n === '' || isPackageName(n));
}

/** Whether this is an exact version, not a range. */
export function isExactVersion(version: string): boolean {
  return VERSION.test(version);
}

/** Whether this is a SHA-512 in the one form that it can be written in. */
export function isSha512(integrity: string): boolean {
  return SHA512.test(integrity);
}

const BASE = 'https://registry.invalid/in/';

/** Whether this leads from the address of a registry to something below it, on every registry. */
export function isTarballPath(path: string): boolean {
  if (path === '' || path.length > 1000 || /[?#\\\s]/.test(path)) return false;
  return URL.canParse(path, BASE) && new URL(path, BASE).href === `${BASE}${path}`;
}

/** A tree of these packages, sorted and with its digest. Throws what `readTree` throws for it. */
export function treeOf(packages: Iterable<readonly [string, TreePackage]>): Tree {
  const given = new Map(packages);
  const sorted = new Map(sortNames([...given.keys()], 'mcptrust-v1').map((path) => [path, given.get(path)!]));
  const tree = { digest: treeDigest(writePackages(sorted)), packages: sorted };
  readTree(strictly(writeTree(tree), ['artifact', 'tree']));
  return tree;
}

function treeDigest(packages: JsonObject): string {
  return `sha256:${digest(packages, 'jcs')}`;
}

export function writeTree({ digest, packages }: Tree): JsonObject {
  return new JsonObject(['digest', 'packages'], [digest, writePackages(packages)]);
}

function writePackages(packages: Tree['packages']): JsonObject {
  return new JsonObject([...packages.keys()], [...packages.values()].map(writePackage));
}

const LISTS = ['os', 'cpu', 'libc'] as const;
const FLAGS = ['optional', 'hasInstallScript'] as const;
const TEXTS = ['name', 'version', 'integrity', 'tarball'] as const;

/** Only what is there is written: no list, and no flag that is off. */
function writePackage(entry: TreePackage): JsonObject {
  const members: [string, JsonValue][] = TEXTS.map((key) => [key, entry[key]]);
  for (const key of LISTS) if (entry[key] !== null) members.push([key, [...entry[key]]]);
  for (const key of FLAGS) if (entry[key]) members.push([key, true]);
  return JsonObject.from(members);
}

/**
 * Reads a `tree`. Throws with the path: `LOCK_FIELD`, `LOCK_CASE_TWIN`, and `LOCK_INCONSISTENT` when the
 * packages do not have the digest beside them, or one lies in a package that is not there.
 */
export function readTree(value: Member): Tree {
  const record = value.record({ required: ['digest', 'packages'] });
  const found = record.get('packages');
  const packages = new Map<string, TreePackage>();
  const folded = new Map<string, string>();
  for (const [path, entry] of found.entries()) {
    if (!isInstallPath(path)) throw entry.wrongValue('This is no folder for a package.');
    const twin = folded.get(path.toLowerCase());
    if (twin !== undefined)
      throw entry.wrongValue(`On some disks this is the same folder as ${JSON.stringify(twin)}.`);
    folded.set(path.toLowerCase(), path);
    packages.set(path, readPackage(entry));
  }
  for (const path of packages.keys()) {
    const above = path.slice(0, path.lastIndexOf('/node_modules/') + 1).slice(0, -1);
    if (above !== '' && !packages.has(above))
      throw inconsistent(found.get(path).at, 'lies in a package that is not in the tree');
  }
  const stored = record.get('digest').text();
  if (stored !== located(found.at, () => treeDigest(found.object())))
    throw inconsistent(found.at, 'does not have the digest beside it');
  return { digest: stored, packages };
}

function readPackage(value: Member): TreePackage {
  const record = value.record({ required: TEXTS, optional: [...LISTS, ...FLAGS] });
  const text = (key: (typeof TEXTS)[number], fits: (text: string) => boolean, sentence: string) =>
    record.get(key).fitting(fits, sentence);
  const list = (key: (typeof LISTS)[number]) => record.optional(key, (member) => member.texts());
  const flag = (key: (typeof FLAGS)[number]) => record.optional(key, (member) => member.flag()) ?? false;
  return {
    name: text('name', isPackageName, 'This is no name of a package.'),
    version: text('version', isExactVersion, 'This is no exact version.'),
    integrity: text('integrity', isSha512, 'This must be sha512- and 64 bytes in base64.'),
    tarball: text('tarball', isTarballPath, 'This must be a path below the address of a registry.'),
    optional: flag('optional'),
    os: list('os'),
    cpu: list('cpu'),
    libc: list('libc'),
    hasInstallScript: flag('hasInstallScript'),
  };
}

/** The package that the tree is of, and where it is installed. */
export function rootOf(tree: Tree, name: string): TreePackage | undefined {
  return tree.packages.get(`node_modules/${name}`);
}

/** The tree must hold the very package that the artifact names. Throws `LOCK_INCONSISTENT`. */
export function checkRoot(
  artifact: { readonly [Key in 'type' | 'name' | 'version' | 'integrity' | 'tarball_url']: string | null },
  tree: Tree,
  at: Path,
): void {
  const root = artifact.name === null ? undefined : rootOf(tree, artifact.name);
  const isSame =
    artifact.type === 'npm' &&
    root?.name === artifact.name &&
    root.version === artifact.version &&
    root.integrity === artifact.integrity &&
    root.tarball === artifact.tarball_url &&
    !root.optional;
  if (!isSame) throw inconsistent(at, 'is not the tree of the package that is pinned');
}

/** What changed between two trees, a line for each package. */
export function treeWords(was: Tree | null, is: Tree | null): string[] {
  const [before, after] = [was?.packages ?? new Map(), is?.packages ?? new Map()] as const;
  const paths = sortNames([...new Set([...before.keys(), ...after.keys()])], 'mcptrust-v1');
  return paths.flatMap((path): string[] => {
    const [old, now] = [before.get(path), after.get(path)];
    if (old === undefined) return [`${path} came: ${now!.name} ${now!.version}`];
    if (now === undefined) return [`${path} went: ${old.name} ${old.version}`];
    if (digest(writePackage(old), 'jcs') === digest(writePackage(now), 'jcs')) return [];
    if (old.version !== now.version || old.name !== now.name)
      return [`${path} was ${old.name} ${old.version} and is now ${now.name} ${now.version}`];
    const what = old.integrity === now.integrity ? 'is described otherwise' : 'has other bytes';
    return [`${path} ${what} under the same version ${now.version}`];
  });
}
