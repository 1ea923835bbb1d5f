/** Where a chain ends. */
export interface Head {
  /** How many records the chain has; the next one gets this number. */
  readonly length: number;
  /** The hash of the last record; null before the first. */
  readonly hash: string | null;
}

export const EMPTY: Head = { length: 0, hash: null };

/** One record of a chain as it lies in the store. */
export interface Row {
  readonly sequence: number;
  readonly hash: string;
  /** The sealed capsule, exactly as it was written. */
  readonly data: string;
  /** What becomes true for the whole store together with the record, in the same transaction. */
  readonly effect?: Effect;
}

/** A kill switch that stands from now on, or one that is lifted; a null agent means all of them. */
export interface Effect {
  readonly kill: 'set' | 'lift';
  readonly agentId: string | null;
  readonly reason: string;
  readonly capsuleId: string;
}

/** A kill switch that stands. */
export interface StandingKill {
  readonly agentId: string | null;
  readonly reason: string;
  readonly capsuleId: string;
}

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
}

/** What a query asks for; every part that is given must hold. */
export interface Query {
  readonly chain?: string;
  readonly id?: string;
  readonly hash?: string;
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
export interface Found {
  readonly chain: string;
  readonly sequence: number;
  readonly hash: string;
  readonly data: string;
}

/** The salt, and where it is recorded the payload, that opens a commitment. */
export interface Opening {
  readonly commitment: string;
  readonly capsuleId: string;
  readonly kind: string;
  readonly salt: Uint8Array;
  readonly payload: string | null;
}

/**
 * One database, opened for one tenant. It knows rows and heads, not capsules. Every method may throw a
 * `BullaError` with a `STORE_…` code.
 */
export interface Driver {
  /** The head of a chain; the empty one for a chain that does not exist. */
  head(chain: string): Promise<Head>;
  /**
   * Appends rows if the head of the chain is still `expected`, and returns true when they are durable. Returns
   * false, and changes nothing, when the head is another.
   */
  append(chain: string, expected: Head, rows: readonly Row[]): Promise<boolean>;
  /** The same under a lock on the chain, for when others append too: `make` gets the head that will not move. */
  appendLocked(chain: string, make: (head: Head) => Promise<readonly Row[]>): Promise<readonly Row[]>;
  /** Up to `limit` rows from `from` on, in order. */
  read(chain: string, from: number, limit: number): Promise<readonly Row[]>;
  chains(): Promise<readonly { name: string; head: Head; indexed: number }[]>;
  /** How many records of the chain the search tables know. */
  indexed(chain: string): Promise<number>;
  /** Adds entries from `from` on; false when somebody else has been faster. */
  addToIndex(chain: string, from: number, entries: readonly IndexEntry[]): Promise<boolean>;
  /** Empties the search tables, so that they are filled again. */
  dropIndex(): Promise<void>;
  find(query: Query): Promise<readonly Found[]>;
  kills(): Promise<readonly StandingKill[]>;
  addOpenings(openings: readonly Opening[]): Promise<void>;
  opening(commitment: string): Promise<Opening | null>;
  /** Erases what opens the commitments of a capsule; how many there were. */
  eraseOpenings(capsuleId: string): Promise<number>;
  close(): Promise<void>;
}
