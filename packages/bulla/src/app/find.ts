import { parseCapsuleUri, readHashed, resolveFragment } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { type JsonObject, stringify } from '@bulla/core/json';
import type { FoundRecord, Query, Store } from '../store/index.ts';

/** A record that the store found. Throws `CAPSULE_HASH` for one that is not what was asked for. */
export function readFound({ data, hash, intact, chain, sequence }: FoundRecord): JsonObject {
  const record = readHashed(data, hash);
  if (intact) return record;
  throw new BullaError(
    'CAPSULE_HASH',
    `What the store finds by this name, record ${sequence} of the chain ${chain}, does not say so itself.`,
  );
}

/** What a `capsule://` URI asks a store for; a fragment is left to the caller. */
export function uriQuery(uri: string): { readonly query: Query; readonly fragment: string | null } {
  const { chain, hash_value, id, sequence, fragment } = parseCapsuleUri(uri);
  const query = {
    ...(chain === null ? {} : { chain }),
    ...(hash_value === null ? {} : { hash: hash_value }),
    ...(id === null ? {} : { id }),
    ...(sequence === null ? {} : { sequence }),
  };
  return { query, fragment };
}

/**
 * The JSON text of what a `capsule://` URI names: the capsule exactly as it is stored, or the part that a fragment
 * names. Throws `CAPSULE_NOT_FOUND`, `CAPSULE_HASH`, and what `parseCapsuleUri` and `resolveFragment` throw.
 */
export async function resolveUri(store: Store, uri: string): Promise<string> {
  const { query, fragment } = uriQuery(uri);
  const [found] = await store.find(query);
  if (found === undefined)
    throw new BullaError('CAPSULE_NOT_FOUND', `The store has nothing that ${uri} names.`);
  const capsule = readFound(found);
  return fragment === null ? found.data : stringify(resolveFragment(capsule, fragment));
}
