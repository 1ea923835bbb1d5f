import { closeSync, readFileSync, statSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import { accessFile, openFound, refuseOldNode, snapshot } from '../os/index.ts';

/** A database that is only read, from wherever it could be read. */
export interface Readable {
  readonly db: Database.Database;
  /** What was read instead of the file itself, for a report; null where the file was opened. */
  readonly copied: string | null;
  /** The file that the connection is on: the one that was named, or its copy. */
  readonly path: string;
  close(): void;
}

/** What SQLite says where it cannot make the files that it needs beside a database, even to read it. */
const NOT_HERE = /^SQLITE_(?:READONLY|CANTOPEN|PERM|IOERR|FULL)/;
/** A database that nobody has open is read whole if it is not larger, … */
const MAX_AT_ONCE = 1 << 28;
/** … and so is one that cannot be read otherwise. Larger ones are copied to a file. */
const MAX_IN_MEMORY = 1 << 30;

/**
 * Opens a SQLite file to read on any medium: one that is read-only, of another user, or full. To read a database with a
 * write-ahead log SQLite writes beside it, and leaves what it wrote; so a file without a log is read whole. Where there
 * is one and SQLite cannot write, both are copied to a private folder. A log is never left out. Throws SQLite's errors,
 * and `STORE_UNREADABLE` where no copy can be made.
 */
export function openReadable(file: string, timeout = 5000): Readable {
  refuseOldNode();
  const isCalm = sizeOf(`${file}-wal`) === 0;
  try {
    const db = isCalm && sizeOf(file) <= MAX_AT_ONCE ? inMemory(file) : onDisk(file, timeout);
    return { db, copied: null, path: file, close: () => db.close() };
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || !NOT_HERE.test(error.code)) throw error;
    if (!isCalm || sizeOf(file) > MAX_IN_MEMORY) return copied(file, timeout);
    const db = inMemory(file);
    const what = `a copy in memory of ${file}, which has no write-ahead log`;
    return { db, copied: what, path: file, close: () => db.close() };
  }
}

function onDisk(file: string, timeout: number): Database.Database {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function inMemory(file: string): Database.Database {
  const bytes = accessFile('STORE_UNREADABLE', file, 'read', () => {
    // A regular file, of which no more is read than the size that was looked at before; a pipe would have none.
    const input = openFound(file);
    try {
      return readFileSync(input);
    } finally {
      closeSync(input);
    }
  });
  // Bytes 18 and 19 say that there may be a write-ahead log (file format §1.3.3). There is none, and memory has none.
  if (bytes.length > 19 && bytes[18] === 2 && bytes[19] === 2) bytes.fill(1, 18, 20);
  return new Database(bytes, { readonly: true });
}

function copied(file: string, timeout: number): Readable {
  let copy: ReturnType<typeof snapshot>;
  try {
    copy = snapshot(file);
  } catch (cause) {
    const { message } = cause as Error;
    throw new BullaError('STORE_UNREADABLE', `The store cannot be copied to be read: ${message}`, { cause });
  }
  try {
    // Opened to write, because SQLite has to read the log into the file first.
    const db = new Database(copy.path, { fileMustExist: true, timeout });
    db.pragma('query_only = ON');
    const close = () => {
      db.close();
      copy.remove();
    };
    const log = copy.wal ? ' with its write-ahead log' : '';
    return { db, copied: `a private copy of ${file}${log}`, path: copy.path, close };
  } catch (error) {
    copy.remove();
    throw error;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
