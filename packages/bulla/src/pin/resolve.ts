import { BullaError } from '@bulla/core/error';
import { type Artifact, rootOf } from '@bulla/core/lock';
import type { NpmCommand } from './command.ts';
import { runNpm } from './npm.ts';
import { readPackageLock } from './package-lock.ts';
import type { Registry } from './registry.ts';

/** An artifact of which nothing is known. */
export const NO_ARTIFACT: Omit<Artifact, 'type'> = {
  ...{ name: null, version: null, registry: null, integrity: null, tarball_url: null },
  ...{ tarball_sha256: null, tarball_size: null, image: null, digest: null, provenance: null, tree: null },
};

/** What npm is told, so that no setting of its user makes a tree that others would not get. */
const INSTALL = (
  'install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel=error --package-lock ' +
  '--lockfile-version=3 --no-omit-lockfile-registry-resolved --save --save-exact --no-global --no-dry-run ' +
  '--include=prod --include=optional --include=peer --install-strategy=hoisted --no-legacy-peer-deps ' +
  // Only the registry is asked. An older npm passes over the options that it does not know, and finds no git.
  '--allow-git=none --allow-remote=none --allow-file=none --allow-directory=none --git=no-git'
).split(' ');

/**
 * Resolves a package and all that it needs, with npm itself, and asks the registry once more whether the package is
 * the one that it told npm of. Rejects with `PIN_NPM_FAILED`, `PIN_TREE`, `PIN_REGISTRY_DIFFERS`, and what
 * {@link Registry.integrityOf} rejects with.
 */
export async function resolveNpm(command: NpmCommand, registry: Registry): Promise<Artifact> {
  const wanted = command.spec === null ? command.name : `${command.name}@${command.spec}`;
  const { lock } = await runNpm([...INSTALL, '--', wanted]);
  if (lock === null) throw new BullaError('PIN_NPM_FAILED', 'npm install wrote no package-lock.json.');
  const tree = readPackageLock(lock, registry.settings);
  const root = rootOf(tree, command.name);
  if (root === undefined || root.name !== command.name)
    throw new BullaError('PIN_TREE', `npm did not install ${command.name} itself.`);
  const again = await registry.integrityOf(root.name, root.version);
  if (again !== root.integrity) throw differs(root.name, root.version, root.integrity, again);
  const { name, version, integrity, tarball } = root;
  return { ...NO_ARTIFACT, type: 'npm', name, version, integrity, tarball_url: tarball, tree };
}

/** What is thrown when a registry says two things about a version. */
export function differs(name: string, version: string, was: string, is: string | null): BullaError {
  const message = `integrity mismatch (${name} ${version} is ${was}, and the registry now says ${is ?? 'nothing'}).`;
  return new BullaError('PIN_REGISTRY_DIFFERS', message);
}
