import { BullaError } from '@bulla/core/error';
import pg from 'pg';
import { NotWrittenError } from './driver.ts';
import { notWritten, sqlState, storeError, uncertain } from './postgres-errors.ts';

/** Limit on the time to connect, */
const CONNECT_MS = 10_000;
/** on that of a statement, after which the connection is given up: a server can freeze, or a network fall silent, */
const ANSWER_MS = 30_000;
/** and on that of a statement over a whole chain. */
export const LONG: { readonly query_timeout: number } = { query_timeout: 600_000 };

// 64-bit integers come as strings by default; sequences stay far below 2^53.
const types = {
  getTypeParser: (oid: number, format?: never) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)),
};

const MAX_CONNECTIONS = 16;

/** Not an option of the pool, which would also refuse callers that wait for their turn. */
class Impatient extends pg.Client {
  constructor(options?: pg.ClientConfig) {
    super({ ...options, connectionTimeoutMillis: CONNECT_MS });
  }
}

/** Connections to the server that is the primary now; one that is only read from may be a standby. */
export function createPool(url: string, readOnly: boolean): pg.Pool {
  const pool = new pg.Pool({
    connectionString: verifying(url),
    max: MAX_CONNECTIONS,
    types,
    Client: Impatient,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    onConnect: (client: pg.ClientBase) => assertUsable(client, readOnly),
  } as pg.PoolConfig);
  // A connection that breaks fails the statement that is under way on it. Without a listener the event of a connection
  // that is lent out, and has none under way, would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return pool;
}

/** The library takes these modes for `verify-full` and warns that a later one will not: they are what they are here. */
function verifying(url: string): string {
  if (/[?&]uselibpqcompat=/i.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/g, '$1verify-full');
}

/**
 * A standby shows the past: heads that are behind, kill switches that do not stand yet. A server keeps its sessions when
 * it is promoted, so a connection that began while it was in recovery is never used.
 */
async function assertUsable(client: pg.ClientBase, readOnly: boolean): Promise<void> {
  client.on('error', () => undefined);
  if (readOnly) return;
  const { rows } = await client.query(
    `SELECT pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS commit`,
  );
  if (rows[0].standby)
    throw new NotWrittenError('STORE_UNAVAILABLE', 'The server is a standby, or is recovering.');
  if (rows[0].fsync !== 'on' || rows[0].commit === 'off') {
    throw new NotWrittenError(
      'STORE_NOT_DURABLE',
      'The server does not wait for its disk (fsync or synchronous_commit).',
    );
  }
}

/** Lends a connection; whether it is still good afterwards is what `work` says. */
async function lend<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient, broken: () => void) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    // Nothing was sent.
    throw notWritten(error);
  });
  let broken = false;
  try {
    return await work(client, () => {
      broken = true;
    });
  } finally {
    client.release(broken);
  }
}

/** Runs a statement that only reads. */
export function ask(pool: pg.Pool, statement: pg.QueryConfig): Promise<pg.QueryResult> {
  return lend(pool, async (client, broken) => {
    try {
      return await client.query(statement);
    } catch (error) {
      if (!(await answers(client, error))) broken();
      throw storeError(error);
    }
  });
}

/**
 * Runs one statement that writes, as a transaction of its own. Throws `STORE_UNCERTAIN` when it may have been
 * committed, and a `NotWrittenError` when it was not.
 */
export function write(pool: pg.Pool, statement: pg.QueryConfig): Promise<pg.QueryResult> {
  return lend(pool, (client, broken) => committed(client, broken, () => client.query(statement)));
}

/** Runs a transaction. Throws as `write` does; what `work` throws of ours passes through. */
export function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return lend(pool, async (client, broken) => {
    let result: T;
    try {
      await client.query('BEGIN');
      result = await work(client);
    } catch (error) {
      // Without its COMMIT it leaves nothing, whatever became of the connection.
      if (!(await answers(client, error))) broken();
      throw notWritten(error);
    }
    const { command } = await committed(client, broken, () => client.query('COMMIT'));
    // A transaction in which a statement failed is rolled back, without an error.
    if (command !== 'COMMIT') throw new NotWrittenError('STORE_FAILED', 'The transaction was rolled back.');
    return result;
  });
}

/**
 * Sends what commits. The server says that it committed, but with a warning, when it gave up waiting for its standby:
 * then the rows can still be lost. An error leaves it open whether it committed unless it is an ordinary one, which
 * undoes the transaction and which the connection outlives.
 */
async function committed(
  client: pg.PoolClient,
  broken: () => void,
  send: () => Promise<pg.QueryResult>,
): Promise<pg.QueryResult> {
  let warning: unknown;
  const watch = (notice: { code?: string | undefined }) => {
    if (GAVE_UP_WAITING.includes(notice.code ?? '')) warning = notice;
  };
  client.on('notice', watch);
  try {
    const result = await send();
    if (warning !== undefined) throw uncertain(warning);
    return result;
  } catch (error) {
    if (error instanceof BullaError) throw error;
    if (!SERVER_GONE.test(sqlState(error)) && (await answers(client, error))) throw notWritten(error);
    broken();
    throw uncertain(error);
  } finally {
    client.off('notice', watch);
  }
}

/** Errors of the connection and of the system: a pooler gives them for a server that went, and keeps the connection. */
const SERVER_GONE = /^(?:08|57P|58)/;

/** The SQLSTATEs of the warnings that come with a commit whose wait for the standby was cancelled or terminated. */
const GAVE_UP_WAITING = ['01000', '57P01'];

/** Whether a connection can be used after an error; it has no open transaction then. */
async function answers(client: pg.PoolClient, error: unknown): Promise<boolean> {
  // A statement that was given up is still under way.
  if ((error as Error).message === 'Query read timeout') return false;
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}

/**
 * Serialization failures and deadlocks, which engines that are compatible with PostgreSQL report more often; and a named
 * statement that a pooler looked for in another session.
 */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlState(error)) || isOtherSession(error);
}

/** Whether a pooler lends a session for one transaction only, so that named statements are not where they were. */
export function isOtherSession(error: unknown): boolean {
  return ['26000', '42P05'].includes(sqlState(error));
}

/** Runs work again that such a failure undid. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || attempt === 20) throw storeError(error);
      await new Promise((resolve) => setTimeout(resolve, 5 * attempt * Math.random()));
    }
  }
}
