/** Where a chain ends. */
export interface Head {
  /** How many records the chain has; the next one gets this number. */
  readonly length: number;
  /** The hash of the last record; null before the first. */
  readonly hash: string | null;
}

/** Where a chain ends, with all that is needed to go on. */
export interface Tip extends Head {
  /** The frontier of the chain's tree; null for a chain that was written before there were trees. */
  readonly tree: Uint8Array | null;
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
  /** What becomes true together with the record, in the same transaction. */
  readonly effect?: Effect;
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
  /** The chain's name for checkpoints, kept from the first record on. */
  readonly origin: string;
}

/** The tree of records that were stored before there were trees. */
export interface Planting {
  readonly leaves: readonly Uint8Array[];
  readonly tree: Uint8Array;
  readonly nodes: readonly TreeNode[];
  readonly origin: string;
}

/** A signed statement of how long a chain was and what its tree's root was then. */
export interface StoredCheckpoint {
  readonly origin: string;
  readonly size: number;
  /** The signed note, with the cosignatures that witnesses added. */
  readonly note: string;
}

export type Effect = KillEffect | OriginEffect;

/** The chain goes on under another name for checkpoints, because it does not continue the old one's. */
export interface OriginEffect {
  readonly origin: string;
}

/** A kill switch that stands from now on, or one that is lifted; a null agent means all of them. */
export interface KillEffect {
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
  /** The end of a chain; the empty one for a chain that does not exist. */
  tip(chain: string): Promise<Tip>;
  /**
   * Appends records if the head of the chain is still `expected`, and returns true when they are durable, with the
   * tree. Returns false, and changes nothing, when the head is another.
   */
  append(chain: string, expected: Head, addition: Addition): Promise<boolean>;
  /** The same under a lock on the chain, for when others append too: `make` gets the end that will not move. */
  appendLocked(chain: string, make: (tip: Tip) => Promise<Addition | null>): Promise<void>;
  /** Gives a chain of `length` records that has no tree its tree; changes nothing if it has one, or has grown. */
  plant(chain: string, length: number, planting: Planting): Promise<void>;
  /** Hashes of the tree at a level of tiles, in order; at level 0 those of the leaves. Fewer where it ends. */
  hashes(chain: string, level: number, from: number, count: number): Promise<readonly Uint8Array[]>;
  /** Keeps a checkpoint; of two of the same origin and size the one with more signatures stays. */
  putCheckpoint(chain: string, checkpoint: StoredCheckpoint): Promise<void>;
  /** The checkpoints of a chain, the newest first. */
  checkpoints(chain: string, limit: number): Promise<readonly StoredCheckpoint[]>;
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
