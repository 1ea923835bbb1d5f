import type pg from 'pg';
import type { Tip, Transaction, Value } from './driver.ts';
import { assertText, EMPTY } from './driver.ts';
import { isTransient } from './postgres-connections.ts';
import { storeError } from './postgres-errors.ts';

const positions = new Map<string, string>();

/** The same statement with `$1`, `$2`, … for each `?`; none of our statements has one in a string. */
export function positional(sql: string): string {
  let text = positions.get(sql);
  if (text === undefined) {
    let position = 0;
    text = sql.replace(/\?/g, () => `$${++position}`);
    positions.set(sql, text);
  }
  return text;
}

/** The values of such a statement. Throws `STORE_TEXT`. */
export function bound(values: readonly Value[]): (string | number | null | Buffer)[] {
  assertText(values);
  return values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
}

/** Unix time in milliseconds; `now()` would be the time at which the transaction began. */
export const TIME = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now';

/** The statements of a transaction that is open on a connection. */
export function openTransaction(client: pg.PoolClient, tenant: string | null): Transaction {
  return {
    tenant,
    forUpdate: ' FOR UPDATE',
    time: async () => (await client.query<{ now: number }>(TIME)).rows[0]!.now,
    all: async <R extends object>(sql: string, ...values: readonly Value[]) =>
      (await client.query(positional(sql), bound(values))).rows as R[],
    run: async (sql, ...values) => (await client.query(positional(sql), bound(values))).rowCount ?? 0,
    async attempt(part) {
      await client.query('SAVEPOINT part');
      try {
        await part();
      } catch (error) {
        // What must be tried again as a whole is left to whoever began the transaction.
        if (isTransient(error)) throw error;
        await client.query('ROLLBACK TO part');
        await client.query('RELEASE part');
        throw storeError(error);
      }
      await client.query('RELEASE part');
    },
  };
}

/** Asks for rows, again after a transient failure. */
export type Ask = <R extends object>(
  text: string,
  values: unknown[],
  more?: { readonly query_timeout: number },
) => Promise<R[]>;

/** The tenant, as the indexes begin; it is always the first value. */
export const OURS = "coalesce(tenant, '') = coalesce($1, '')";

export const TIP = 'SELECT chain_key, length, head_hash, tree, origin, fence FROM chain';

export interface RawTip {
  chain_key: number;
  length: number;
  head_hash: string | null;
  tree: Uint8Array | null;
  origin: string | null;
  fence: number;
}

export function tipOf(row: RawTip | undefined): Tip {
  if (row === undefined || row.length === 0) return EMPTY;
  return { length: row.length, hash: row.head_hash, tree: row.tree!, origin: row.origin };
}
