import { BullaError } from '@bulla/core/error';
import { JsonNumber, JsonObject, type JsonValue, memberAt, parse, textAt } from '@bulla/core/json';
import {
  isInstallPath,
  isSha512,
  isTarballPath,
  type Tree,
  type TreePackage,
  treeOf,
} from '@bulla/core/lock';
import { type NpmSettings, registryOf, sha512In } from './registry.ts';

/**
 * Reads the `package-lock.json` that npm made for one package, as the tree of all that is installed with it. Each
 * package must come as a tarball from a registry of npm's configuration, with a SHA-512. What a tarball bundles is
 * covered by the hash of the tarball. Throws `PIN_TREE` for a file that is not understood, a package from elsewhere, and
 * one without a SHA-512.
 */
export function readPackageLock(bytes: Uint8Array, settings: NpmSettings): Tree {
  const root = parse(bytes);
  const version = memberAt(root, ['lockfileVersion']);
  const packages = memberAt(root, ['packages']);
  if (!(version instanceof JsonNumber) || version.lexeme !== '3' || !(packages instanceof JsonObject))
    throw form('npm did not write a lockfile of version 3');
  const entries: [string, TreePackage][] = [];
  for (const [path, value] of packages) {
    if (path === '') continue;
    if (!(value instanceof JsonObject) || !isInstallPath(path))
      throw form(`npm would install something at ${JSON.stringify(path)}`);
    if (value.get('inBundle') === true) checkBundled(path, packages);
    else entries.push([path, entryOf(path, value, settings)]);
  }
  return treeOf(entries);
}

function form(message: string): BullaError {
  return new BullaError('PIN_TREE', `${message}, which is not understood.`);
}

/** A bundled package lies in the tarball of one above it, and nowhere else. */
function checkBundled(path: string, packages: JsonObject): void {
  for (let above = path; ; ) {
    above = above.slice(0, Math.max(0, above.lastIndexOf('/node_modules/')));
    const holder = packages.get(above);
    if (above === '' || !(holder instanceof JsonObject))
      throw form(`npm says of ${path} that it is bundled, but in nothing`);
    if (holder.get('inBundle') !== true) return;
  }
}

function entryOf(path: string, value: JsonObject, settings: NpmSettings): TreePackage {
  const name =
    textAt(value, ['name']) ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const version = textAt(value, ['version']);
  const resolved = textAt(value, ['resolved']);
  if (value.get('link') !== undefined || version === null || resolved === null) throw source(path, resolved);
  const tarball = tarballIn(resolved, name, registryOf(settings, name));
  if (tarball === null) throw source(path, resolved);
  const integrity = sha512In(textAt(value, ['integrity']) ?? '');
  if (integrity === null || !isSha512(integrity))
    throw new BullaError('PIN_TREE', `The registry has no SHA-512 of ${name} ${version} (${path}).`);
  return {
    ...{ name, version, integrity, tarball },
    optional: value.get('optional') === true || value.get('devOptional') === true,
    os: wordsOf(value.get('os')),
    cpu: wordsOf(value.get('cpu')),
    libc: wordsOf(value.get('libc')),
    hasInstallScript: value.get('hasInstallScript') === true,
  };
}

function source(path: string, resolved: string | null): BullaError {
  const from = resolved === null ? 'from no registry' : `from ${JSON.stringify(resolved.split(/[?#]/)[0])}`;
  return new BullaError('PIN_TREE', `${path} comes ${from}, not as a tarball from npm's registry.`);
}

/**
 * Where the tarball lies below the registry. A mirror often names the tarballs by the address of the registry that it
 * mirrors; npm then fetches them from the mirror by their path, and so do we.
 */
function tarballIn(resolved: string, name: string, registry: URL): string | null {
  if (resolved.startsWith(registry.href)) {
    const path = resolved.slice(registry.href.length);
    return isTarballPath(path) ? path : null;
  }
  const path = /^https:\/\/[^/?#@]+\/([^?#]+)$/.exec(resolved)?.[1] ?? '';
  return path.startsWith(`${name}/-/`) && isTarballPath(path) ? path : null;
}

function wordsOf(value: JsonValue | undefined): string[] | null {
  if (typeof value === 'string') return [value];
  const words = Array.isArray(value) ? value.filter((word) => typeof word === 'string') : [];
  return words.length === 0 ? null : words;
}
