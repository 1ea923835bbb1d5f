import {
  type ChainLink,
  canonicalLink,
  chainLink,
  type Verdict,
  verifyCanonical,
  verifyCapsule,
} from '@bulla/core/capsule';
import { type AlgorithmName, fromHex, type PublicKey, publicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { judged } from './judged.ts';
import type { SourceRecord } from './source.ts';

/** What a thread needs to verify; plain data, so that it can be sent. */
export interface WorkerOptions {
  readonly mode: 'structural' | 'cryptographic';
  readonly keys: readonly { readonly algorithm: AlgorithmName; readonly hex: string }[];
  readonly pqKeys: readonly { readonly algorithm: AlgorithmName; readonly hex: string }[];
  /** The full ids of keys that are revoked. */
  readonly revoked: readonly string[];
  readonly requirePq: boolean;
  readonly allowNonFinite: boolean;
}

export interface RecordResult {
  readonly link: ChainLink;
  readonly verdict: Verdict | undefined;
}

const loaded = new WeakMap<WorkerOptions, { keys: PublicKey[]; pqKeys: PublicKey[] }>();

/** Reads and verifies records, each by itself; their order and links are not looked at. */
export function verifyRecords(records: readonly SourceRecord[], options: WorkerOptions): RecordResult[] {
  let keys = loaded.get(options);
  if (keys === undefined) {
    const load = (list: WorkerOptions['keys']) =>
      list.map(({ algorithm, hex }) => publicKey(algorithm, fromHex(hex)));
    keys = { keys: load(options.keys), pqKeys: load(options.pqKeys) };
    loaded.set(options, keys);
  }
  const { requirePq, allowNonFinite, mode } = options;
  const how = { ...keys, requirePq, allowNonFinite };
  const results = records.map((record): RecordResult => {
    if (typeof record === 'object' && 'canonical' in record) {
      const verdict = mode === 'structural' ? undefined : verifyCanonical(record, how);
      return { link: canonicalLink(record, allowNonFinite), verdict };
    }
    return readSealed(record, how, mode === 'structural');
  });
  if (options.revoked.length === 0) return results;
  return results.map(({ link, verdict }) => ({ link, verdict: verdict && judged(verdict, options.revoked) }));
}

const NOWHERE: ChainLink = { id: null, sequence: null, previous_hash: null, hash: '' };

function readSealed(
  record: string | Uint8Array,
  how: Parameters<typeof verifyCapsule>[1],
  structural: boolean,
): RecordResult {
  try {
    const value = parse(record, how.allowNonFinite ? { allow: ['non-finite'] } : {});
    if (value instanceof JsonObject) {
      return { link: chainLink(value), verdict: structural ? undefined : verifyCapsule(value, how) };
    }
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
  }
  // Read once more for the verdict on what cannot be read.
  return { link: NOWHERE, verdict: verifyCapsule(record, how) };
}
