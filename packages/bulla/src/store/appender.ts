import {
  type Capsule,
  type HashedCapsule,
  hashCapsule,
  type SealedCapsule,
  type SealedText,
} from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import type { Driver, Effect, Head, Row } from './driver.ts';

/** A capsule that waits for its place in a chain. */
export interface Draft {
  /** The content once its place is known. */
  at(head: Head): Capsule;
  readonly effect?: Effect;
}

/** Signs what was hashed, with the key that was active when the batch began. */
export type SignHashed = (hashed: HashedCapsule) => Promise<SealedText>;

interface Pending {
  readonly draft: Draft;
  resolve(sealed: SealedCapsule): void;
  reject(error: unknown): void;
}

interface Written {
  readonly pending: Pending;
  readonly sealed: SealedCapsule;
  readonly row: Row;
}

/** So many records share one transaction at most; the lock on the store is not held for longer than that takes. */
const BATCH = 256;

/**
 * Appends to one chain. Callers that come while a commit is under way share the next one: many records, one
 * transaction, one wait for the disk. A caller is answered when its record is durable, and never before.
 */
export class Appender {
  readonly #driver: Driver;
  readonly #chain: string;
  readonly #beginSigning: () => Promise<SignHashed>;
  #queue: Pending[] = [];
  #running: Promise<void> | undefined;
  /** The head after our last commit; others may have moved it, which the store finds out. */
  #head: Head | undefined;

  constructor(driver: Driver, chain: string, beginSigning: () => Promise<SignHashed>) {
    this.#driver = driver;
    this.#chain = chain;
    this.#beginSigning = beginSigning;
  }

  append(draft: Draft): Promise<SealedCapsule> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ draft, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // Whoever appends in the same turn of the event loop belongs to the first batch already.
    await turn();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH);
      try {
        await this.#commit(batch);
      } catch (error) {
        this.#head = undefined;
        for (const pending of batch) pending.reject(error);
      }
      await turn();
    }
    this.#running = undefined;
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    const head = this.#head ?? (await this.#driver.head(this.#chain));
    let written = await this.#write(batch, head);
    if (written.length === 0) return;
    const appended = await this.#certain(
      () => this.#driver.append(this.#chain, head, rowsOf(written)),
      () => written,
    );
    if (appended === false) {
      // Another process was faster. Under the lock nobody can be.
      const remaining = written.map(({ pending }) => pending);
      written = [];
      await this.#certain(
        () =>
          this.#driver.appendLocked(this.#chain, async (locked) => {
            written = await this.#write(remaining, locked);
            return rowsOf(written);
          }),
        () => written,
      );
    }
    if (written.length === 0) return;
    const last = written.at(-1)!.row;
    this.#head = { length: last.sequence + 1, hash: last.hash };
    for (const { pending, sealed } of written) pending.resolve(sealed);
  }

  /**
   * Gives each draft its place and seals it. The links need the hashes alone, so all are hashed in order and then
   * signed together. A draft that cannot be sealed is refused alone and takes no place.
   */
  async #write(batch: readonly Pending[], from: Head): Promise<Written[]> {
    const sign = await this.#beginSigning();
    const hashed: { pending: Pending; content: HashedCapsule; sequence: number }[] = [];
    let head = from;
    for (const pending of batch) {
      try {
        const content = hashCapsule(pending.draft.at(head));
        hashed.push({ pending, content, sequence: head.length });
        head = { length: head.length + 1, hash: content.hash };
      } catch (error) {
        pending.reject(error);
      }
    }
    const signed = await Promise.all(hashed.map(({ content }) => sign(content)));
    return hashed.map(({ pending, sequence }, i) => {
      const { sealed, text } = signed[i]!;
      const { effect } = pending.draft;
      return { pending, sealed, row: { sequence, hash: sealed.hash, data: text, ...(effect && { effect }) } };
    });
  }

  /**
   * Runs a write. An error does not say whether the rows were stored: a commit can fail after it reached the disk.
   * So the store is asked, and what is there counts as written. Throws `STORE_UNCERTAIN` when it cannot be asked.
   */
  async #certain<T>(work: () => Promise<T>, rows: () => readonly Written[]): Promise<T | true> {
    try {
      return await work();
    } catch (error) {
      const expected = rowsOf(rows());
      if (expected.length === 0) throw error;
      let stored: readonly Row[];
      try {
        stored = await this.#driver.read(this.#chain, expected[0]!.sequence, expected.length);
      } catch {
        throw new BullaError(
          'STORE_UNCERTAIN',
          'The store failed, and cannot be asked whether it wrote the records.',
          {
            cause: error,
          },
        );
      }
      if (expected.every((row, i) => stored[i]?.hash === row.hash)) return true;
      throw error;
    }
  }
}

function rowsOf(written: readonly Written[]): Row[] {
  return written.map(({ row }) => row);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
