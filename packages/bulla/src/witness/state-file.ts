import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import { accessFile, createDirectory, createPrivateFile, type Disk, refuseOldNode } from '../os/index.ts';
import { createMark, lost, type Mark, markFile, readMark, writeMark } from './mark.ts';

export interface StateOptions {
  /** The name of the witness. */
  readonly name: string;
  /**
   * Gets the verifier keys that the state names, none if it is new, and gives those to add. It is called while no
   * other process can change the state; what it throws ends the opening. Default: nothing is added.
   */
  readonly bind?: (known: readonly string[]) => readonly string[];
  readonly disk?: Disk;
}

/** How long to wait for another process that writes. */
export const BUSY_MS = 10_000;

/** "BWit", so that no other database is taken for the state of a witness. */
const APPLICATION_ID = 0x42576974;

const SCHEMA_VERSION = 1;

/**
 * The triggers hold what matters most even against a defect in this program. Each row has
 * the serial of the change that wrote it, so that a change of which only a part was written is found.
 */
const SCHEMA = `CREATE TABLE witness (
     name TEXT NOT NULL, state TEXT NOT NULL, serial INTEGER NOT NULL, stamp TEXT NOT NULL
   ) STRICT;
   CREATE TRIGGER witness_never_back BEFORE UPDATE ON witness
     WHEN NEW.name <> OLD.name OR NEW.state <> OLD.state OR NEW.serial <= OLD.serial
     BEGIN SELECT RAISE(ABORT, 'a witness never goes back'); END;
   CREATE TABLE key (vkey TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
   CREATE TRIGGER key_never_changed BEFORE UPDATE ON key
     BEGIN SELECT RAISE(ABORT, 'a state is of its keys for ever'); END;
   CREATE TRIGGER key_never_forgotten BEFORE DELETE ON key
     BEGIN SELECT RAISE(ABORT, 'a state is of its keys for ever'); END;
   CREATE TABLE log (
     origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, time INTEGER NOT NULL, note TEXT NOT NULL,
     serial INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TRIGGER log_never_back BEFORE UPDATE ON log
     WHEN NEW.origin <> OLD.origin OR NEW.size < OLD.size OR NEW.time < OLD.time
       OR (NEW.size = OLD.size AND NEW.root <> OLD.root) OR NEW.serial <= OLD.serial
     BEGIN SELECT RAISE(ABORT, 'a witness never goes back'); END;
   CREATE TRIGGER log_never_forgotten BEFORE DELETE ON log
     BEGIN SELECT RAISE(ABORT, 'a witness never forgets'); END;
   CREATE TABLE evidence (
     evidence_key INTEGER PRIMARY KEY, kind TEXT NOT NULL, origin TEXT NOT NULL, size INTEGER NOT NULL,
     root BLOB NOT NULL, note TEXT NOT NULL, against TEXT NOT NULL, time INTEGER NOT NULL, serial INTEGER NOT NULL,
     UNIQUE (origin, kind, size, root)
   ) STRICT;`;

/**
 * Opens the database of a state, and makes it the first time. Throws as `openState` does.
 * @internal Its types are those of a package that has none of its own.
 */
export function openDatabase(
  file: string,
  options: StateOptions & { readonly disk: Disk },
): Database.Database {
  refuseOldNode();
  if (!existsSync(file)) {
    createDirectory(dirname(file));
    accessFile('WITNESS_STATE_FAILED', file, 'created', () => createPrivateFile(file));
  }
  return guarded(file, () => {
    const db = new Database(file, { timeout: BUSY_MS });
    try {
      makeDurable(db, file);
      db.transaction(() => {
        if (isEmpty(db)) begin(db, file, options);
        check(db, file, options);
        const named = db.prepare('SELECT vkey FROM key ORDER BY vkey').all() as { vkey: string }[];
        const added = options.bind?.(named.map(({ vkey }) => vkey)) ?? [];
        for (const vkey of added) db.prepare('INSERT INTO key (vkey) VALUES (?)').run(vkey);
      }).immediate();
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * A commit must be in the file itself, and durable, before its cosignature leaves. In a WAL it would be in a second
 * file, which a backup of the first one lacks. The journal stays, voided and synced: to make and remove it would sync
 * the folder twice.
 */
function makeDurable(db: Database.Database, file: string): void {
  const mode = db.pragma('journal_mode = PERSIST', { simple: true });
  db.pragma('synchronous = EXTRA');
  if (mode === 'persist' && db.pragma('synchronous', { simple: true }) === 3) return;
  throw new BullaError('WITNESS_STATE_FAILED', `${file} cannot be opened so that a commit is durable.`);
}

function isEmpty(db: Database.Database): boolean {
  return (db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number }).n === 0;
}

/** The mark comes first: from then on, a state without a mark has lost it. */
function begin(db: Database.Database, file: string, { name, disk }: StateOptions & { disk: Disk }): void {
  const before = readMark(markFile(file));
  if (before !== null && before.serial > 0) {
    throw lost(`${file} is empty, but ${markFile(file)} says that it held ${before.serial} changes.`);
  }
  db.exec(SCHEMA);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${SCHEMA_VERSION}`);
  const mark: Mark = { state: randomUUID(), serial: 0, stamp: newStamp() };
  db.prepare('INSERT INTO witness (name, state, serial, stamp) VALUES (?, ?, ?, ?)').run(
    ...[name, mark.state, mark.serial, mark.stamp],
  );
  createMark(disk, markFile(file), mark);
}

export function newStamp(): string {
  return randomBytes(16).toString('hex');
}

function check(db: Database.Database, file: string, { name, disk }: StateOptions & { disk: Disk }): void {
  if (db.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
    throw new BullaError('WITNESS_STATE_FOREIGN', `${file} is a database, but not the state of a witness.`);
  }
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version !== SCHEMA_VERSION) {
    throw new BullaError(
      'WITNESS_STATE_FOREIGN',
      `${file} is of version ${version}; this program knows ${SCHEMA_VERSION}.`,
    );
  }
  if (db.pragma('quick_check(1)', { simple: true }) !== 'ok') throw lost(`${file} is damaged.`);
  const { name: known } = db.prepare('SELECT name FROM witness').get() as { name: string };
  if (known !== name) {
    throw new BullaError(
      'WITNESS_STATE_OTHER',
      `${file} is the state of the witness ${known}, not of ${name}.`,
    );
  }
  checkMark(db, file, disk);
}

/** A state may be ahead of its mark, by a crash between the two; it is never behind. */
function checkMark(db: Database.Database, file: string, disk: Disk): void {
  const head = readHead(db);
  const written = db
    .prepare(
      'SELECT max(serial) AS serial FROM (SELECT serial FROM log UNION ALL SELECT serial FROM evidence)',
    )
    .get() as { serial: number | null };
  if ((written.serial ?? 0) !== head.serial) throw lost(`${file} is damaged.`);
  const mark = readMark(markFile(file));
  if (mark === null) {
    throw lost(`${markFile(file)} is missing, so nobody can tell whether ${file} is the newest state.`);
  }
  if (mark.state !== head.state) throw lost(`${file} and ${markFile(file)} are of different states.`);
  if (mark.serial > head.serial) {
    throw lost(
      `${file} holds ${head.serial} changes, but ${markFile(file)} says that it held ${mark.serial}.`,
    );
  }
  if (mark.serial < head.serial) writeMark(disk, markFile(file), head);
  else if (mark.stamp !== head.stamp) throw lost(`${file} is not the state that ${markFile(file)} knows.`);
}

/**
 * How far the state has come.
 * @internal As above.
 */
export function readHead(db: Database.Database): Mark {
  return db.prepare('SELECT state, serial, stamp FROM witness').get() as Mark;
}

/** Runs what touches the database; errors of SQLite become ours. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause;
    if (/^SQLITE_(BUSY|LOCKED)/.test(cause.code)) {
      throw new BullaError('WITNESS_STATE_BUSY', 'Another process kept the state locked for too long.', {
        cause,
      });
    }
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(cause.code))
      throw lost(`${file} is damaged (${cause.message}).`, cause);
    throw new BullaError('WITNESS_STATE_FAILED', `The state failed (${cause.code}: ${cause.message}).`, {
      cause,
    });
  }
}
