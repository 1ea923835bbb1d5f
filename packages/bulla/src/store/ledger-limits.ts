import { limitExceeded, type Reservation } from '@bulla/core/envelope';
import type { Statements, Transaction } from './driver.ts';

// What is taken up of limits: for each limit a sum for each stretch of time. Sums are digits of any length, which no
// database adds up alike, so they are added here, under a lock on the limit. Sums of times long ago stay: a clock that
// is set back must find them.

/** A part of a limit that an execution holds. */
export type Holding = Pick<Reservation, 'key' | 'bucket' | 'amount'>;

const FIND = "SELECT spending_key FROM spending WHERE coalesce(tenant, '') = ? AND limit_id = ?";
const SUMS = 'SELECT bucket, amount FROM spent WHERE spending_key = ? AND bucket >= ?';
const SUM = 'SELECT bucket, amount FROM spent WHERE spending_key = ? AND bucket = ?';
const SET = `INSERT INTO spent (spending_key, bucket, amount) VALUES (?, ?, ?)
  ON CONFLICT (spending_key, bucket) DO UPDATE SET amount = excluded.amount`;

interface Sum {
  readonly bucket: number;
  readonly amount: string;
}

/** Limits whose sums nobody else changes before the transaction ends, by their keys. */
export type Locked = ReadonlyMap<string, number>;

/** Locks limits. It may have to wait for others, so what depends on the time comes afterwards. */
export async function lockAll(
  transaction: Transaction,
  limits: readonly Pick<Reservation, 'key'>[],
): Promise<Locked> {
  const locked = new Map<string, number>();
  for (const { key } of inOrder(limits)) locked.set(key, await lock(transaction, key));
  return locked;
}

/** Takes all of the reservations, of locked limits. Throws `EE_CONSTRAINT_VIOLATION` when a limit has less left. */
export async function takeAll(
  transaction: Transaction,
  locked: Locked,
  reservations: readonly Reservation[],
): Promise<void> {
  for (const reservation of inOrder(reservations)) {
    const { key, bucket, from, amount, ceiling } = reservation;
    const spendingKey = locked.get(key)!;
    const sums = await transaction.all<Sum>(SUMS, spendingKey, from);
    const used = total(sums);
    if (used + amount > ceiling) throw limitExceeded(reservation, used);
    const own = total(sums.filter((sum) => sum.bucket === bucket));
    await transaction.run(SET, spendingKey, bucket, `${own + amount}`);
  }
}

/** Gives back what an execution held that surely did not happen. */
export async function giveBack(transaction: Transaction, holdings: readonly Holding[]): Promise<void> {
  for (const { key, bucket, amount } of inOrder(holdings)) {
    const spendingKey = await lock(transaction, key);
    const own = total(await transaction.all<Sum>(SUM, spendingKey, bucket));
    await transaction.run(SET, spendingKey, bucket, `${own - amount}`);
  }
}

/** Always in the same order, so that two transactions do not wait for each other. */
function inOrder<H extends Pick<Holding, 'key'>>(holdings: readonly H[]): H[] {
  return holdings.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** What is used of a limit in the buckets from `from` on. */
export async function used(
  { tenant, all }: Pick<Statements, 'tenant' | 'all'>,
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

/** The key of the limit's row, which nobody else can lock before the transaction ends. */
async function lock({ tenant, all, run, forUpdate }: Transaction, key: string): Promise<number> {
  const find = () => all<{ spending_key: number }>(FIND + forUpdate, tenant ?? '', key);
  let [row] = await find();
  if (row === undefined) {
    await run('INSERT INTO spending (tenant, limit_id) VALUES (?, ?) ON CONFLICT DO NOTHING', tenant, key);
    [row] = await find();
  }
  return row!.spending_key;
}

function total(rows: readonly Pick<Sum, 'amount'>[]): bigint {
  return rows.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}
