import { randomUUID } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import type { Driver, Effect, Reading, Transaction } from './driver.ts';

// A process that records calls holds a lease while an intent of it is open. Intents whose lease has ended are orphans:
// whoever finds them marks them.

/** How long a lease lasts. */
export const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** An intent that comes this close to the end renews the lease itself: its commit takes a while. */
const MARGIN_MS = 5_000;

/** The outcome of an intent that somebody marked meanwhile as one without. */
export class MarkedError extends BullaError {
  /** The id of the capsule that marks it. */
  readonly mark: string;

  constructor(mark: string) {
    super('RECORD_ORPHANED', 'The intent was marked meanwhile as one whose process ended.');
    this.mark = mark;
  }
}

/** The outcome of an intent that has one already. */
export function endedError(): BullaError {
  return new BullaError('RECORD_ENDED', 'The intent has an outcome already.');
}

/** An intent without an outcome. */
export interface OpenIntent {
  readonly sequence: number;
  /** The process that recorded it. */
  readonly instance: string;
}

const TAKE = `INSERT INTO lease (tenant, instance, expires_at) VALUES (?, ?, ?)
  ON CONFLICT (coalesce(tenant, ''), instance) DO UPDATE SET expires_at = excluded.expires_at`;
const DROP_ENDED = "DELETE FROM lease WHERE coalesce(tenant, '') = ? AND expires_at <= ?";
const RELEASE = "DELETE FROM lease WHERE coalesce(tenant, '') = ? AND instance = ?";

const CHAIN_KEY = "(SELECT chain_key FROM chain WHERE coalesce(tenant, '') = ? AND name = ?)";
const IS_ENDED = `NOT EXISTS (SELECT 1 FROM lease WHERE coalesce(lease.tenant, '') = ?
  AND lease.instance = open_intent.instance AND lease.expires_at > ?)`;
const ORPHANS = `SELECT sequence, instance FROM open_intent WHERE chain_key = ${CHAIN_KEY} AND ${IS_ENDED}
  AND instance <> ? ORDER BY sequence LIMIT ?`;
const CLOSE_ORPHAN = `DELETE FROM open_intent WHERE chain_key = ${CHAIN_KEY} AND sequence = ? AND ${IS_ENDED}`;
const MARK = `INSERT INTO orphan (chain_key, sequence, capsule_id) VALUES (${CHAIN_KEY}, ?, ?)`;
const IS_OPEN = `SELECT sequence FROM open_intent WHERE chain_key = ${CHAIN_KEY} AND sequence = ?`;
const MARK_OF = `SELECT capsule_id AS "mark" FROM orphan WHERE chain_key = ${CHAIN_KEY} AND sequence = ?`;
const COUNT_OPEN = `SELECT CAST(count(*) AS BIGINT) AS n FROM open_intent WHERE chain_key = ${CHAIN_KEY}`;

/** The end of a lease, by two clocks of this process: one stands still while the machine sleeps, one can be set. */
interface Deadline {
  readonly monotonic: number;
  readonly wall: number;
}

interface LeaseOptions {
  /** Called when it cannot be renewed. */
  onError(error: unknown): void;
}

/**
 * The lease of one process on one store. The first intent takes it in its own transaction. It is renewed in the
 * background while an intent is open; else it may end, and the next intent takes it again. So no intent is durable
 * without a lease, and a process that does nothing writes nothing.
 */
export class Lease {
  readonly instance: string = randomUUID();
  readonly #driver: Driver;
  readonly #options: LeaseOptions;
  #held: Deadline = { monotonic: Number.NEGATIVE_INFINITY, wall: 0 };
  #open = 0;
  #isTaken = false;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;

  constructor(driver: Driver, options: LeaseOptions) {
    this.#driver = driver;
    this.#options = options;
  }

  /** What an intent must do in its transaction; null while the lease certainly holds. Call `opened` when it is durable. */
  taking(): { readonly effect: Effect; taken(): void } | null {
    const { monotonic, wall } = this.#held;
    if (performance.now() < monotonic - MARGIN_MS && Date.now() < wall - MARGIN_MS) return null;
    let next: Deadline | undefined;
    return {
      effect: async (transaction) => {
        next = await this.#take(transaction);
      },
      taken: () => this.#hold(next!),
    };
  }

  /** An intent of this process is durable. */
  opened(): void {
    this.#open++;
  }

  /** One of them has its outcome, or was marked. */
  closed(): void {
    this.#open--;
  }

  /** Gives it back, so that what is still open can be marked at once. If that fails it ends by itself. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    if (!this.#isTaken) return;
    const { tenant } = this.#driver.reading;
    await this.#driver
      .transaction(({ run }) => run(RELEASE, tenant ?? '', this.instance))
      .catch(() => undefined);
  }

  async #take(transaction: Transaction): Promise<Deadline> {
    const { tenant, run } = transaction;
    // Read before the database's clock: the deadline here is never later than the one there.
    const next = { monotonic: performance.now() + LEASE_MS, wall: Date.now() + LEASE_MS };
    const now = await transaction.time();
    await run(DROP_ENDED, tenant ?? '', now);
    await run(TAKE, tenant, this.instance, now + LEASE_MS);
    return next;
  }

  #hold(next: Deadline): void {
    this.#held = next;
    this.#isTaken = true;
    this.#timer ??= setInterval(() => {
      this.#renewing ??= this.#renew().finally(() => {
        this.#renewing = undefined;
      });
    }, RENEW_MS).unref();
  }

  async #renew(): Promise<void> {
    if (this.#open === 0) return;
    try {
      this.#hold(await this.#driver.transaction((transaction) => this.#take(transaction)));
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

/** The open intents of a chain whose process holds no lease, but for those of one process: it lives. */
export async function orphansOf(
  driver: Pick<Driver, 'reading' | 'time'>,
  chain: string,
  living: string,
  limit: number,
): Promise<OpenIntent[]> {
  const { tenant, all } = driver.reading;
  const ours = tenant ?? '';
  return all<OpenIntent>(ORPHANS, ours, chain, ours, await driver.time(), living, limit);
}

/** How many intents of a chain have neither an outcome nor a mark. */
export async function countOpen({ tenant, all }: Reading, chain: string): Promise<number> {
  return (await all<{ n: number }>(COUNT_OPEN, tenant ?? '', chain))[0]!.n;
}

/**
 * With the capsule that marks an orphan: the intent is open no longer. Each is marked once. Refuses with `RECORD_ENDED`
 * where it has an outcome or a mark by now, or its process holds a lease again.
 */
export function markOrphan(chain: string, sequence: number, capsuleId: string): Effect {
  return async (transaction) => {
    const { tenant, run } = transaction;
    const ours = tenant ?? '';
    const closed = await run(CLOSE_ORPHAN, ours, chain, sequence, ours, await transaction.time());
    if (closed === 0) throw endedError();
    await run(MARK, ours, chain, sequence, capsuleId);
  };
}

/** Throws a `MarkedError` for an intent that was marked, and `RECORD_ENDED` for one that is not open otherwise. */
export async function assertOpen(
  { tenant, all }: Transaction,
  chain: string,
  sequence: number,
): Promise<void> {
  const ours = tenant ?? '';
  if ((await all(IS_OPEN, ours, chain, sequence)).length > 0) return;
  const [marked] = await all<{ mark: string }>(MARK_OF, ours, chain, sequence);
  throw marked === undefined ? endedError() : new MarkedError(marked.mark);
}
