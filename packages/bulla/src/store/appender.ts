import {
  type Capsule,
  type HashedCapsule,
  hashCapsule,
  type SealedCapsule,
  type SealedText,
} from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { leafHash, sealedLeaf } from '@bulla/core/log';
import type { Addition, Driver, Effect, Head, NewRow, Row, Tip, Transaction } from './driver.ts';
import { NotOpenError, NotWrittenError } from './driver.ts';
import { assertOpen } from './leases.ts';
import type { Opening } from './openings.ts';
import { grow } from './tree.ts';

/** A capsule that waits for its place in a chain. */
export interface Draft {
  /** The content once its place is known; the first record also says the origin. */
  at(head: Head, origin: string): Capsule;
  /** What opens the commitments in it. */
  readonly openings?: readonly Opening[];
  /** What becomes true together with it. */
  readonly effect?: Effect | undefined;
  /** Refuse content that another implementation would hash differently. */
  readonly strictInterop?: boolean | undefined;
  /** The name under which the chain goes on from this record. */
  readonly origin?: string;
  /** See `NewRow`. */
  readonly opens?: string | undefined;
  readonly closes?: number | undefined;
  /** It may wait for a commit of others, for 20 ms at most. */
  readonly lazy?: boolean | undefined;
}

/** Signs what was hashed, with the key that was active when the batch began. */
export type SignHashed = (hashed: HashedCapsule) => Promise<SealedText>;

interface Pending {
  readonly draft: Draft;
  resolve(sealed: SealedCapsule): void;
  reject(error: unknown): void;
}

type Admitted = Tip & { readonly origin: string };

interface Written {
  readonly pending: Pending;
  readonly sealed: SealedCapsule;
  readonly row: NewRow;
}

interface Committed {
  readonly written: readonly Written[];
  readonly addition: Addition;
  /** The end that they were appended to. */
  readonly before: Tip;
}

/** What an appender needs of the store. */
export interface AppenderContext {
  beginSigning(): Promise<SignHashed>;
  /**
   * Asked before the first commit of this process, and whenever the chain has become shorter: whether the chain may
   * go on from here, and under which origin (`claimed` for a new one). Gives the end of the chain with its tree and its origin.
   */
  admit(tip: Tip, locked: boolean, claimed?: string): Promise<Admitted>;
  /** Told of every commit: where the chain ends now, and where it ended before. */
  committed(tip: Tip, before: Tip): void;
}

/** Limit on the records of one transaction, which limits how long the store is locked. */
const BATCH = 256;

/** How long a lazy record waits for others to share their commit. */
const LAZY_MS = 20;

/**
 * Appends to one chain. Callers that come while a commit is under way share the next one: many records, one
 * transaction, one wait for the disk. A caller is answered when its record is durable, and never before.
 */
export class Appender {
  readonly #driver: Driver;
  readonly #chain: string;
  readonly #context: AppenderContext;
  #queue: Pending[] = [];
  #running: Promise<void> | undefined;
  /** Whether something in the queue may wait no longer. */
  #isDue = false;
  #lazy: NodeJS.Timeout | undefined;
  /** The end after our last commit; others may have moved it, which the store finds out. */
  #tip: Admitted | undefined;
  /** So long the chain has been; undefined before it was looked at. */
  #seen: number | undefined;
  /** The origin of a chain that was looked at before its first record. */
  #origin: string | undefined;

  constructor(driver: Driver, chain: string, context: AppenderContext) {
    this.#driver = driver;
    this.#chain = chain;
    this.#context = context;
  }

  append(draft: Draft): Promise<SealedCapsule> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ draft, resolve, reject });
      if (draft.lazy) this.#lazy ??= setTimeout(() => this.#start(), LAZY_MS);
      else this.#start();
    });
  }

  /** Resolves when nothing waits any more; what is lazy waits no longer. */
  async idle(): Promise<void> {
    if (this.#queue.length > 0) this.#start();
    await this.#running;
  }

  #start(): void {
    this.#isDue = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Whoever appends in the same turn of the event loop belongs to the first batch already.
    await turn();
    while (this.#isDue) {
      const batch = this.#queue.splice(0, BATCH);
      this.#isDue = this.#queue.length > 0;
      clearTimeout(this.#lazy);
      this.#lazy = undefined;
      try {
        await this.#commit(batch);
      } catch (error) {
        this.#tip = undefined;
        for (const pending of batch) pending.reject(error);
      }
      await turn();
    }
    this.#running = undefined;
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    const tip = this.#tip ?? (await this.#admitted(await this.#driver.tip(this.#chain), false));
    const committed = batch.some(({ draft }) => draft.effect !== undefined)
      ? await this.#commitLocked(batch)
      : await this.#commitAt(batch, tip);
    if (committed === null) return;
    const { written, addition, before } = committed;
    const last = written.at(-1)!.row;
    this.#tip = { length: last.sequence + 1, hash: last.hash, tree: addition.tree, origin: addition.origin };
    this.#seen = this.#tip.length;
    this.#context.committed(this.#tip, before);
    for (const { pending, sealed } of written) pending.resolve(sealed);
  }

  /** Appends behind an end that is believed to be the chain's. */
  async #commitAt(batch: readonly Pending[], tip: Admitted): Promise<Committed | null> {
    const written = await this.#write(batch, tip, (pending, error) => pending.reject(error));
    const addition = additionOf(written, tip);
    if (addition === null) return null;
    const appended = await this.#certain(
      () => this.#driver.append(this.#chain, tip, addition),
      () => written,
    );
    if (appended) return { written, addition, before: tip };
    // Another process was faster. Under the lock nobody can be.
    return this.#commitLocked(written.map(({ pending }) => pending));
  }

  async #commitLocked(batch: readonly Pending[]): Promise<Committed | null> {
    try {
      return await this.#commitUnderLock(batch, false);
    } catch (error) {
      if (!(error instanceof NotOpenError)) throw error;
      // Hardly ever is an intent not open any more, so each is looked up only then.
      return this.#commitUnderLock(batch, true);
    }
  }

  async #commitUnderLock(batch: readonly Pending[], lookUp: boolean): Promise<Committed | null> {
    let refused: { pending: Pending; error: unknown }[] = [];
    let written: Written[] = [];
    let addition: Addition | null = null;
    let before: Tip | undefined;
    await this.#certain(
      () =>
        this.#driver.appendLocked(this.#chain, async (locked, transaction) => {
          const tip = await this.#admitted(locked, true);
          before = tip;
          refused = [];
          const refuse = (pending: Pending, error: unknown) => refused.push({ pending, error });
          const open = lookUp ? await this.#stillOpen(batch, transaction, refuse) : batch;
          written = await this.#write(open, tip, refuse, transaction);
          addition = additionOf(written, tip);
          return addition;
        }),
      () => written,
    );
    for (const { pending, error } of refused) pending.reject(error);
    return addition === null ? null : { written, addition, before: before! };
  }

  /** Those that close no intent, or one that is open; the others are refused. */
  async #stillOpen(
    batch: readonly Pending[],
    transaction: Transaction,
    refuse: (pending: Pending, error: unknown) => void,
  ): Promise<Pending[]> {
    const open: Pending[] = [];
    for (const pending of batch) {
      const { closes } = pending.draft;
      try {
        if (closes !== undefined) await assertOpen(transaction, this.#chain, closes);
        open.push(pending);
      } catch (error) {
        if (!(error instanceof BullaError) || error instanceof NotWrittenError) throw error;
        refuse(pending, error);
      }
    }
    return open;
  }

  /** The end to append to; looked at closely the first time, and when it is not where it was before. */
  async #admitted(tip: Tip, underLock: boolean): Promise<Admitted> {
    const { length, hash, tree } = tip;
    const origin = tip.origin ?? (length === 0 ? this.#origin : null);
    // What was looked at is not looked at again under the lock: with every connection waiting under one, none would be
    // left to look with.
    if (this.#seen !== undefined && length >= this.#seen && origin != null)
      return { length, hash, tree, origin };
    const admitted = await this.#context.admit(tip, underLock);
    this.#seen = admitted.length;
    this.#origin = admitted.origin;
    return admitted;
  }

  /**
   * Gives each draft its place and seals it. The links need the hashes alone, so all are hashed in order and then
   * signed together. A draft that cannot be sealed, or whose effect refuses, is refused alone and takes no place.
   */
  async #write(
    batch: readonly Pending[],
    { length, hash, origin }: Admitted,
    refuse: (pending: Pending, error: unknown) => void,
    transaction?: Transaction,
  ): Promise<Written[]> {
    const sign = await this.#context.beginSigning();
    let hashed: { pending: Pending; content: HashedCapsule; sequence: number }[] = [];
    let head: Head = { length, hash };
    const place = (pending: Pending) => {
      const { draft } = pending;
      const content = hashCapsule(draft.at(head, origin), { strictInterop: draft.strictInterop });
      hashed.push({ pending, content, sequence: head.length });
      head = { length: head.length + 1, hash: content.hash };
    };
    const all = async (open: Transaction) => {
      for (const pending of batch) {
        await pending.draft.effect?.(open);
        place(pending);
      }
    };
    const oneByOne = async () => {
      for (const pending of batch) {
        const { effect } = pending.draft;
        try {
          if (effect === undefined || transaction === undefined) place(pending);
          else
            await transaction.attempt(async () => {
              await effect(transaction);
              // Within the same part: what cannot be sealed must leave no effect.
              place(pending);
            });
        } catch (error) {
          if (!(error instanceof BullaError)) throw error;
          refuse(pending, error);
        }
      }
    };
    // Hardly ever is one refused, so all of them share one savepoint first. A single one has its own anyway.
    if (transaction === undefined || batch.length === 1 || !(await together(transaction, all))) {
      hashed = [];
      head = { length, hash };
      await oneByOne();
    }
    const signed = await Promise.all(hashed.map(({ content }) => sign(content)));
    return hashed.map(({ pending, sequence }, i) => {
      const { sealed, text } = signed[i]!;
      const leaf = leafHash(sealedLeaf(sealed));
      const { openings = [], opens, closes } = pending.draft;
      const row = { sequence, hash: sealed.hash, data: text, leaf, openings, opens, closes };
      return { pending, sealed, row };
    });
  }

  /**
   * Runs a write. Most errors do not say whether the rows were stored: a commit can fail after it reached the disk.
   * So the store is asked for what is durable, and what is there counts as written. Throws `STORE_UNCERTAIN` when it
   * cannot be asked.
   */
  async #certain<T>(work: () => Promise<T>, rows: () => readonly Written[]): Promise<T | true> {
    try {
      return await work();
    } catch (error) {
      const expected = rowsOf(rows());
      if (expected.length === 0 || error instanceof NotWrittenError) throw error;
      let stored: readonly Row[];
      try {
        stored = await this.#driver.settle(this.#chain, expected[0]!.sequence, expected.length);
      } catch {
        throw uncertain(error);
      }
      if (expected.every((row, i) => stored[i]?.hash === row.hash)) return true;
      throw isUncertain(error) ? notStored(error) : error;
    }
  }
}

/** A part of a batch was refused, so that each needs a savepoint of its own. */
class Refused extends Error {}

/** Runs work under one savepoint. False when a part of it was refused: then nothing of it has happened. */
async function together(
  transaction: Transaction,
  work: (open: Transaction) => Promise<void>,
): Promise<boolean> {
  let isRefused = false;
  const attempt = async (part: () => Promise<void>) => {
    try {
      await part();
    } catch (error) {
      isRefused = true;
      throw error instanceof BullaError ? new Refused('', { cause: error }) : error;
    }
  };
  try {
    await transaction.attempt(async () => {
      await work({ ...transaction, attempt });
      // Also where whoever made the attempt went on without it: what it changed is still there.
      if (isRefused) throw new Refused();
    });
    return true;
  } catch (error) {
    if (error instanceof Refused || error instanceof BullaError) return false;
    throw error;
  }
}

function uncertain(cause: unknown): BullaError {
  const sentence = 'The store failed, and cannot be asked whether it wrote the records.';
  return new BullaError('STORE_UNCERTAIN', sentence, { cause });
}

function isUncertain(error: unknown): error is BullaError {
  return error instanceof BullaError && error.code === 'STORE_UNCERTAIN';
}

/** The store was asked, so that nothing is uncertain any more. */
function notStored(cause: BullaError): BullaError {
  return new NotWrittenError('STORE_UNAVAILABLE', 'The store failed; nothing was written.', { cause });
}

function additionOf(written: readonly Written[], tip: Admitted): Addition | null {
  if (written.length === 0) return null;
  const rows = rowsOf(written);
  const renamed = written.findLast(({ pending }) => pending.draft.origin !== undefined);
  return {
    rows,
    origin: renamed?.pending.draft.origin ?? tip.origin,
    ...grow(
      tip,
      rows.map(({ leaf }) => leaf),
    ),
  };
}

function rowsOf(written: readonly Written[]): NewRow[] {
  return written.map(({ row }) => row);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
