import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import type {
  Addition,
  Driver,
  Effect,
  Found,
  Head,
  IndexEntry,
  Opening,
  Planting,
  Query,
  Row,
  StandingKill,
  StoredCheckpoint,
  Tip,
  TreeNode,
} from './driver.ts';
import { EMPTY } from './driver.ts';
import { conditions } from './query.ts';
import { migrations } from './schema.ts';

const SCHEMA = migrations({
  key: 'INTEGER PRIMARY KEY',
  bytes: 'BLOB',
  text: "CREATE VIRTUAL TABLE found_text USING fts5(summary, content='', contentless_delete=1);",
});

/** How long a statement waits for another process that writes, before it is tried again later. */
const BUSY_MS = 2000;
const TRIES = 20;

export interface SqliteOptions {
  readonly tenant: string | null;
  /** Make the file if it is not there. Default false, so that reading never creates one. */
  readonly create?: boolean;
  readonly readOnly?: boolean;
  /** The size in pages beyond which the file does not grow. Default: as far as the disk goes. */
  readonly maxPages?: number;
}

/**
 * Opens a SQLite file. Throws `STORE_MISSING`, `STORE_NOT_A_STORE`, `STORE_NEWER` for a file of a later version,
 * `STORE_READ_ONLY` and `STORE_UNREADABLE`.
 */
export function openSqlite(file: string, options: SqliteOptions): Driver {
  if (!existsSync(file)) {
    if (!options.create) throw new BullaError('STORE_MISSING', `There is no store at ${file}.`);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  }
  return guarded(() => {
    const db = new Database(file, { readonly: options.readOnly ?? false, timeout: BUSY_MS });
    try {
      prepareFile(db, options.readOnly ?? false);
      if (options.maxPages !== undefined) db.pragma(`max_page_count = ${options.maxPages}`);
    } catch (error) {
      db.close();
      throw error;
    }
    return driver(db, options.tenant);
  });
}

function prepareFile(db: Database.Database, readOnly: boolean): void {
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version > SCHEMA.length) {
    throw new BullaError(
      'STORE_NEWER',
      `The store is of version ${version}; this program knows ${SCHEMA.length}.`,
    );
  }
  if (readOnly) return;
  // WAL lets readers go on while one writes. Its default would lose acknowledged records in a power cut.
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  if (
    db.pragma('synchronous', { simple: true }) !== 2 ||
    db.pragma('journal_mode', { simple: true }) !== 'wal'
  ) {
    throw new BullaError('STORE_NOT_DURABLE', 'The store cannot be opened so that a commit is durable.');
  }
  db.transaction(() => {
    const current = db.pragma('user_version', { simple: true }) as number;
    if (
      current === 0 &&
      (db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number }).n > 0
    ) {
      throw new BullaError('STORE_NOT_A_STORE', 'The file is a database, but not one of Bulla.');
    }
    for (const step of SCHEMA.slice(current)) db.exec(step);
    db.pragma(`user_version = ${SCHEMA.length}`);
  }).immediate();
}

/** Turns SQLite's errors into ours. */
function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storeError(error);
  }
}

function storeError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  const known: [RegExp, string, string][] = [
    [/^SQLITE_FULL/, 'STORE_FULL', 'The disk is full; nothing was written.'],
    [/^SQLITE_READONLY/, 'STORE_READ_ONLY', 'The store cannot be written.'],
    [/^SQLITE_(BUSY|LOCKED)/, 'STORE_BUSY', 'Another process kept the store locked for too long.'],
    [/^SQLITE_(NOTADB|CORRUPT)/, 'STORE_UNREADABLE', 'The file is not a database, or is damaged.'],
    [/^SQLITE_(CANTOPEN|PERM|AUTH)/, 'STORE_UNREADABLE', 'The store cannot be opened.'],
  ];
  const [, ourCode, sentence] = known.find(([pattern]) => pattern.test(code)) ?? [
    /./,
    'STORE_FAILED',
    `The store failed (${code}: ${message}).`,
  ];
  return new BullaError(ourCode, sentence, { cause: error });
}

interface RawChain {
  chain_key: number;
  length: number;
  head_hash: string | null;
  tree: Uint8Array | null;
  origin: string | null;
}

/** Runs one piece of work after the other. */
type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work);
    last = run.catch(() => undefined);
    return run;
  };
}

function driver(db: Database.Database, tenant: string | null): Driver {
  // A connection has one transaction at a time, and one of them waits for signatures while it is open.
  const exclusive = createExclusive();
  const patiently = <T>(work: () => T) => exclusive(() => retried(work));
  const sql = (text: string) => db.prepare(text);
  const findChain = sql(
    'SELECT chain_key, length, head_hash, tree, origin FROM chain WHERE tenant IS ? AND name = ?',
  );
  const makeChain = sql('INSERT INTO chain (tenant, name, length, head_hash) VALUES (?, ?, 0, NULL)');
  const moveHead = sql(
    'UPDATE chain SET length = ?, head_hash = ?, tree = ?, origin = coalesce(origin, ?) WHERE chain_key = ?',
  );
  const addRecord = sql('INSERT INTO record (chain_key, sequence, hash, data, leaf) VALUES (?, ?, ?, ?, ?)');
  const addNode = sql('INSERT INTO node (chain_key, level, number, hash) VALUES (?, ?, ?, ?)');
  const renameOrigin = sql('UPDATE chain SET origin = ? WHERE chain_key = ?');
  const readRecords = sql(
    'SELECT sequence, hash, data FROM record WHERE chain_key = ? AND sequence >= ? ORDER BY sequence LIMIT ?',
  );
  const setKill = sql(
    'INSERT OR REPLACE INTO standing_kill (tenant, agent_id, reason, capsule_id) VALUES (?, ?, ?, ?)',
  );
  const liftKill = sql('DELETE FROM standing_kill WHERE tenant IS ? AND agent_id IS ?');
  const chainOf = (name: string) => findChain.get(tenant, name) as RawChain | undefined;
  const tipOf = (chain: RawChain | undefined): Tip =>
    chain === undefined
      ? EMPTY
      : {
          length: chain.length,
          hash: chain.head_hash,
          tree: chain.tree ?? (chain.length === 0 ? EMPTY.tree : null),
          origin: chain.origin,
        };

  const apply = (key: number, effect: Effect) => {
    if ('origin' in effect) renameOrigin.run(effect.origin, key);
    else if (effect.kill === 'set') setKill.run(tenant, effect.agentId, effect.reason, effect.capsuleId);
    else liftKill.run(tenant, effect.agentId);
  };
  const addNodes = (key: number, nodes: readonly TreeNode[]) => {
    for (const { level, index, hash } of nodes) addNode.run(key, level, index, hash);
  };
  /** Inside a transaction: the rows, the tree and the new head. */
  const write = (name: string, { rows, tree, nodes, origin }: Addition) => {
    const key = chainOf(name)?.chain_key ?? (makeChain.run(tenant, name).lastInsertRowid as number);
    const last = rows.at(-1)!;
    moveHead.run(last.sequence + 1, last.hash, tree, origin, key);
    addNodes(key, nodes);
    for (const { sequence, hash, data, leaf, effect } of rows) {
      addRecord.run(key, sequence, hash, data, leaf);
      if (effect !== undefined) apply(key, effect);
    }
  };
  const tryAppend = db.transaction((name: string, expected: Head, addition: Addition) => {
    const { length, hash } = tipOf(chainOf(name));
    if (length !== expected.length || hash !== expected.hash) return false;
    write(name, addition);
    return true;
  });
  const plantAll = db.transaction((name: string, length: number, planting: Planting) => {
    const chain = chainOf(name);
    if (chain === undefined || chain.length !== length || chain.tree !== null) return;
    const setLeaf = sql('UPDATE record SET leaf = ? WHERE chain_key = ? AND sequence = ?');
    for (const [sequence, leaf] of planting.leaves.entries()) setLeaf.run(leaf, chain.chain_key, sequence);
    addNodes(chain.chain_key, planting.nodes);
    moveHead.run(length, chain.head_hash, planting.tree, planting.origin, chain.chain_key);
  });

  return {
    tip: async (name) => guarded(() => tipOf(chainOf(name))),
    append: (name, expected, addition) => patiently(() => tryAppend.immediate(name, expected, addition)),
    appendLocked: (name, make) =>
      exclusive(async () => {
        await retried(() => db.exec('BEGIN IMMEDIATE'));
        try {
          const addition = await make(guarded(() => tipOf(chainOf(name))));
          guarded(() => {
            if (addition !== null) write(name, addition);
            db.exec('COMMIT');
          });
        } catch (error) {
          if (db.inTransaction) db.exec('ROLLBACK');
          throw error;
        }
      }),
    plant: (name, length, planting) => patiently(() => plantAll.immediate(name, length, planting)),
    ...treeOf(db, (name) => chainOf(name)?.chain_key, patiently),
    async read(name, from, limit) {
      return guarded(() => {
        const chain = chainOf(name);
        return chain === undefined ? [] : (readRecords.all(chain.chain_key, from, limit) as Row[]);
      });
    },
    async chains() {
      return guarded(() =>
        (
          sql('SELECT name, length, head_hash, indexed FROM chain WHERE tenant IS ? ORDER BY name').all(
            tenant,
          ) as (RawChain & {
            name: string;
            indexed: number;
          })[]
        ).map(({ name, length, head_hash, indexed }) => ({
          name,
          head: { length, hash: head_hash },
          indexed,
        })),
      );
    },
    ...searching(db, tenant, patiently),
    async kills() {
      return guarded(
        () =>
          sql(
            'SELECT agent_id AS agentId, reason, capsule_id AS capsuleId FROM standing_kill WHERE tenant IS ? ORDER BY agent_id',
          ).all(tenant) as StandingKill[],
      );
    },
    ...openingsOf(db, tenant, patiently),
    close: () => exclusive(async () => void db.close()),
  };
}

/** Runs a write, and again after a pause while another process keeps the lock. */
async function retried<T>(work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return guarded(work);
    } catch (error) {
      if (!(error instanceof BullaError) || error.code !== 'STORE_BUSY' || attempt === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5 + 20 * Math.random()));
    }
  }
}

/** The hashes of the tree, and the checkpoints. */
function treeOf(
  db: Database.Database,
  keyOf: (name: string) => number | undefined,
  patiently: Patiently,
): Pick<Driver, 'hashes' | 'putCheckpoint' | 'checkpoints'> {
  const leaves = db.prepare(
    'SELECT leaf AS hash FROM record WHERE chain_key = ? AND sequence >= ? ORDER BY sequence LIMIT ?',
  );
  const nodes = db.prepare(
    'SELECT hash FROM node WHERE chain_key = ? AND level = ? AND number >= ? ORDER BY number LIMIT ?',
  );
  const put = db.prepare(
    `INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (?, ?, ?, ?)
     ON CONFLICT (chain_key, origin, size) DO UPDATE SET note = excluded.note
         WHERE length(excluded.note) > length(checkpoint.note)`,
  );
  const list = db.prepare(
    'SELECT origin, size, note FROM checkpoint WHERE chain_key = ? ORDER BY checkpoint_key DESC LIMIT ?',
  );
  return {
    async hashes(name, level, from, count) {
      const key = keyOf(name);
      if (key === undefined) return [];
      const rows = guarded(() =>
        level === 0 ? leaves.all(key, from, count) : nodes.all(key, level, from, count),
      ) as { hash: Uint8Array }[];
      return rows.map(({ hash }) => hash);
    },
    putCheckpoint: (name, { origin, size, note }) =>
      patiently(() => {
        // It does not wait for the disk: the file outside the database has it, and the next append waits for both.
        db.pragma('synchronous = NORMAL');
        try {
          put.run(keyOf(name), origin, size, note);
        } finally {
          db.pragma('synchronous = FULL');
        }
      }),
    async checkpoints(name, limit) {
      const key = keyOf(name);
      return key === undefined ? [] : guarded(() => list.all(key, limit) as StoredCheckpoint[]);
    },
  };
}

type Searching = Pick<Driver, 'indexed' | 'addToIndex' | 'dropIndex' | 'find'>;

type Patiently = <T>(work: () => T) => Promise<T>;

function searching(db: Database.Database, tenant: string | null, patiently: Patiently): Searching {
  const state = db.prepare('SELECT chain_key, indexed FROM chain WHERE tenant IS ? AND name = ?');
  const recordKey = db.prepare('SELECT record_key FROM record WHERE chain_key = ? AND sequence = ?');
  const add = db.prepare('INSERT INTO found VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const addTool = db.prepare('INSERT INTO found_tool (record_key, tool) VALUES (?, ?)');
  const addText = db.prepare('INSERT INTO found_text (rowid, summary) VALUES (?, ?)');
  const advance = db.prepare('UPDATE chain SET indexed = ? WHERE chain_key = ?');
  const addAll = db.transaction((name: string, from: number, entries: readonly IndexEntry[]) => {
    const chain = state.get(tenant, name) as { chain_key: number; indexed: number };
    if (chain.indexed !== from) return false;
    for (const entry of entries) {
      const { record_key } = recordKey.get(chain.chain_key, entry.sequence) as { record_key: number };
      const { id, hash, type, domain, parentId, agentId, sessionId, correlationId, timestamp, status } =
        entry;
      add.run(
        record_key,
        chain.chain_key,
        id,
        hash,
        type,
        domain,
        parentId,
        agentId,
        sessionId,
        correlationId,
        timestamp,
        status,
      );
      for (const tool of entry.tools) addTool.run(record_key, tool);
      addText.run(record_key, entry.summary);
    }
    advance.run(from + entries.length, chain.chain_key);
    return true;
  });
  return {
    indexed: async (name) =>
      guarded(() => (state.get(tenant, name) as { indexed: number } | undefined)?.indexed ?? 0),
    addToIndex: (name, from, entries) => patiently(() => addAll.immediate(name, from, entries)),
    dropIndex: () =>
      patiently(() =>
        db
          .transaction(() => {
            const ours = 'SELECT chain_key FROM chain WHERE tenant IS ?';
            const keys = `SELECT record_key FROM found WHERE chain_key IN (${ours})`;
            db.prepare(`DELETE FROM found_text WHERE rowid IN (${keys})`).run(tenant);
            db.prepare(`DELETE FROM found_tool WHERE record_key IN (${keys})`).run(tenant);
            db.prepare(`DELETE FROM found WHERE chain_key IN (${ours})`).run(tenant);
            db.prepare('UPDATE chain SET indexed = 0 WHERE tenant IS ?').run(tenant);
          })
          .immediate(),
      ),
    async find(query: Query) {
      const { where, values } = conditions(query, {
        placeholder: () => '?',
        text: 'found.record_key IN (SELECT rowid FROM found_text WHERE found_text MATCH ?)',
        words: (text) =>
          text
            .trim()
            .split(/\s+/)
            .map((word) => `"${word.replaceAll('"', '""')}"`)
            .join(' '),
      });
      return guarded(
        () =>
          db
            .prepare(
              `SELECT chain.name AS chain, record.sequence, record.hash, record.data FROM found
               JOIN record ON record.record_key = found.record_key JOIN chain ON chain.chain_key = found.chain_key
               WHERE chain.tenant IS ? AND ${where} ORDER BY found.record_key DESC LIMIT ? OFFSET ?`,
            )
            .all(tenant, ...values) as Found[],
      );
    },
  };
}

function openingsOf(
  db: Database.Database,
  tenant: string | null,
  patiently: Patiently,
): Pick<Driver, 'addOpenings' | 'opening' | 'eraseOpenings'> {
  const add = db.prepare(
    'INSERT INTO opening (tenant, commitment, capsule_id, kind, salt, payload) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const addAll = db.transaction((openings: readonly Opening[]) => {
    for (const { commitment, capsuleId, kind, salt, payload } of openings) {
      add.run(tenant, commitment, capsuleId, kind, Buffer.from(salt), payload);
    }
  });
  return {
    addOpenings: (openings) => patiently(() => addAll.immediate(openings)),
    async opening(commitment) {
      const row = guarded(() =>
        db
          .prepare(
            'SELECT commitment, capsule_id AS capsuleId, kind, salt, payload FROM opening WHERE tenant IS ? AND commitment = ?',
          )
          .get(tenant, commitment),
      ) as Opening | undefined;
      return row === undefined ? null : { ...row, salt: new Uint8Array(row.salt) };
    },
    eraseOpenings: (capsuleId) =>
      patiently(() => {
        // Deleted rows stay in free pages unless they are overwritten.
        db.pragma('secure_delete = ON');
        const { changes } = db
          .prepare('DELETE FROM opening WHERE tenant IS ? AND capsule_id = ?')
          .run(tenant, capsuleId);
        db.pragma('wal_checkpoint(TRUNCATE)');
        return changes;
      }),
  };
}
