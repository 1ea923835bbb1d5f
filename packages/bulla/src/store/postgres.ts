import { BullaError } from '@bulla/core/error';
import pg from 'pg';
import type { Addition, Driver, Head, Row } from './driver.ts';
import { appendStatement, createGroupAppend } from './postgres-append.ts';
import { searching } from './postgres-search.ts';
import {
  bound,
  guarded,
  OURS,
  openTransaction,
  positional,
  type RawTip,
  storeError,
  TIP,
  tipOf,
  transaction,
} from './postgres-statements.ts';
import { treeOf } from './postgres-tree.ts';
import { migrations } from './schema.ts';

const SCHEMA = migrations({
  key: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  bytes: 'BYTEA',
  text: `CREATE TABLE found_text (record_key BIGINT PRIMARY KEY, summary TSVECTOR NOT NULL);
    CREATE INDEX found_text_by_word ON found_text USING gin (summary);`,
});

/** Any number that is not likely to be another program's: it keeps two migrations apart. */
const MIGRATION_LOCK = 0x62756c6c;

// 64-bit integers come as strings by default; sequences stay far below 2^53.
const types = {
  getTypeParser: (oid: number, format?: never) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)),
};

export interface PostgresOptions {
  readonly tenant: string | null;
  /** Make the tables if they are not there. Default false. */
  readonly create?: boolean;
  /** Connections at most. Default 16. */
  readonly connections?: number;
}

/**
 * Opens a PostgreSQL database. Throws `STORE_MISSING` when it has no tables of ours, `STORE_NEWER`,
 * `STORE_NOT_DURABLE` when the server does not wait for its disk, and `STORE_UNREADABLE` when it does not answer.
 */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Driver> {
  const pool = new pg.Pool({ connectionString: url, max: options.connections ?? 16, types } as pg.PoolConfig);
  // An idle connection that breaks is replaced; its error belongs to nobody.
  pool.on('error', () => undefined);
  try {
    await prepareDatabase(pool, options.create ?? false);
  } catch (error) {
    await pool.end();
    throw storeError(error);
  }
  return driver(pool, options.tenant);
}

async function prepareDatabase(pool: pg.Pool, create: boolean): Promise<void> {
  const settings = await pool.query('SELECT current_setting($1) AS fsync, current_setting($2) AS commit', [
    'fsync',
    'synchronous_commit',
  ]);
  if (settings.rows[0].fsync !== 'on' || settings.rows[0].commit === 'off') {
    throw new BullaError(
      'STORE_NOT_DURABLE',
      'The server does not wait for its disk (fsync or synchronous_commit).',
    );
  }
  await transaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const exists = await client.query("SELECT to_regclass('bulla_schema') AS name");
    if (exists.rows[0].name === null) {
      if (!create) throw new BullaError('STORE_MISSING', 'The database has no store of Bulla.');
      await client.query('CREATE TABLE bulla_schema (version INTEGER NOT NULL)');
      await client.query('INSERT INTO bulla_schema VALUES (0)');
    }
    const { version } = (await client.query('SELECT version FROM bulla_schema')).rows[0];
    if (version > SCHEMA.length) {
      throw new BullaError(
        'STORE_NEWER',
        `The store is of version ${version}; this program knows ${SCHEMA.length}.`,
      );
    }
    for (const step of SCHEMA.slice(version)) await client.query(step);
    await client.query('UPDATE bulla_schema SET version = $1', [SCHEMA.length]);
  });
}

function driver(pool: pg.Pool, tenant: string | null): Driver {
  const query = async <R extends object>(text: string, values: unknown[]): Promise<R[]> =>
    (await guarded(() => pool.query(text, values))).rows as R[];
  const groupAppend = createGroupAppend(tenant, (statement) =>
    guarded(() => pool.query<{ name: string }>(statement)),
  );
  const known = new Set<string>();
  const ensureChain = async (name: string) => {
    if (known.has(name)) return;
    await query(
      'INSERT INTO chain (tenant, name, length, head_hash) VALUES ($1, $2, 0, NULL) ON CONFLICT DO NOTHING',
      [tenant, name],
    );
    known.add(name);
  };
  const write = async (client: pg.PoolClient, name: string, expected: Head, addition: Addition) => {
    await client.query(appendStatement(tenant, [{ chain: name, expected, addition }]));
  };

  return {
    async tip(name) {
      const [row] = await query<RawTip>(`${TIP} WHERE ${OURS} AND name = $2`, [tenant, name]);
      return tipOf(row);
    },
    async append(name, expected, addition) {
      await ensureChain(name);
      return groupAppend(name, expected, addition);
    },
    async appendLocked(name, make) {
      await ensureChain(name);
      await guarded(() =>
        transaction(pool, async (client) => {
          const { rows } = await client.query<RawTip>(`${TIP} WHERE ${OURS} AND name = $2 FOR UPDATE`, [
            tenant,
            name,
          ]);
          const tip = tipOf(rows[0]);
          const addition = await make(tip, openTransaction(client, tenant));
          if (addition !== null) await write(client, name, tip, addition);
        }),
      );
    },
    ...treeOf(pool, tenant, query),
    read: (name, from, limit) =>
      query<Row>(
        `SELECT sequence, hash, data FROM record WHERE sequence >= $3 AND chain_key =
           (SELECT chain_key FROM chain WHERE ${OURS} AND name = $2) ORDER BY sequence LIMIT $4`,
        [tenant, name, from, limit],
      ),
    async chains() {
      const rows = await query<{ name: string; length: number; head_hash: string | null; indexed: number }>(
        `SELECT name, length, head_hash, indexed FROM chain WHERE ${OURS} ORDER BY name COLLATE "C"`,
        [tenant],
      );
      return rows.map(({ name, length, head_hash, indexed }) => ({
        name,
        head: { length, hash: head_hash },
        indexed,
      }));
    },
    ...searching(pool, tenant, query),
    reading: {
      tenant,
      all: (text, ...values) => query(positional(text), values.map(bound)),
    },
    transaction: (work) =>
      guarded(() => transaction(pool, (client) => work(openTransaction(client, tenant)))),
    erase: async (text, ...values) =>
      (await guarded(() => pool.query(positional(text), values.map(bound)))).rowCount ?? 0,
    close: () => pool.end(),
  };
}
