import type pg from 'pg';
import type { Transaction, Value } from './driver.ts';
import { assertText } from './driver.ts';
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

/** The statements of a transaction that is open on a connection; `more` are options of each. */
export function openTransaction(
  client: pg.PoolClient,
  tenant: string | null,
  more: object = {},
): Transaction {
  const query = (sql: string, values: readonly Value[]) =>
    client.query({ text: positional(sql), values: bound(values), ...more });
  return {
    tenant,
    forUpdate: ' FOR UPDATE',
    time: async () => (await client.query<{ now: number }>(TIME)).rows[0]!.now,
    all: async <R extends object>(sql: string, ...values: readonly Value[]) =>
      (await query(sql, values)).rows as R[],
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
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
