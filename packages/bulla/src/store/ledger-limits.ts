import { limitExceeded, type Reservation } from '@bulla/core/envelope';
import type { Reading, Transaction } from './driver.ts';

// What is taken up of limits: for each limit a sum for each stretch of time. Sums are digits of any length, which no
// database adds up alike, so they are added here, under a lock on the limit. Sums of times long ago stay: a clock that
// is set back must find them. The statements for a limit that is new may wait for each other in a circle; the database
// ends that, and the transaction is tried again.

/** A part of a limit that an execution holds. */
export type Holding = Pick<Reservation, 'key' | 'bucket' | 'amount'>;

const SUM = 'SELECT spending_key, bucket, amount FROM spent WHERE spending_key = ? AND bucket = ?';

/** Of several limits in one statement: their rows, … */
const find = texts(
  (marks) => `SELECT limit_id, spending_key FROM spending WHERE coalesce(tenant, '') = ?
    AND limit_id IN (${marks.join(', ')}) ORDER BY limit_id`,
);
/** … their sums from a bucket on, … */
const sumsOf = texts(
  (marks) => `SELECT spending_key, bucket, amount FROM spent
    WHERE ${marks.map(() => '(spending_key = ? AND bucket >= ?)').join(' OR ')}`,
);
/** … and setting them. */
const set = texts(
  (
    marks,
  ) => `INSERT INTO spent (spending_key, bucket, amount) VALUES ${marks.map(() => '(?, ?, ?)').join(', ')}
    ON CONFLICT (spending_key, bucket) DO UPDATE SET amount = excluded.amount`,
);

/** Statements by the number of limits, each written once, so that a database prepares it once. */
function texts(write: (marks: readonly string[]) => string): (count: number) => string {
  const written = new Map<number, string>();
  return (count) => {
    let text = written.get(count);
    if (text === undefined) {
      text = write(new Array<string>(count).fill('?'));
      written.set(count, text);
    }
    return text;
  };
}

/** A policy may have thousands of limits; databases bound the values and the depth of one statement. */
const MAX_AT_ONCE = 100;

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += MAX_AT_ONCE) yield items.slice(at, at + MAX_AT_ONCE);
}

interface Sum {
  readonly spending_key: number;
  readonly bucket: number;
  readonly amount: string;
}

/** Limits whose sums nobody else changes before the transaction ends, by their keys. */
type Locked = ReadonlyMap<string, number>;

/** Locks limits. It may have to wait for others, so what depends on the time comes afterwards. */
export async function lockAll(
  transaction: Transaction,
  limits: readonly Pick<Reservation, 'key'>[],
): Promise<Locked> {
  const { tenant, all, run, forUpdate } = transaction;
  const keys = inOrder(limits).map(({ key }) => key);
  const lock = async () => {
    const found = new Map<string, number>();
    for (const some of chunks(keys)) {
      const text = find(some.length) + forUpdate;
      const rows = await all<{ limit_id: string; spending_key: number }>(text, tenant ?? '', ...some);
      for (const { limit_id, spending_key } of rows) found.set(limit_id, spending_key);
    }
    return found;
  };
  const locked = await lock();
  if (locked.size === keys.length) return locked;
  for (const key of keys) {
    if (!locked.has(key))
      await run('INSERT INTO spending (tenant, limit_id) VALUES (?, ?) ON CONFLICT DO NOTHING', tenant, key);
  }
  return lock();
}

/** Takes all of the reservations, of locked limits. Throws `EE_CONSTRAINT_VIOLATION` when a limit has less left. */
export async function takeAll(
  transaction: Transaction,
  locked: Locked,
  reservations: readonly Reservation[],
): Promise<void> {
  for (const some of chunks(inOrder(reservations))) {
    const keys = some.flatMap(({ key, from }) => [locked.get(key)!, from]);
    const sums = await transaction.all<Sum>(sumsOf(some.length), ...keys);
    const values = some.flatMap((reservation) => {
      const { key, bucket, amount, ceiling } = reservation;
      const spendingKey = locked.get(key)!;
      const ours = sums.filter((sum) => sum.spending_key === spendingKey);
      const used = total(ours);
      if (used + amount > ceiling) throw limitExceeded(reservation, used);
      const own = total(ours.filter((sum) => sum.bucket === bucket));
      return [spendingKey, bucket, `${own + amount}`];
    });
    await transaction.run(set(some.length), ...values);
  }
}

/** Gives back what an execution held that surely did not happen. */
export async function giveBack(transaction: Transaction, holdings: readonly Holding[]): Promise<void> {
  const locked = await lockAll(transaction, holdings);
  for (const { key, bucket, amount } of holdings) {
    const spendingKey = locked.get(key)!;
    const own = total(await transaction.all<Sum>(SUM, spendingKey, bucket));
    await transaction.run(set(1), spendingKey, bucket, `${own - amount}`);
  }
}

/** Always in the same order, so that two transactions do not wait for each other. */
function inOrder<H extends Pick<Holding, 'key'>>(holdings: readonly H[]): H[] {
  return holdings.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** What is used of a limit in the buckets from `from` on. */
export async function used(
  { tenant, all }: Reading,
  { key, from }: Pick<Reservation, 'key' | 'from'>,
): Promise<bigint> {
  const rows = await all<Pick<Sum, 'amount'>>(
    `SELECT spent.amount FROM spent JOIN spending ON spending.spending_key = spent.spending_key
     WHERE coalesce(spending.tenant, '') = ? AND spending.limit_id = ? AND spent.bucket >= ?`,
    tenant ?? '',
    key,
    from,
  );
  return total(rows);
}

function total(rows: readonly Pick<Sum, 'amount'>[]): bigint {
  return rows.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}
