import {
  type ChainLink,
  type ChainState,
  checkRecord,
  isCanonicalRecord,
  type Seal,
  type StoredRecord,
  type Verdict,
  type VerifyOptions,
} from '../capsule/index.ts';
import { attempt, BullaError } from '../error.ts';
import type { JsonObject } from '../json/index.ts';
import { leafData, leafHash } from '../log/index.ts';
import { type Story, storyOf } from './history.ts';

/** What records are verified with; plain data, so that it can be sent to a thread. */
export interface RecordOptions extends Omit<VerifyOptions, 'signatures'> {
  readonly mode: ChainState['mode'];
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

/** Reads and verifies records from the place `first` on, each by itself; order and links are not looked at. */
export function verifyRecords(
  records: readonly StoredRecord[],
  first: number,
  options: RecordOptions,
): RecordResult[] {
  const { mode, leaves, hashOnlyBelow } = options;
  const covered = { ...options, signatures: 'by checkpoint' } as const;
  return records.map((record, i): RecordResult => {
    const how = first + i < hashOnlyBelow ? covered : options;
    const { link, verdict, content } = checkRecord(record, mode, how);
    const isCanonical = isCanonicalRecord(record);
    const sealed = isCanonical ? (record as Partial<Seal>) : content;
    return {
      link,
      verdict,
      leaf: leaves && sealed !== null ? leafOf(sealed) : null,
      story: content && storyOf(content, isCanonical ? record.signed_at : undefined),
    };
  });
}

function leafOf(sealed: JsonObject | Partial<Seal>): Uint8Array | null {
  const leaf = attempt(() => leafHash(leafData(sealed)));
  return leaf instanceof BullaError ? null : leaf;
}

/** A stored record as it says of itself, with its place in the chain; nothing is verified. */
export function readRecord(record: StoredRecord): { link: ChainLink; content: JsonObject | null } {
  return checkRecord(record, 'structural', { keys: [], allowNonFinite: true });
}
