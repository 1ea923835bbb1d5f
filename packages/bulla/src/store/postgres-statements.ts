import { BullaError } from '@bulla/core/error';
import type pg from 'pg';
import type { Tip, Transaction, Value } from './driver.ts';
import { EMPTY } from './driver.ts';

export function storeError(error: unknown): unknown {
  if (error instanceof BullaError) return error;
  const code = (error as { code?: string }).code ?? '';
  if (code === '53100')
    return new BullaError('STORE_FULL', 'The disk of the server is full; nothing was written.', {
      cause: error,
    });
  if (code === '25006')
    return new BullaError('STORE_READ_ONLY', 'The store cannot be written.', { cause: error });
  if (/^(08|57P|28|3D|E[A-Z])/.test(code) || /^Connection terminated/.test((error as Error).message)) {
    return new BullaError(
      'STORE_UNREADABLE',
      `The server does not answer (${code || (error as Error).message}).`,
      { cause: error },
    );
  }
  return new BullaError('STORE_FAILED', `The store failed (${code}: ${(error as Error).message}).`, {
    cause: error,
  });
}

export async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {
      broken = true;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Serialization failures and deadlocks, which engines that are compatible with PostgreSQL report more often. */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes((error as { code?: string }).code ?? '');
}

export async function guarded<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || attempt === 20) throw storeError(error);
      await new Promise((resolve) => setTimeout(resolve, 5 * attempt * Math.random()));
    }
  }
}

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

export function bound(value: Value): string | number | null | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

/** The statements of a transaction that is open on a connection. */
export function openTransaction(client: pg.PoolClient, tenant: string | null): Transaction {
  return {
    tenant,
    forUpdate: ' FOR UPDATE',
    all: async <R extends object>(sql: string, ...values: readonly Value[]) =>
      (await client.query(positional(sql), values.map(bound))).rows as R[],
    run: async (sql, ...values) => (await client.query(positional(sql), values.map(bound))).rowCount ?? 0,
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
export type Ask = <R extends object>(text: string, values: unknown[]) => Promise<R[]>;

/** The tenant, as the indexes begin; it is always the first value. */
export const OURS = "coalesce(tenant, '') = coalesce($1, '')";

export const TIP = 'SELECT chain_key, length, head_hash, tree, origin FROM chain';

export interface RawTip {
  chain_key: number;
  length: number;
  head_hash: string | null;
  tree: Uint8Array | null;
  origin: string | null;
}

export function tipOf(row: RawTip | undefined): Tip {
  if (row === undefined || row.length === 0) return EMPTY;
  return { length: row.length, hash: row.head_hash, tree: row.tree, origin: row.origin };
}
