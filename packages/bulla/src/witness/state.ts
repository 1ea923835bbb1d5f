import { setTimeout as sleep } from 'node:timers/promises';
import { BullaError } from '@bulla/core/error';
import type Database from 'better-sqlite3';
import { createExclusive, type Disk, realDisk } from '../os/index.ts';
import { lost, markFile, writeMark } from './mark.ts';
import { BUSY_MS, guarded, newStamp, openDatabase, readHead, type StateOptions } from './state-file.ts';

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
  /** Called once that is durable, unless it was known already; with false for evidence for which there is no room. */
  readonly onStored?: (isKept: boolean) => void;
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
  evidence(): readonly Evidence[];
  /** Waits for what is under way, and closes. */
  close(): Promise<void>;
}

/** How much evidence of one kind is kept against one log; it alone can sign so much. */
export const MAX_EVIDENCE = 1000;

/** How long a wait for another process that writes may stop this one. */
const BLOCKED_MS = 50;

/**
 * Opens the state of a witness, and makes it where there is none. Throws `WITNESS_STATE_LOST` for one that was
 * emptied, put back to an older copy or damaged, `WITNESS_STATE_OTHER` for that of another witness,
 * `WITNESS_STATE_FOREIGN` for a file that is no state, `WITNESS_STATE_BUSY` and `WITNESS_STATE_FAILED`.
 */
export function openState(file: string, options: StateOptions): WitnessState {
  const { disk = realDisk } = options;
  const db = openDatabase(file, { ...options, disk });
  db.pragma(`busy_timeout = ${BLOCKED_MS}`);
  return stateOf(db, file, disk);
}

type CosignedRow = Omit<Cosigned, 'root'> & { root: Buffer };

function stateOf(db: Database.Database, file: string, disk: Disk): WitnessState {
  const find = db.prepare('SELECT origin, size, root, time, note FROM log WHERE origin = ?');
  const put = db.prepare(
    `INSERT INTO log (origin, size, root, time, note, serial) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (origin) DO UPDATE SET
       size = excluded.size, root = excluded.root, time = excluded.time, note = excluded.note,
       serial = excluded.serial`,
  );
  const addEvidence = db.prepare(
    `INSERT INTO evidence (kind, origin, size, root, note, against, time, serial) SELECT ?, ?, ?, ?, ?, ?, ?, ?
     WHERE (SELECT count(*) FROM evidence WHERE origin = ? AND kind = ?) < ${MAX_EVIDENCE}
     ON CONFLICT DO NOTHING`,
  );
  const latest = (origin: string): Cosigned | null => {
    const row = find.get(origin) as CosignedRow | undefined;
    return row === undefined ? null : { ...row, root: new Uint8Array(row.root) };
  };
  const advance = db.prepare('UPDATE witness SET serial = ?, stamp = ?');
  let seen = readHead(db).serial;
  /** The serial of the next change. The file may have been put back to an older copy under our hands. */
  const next = (): number => {
    const { serial } = readHead(db);
    if (serial < seen) throw lost(`${file} holds ${serial} changes, but it held ${seen}.`);
    seen = serial;
    return serial + 1;
  };
  const findEvidence = db.prepare(
    'SELECT 1 FROM evidence WHERE origin = ? AND kind = ? AND size = ? AND root = ?',
  );
  const voidEvidence = db.prepare(
    "DELETE FROM evidence WHERE origin = ? AND kind = 'inconsistent' AND size = ? AND root = ?",
  );
  /** Stores what was decided, and tells whether that changed anything, or found no room. */
  const store = (
    { cosigned, evidence }: Decision<unknown>,
    serial: number,
  ): 'changed' | 'known' | 'no room' => {
    let changes = 0;
    if (cosigned !== null) {
      const { origin, size, root, time, note } = cosigned;
      changes += put.run(origin, size, root, time, note, serial).changes;
      // Somebody had sent it with a wrong proof.
      voidEvidence.run(origin, size, root);
    }
    if (evidence !== null) {
      const { kind, origin, size, root, note, against, time } = evidence;
      changes += addEvidence.run(
        ...[kind, origin, size, root, note, against, time, serial, origin, kind],
      ).changes;
    }
    if (changes > 0) {
      advance.run(serial, newStamp());
      return 'changed';
    }
    if (evidence === null) return 'known';
    const { origin, kind, size, root } = evidence;
    return findEvidence.get(origin, kind, size, root) === undefined ? 'no room' : 'known';
  };
  /** Under the lock once more: another process may have stored a later change, whose mark must not be set back. */
  const setMark = async (): Promise<void> => {
    await begin(db, file);
    try {
      const head = guarded(file, () => readHead(db));
      writeMark(disk, markFile(file), head);
      seen = head.serial;
    } finally {
      db.exec('ROLLBACK');
    }
  };

  // A connection has one transaction at a time, and it stays open while signatures are made.
  const exclusive = createExclusive();
  return {
    update: <T>(origin: string, decide: (latest: Cosigned | null) => Promise<Decision<T>>) =>
      exclusive(async () => {
        await begin(db, file);
        let decision: Decision<T>;
        let stored: ReturnType<typeof store>;
        try {
          const serial = guarded(file, next);
          decision = await decide(guarded(file, () => latest(origin)));
          stored = guarded(file, () => store(decision, serial));
          guarded(file, () => db.exec('COMMIT'));
        } catch (error) {
          if (db.inTransaction) db.exec('ROLLBACK');
          throw error;
        }
        if (stored === 'changed') await setMark();
        if (stored !== 'known') decision.onStored?.(stored === 'changed');
        return decision.result;
      }),
    latest: (origin) => guarded(file, () => latest(origin)),
    evidence: () =>
      guarded(file, () =>
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
async function begin(db: Database.Database, file: string): Promise<void> {
  const end = performance.now() + BUSY_MS;
  for (;;) {
    try {
      return guarded(file, () => void db.exec('BEGIN IMMEDIATE'));
    } catch (error) {
      if (!(error instanceof BullaError) || error.code !== 'WITNESS_STATE_BUSY') throw error;
      if (performance.now() >= end) throw error;
      await sleep(1 + 5 * Math.random());
    }
  }
}
