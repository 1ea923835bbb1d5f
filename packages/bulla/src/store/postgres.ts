import { BullaError } from '@bulla/core/error';
import pg from 'pg';
import type {
  Addition,
  Driver,
  Effect,
  Found,
  Head,
  KillEffect,
  Opening,
  Query,
  Row,
  StandingKill,
  StoredCheckpoint,
  Tip,
} from './driver.ts';
import { EMPTY } from './driver.ts';
import { appendStatement, createGroupAppend } from './postgres-append.ts';
import { conditions } from './query.ts';
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

function storeError(error: unknown): unknown {
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

async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
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
function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes((error as { code?: string }).code ?? '');
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || attempt === 20) throw storeError(error);
      await new Promise((resolve) => setTimeout(resolve, 5 * attempt * Math.random()));
    }
  }
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
  const applyKill = async (client: pg.PoolClient, { kill, agentId, reason, capsuleId }: KillEffect) => {
    await client.query(
      'DELETE FROM standing_kill WHERE tenant IS NOT DISTINCT FROM $1 AND agent_id IS NOT DISTINCT FROM $2',
      [tenant, agentId],
    );
    if (kill === 'set') {
      await client.query(
        'INSERT INTO standing_kill (tenant, agent_id, reason, capsule_id) VALUES ($1, $2, $3, $4)',
        [tenant, agentId, reason, capsuleId],
      );
    }
  };
  const apply = async (client: pg.PoolClient, name: string, effect: Effect) => {
    if ('kill' in effect) return applyKill(client, effect);
    await client.query('UPDATE chain SET origin = $3 WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2', [
      tenant,
      name,
      effect.origin,
    ]);
  };
  const write = async (client: pg.PoolClient, name: string, expected: Head, addition: Addition) => {
    const { rowCount } = await client.query(appendStatement(tenant, [{ chain: name, expected, addition }]));
    if (rowCount === 0) return false;
    for (const { effect } of addition.rows) if (effect !== undefined) await apply(client, name, effect);
    return true;
  };

  return {
    async tip(name) {
      const [row] = await query<RawTip>(`${TIP} WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2`, [
        tenant,
        name,
      ]);
      return tipOf(row);
    },
    async append(name, expected, addition) {
      await ensureChain(name);
      if (addition.rows.every((row) => row.effect === undefined))
        return groupAppend(name, expected, addition);
      return guarded(() => transaction(pool, (client) => write(client, name, expected, addition)));
    },
    async appendLocked(name, make) {
      await ensureChain(name);
      await guarded(() =>
        transaction(pool, async (client) => {
          const { rows } = await client.query<RawTip>(
            `${TIP} WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2 FOR UPDATE`,
            [tenant, name],
          );
          const tip = tipOf(rows[0]);
          const addition = await make(tip);
          if (addition !== null) await write(client, name, tip, addition);
        }),
      );
    },
    ...treeOf(pool, tenant, query),
    read: (name, from, limit) =>
      query<Row>(
        `SELECT sequence, hash, data FROM record WHERE sequence >= $3 AND chain_key =
           (SELECT chain_key FROM chain WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2) ORDER BY sequence LIMIT $4`,
        [tenant, name, from, limit],
      ),
    async chains() {
      const rows = await query<{ name: string; length: number; head_hash: string | null; indexed: number }>(
        'SELECT name, length, head_hash, indexed FROM chain WHERE tenant IS NOT DISTINCT FROM $1 ORDER BY name COLLATE "C"',
        [tenant],
      );
      return rows.map(({ name, length, head_hash, indexed }) => ({
        name,
        head: { length, hash: head_hash },
        indexed,
      }));
    },
    ...searching(pool, tenant, query),
    kills: () =>
      query<StandingKill>(
        'SELECT agent_id AS "agentId", reason, capsule_id AS "capsuleId" FROM standing_kill WHERE tenant IS NOT DISTINCT FROM $1 ORDER BY agent_id NULLS FIRST',
        [tenant],
      ),
    ...openingsOf(pool, tenant, query),
    close: () => pool.end(),
  };
}

const TIP = 'SELECT chain_key, length, head_hash, tree, origin FROM chain';

interface RawTip {
  chain_key: number;
  length: number;
  head_hash: string | null;
  tree: Uint8Array | null;
  origin: string | null;
}

function tipOf(row: RawTip | undefined): Tip {
  if (row === undefined || row.length === 0) return EMPTY;
  return { length: row.length, hash: row.head_hash, tree: row.tree, origin: row.origin };
}

/** The hashes of the tree, and the checkpoints. */
function treeOf(
  pool: pg.Pool,
  tenant: string | null,
  query: Ask,
): Pick<Driver, 'plant' | 'hashes' | 'putCheckpoint' | 'checkpoints'> {
  const key = '(SELECT chain_key FROM chain WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2)';
  return {
    plant: (name, length, { leaves, tree, nodes, origin }) =>
      guarded(() =>
        transaction(pool, async (client) => {
          const { rows } = await client.query<RawTip>(
            `${TIP} WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2 FOR UPDATE`,
            [tenant, name],
          );
          const chain = rows[0];
          if (chain === undefined || chain.length !== length || chain.tree !== null) return;
          await client.query(
            `UPDATE record SET leaf = planted.leaf FROM unnest($2::bytea[]) WITH ORDINALITY AS planted (leaf, place)
             WHERE record.chain_key = $1 AND record.sequence = planted.place - 1`,
            [chain.chain_key, leaves.map((leaf) => Buffer.from(leaf))],
          );
          await client.query(
            `INSERT INTO node (chain_key, level, number, hash)
             SELECT $1, level, number, hash FROM unnest($2::integer[], $3::bigint[], $4::bytea[]) AS filled (level, number, hash)`,
            [
              chain.chain_key,
              nodes.map((node) => node.level),
              nodes.map((node) => node.index),
              nodes.map((node) => Buffer.from(node.hash)),
            ],
          );
          await client.query(
            'UPDATE chain SET tree = $2, origin = coalesce(origin, $3) WHERE chain_key = $1',
            [chain.chain_key, Buffer.from(tree), origin],
          );
        }),
      ),
    async hashes(name, level, from, count) {
      const rows = await (level === 0
        ? query<{ hash: Uint8Array }>(
            `SELECT leaf AS hash FROM record WHERE chain_key = ${key} AND sequence >= $3 ORDER BY sequence LIMIT $4`,
            [tenant, name, from, count],
          )
        : query<{ hash: Uint8Array }>(
            `SELECT hash FROM node WHERE chain_key = ${key} AND level = $5 AND number >= $3 ORDER BY number LIMIT $4`,
            [tenant, name, from, count, level],
          ));
      return rows.map(({ hash }) => hash);
    },
    async putCheckpoint(name, { origin, size, note }) {
      await query(
        `INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (${key}, $3, $4, $5)
         ON CONFLICT (chain_key, origin, size) DO UPDATE SET note = excluded.note
         WHERE length(excluded.note) > length(checkpoint.note)`,
        [tenant, name, origin, size, note],
      );
    },
    checkpoints: (name, limit) =>
      query<StoredCheckpoint>(
        `SELECT origin, size, note FROM checkpoint WHERE chain_key = ${key} ORDER BY checkpoint_key DESC LIMIT $3`,
        [tenant, name, limit],
      ),
  };
}

type Ask = <R extends object>(text: string, values: unknown[]) => Promise<R[]>;

function searching(
  pool: pg.Pool,
  tenant: string | null,
  query: Ask,
): Pick<Driver, 'indexed' | 'addToIndex' | 'dropIndex' | 'find'> {
  const ours = 'SELECT chain_key FROM chain WHERE tenant IS NOT DISTINCT FROM $1';
  return {
    async indexed(name) {
      const rows = await query<{ indexed: number }>(
        `SELECT indexed FROM chain WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2`,
        [tenant, name],
      );
      return rows[0]?.indexed ?? 0;
    },
    addToIndex: (name, from, entries) =>
      guarded(() =>
        transaction(pool, async (client) => {
          const { rows } = await client.query(
            'UPDATE chain SET indexed = $4 WHERE tenant IS NOT DISTINCT FROM $1 AND name = $2 AND indexed = $3 RETURNING chain_key',
            [tenant, name, from, from + entries.length],
          );
          if (rows.length === 0) return false;
          const key = rows[0].chain_key;
          const column = (pick: (entry: (typeof entries)[number]) => unknown) => entries.map(pick);
          await client.query(
            `INSERT INTO found SELECT record.record_key, $1, added.id, added.hash, added.type, added.domain, added.parent_id,
               added.agent_id, added.session_id, added.correlation_id, added.timestamp, added.status
             FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
               AS added (sequence, id, hash, type, domain, parent_id, agent_id, session_id, correlation_id, timestamp, status)
             JOIN record ON record.chain_key = $1 AND record.sequence = added.sequence`,
            [
              key,
              column((e) => e.sequence),
              column((e) => e.id),
              column((e) => e.hash),
              column((e) => e.type),
              column((e) => e.domain),
              column((e) => e.parentId),
              column((e) => e.agentId),
              column((e) => e.sessionId),
              column((e) => e.correlationId),
              column((e) => e.timestamp),
              column((e) => e.status),
            ],
          );
          await client.query(
            `INSERT INTO found_text SELECT record.record_key, to_tsvector('simple', added.summary)
             FROM unnest($2::bigint[], $3::text[]) AS added (sequence, summary)
             JOIN record ON record.chain_key = $1 AND record.sequence = added.sequence`,
            [key, column((e) => e.sequence), column((e) => e.summary)],
          );
          const tools = entries.flatMap((entry) =>
            entry.tools.map((tool) => ({ sequence: entry.sequence, tool })),
          );
          await client.query(
            `INSERT INTO found_tool SELECT record.record_key, added.tool FROM unnest($2::bigint[], $3::text[]) AS added (sequence, tool)
             JOIN record ON record.chain_key = $1 AND record.sequence = added.sequence`,
            [key, tools.map((t) => t.sequence), tools.map((t) => t.tool)],
          );
          return true;
        }),
      ),
    dropIndex: () =>
      guarded(() =>
        transaction(pool, async (client) => {
          const keys = `SELECT record_key FROM found WHERE chain_key IN (${ours})`;
          await client.query(`DELETE FROM found_text WHERE record_key IN (${keys})`, [tenant]);
          await client.query(`DELETE FROM found_tool WHERE record_key IN (${keys})`, [tenant]);
          await client.query(`DELETE FROM found WHERE chain_key IN (${ours})`, [tenant]);
          await client.query('UPDATE chain SET indexed = 0 WHERE tenant IS NOT DISTINCT FROM $1', [tenant]);
        }),
      ),
    find(asked: Query) {
      const { where, values } = conditions(asked, {
        placeholder: (position) => `$${position + 1}`,
        text: "found.record_key IN (SELECT record_key FROM found_text WHERE summary @@ plainto_tsquery('simple', ?))",
        words: (text) => text,
      });
      return query<Found>(
        `SELECT chain.name AS chain, record.sequence, record.hash, record.data FROM found
         JOIN record ON record.record_key = found.record_key JOIN chain ON chain.chain_key = found.chain_key
         WHERE chain.tenant IS NOT DISTINCT FROM $1 AND ${where}
         ORDER BY found.record_key DESC LIMIT $${values.length} OFFSET $${values.length + 1}`,
        [tenant, ...values],
      );
    },
  };
}

function openingsOf(
  pool: pg.Pool,
  tenant: string | null,
  query: Ask,
): Pick<Driver, 'addOpenings' | 'opening' | 'eraseOpenings'> {
  return {
    addOpenings: (openings) =>
      guarded(() =>
        transaction(pool, async (client) => {
          for (const { commitment, capsuleId, kind, salt, payload } of openings) {
            await client.query(
              'INSERT INTO opening (tenant, commitment, capsule_id, kind, salt, payload) VALUES ($1, $2, $3, $4, $5, $6)',
              [tenant, commitment, capsuleId, kind, Buffer.from(salt), payload],
            );
          }
        }),
      ),
    async opening(commitment) {
      const [row] = await query<Opening>(
        'SELECT commitment, capsule_id AS "capsuleId", kind, salt, payload FROM opening WHERE tenant IS NOT DISTINCT FROM $1 AND commitment = $2',
        [tenant, commitment],
      );
      return row === undefined ? null : { ...row, salt: new Uint8Array(row.salt) };
    },
    async eraseOpenings(capsuleId) {
      const rows = await query(
        'DELETE FROM opening WHERE tenant IS NOT DISTINCT FROM $1 AND capsule_id = $2 RETURNING 1',
        [tenant, capsuleId],
      );
      return rows.length;
    },
  };
}
