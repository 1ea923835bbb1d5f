import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import type {
  Addition,
  Driver,
  Head,
  Planting,
  Row,
  Statements,
  Tip,
  Transaction,
  TreeNode,
} from './driver.ts';
import { EMPTY } from './driver.ts';
import { migrations } from './schema.ts';
import { searching } from './sqlite-search.ts';
import { createExclusive, guarded, OURS, retried, statementsOn } from './sqlite-statements.ts';
import { treeOf } from './sqlite-tree.ts';

const SCHEMA = migrations({
  key: 'INTEGER PRIMARY KEY',
  bytes: 'BLOB',
  text: "CREATE VIRTUAL TABLE found_text USING fts5(summary, content='', contentless_delete=1);",
});

/** How long opening waits for another process that writes, … */
const OPEN_MS = 10_000;
/** … and how long a statement does, with the event loop standing still, before it is tried again later. */
const BUSY_MS = 20;

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
    const db = new Database(file, { readonly: options.readOnly ?? false, timeout: OPEN_MS });
    try {
      prepareFile(db, options.readOnly ?? false);
      db.pragma(`busy_timeout = ${BUSY_MS}`);
      if (options.maxPages !== undefined) db.pragma(`max_page_count = ${options.maxPages}`);
    } catch (error) {
      db.close();
      throw error;
    }
    return driver(db, file, options.tenant);
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

interface RawChain {
  chain_key: number;
  length: number;
  head_hash: string | null;
  tree: Uint8Array | null;
  origin: string | null;
}

/**
 * A second connection to read with: what the open transaction of the first one has changed is not to be seen before
 * it is committed. It is opened when it is first used.
 */
function createReader(db: Database.Database, file: string, tenant: string | null) {
  let reader: Database.Database | undefined;
  let statements: Statements | undefined;
  return {
    statements(): Statements {
      if (statements === undefined) {
        reader = guarded(() => (db.readonly ? db : new Database(file, { readonly: true, timeout: BUSY_MS })));
        statements = statementsOn(reader, tenant);
      }
      return statements;
    },
    close: () => reader?.close(),
  };
}

function driver(db: Database.Database, file: string, tenant: string | null): Driver {
  // A connection has one transaction at a time, and one of them waits for signatures while it is open.
  const exclusive = createExclusive();
  const patiently = <T>(work: () => T) => exclusive(() => retried(work));
  const sql = (text: string) => db.prepare(text);
  const findChain = sql(
    `SELECT chain_key, length, head_hash, tree, origin FROM chain WHERE ${OURS} AND name = ?`,
  );
  const makeChain = sql('INSERT INTO chain (tenant, name, length, head_hash) VALUES (?, ?, 0, NULL)');
  const moveHead = sql(
    'UPDATE chain SET length = ?, head_hash = ?, tree = ?, origin = ? WHERE chain_key = ?',
  );
  const addRecord = sql('INSERT INTO record (chain_key, sequence, hash, data, leaf) VALUES (?, ?, ?, ?, ?)');
  const addNode = sql('INSERT INTO node (chain_key, level, number, hash) VALUES (?, ?, ?, ?)');
  const readRecords = sql(
    'SELECT sequence, hash, data FROM record WHERE chain_key = ? AND sequence >= ? ORDER BY sequence LIMIT ?',
  );
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

  const addNodes = (key: number, nodes: readonly TreeNode[]) => {
    for (const { level, index, hash } of nodes) addNode.run(key, level, index, hash);
  };
  /** Inside a transaction: the rows, the tree and the new head. */
  const write = (name: string, { rows, tree, nodes, origin }: Addition) => {
    const key = chainOf(name)?.chain_key ?? (makeChain.run(tenant, name).lastInsertRowid as number);
    const last = rows.at(-1)!;
    moveHead.run(last.sequence + 1, last.hash, tree, origin, key);
    addNodes(key, nodes);
    for (const { sequence, hash, data, leaf } of rows) addRecord.run(key, sequence, hash, data, leaf);
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
    moveHead.run(length, chain.head_hash, planting.tree, chain.origin ?? planting.origin, chain.chain_key);
  });

  const reader = createReader(db, file, tenant);
  const [savepoint, undo, release] = [sql('SAVEPOINT part'), sql('ROLLBACK TO part'), sql('RELEASE part')];
  const open: Transaction = {
    ...statementsOn(db, tenant),
    forUpdate: '',
    async attempt(part) {
      savepoint.run();
      try {
        await part();
      } catch (error) {
        undo.run();
        throw error;
      } finally {
        release.run();
      }
    },
  };
  const transaction = <T>(work: (transaction: Transaction) => Promise<T>) =>
    exclusive(async () => {
      await retried(() => db.exec('BEGIN IMMEDIATE'));
      try {
        const result = await work(open);
        guarded(() => db.exec('COMMIT'));
        return result;
      } catch (error) {
        if (db.inTransaction) db.exec('ROLLBACK');
        throw error;
      }
    });

  return {
    tip: async (name) => guarded(() => tipOf(chainOf(name))),
    append: (name, expected, addition) => patiently(() => tryAppend.immediate(name, expected, addition)),
    appendLocked: (name, make) =>
      transaction(async (open) => {
        const addition = await make(
          guarded(() => tipOf(chainOf(name))),
          open,
        );
        if (addition !== null) guarded(() => write(name, addition));
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
          sql(`SELECT name, length, head_hash, indexed FROM chain WHERE ${OURS} ORDER BY name`).all(
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
    reading: { tenant, all: async (text, ...values) => reader.statements().all(text, ...values) },
    transaction,
    erase: (text, ...values) =>
      patiently(() => {
        // Deleted rows stay in free pages unless they are overwritten.
        db.pragma('secure_delete = ON');
        const { changes } = sql(text).run(...values);
        db.pragma('wal_checkpoint(TRUNCATE)');
        return changes;
      }),
    close: () =>
      exclusive(async () => {
        reader.close();
        db.close();
      }),
  };
}
