import { BullaError } from '@bulla/core/error';
import { type CurrentManifest, createManifests } from '../../manifest/index.ts';
import type { Store } from '../../store/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions } from '../store.ts';

/** The options of the commands that read manifests from a store: no chain is asked for. */
export type StoredOptions = Pick<StoreOptions, 'store' | 'tenant'>;

export function storedOptions(command: Command): Command {
  return command
    .option('--store <url>', 'the store: a file or postgres://… (default: BULLA_HOME/store.db)')
    .option('--tenant <name>', 'whose agents (default: those of no tenant)');
}

/** Does something with the store, opened to read. */
export async function reading<Result>(
  options: StoredOptions,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  await using at = await openFor({ ...options, chain: 'default' }, 'read');
  return await work(at.store);
}

/** A version of an agent's manifest; null stands for the newest. Throws `MANIFEST_NOT_FOUND`. */
export async function storedVersion(
  store: Store,
  agent: string,
  version: number | null,
): Promise<CurrentManifest> {
  const manifests = createManifests(store);
  const found = version === null ? await manifests.current(agent) : await manifests.version(agent, version);
  if (found !== null) return found;
  const name = JSON.stringify(agent);
  const all = await manifests.versions(agent);
  throw new BullaError(
    'MANIFEST_NOT_FOUND',
    all.length === 0
      ? `The store has no manifest of the agent ${name}.`
      : `The store has no version ${version} of the manifest of ${name}; the newest is ${all.at(-1)!.version}.`,
  );
}

const VERSION = /^(?:[1-9][0-9]{0,14}|latest)$/;

/** The number of a version, or null for `latest`. Throws `MANIFEST_VERSION`. */
export function parseVersion(text: string): number | null {
  if (!VERSION.test(text))
    throw new BullaError('MANIFEST_VERSION', `${JSON.stringify(text)} is no version: 1, 2, 3, … or latest.`);
  return text === 'latest' ? null : Number(text);
}

/**
 * The agent and the version that `AGENT@VERSION` names; null for the name of a file. What begins with `./`, `../` or `/`
 * is a file in any case, so that what lies in a folder never decides what is read.
 */
export function parseStored(
  text: string,
): { readonly agent: string; readonly version: number | null } | null {
  const at = text.lastIndexOf('@');
  if (at < 1 || /^\.{0,2}\//.test(text) || !VERSION.test(text.slice(at + 1))) return null;
  return { agent: text.slice(0, at), version: parseVersion(text.slice(at + 1)) };
}
