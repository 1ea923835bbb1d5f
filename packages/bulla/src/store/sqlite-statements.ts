import { BullaError } from '@bulla/core/error';
import Database from 'better-sqlite3';
import type { Statements, Value } from './driver.ts';

/** Turns SQLite's errors into ours. */
export function guarded<T>(work: () => T): T {
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

/** The tenant, as the indexes begin. */
export const OURS = "coalesce(tenant, '') = coalesce(?, '')";

/** For so long a write is tried again while others keep the lock. */
const PATIENCE_MS = 40_000;

/**
 * Runs a write, and again after a pause while somebody else keeps the lock. The pause leaves the event loop free:
 * whoever has the lock may be waiting for a signature in this very process.
 */
export async function retried<T>(work: () => T): Promise<T> {
  const started = performance.now();
  for (;;) {
    try {
      return guarded(work);
    } catch (error) {
      if (!(error instanceof BullaError) || error.code !== 'STORE_BUSY') throw error;
      if (performance.now() - started > PATIENCE_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2 + 10 * Math.random()));
    }
  }
}

/** Runs one piece of work after the other. */
export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

export function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work);
    last = run.catch(() => undefined);
    return run;
  };
}

/** Runs a write by itself, patiently. */
export type Patiently = <T>(work: () => T) => Promise<T>;

/** Statements on a connection; each is prepared once. */
export function statementsOn(db: Database.Database, tenant: string | null): Statements {
  const prepared = new Map<string, Database.Statement>();
  const prepare = (sql: string) => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      prepared.set(sql, statement);
    }
    return statement;
  };
  return {
    tenant,
    all: async <R extends object>(sql: string, ...values: readonly Value[]) =>
      guarded(() => prepare(sql).all(...values) as R[]),
    run: async (sql, ...values) => guarded(() => prepare(sql).run(...values).changes),
  };
}
