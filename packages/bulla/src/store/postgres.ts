import { BullaError } from '@bulla/core/error';
import type pg from 'pg';
import type { Driver, Row, Value } from './driver.ts';
import { NotOpenError, NotWrittenError } from './driver.ts';
import { appendStatement, createGroupAppend } from './postgres-append.ts';
import {
  ask,
  createPool,
  isOtherSession,
  LONG,
  retried,
  transaction,
  write,
} from './postgres-connections.ts';
import { storeError } from './postgres-errors.ts';
import { bound, openTransaction, positional, TIME } from './postgres-statements.ts';
import { type ChainRow, OURS, PUT_CHECKPOINT, READ, readingRows, TIP, tipOf } from './rows.ts';
import { assertKnown, SCHEMA_VERSION, schema } from './schema.ts';
import { type SearchDialect, searching } from './search.ts';

const SCHEMA = schema({
  key: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  bytes: 'BYTEA',
  text: `CREATE TABLE found_text (record_key BIGINT PRIMARY KEY, summary TSVECTOR NOT NULL);
    CREATE INDEX found_text_by_word ON found_text USING gin (summary);`,
  clustered: '',
});

const SEARCH: SearchDialect = {
  rows: (members) =>
    `json_to_recordset(?::json) AS added (sequence BIGINT, ${members.map((member) => `"${member}" TEXT`).join(', ')})`,
  textKey: 'record_key',
  summary: "to_tsvector('simple', added.summary)",
  matches: "summary @@ plainto_tsquery('simple', ?)",
  words: (text) => text,
};

/** Any number that is not likely to be another program's: two processes must not make the tables at once. */
const SCHEMA_LOCK = 0x62756c6c;

/** How long to ask a server again what became of a write: a restart or a failover is often over by then. */
const SETTLE_MS = 5_000;

interface PostgresOptions {
  readonly tenant: string | null;
  /** Make the tables if they are not there. */
  readonly create: boolean;
  readonly readOnly: boolean;
}

/**
 * Opens a PostgreSQL database. Throws `STORE_MISSING` when it has no tables of ours, `STORE_NEWER`,
 * `STORE_NOT_DURABLE` when the server does not wait for its disk, `STORE_UNAVAILABLE` when it does not answer or is a
 * standby, and `STORE_UNREADABLE` when it lets us in no further.
 */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Driver> {
  const pool = createPool(url, options.readOnly);
  try {
    await prepareDatabase(pool, options);
  } catch (error) {
    await pool.end();
    throw storeError(error);
  }
  return driver(pool, options.tenant);
}

async function prepareDatabase(pool: pg.Pool, { create, readOnly }: PostgresOptions): Promise<void> {
  if (await hasTables((text) => ask(pool, { text }))) return;
  if (!create || readOnly) throw new BullaError('STORE_MISSING', 'The database has no store of Bulla.');
  await transaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
    // Asked again: another process may have been faster.
    if (await hasTables((text) => client.query(text))) return;
    await client.query('CREATE TABLE bulla_schema (version INTEGER NOT NULL)');
    await client.query('INSERT INTO bulla_schema VALUES ($1)', [SCHEMA_VERSION]);
    await client.query({ ...LONG, text: SCHEMA });
  });
}

/** Whether the tables are there. Throws `STORE_NEWER`. */
async function hasTables(run: (text: string) => Promise<pg.QueryResult>): Promise<boolean> {
  const exists = await run("SELECT to_regclass('bulla_schema') AS name");
  if (exists.rows[0].name === null) return false;
  assertKnown((await run('SELECT version FROM bulla_schema')).rows[0].version);
  return true;
}

function driver(pool: pg.Pool, tenant: string | null): Driver {
  const ours = tenant ?? '';
  const statement = (text: string, values: readonly Value[]) => ({
    text: positional(text),
    values: bound(values),
  });
  const asking =
    (more: object = {}) =>
    async <R extends object>(text: string, ...values: readonly Value[]) =>
      (await retried(() => ask(pool, { ...statement(text, values), ...more }))).rows as R[];
  const change = (text: string, ...values: readonly Value[]) =>
    retried(() => write(pool, statement(text, values)));
  const inTransaction =
    (more: object = {}): Driver['transaction'] =>
    (work) =>
      retried(() => transaction(pool, (client) => work(openTransaction(client, tenant, more))));
  const all = asking();
  /** Behind a pooler that shares sessions, named statements are not used. */
  let named = true;
  const append = async (
    run: (statement: pg.QueryConfig) => Promise<pg.QueryResult<{ name: string }>>,
    batch: Parameters<typeof appendStatement>[1],
  ) => {
    try {
      return await run(appendStatement(tenant, batch, named));
    } catch (error) {
      if (isOtherSession(error)) named = false;
      throw error;
    }
  };
  const groupAppend = createGroupAppend((batch) =>
    retried(() => append((statement) => write(pool, statement), batch)),
  );
  /** The fences of the chains that are known to be there. */
  const fences = new Map<string, number>();
  const ensureChain = async (name: string): Promise<number> => {
    let fence = fences.get(name);
    if (fence === undefined) {
      const text =
        'INSERT INTO chain (tenant, name, length, head_hash) VALUES (?, ?, 0, NULL) ON CONFLICT DO NOTHING';
      await change(text, tenant, name).catch(asNotWritten);
      const [row] = await all<ChainRow>(TIP, ours, name).catch(asNotWritten);
      fence = row!.fence;
      fences.set(name, fence);
    }
    return fence;
  };
  /** The end of a chain that nobody else can move before the transaction ends. */
  const lockTip = async (client: pg.PoolClient, name: string): Promise<ChainRow> => {
    const [row] = (await client.query<ChainRow>(positional(`${TIP} FOR UPDATE`), [ours, name])).rows;
    if (row !== undefined) {
      fences.set(name, row.fence);
      return row;
    }
    // The database was replaced by one that does not have it.
    fences.delete(name);
    throw new NotWrittenError('STORE_BUSY', 'The store was replaced by an older one; try again.');
  };
  const settle = (name: string, from: number, limit: number) =>
    transaction(pool, async (client) => {
      const moved = await client.query<{ fence: number }>(
        positional(`UPDATE chain SET fence = fence + 1 WHERE ${OURS} AND name = ? RETURNING fence`),
        [ours, name],
      );
      if (moved.rows[0] === undefined) fences.delete(name);
      else fences.set(name, moved.rows[0].fence);
      return (await client.query<Row>(positional(READ), [ours, name, from, limit])).rows;
    });

  return {
    ...readingRows({ tenant, all }),
    async append(chain, expected, addition) {
      const fence = await ensureChain(chain);
      return groupAppend({ chain, fence, expected, addition });
    },
    async appendLocked(name, make) {
      await ensureChain(name);
      await retried(() =>
        transaction(pool, async (client) => {
          const row = await lockTip(client, name);
          const expected = tipOf(row);
          const addition = await make(expected, openTransaction(client, tenant));
          if (addition === null) return;
          const { rowCount } = await append(
            (statement) => client.query(statement),
            [{ chain: name, fence: row.fence, expected, addition }],
          );
          // The head cannot have moved.
          if (rowCount === 0) throw new NotOpenError();
        }),
      );
    },
    async putCheckpoint(name, { origin, size, note }) {
      await change(PUT_CHECKPOINT, ours, name, origin, size, note);
    },
    async settle(name, from, limit) {
      const started = performance.now();
      for (;;) {
        try {
          return await retried(() => settle(name, from, limit));
        } catch (error) {
          if (performance.now() - started > SETTLE_MS) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    },
    ...searching(SEARCH, { tenant, all: asking(LONG) }, inTransaction(LONG)),
    time: async () => (await all<{ now: number }>(TIME))[0]!.now,
    reading: { tenant, all },
    transaction: inTransaction(),
    erase: async (text, ...values) => (await change(text, ...values)).rowCount ?? 0,
    close: () => pool.end(),
  };
}

/** Whatever kept an empty chain from being made, no record was written. */
function asNotWritten(error: unknown): never {
  const { code, message, cause } = error as BullaError;
  throw new NotWrittenError(code === 'STORE_UNCERTAIN' ? 'STORE_UNAVAILABLE' : code, message, { cause });
}
