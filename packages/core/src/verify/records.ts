import {
  type CanonicalRecord,
  type ChainLink,
  type ChainState,
  canonicalLink,
  chainLink,
  type KeyFacts,
  type Seal,
  type Verdict,
  verifyCanonical,
  verifyCapsule,
} from '../capsule/index.ts';
import { type AlgorithmName, fromHex, type PublicKey, publicKey } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { JsonObject, parse } from '../json/index.ts';
import { leafData, leafHash } from '../log/index.ts';
import { type Story, storyOf } from './history.ts';
import type { SourceRecord } from './source.ts';

/** What records are verified with; plain data, so that it can be sent to a thread. */
export interface RecordOptions {
  readonly mode: ChainState['mode'];
  readonly keys: readonly { readonly algorithm: AlgorithmName; readonly hex: string }[];
  readonly pqKeys: readonly { readonly algorithm: AlgorithmName; readonly hex: string }[];
  readonly facts: readonly KeyFacts[];
  readonly requirePq: boolean;
  readonly allowNonFinite: boolean;
  /** Also give the hash of each record's leaf. */
  readonly leaves: boolean;
  /** Of the records below, a checkpoint covers the seals: signatures are left out, but not who signed. */
  readonly hashOnlyBelow: number;
}

export interface RecordResult {
  readonly link: ChainLink;
  readonly verdict: Verdict | undefined;
  /** The hash of the leaf; null for a record that has none, or where leaves are not asked for. */
  readonly leaf: Uint8Array | null;
  /** What it tells of its chain; null for a record that cannot be read. */
  readonly story: Story | null;
}

const loaded = new WeakMap<RecordOptions, { keys: PublicKey[]; pqKeys: PublicKey[] }>();

/** Reads and verifies records from the place `first` on, each by itself; order and links are not looked at. */
export function verifyRecords(
  records: readonly SourceRecord[],
  first: number,
  options: RecordOptions,
): RecordResult[] {
  let keys = loaded.get(options);
  if (keys === undefined) {
    const load = (list: RecordOptions['keys']) =>
      list.map(({ algorithm, hex }) => publicKey(algorithm, fromHex(hex)));
    keys = { keys: load(options.keys), pqKeys: load(options.pqKeys) };
    loaded.set(options, keys);
  }
  const { requirePq, allowNonFinite, mode, facts } = options;
  const full = {
    ...{ ...keys, facts, requirePq, allowNonFinite },
    signatures: mode === 'hashes' ? 'unchecked' : 'checked',
  } as const;
  const covered = { ...full, signatures: 'by checkpoint' } as const;
  const leafOf = options.leaves ? leafOrNull : () => null;
  return records.map((record, i): RecordResult => {
    const how = first + i < options.hashOnlyBelow ? covered : full;
    if (typeof record === 'object' && 'canonical' in record) {
      const verdict = mode === 'structural' ? undefined : verifyCanonical(record, how);
      return {
        link: canonicalLink(record, allowNonFinite),
        verdict,
        leaf: leafOf(record as Partial<Seal>),
        story: canonicalStory(record, allowNonFinite),
      };
    }
    return readSealed(record, how, mode === 'structural', leafOf);
  });
}

function canonicalStory({ canonical, signed_at }: CanonicalRecord, allowNonFinite: boolean): Story | null {
  try {
    const content = parse(canonical, allowNonFinite ? { allow: ['non-finite'] } : {});
    return content instanceof JsonObject ? storyOf(content, signed_at) : null;
  } catch (error) {
    if (error instanceof BullaError) return null;
    throw error;
  }
}

function leafOrNull(record: JsonObject | Partial<Seal>): Uint8Array | null {
  try {
    return leafHash(leafData(record));
  } catch (error) {
    if (error instanceof BullaError) return null;
    throw error;
  }
}

const NOWHERE: ChainLink = { id: null, sequence: null, previous_hash: null, hash: '' };

/** The place of a record in its chain, as it says itself; nothing is verified. */
export function linkOf(record: SourceRecord): ChainLink {
  if (typeof record === 'object' && 'canonical' in record) return canonicalLink(record, true);
  try {
    const value = parse(record, { allow: ['non-finite'] });
    return value instanceof JsonObject ? chainLink(value) : NOWHERE;
  } catch (error) {
    if (error instanceof BullaError) return NOWHERE;
    throw error;
  }
}

function readSealed(
  record: string | Uint8Array,
  how: Parameters<typeof verifyCapsule>[1],
  structural: boolean,
  leafOf: (record: JsonObject) => Uint8Array | null,
): RecordResult {
  try {
    const value = parse(record, how.allowNonFinite ? { allow: ['non-finite'] } : {});
    if (value instanceof JsonObject) {
      const verdict = structural ? undefined : verifyCapsule(value, how);
      return { link: chainLink(value), verdict, leaf: leafOf(value), story: storyOf(value) };
    }
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
  }
  // Read once more for the verdict on what cannot be read.
  return { link: NOWHERE, verdict: verifyCapsule(record, how), leaf: null, story: null };
}
