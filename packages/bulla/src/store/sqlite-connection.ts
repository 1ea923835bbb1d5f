import { statSync } from 'node:fs';
import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import { NotWrittenError } from './driver.ts';

/**
 * A file of a store, opened; it is opened again after its disk failed, or when another file is in its place. Every error
 * that it throws is ours, and says that nothing was written, but for the one of `commit`.
 */
export interface Connection {
  readonly readonly: boolean;
  readonly inTransaction: boolean;
  /** Runs work on the database; a disk that fails is noted. */
  use<T>(work: (db: Database.Database) => T): T;
  /** A statement, which is prepared once; only inside `use`. */
  sql(text: string): Database.Statement;
  begin(): void;
  /** Throws `STORE_UNCERTAIN` when the transaction may be found in the file later. */
  commit(): void;
  /** Ends an open transaction, whatever the disk says. */
  rollback(): void;
  close(): void;
}

interface Opened {
  readonly db: Database.Database;
  readonly statements: Map<string, Database.Statement>;
  readonly dev: number;
  readonly ino: number;
}

/** After these the file is opened anew: the disk may be another one, or have come back. */
const DISK_FAILED = /^SQLITE_(?:IOERR|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|READONLY_DBMOVED)/;

export function createConnection(file: string, open: () => Database.Database): Connection {
  const openFile = (): Opened => {
    const db = open();
    const { dev, ino } = statSync(file);
    return { db, dev, ino, statements: new Map() };
  };
  let opened: Opened | undefined = guarded(openFile);
  let failed = false;
  let closed = false;

  const drop = () => {
    const dropped = opened;
    opened = undefined;
    failed = false;
    try {
      dropped?.db.close();
    } catch {
      // It was of no use before.
    }
  };
  /** Whether the file is the one that was opened: what is written to one that was removed is lost. */
  const isInPlace = ({ dev, ino }: Opened): boolean => {
    let found: { dev: number; ino: number };
    try {
      found = statSync(file);
    } catch (cause) {
      throw new NotWrittenError('STORE_UNAVAILABLE', `The file of the store is not there: ${file}.`, {
        cause,
      });
    }
    return found.dev === dev && found.ino === ino;
  };
  const isStillInPlace = (committed: Opened): boolean => {
    try {
      return isInPlace(committed);
    } catch {
      return false;
    }
  };
  const current = (): Opened => {
    if (opened !== undefined && (closed || opened.db.inTransaction)) return opened;
    if (opened !== undefined && (failed || !isInPlace(opened))) drop();
    opened ??= openFile();
    return opened;
  };
  const use = <T>(work: (db: Database.Database) => T): T => {
    try {
      return work(current().db);
    } catch (error) {
      if (DISK_FAILED.test(codeOf(error))) failed = true;
      throw storeError(error);
    }
  };
  const rollback = () => {
    if (!opened?.db.inTransaction) return;
    try {
      opened.db.exec('ROLLBACK');
    } catch {
      // A connection that cannot leave its transaction would refuse every other one.
      drop();
    }
  };

  return {
    get readonly() {
      return opened?.db.readonly ?? false;
    },
    get inTransaction() {
      return opened?.db.inTransaction ?? false;
    },
    use,
    sql(text) {
      const { db, statements } = opened!;
      let statement = statements.get(text);
      if (statement === undefined) {
        statement = db.prepare(text);
        statements.set(text, statement);
      }
      return statement;
    },
    begin: () => void use((db) => db.exec('BEGIN IMMEDIATE')),
    commit() {
      const before = opened;
      try {
        use((db) => db.exec('COMMIT'));
      } catch (error) {
        rollback();
        const code = codeOf((error as BullaError).cause);
        // What did not fit is not there. After any other failure the file may hold all of it, and show it when it is
        // opened again.
        if (before === undefined || /^SQLITE_(?:FULL|BUSY)/.test(code)) throw error;
        throw new BullaError(
          'STORE_UNCERTAIN',
          `The disk failed while the store committed (${code}); whether it wrote is not known.`,
          { cause: error },
        );
      }
      // A transaction can wait for signatures; what is committed to a file that went meanwhile may never come back.
      if (before !== undefined && !isStillInPlace(before))
        throw new BullaError('STORE_UNCERTAIN', `The file of the store went while it committed: ${file}.`);
    },
    rollback,
    close() {
      closed = true;
      opened?.db.close();
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : '';
}

/** Turns SQLite's errors into ours. */
function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storeError(error);
  }
}

const KNOWN: readonly (readonly [pattern: RegExp, code: Code, sentence: string])[] = [
  [/^SQLITE_FULL/, 'STORE_FULL', 'The disk is full; nothing was written.'],
  [/^SQLITE_READONLY/, 'STORE_READ_ONLY', 'The store cannot be written.'],
  [/^SQLITE_(BUSY|LOCKED)/, 'STORE_BUSY', 'Another process kept the store locked for too long.'],
  [/^SQLITE_(NOTADB|CORRUPT)/, 'STORE_UNREADABLE', 'The file is not a database, or is damaged.'],
  [/^SQLITE_(CANTOPEN|PERM|AUTH)/, 'STORE_UNREADABLE', 'The store cannot be opened.'],
  [/^SQLITE_IOERR/, 'STORE_UNAVAILABLE', 'The disk of the store failed.'],
];

function storeError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  const known = KNOWN.find(([pattern]) => pattern.test(code));
  return known === undefined
    ? new NotWrittenError('STORE_FAILED', `The store failed (${code}: ${message}).`, { cause: error })
    : new NotWrittenError(known[1], known[2], { cause: error });
}
