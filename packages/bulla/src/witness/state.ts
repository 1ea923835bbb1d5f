import { chmodSync, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import { createDirectory } from '../keys/index.ts';

/** The checkpoint of a log that the witness cosigned last. */
export interface Cosigned {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** The POSIX time in seconds that the cosignatures state. */
  readonly time: number;
  /** The checkpoint with the signatures of the log and the cosignatures, and no other line. */
  readonly note: string;
}

/**
 * What a checkpoint that the log signed says against the one that was cosigned last:
 *
 * - `split-view`: the same size, another root. The two notes prove that the log showed two histories.
 * - `inconsistent`: larger, but what was sent with it does not show that it continues the cosigned one. Whoever sent
 *   it may have sent a wrong proof; the records can tell.
 * - `behind`: smaller. It may be late or sent again, or the log was set back; the records can tell.
 */
export type EvidenceKind = 'split-view' | 'inconsistent' | 'behind';

/** A checkpoint that was refused, and the cosigned one that it stands against. */
export interface Evidence {
  readonly kind: EvidenceKind;
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** The checkpoint with the signatures of the log, and no other line. */
  readonly note: string;
  /** The checkpoint that had been cosigned. */
  readonly against: string;
  /** The POSIX time in seconds at which it came. */
  readonly time: number;
}

/** What is to be stored, and what to answer once it is. */
export interface Decision<T> {
  readonly cosigned: Cosigned | null;
  readonly evidence: Evidence | null;
  readonly result: T;
}

/** What a witness remembers, in a file that several processes may share. */
export interface WitnessState {
  /**
   * Lets `decide` see what was cosigned last while nobody else can change it, stores what it decides, and resolves
   * with the result when that is durable. If anything fails nothing is stored. Rejects with `WITNESS_STATE_…` and
   * with whatever `decide` fails with.
   */
  update<T>(origin: string, decide: (latest: Cosigned | null) => Promise<Decision<T>>): Promise<T>;
  latest(origin: string): Cosigned | null;
  /** The logs of which something was cosigned. */
  origins(): readonly string[];
  evidence(): readonly Evidence[];
  /** Waits for what is under way, and closes. */
  close(): Promise<void>;
}

/** How much evidence of one kind is kept against one log; it alone can sign so much. */
export const MAX_EVIDENCE = 1000;

/** How long to wait for another process that writes: at once, which stops this one, and in all. */
const BLOCKED_MS = 50;
const BUSY_MS = 10_000;

/** "BWit", so that no other database is taken for the state of a witness. */
const APPLICATION_ID = 0x42576974;

/** One entry for each version. The triggers hold what matters most even against a defect in this program. */
const SCHEMA: readonly string[] = [
  `CREATE TABLE witness (name TEXT NOT NULL) STRICT;
   CREATE TABLE log (
     origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, time INTEGER NOT NULL, note TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TRIGGER log_never_back BEFORE UPDATE ON log
     WHEN NEW.origin <> OLD.origin OR NEW.size < OLD.size OR NEW.time < OLD.time
       OR (NEW.size = OLD.size AND NEW.root <> OLD.root)
     BEGIN SELECT RAISE(ABORT, 'a witness never goes back'); END;
   CREATE TRIGGER log_never_forgotten BEFORE DELETE ON log
     BEGIN SELECT RAISE(ABORT, 'a witness never forgets'); END;
   CREATE TABLE evidence (
     evidence_key INTEGER PRIMARY KEY, kind TEXT NOT NULL, origin TEXT NOT NULL, size INTEGER NOT NULL,
     root BLOB NOT NULL, note TEXT NOT NULL, against TEXT NOT NULL, time INTEGER NOT NULL,
     UNIQUE (origin, kind, size, root)
   ) STRICT;`,
];

/**
 * Opens the state of a witness. Throws `WITNESS_STATE_MISSING` unless it is there or `create` is set,
 * `WITNESS_STATE_OTHER_NAME` for that of another witness, `WITNESS_STATE_FOREIGN` for a file that is no state,
 * `WITNESS_STATE_NEWER`, `WITNESS_STATE_NOT_DURABLE`, `WITNESS_STATE_BUSY` and `WITNESS_STATE_FAILED`.
 */
export function openState(file: string, { name, create }: { name: string; create: boolean }): WitnessState {
  const isNew = !existsSync(file);
  if (isNew) {
    if (!create) {
      throw new BullaError('WITNESS_STATE_MISSING', `There is no state of a witness at ${file}.`);
    }
    createDirectory(dirname(file));
  }
  return guarded(() => {
    const db = new Database(file, { timeout: BUSY_MS });
    try {
      if (isNew) chmodSync(file, 0o600);
      prepare(db, file, name);
      db.pragma(`busy_timeout = ${BLOCKED_MS}`);
      return stateOf(db);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function prepare(db: Database.Database, file: string, name: string): void {
  if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal') throw notDurable(file);
  // In WAL mode the default loses commits in a power cut, and with them what was cosigned.
  db.pragma('synchronous = FULL');
  if (db.pragma('synchronous', { simple: true }) !== 2) throw notDurable(file);
  db.transaction(() => {
    const version = db.pragma('user_version', { simple: true }) as number;
    const empty = (db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number }).n === 0;
    if (!empty && db.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
      throw new BullaError('WITNESS_STATE_FOREIGN', `${file} is a database, but not the state of a witness.`);
    }
    if (version > SCHEMA.length) {
      throw new BullaError(
        'WITNESS_STATE_NEWER',
        `${file} is of version ${version}; this program knows ${SCHEMA.length}.`,
      );
    }
    for (const step of SCHEMA.slice(version)) db.exec(step);
    if (empty) {
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.prepare('INSERT INTO witness (name) VALUES (?)').run(name);
    }
    db.pragma(`user_version = ${SCHEMA.length}`);
    const { name: known } = db.prepare('SELECT name FROM witness').get() as { name: string };
    if (known === name) return;
    throw new BullaError(
      'WITNESS_STATE_OTHER_NAME',
      `${file} is the state of the witness ${known}, not of ${name}.`,
    );
  }).immediate();
}

function notDurable(file: string): BullaError {
  return new BullaError('WITNESS_STATE_NOT_DURABLE', `${file} cannot be opened so that a commit is durable.`);
}

type CosignedRow = Omit<Cosigned, 'root'> & { root: Buffer };

function stateOf(db: Database.Database): WitnessState {
  const find = db.prepare('SELECT origin, size, root, time, note FROM log WHERE origin = ?');
  const put = db.prepare(
    `INSERT INTO log (origin, size, root, time, note) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (origin) DO UPDATE SET
       size = excluded.size, root = excluded.root, time = excluded.time, note = excluded.note`,
  );
  const addEvidence = db.prepare(
    `INSERT INTO evidence (kind, origin, size, root, note, against, time) SELECT ?, ?, ?, ?, ?, ?, ?
     WHERE (SELECT count(*) FROM evidence WHERE origin = ? AND kind = ?) < ${MAX_EVIDENCE}
     ON CONFLICT DO NOTHING`,
  );
  const latest = (origin: string): Cosigned | null => {
    const row = find.get(origin) as CosignedRow | undefined;
    return row === undefined ? null : { ...row, root: new Uint8Array(row.root) };
  };
  const store = ({ cosigned, evidence }: Decision<unknown>): void => {
    if (cosigned !== null) {
      const { origin, size, root, time, note } = cosigned;
      put.run(origin, size, root, time, note);
    }
    if (evidence !== null) {
      const { kind, origin, size, root, note, against, time } = evidence;
      addEvidence.run(kind, origin, size, root, note, against, time, origin, kind);
    }
  };

  // A connection has one transaction at a time, and it stays open while signatures are made.
  let last: Promise<unknown> = Promise.resolve();
  const exclusive = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  return {
    update: (origin, decide) =>
      exclusive(async () => {
        await begin(db);
        try {
          const decision = await decide(guarded(() => latest(origin)));
          guarded(() => {
            store(decision);
            db.exec('COMMIT');
          });
          return decision.result;
        } catch (error) {
          if (db.inTransaction) db.exec('ROLLBACK');
          throw error;
        }
      }),
    latest: (origin) => guarded(() => latest(origin)),
    origins: () =>
      guarded(() =>
        (db.prepare('SELECT origin FROM log ORDER BY origin').all() as { origin: string }[]).map(
          ({ origin }) => origin,
        ),
      ),
    evidence: () =>
      guarded(() =>
        (
          db
            .prepare(
              'SELECT kind, origin, size, root, note, against, time FROM evidence ORDER BY evidence_key',
            )
            .all() as (Omit<Evidence, 'root'> & { root: Buffer })[]
        ).map((row) => ({ ...row, root: new Uint8Array(row.root) })),
      ),
    close: () => exclusive(async () => void db.close()),
  };
}

/** Takes the lock for writing, and waits while another process has it. */
async function begin(db: Database.Database): Promise<void> {
  const end = performance.now() + BUSY_MS;
  for (;;) {
    try {
      return guarded(() => void db.exec('BEGIN IMMEDIATE'));
    } catch (error) {
      if (!(error instanceof BullaError) || error.code !== 'WITNESS_STATE_BUSY') throw error;
      if (performance.now() >= end) throw error;
      await sleep(1 + 5 * Math.random());
    }
  }
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause;
    if (/^SQLITE_(BUSY|LOCKED)/.test(cause.code)) {
      throw new BullaError('WITNESS_STATE_BUSY', 'Another process kept the state locked for too long.', {
        cause,
      });
    }
    throw new BullaError('WITNESS_STATE_FAILED', `The state failed (${cause.code}: ${cause.message}).`, {
      cause,
    });
  }
}
