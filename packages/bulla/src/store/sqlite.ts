import { dirname, resolve } from 'node:path';
import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import {
  accessFile,
  createDirectory,
  createExclusive,
  createPrivateFile,
  isThere,
  refuseOldNode,
} from '../os/index.ts';
import type { Addition, Driver, Row, Statements } from './driver.ts';
import { assertText, NotOpenError } from './driver.ts';
import { openReadable, type Readable } from './readable.ts';
import { type ChainRow, PUT_CHECKPOINT, READ, readingRows, TIP, tipOf } from './rows.ts';
import { assertKnown, SCHEMA_VERSION, schema } from './schema.ts';
import { type SearchDialect, searching } from './search.ts';
import { type Connection, createConnection } from './sqlite-connection.ts';
import { createPatiently, createTransaction, statementsOn, TIME } from './sqlite-statements.ts';

const SCHEMA = schema({
  key: 'INTEGER PRIMARY KEY',
  bytes: 'BLOB',
  text: "CREATE VIRTUAL TABLE found_text USING fts5(summary, content='', contentless_delete=1);",
  clustered: ' WITHOUT ROWID',
});

const SEARCH: SearchDialect = {
  rows: (members) =>
    `(SELECT value ->> 'sequence' AS sequence, ${members
      .map((member) => `value ->> '${member}' AS "${member}"`)
      .join(', ')} FROM json_each(?)) AS added`,
  textKey: 'rowid',
  summary: 'added.summary',
  matches: 'found_text MATCH ?',
  words: (text) =>
    text
      .trim()
      .split(/\s+/)
      .map((word) => `"${word.replaceAll('"', '""')}"`)
      .join(' '),
};

/** How long opening waits for another process that writes, … */
const OPEN_MS = 10_000;
/** … and how long a statement does, with the event loop standing still, before it is tried again later. */
const BUSY_MS = 20;

interface SqliteOptions {
  readonly tenant: string | null;
  /** Make the file if it is not there. Default false, so that reading never creates one. */
  readonly create?: boolean;
  readonly readOnly?: boolean;
  /** The size in pages beyond which the file does not grow. Default: as far as the disk goes. */
  readonly maxPages?: number;
}

/**
 * Opens a SQLite file. Throws `STORE_MISSING`, `STORE_NOT_A_STORE`, `STORE_NEWER` for a file of a later version,
 * `STORE_READ_ONLY`, `STORE_UNREADABLE`, and `RUNTIME_TOO_OLD` where SQLite cannot be loaded.
 */
export function openSqlite(file: string, options: SqliteOptions): Driver {
  refuseOldNode();
  const { tenant, readOnly = false, maxPages } = options;
  if (!accessFile('STORE_UNREADABLE', file, 'read', () => isThere(file))) {
    if (!options.create) throw missing(file);
    createDirectory(dirname(resolve(file)));
    accessFile('STORE_UNREADABLE', file, 'created', () => createPrivateFile(file));
  }
  if (readOnly) return openToRead(file, tenant);
  let create = options.create ?? false;
  const connection = createConnection(file, () => {
    const db = new Database(file, { fileMustExist: !create, timeout: OPEN_MS });
    try {
      prepareFile(db);
      db.pragma(`busy_timeout = ${BUSY_MS}`);
      if (maxPages !== undefined) db.pragma(`max_page_count = ${maxPages}`);
    } catch (error) {
      db.close();
      throw error;
    }
    // When it is opened again it must be there.
    create = false;
    return db;
  });
  return driver(connection, file, tenant);
}

/** Nothing is written, not even beside the file. */
function openToRead(file: string, tenant: string | null): Driver {
  const opened: Readable[] = [];
  const connection = createConnection(file, () => {
    const found = openReadable(file, OPEN_MS);
    try {
      if (!hasTables(found.db)) throw missing(file);
      found.db.pragma(`busy_timeout = ${BUSY_MS}`);
    } catch (error) {
      found.close();
      throw error;
    }
    opened.push(found);
    return found.db;
  });
  const [{ path, copied }] = opened as [Readable];
  const made = driver(connection, path, tenant);
  return {
    ...made,
    ...(copied !== null && { copied }),
    async close() {
      await made.close();
      for (const one of opened) one.close();
    },
  };
}

function missing(file: string): BullaError {
  return new BullaError(
    'STORE_MISSING',
    `There is no store at ${file}. The first record makes one; "--store" names another.`,
  );
}

/** Whether the tables are there; not in a file that is empty. Throws `STORE_NEWER` and `STORE_NOT_A_STORE`. */
function hasTables(db: Database.Database): boolean {
  const version = db.pragma('user_version', { simple: true }) as number;
  assertKnown(version);
  if (version !== 0) return true;
  const { n } = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number };
  if (n === 0) return false;
  throw new BullaError('STORE_NOT_A_STORE', 'The file is a database, but not one of Bulla.');
}

function prepareFile(db: Database.Database): void {
  // Asked first: a file that is not ours is left as it was.
  hasTables(db);
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
    if (hasTables(db)) return;
    db.exec(SCHEMA);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  }).immediate();
}

/**
 * A second connection to read with: what the open transaction of the first one has changed is not to be seen before
 * it is committed. It is opened when it is first used.
 */
function createReader(connection: Connection, file: string, tenant: string | null) {
  let reader: Connection | undefined;
  return {
    statements(): Statements {
      reader ??= connection.readonly
        ? connection
        : createConnection(
            file,
            () => new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS }),
          );
      return statementsOn(reader, tenant);
    },
    close: () => reader?.close(),
  };
}

const MAKE_CHAIN = 'INSERT INTO chain (tenant, name, length, head_hash) VALUES (?, ?, 0, NULL)';
const MOVE_HEAD = 'UPDATE chain SET length = ?, head_hash = ?, tree = ?, origin = ? WHERE chain_key = ?';
const ADD_RECORD = 'INSERT INTO record (chain_key, sequence, hash, data, leaf) VALUES (?, ?, ?, ?, ?)';
const ADD_NODE = 'INSERT INTO node (chain_key, level, number, hash) VALUES (?, ?, ?, ?)';
const ADD_OPENING = 'INSERT INTO opening (chain_key, sequence, kind, salt, payload) VALUES (?, ?, ?, ?, ?)';
const OPEN_INTENT = 'INSERT INTO open_intent (chain_key, sequence, instance) VALUES (?, ?, ?)';
const CLOSE_INTENT = 'DELETE FROM open_intent WHERE chain_key = ? AND sequence = ?';

function driver(connection: Connection, file: string, tenant: string | null): Driver {
  const { use, sql } = connection;
  // A connection has one transaction at a time, and one of them waits for signatures while it is open.
  const exclusive = createExclusive();
  const patiently = createPatiently(connection, exclusive);
  const transaction = createTransaction(connection, tenant, exclusive);
  const reader = createReader(connection, file, tenant);
  const statements = statementsOn(connection, tenant);
  const reads = readingRows(statements);

  const ours = tenant ?? '';
  const chainOf = (name: string) => sql(TIP).get(ours, name) as ChainRow | undefined;
  const ensureChain = (name: string) =>
    chainOf(name)?.chain_key ?? (sql(MAKE_CHAIN).run(tenant, name).lastInsertRowid as number);
  /** Inside a transaction: the rows with what goes with them, the tree and the new head. Throws `NotOpenError`. */
  const write = (name: string, { rows, tree, nodes, origin }: Addition) => {
    const key = ensureChain(name);
    const last = rows.at(-1)!;
    sql(MOVE_HEAD).run(last.sequence + 1, last.hash, tree, origin, key);
    for (const { level, index, hash } of nodes) sql(ADD_NODE).run(key, level, index, hash);
    for (const { sequence, hash, data, leaf, openings = [], opens, closes } of rows) {
      sql(ADD_RECORD).run(key, sequence, hash, data, leaf);
      if (opens !== undefined) sql(OPEN_INTENT).run(key, sequence, opens);
      if (closes !== undefined && sql(CLOSE_INTENT).run(key, closes).changes === 0) throw new NotOpenError();
      for (const { kind, salt, payload } of openings)
        sql(ADD_OPENING).run(key, sequence, kind, salt, payload);
    }
  };

  return {
    ...reads,
    append: (name, expected, addition) =>
      patiently
        .transaction(() => {
          const { length, hash } = tipOf(chainOf(name));
          if (length !== expected.length || hash !== expected.hash) return false;
          write(name, addition);
          return true;
        })
        .catch((error) => {
          if (error instanceof NotOpenError) return false;
          throw error;
        }),
    async appendLocked(name, make) {
      await transaction(
        async (open) => make(await reads.tip(name), open),
        (addition) => {
          if (addition !== null) write(name, addition);
        },
      );
    },
    settle: (name, from, limit) =>
      patiently.transaction(() => {
        sql('UPDATE chain SET fence = fence + 1 WHERE chain_key = ?').run(ensureChain(name));
        return sql(READ).all(ours, name, from, limit) as Row[];
      }),
    putCheckpoint: (name, { origin, size, note }) =>
      patiently.alone(() =>
        use((db) => {
          // It does not wait for the disk: the file outside the database has it, and the next append waits for both.
          db.pragma('synchronous = NORMAL');
          try {
            sql(PUT_CHECKPOINT).run(ours, name, origin, size, note);
          } finally {
            db.pragma('synchronous = FULL');
          }
        }),
      ),
    ...searching(SEARCH, statements, transaction),
    reading: { tenant, all: async (text, ...values) => reader.statements().all(text, ...values) },
    time: async () => use(() => (sql(TIME).get() as { now: number }).now),
    transaction: (work) => transaction(work),
    async erase(text, ...values) {
      assertText(values);
      return patiently.alone(() =>
        use((db) => {
          // Deleted rows stay in free pages unless they are overwritten.
          db.pragma('secure_delete = ON');
          const { changes } = sql(text).run(...values);
          db.pragma('wal_checkpoint(TRUNCATE)');
          return changes;
        }),
      );
    },
    close: () =>
      exclusive(async () => {
        reader.close();
        connection.close();
      }),
  };
}
