import { BullaError } from '@bulla/core/error';
import type { Opening } from './openings.ts';

/** A write failed, and certainly changed nothing. After any other error of a write the store must be asked. */
export class NotWrittenError extends BullaError {}

/** A record was to close an intent that is not open. Nothing was written. */
export class NotOpenError extends NotWrittenError {
  constructor() {
    super('RECORD_ENDED', 'An intent is not open any more.');
  }
}

/** Where a chain ends. */
export interface Head {
  /** How many records the chain has; the next one gets this number. */
  readonly length: number;
  /** The hash of the last record; null before the first. */
  readonly hash: string | null;
}

/** Where a chain ends, with all that is needed to go on. */
export interface Tip extends Head {
  /** The frontier of the chain's tree. */
  readonly tree: Uint8Array;
  /** The name under which its checkpoints are signed; null before the first record. */
  readonly origin: string | null;
}

export const EMPTY: Tip = { length: 0, hash: null, tree: new Uint8Array(), origin: null };

/** One record of a chain as it lies in the store. */
export interface Row {
  readonly sequence: number;
  readonly hash: string;
  /** The sealed capsule, exactly as it was written. */
  readonly data: string;
}

/** A record that is about to be stored. */
export interface NewRow extends Row {
  /** The hash of its leaf in the chain's tree. */
  readonly leaf: Uint8Array;
  /** What opens the commitments in it. */
  readonly openings?: readonly Opening[];
  /** For an intent: the process whose lease it stands under. */
  readonly opens?: string | undefined;
  /** For an outcome: the place of its intent, which must be open. */
  readonly closes?: number | undefined;
}

/** A full tile of the tree one level below, as one hash: at level 1 the root of 256 leaves. */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
  readonly hash: Uint8Array;
}

/** Records, and the tree as it is with them. */
export interface Addition {
  readonly rows: readonly NewRow[];
  readonly tree: Uint8Array;
  /** The tiles that these records fill. */
  readonly nodes: readonly TreeNode[];
  /** The chain's name for checkpoints from now on. */
  readonly origin: string;
}

/** A signed statement of how long a chain was and what its tree's root was then. */
export interface StoredCheckpoint {
  readonly origin: string;
  readonly size: number;
  /** The signed note, with the cosignatures that witnesses added. */
  readonly note: string;
}

/** What a statement takes and gives. Whole numbers stay below 2^53; longer ones are text. */
export type Value = string | number | null | Uint8Array;

/**
 * Checks the values of a statement. Databases cut text off at a NUL, or take none, and replace half of a character by the
 * same sign whichever it was: two names would become one. Throws `STORE_TEXT`.
 */
export function assertText(values: readonly Value[]): void {
  for (const value of values) {
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
      throw new NotWrittenError('STORE_TEXT', 'A text with a NUL or half of a character cannot be stored.');
  }
}

/** SQL that every database here understands, with `?` for each value. */
export interface Statements {
  /**
   * Whose rows these are. Every statement must ask for this tenant alone, by `coalesce(tenant, '') = ?`, which is how
   * the indexes begin.
   */
  readonly tenant: string | null;
  all<R extends object>(sql: string, ...values: readonly Value[]): Promise<R[]>;
  /** How many rows the statement changed. */
  run(sql: string, ...values: readonly Value[]): Promise<number>;
}

/** Statements that only read. */
export type Reading = Pick<Statements, 'tenant' | 'all'>;

/** Statements that become true together, or not at all. */
export interface Transaction extends Statements {
  /** Goes behind a `SELECT` of rows that nobody else may change before the transaction ends. */
  readonly forUpdate: '' | ' FOR UPDATE';
  /** As `Driver.time`: the time of this call, not of the beginning of the transaction. */
  time(): Promise<number>;
  /** Runs a part; if it throws, what it changed is undone, and the transaction can go on without it. */
  attempt(part: () => Promise<void>): Promise<void>;
}

/**
 * What becomes true together with a record, in the same transaction. It may throw a `BullaError` to refuse: then there
 * is neither the record nor anything of the effect. It may run more than once before it is committed, and never after.
 */
export type Effect = (transaction: Transaction) => Promise<void>;

/** What the indexer writes for one record. */
export interface IndexEntry {
  readonly sequence: number;
  readonly id: string;
  readonly hash: string;
  readonly type: string;
  readonly domain: string;
  readonly parentId: string | null;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly correlationId: string | null;
  readonly timestamp: string;
  readonly status: string;
  readonly summary: string;
  readonly tools: readonly string[];
  /** The commitments in it, by what they are of. */
  readonly commitments: readonly { readonly kind: string; readonly commitment: string }[];
}

/** What a query asks for; every part that is given must hold. */
export interface Query {
  readonly chain?: string;
  readonly id?: string;
  readonly hash?: string;
  /** The outcome of an intent, or what followed from a question. */
  readonly parentId?: string;
  readonly sequence?: number;
  readonly type?: string;
  readonly domain?: string;
  readonly agentId?: string;
  readonly sessionId?: string;
  readonly correlationId?: string;
  readonly status?: string;
  readonly tool?: string;
  /** RFC 3339; the record's own time is at or after `since` and before `until`. */
  readonly since?: string;
  readonly until?: string;
  /** Words that the summary has, all of them. */
  readonly text?: string;
  /** Newest first; at most 1,000. Default 100. */
  readonly limit?: number;
  readonly offset?: number;
}

/** A record that a query found. */
export interface Found extends Row {
  readonly chain: string;
}

/**
 * One database, opened for one tenant. It knows rows and heads, not capsules. Every method may throw a
 * `BullaError` with a `STORE_…` code.
 */
export interface Driver {
  /** What was read instead of the file that was named, where that could not be opened. */
  readonly copied?: string;
  /** The end of a chain; the empty one for a chain that does not exist. */
  tip(chain: string): Promise<Tip>;
  /**
   * Appends records if the head of the chain is still `expected`, and returns true when they are durable, with the
   * tree. Returns false, and changes nothing, when the head is another, or a record closes an intent that is not open.
   */
  append(chain: string, expected: Head, addition: Addition): Promise<boolean>;
  /**
   * The same under a lock on the chain, for when others append too: `make` gets the end that will not move, and the
   * transaction of the append. Throws `NotOpenError` where a record closes an intent that is not open.
   */
  appendLocked(
    chain: string,
    make: (tip: Tip, transaction: Transaction) => Promise<Addition | null>,
  ): Promise<void>;
  /** Hashes of the tree at a level of tiles, in order; at level 0 those of the leaves. Fewer where it ends. */
  hashes(chain: string, level: number, from: number, count: number): Promise<readonly Uint8Array[]>;
  /** Keeps a checkpoint; of two of the same origin and size the one with more signatures stays. */
  putCheckpoint(chain: string, checkpoint: StoredCheckpoint): Promise<void>;
  /** The checkpoints of a chain, the newest first. */
  checkpoints(chain: string, limit: number): Promise<readonly StoredCheckpoint[]>;
  /**
   * After a write that failed: the rows that are durable, as `read` gives them. They are read in a transaction that
   * writes and is committed as durably as an append, so that it fails where that would fail: rows that only a server
   * shows that is about to be replaced are not told of. What was under way before can no longer be written after it.
   */
  settle(chain: string, from: number, limit: number): Promise<readonly Row[]>;
  /** Up to `limit` rows from `from` on, in order. */
  read(chain: string, from: number, limit: number): Promise<readonly Row[]>;
  chains(): Promise<readonly { name: string; head: Head; indexed: number }[]>;
  /** Up to which place the search tables know the records of the chain. */
  indexed(chain: string): Promise<number>;
  /** Adds the entries of all records that there are from `from` up to the last of them; false when somebody was faster. */
  addToIndex(chain: string, from: number, entries: readonly IndexEntry[]): Promise<boolean>;
  /** Empties the search tables, so that they are filled again. */
  dropIndex(): Promise<void>;
  find(query: Query): Promise<readonly Found[]>;
  /** Statements that only read, each by itself; they see what was committed. */
  readonly reading: Reading;
  /** Unix time in milliseconds by the database's own clock, which is the same for every process that uses it. */
  time(): Promise<number>;
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Runs a `DELETE`, and overwrites what it deletes where the database leaves that to us. */
  erase(sql: string, ...values: readonly Value[]): Promise<number>;
  close(): Promise<void>;
}
