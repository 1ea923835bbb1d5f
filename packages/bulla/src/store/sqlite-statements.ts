import { BullaError } from '@bulla/core/error';
import type { Exclusive } from '../os/index.ts';
import type { Statements, Transaction, Value } from './driver.ts';
import { assertText, NotWrittenError } from './driver.ts';
import type { Connection } from './sqlite-connection.ts';

/** Unix time in milliseconds. */
export const TIME = "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now";

/** How long a write is tried again while others hold the lock. */
const PATIENCE_MS = 40_000;

/**
 * Runs a write, and again after a pause while somebody else keeps the lock. The pause leaves the event loop free:
 * whoever has the lock may be waiting for a signature in this very process.
 */
async function retried<T>(work: () => T): Promise<T> {
  const started = performance.now();
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof BullaError) || error.code !== 'STORE_BUSY') throw error;
      if (performance.now() - started > PATIENCE_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2 + 10 * Math.random()));
    }
  }
}

/** Runs a write by itself, patiently, as a transaction or as one statement. */
export interface Patiently {
  alone<T>(work: () => T): Promise<T>;
  transaction<T>(work: () => T): Promise<T>;
}

export function createPatiently(connection: Connection, exclusive: Exclusive): Patiently {
  const alone = <T>(work: () => T) => exclusive(() => retried(() => connection.use(work)));
  return {
    alone,
    transaction: (work) =>
      exclusive(() =>
        retried(() => {
          connection.begin();
          try {
            const result = connection.use(work);
            connection.commit();
            return result;
          } finally {
            connection.rollback();
          }
        }),
      ),
  };
}

/** Statements on a connection; each is prepared once. */
export function statementsOn(connection: Connection, tenant: string | null): Statements {
  const { use, sql } = connection;
  return {
    tenant,
    async all<R extends object>(text: string, ...values: readonly Value[]) {
      assertText(values);
      return use(() => sql(text).all(...values) as R[]);
    },
    async run(text, ...values) {
      assertText(values);
      return use(() => sql(text).run(...values).changes);
    },
  };
}

/** The disk undid a transaction in its midst; what it was to change must not be changed by itself. */
class Undone extends Error {}

/** A transaction that waits, for signatures or for what an effect reads, while it is open. */
export function createTransaction(connection: Connection, tenant: string | null, exclusive: Exclusive) {
  const { use, sql } = connection;
  const statements = statementsOn(connection, tenant);
  const assertOpen = () => {
    if (!connection.inTransaction) throw new Undone();
  };
  const step = (text: string) => void use(() => sql(text).run());
  const open: Transaction = {
    tenant,
    forUpdate: '',
    async time() {
      assertOpen();
      return (await statements.all<{ now: number }>(TIME))[0]!.now;
    },
    async all<R extends object>(text: string, ...values: readonly Value[]) {
      assertOpen();
      return statements.all<R>(text, ...values);
    },
    async run(text, ...values) {
      assertOpen();
      return statements.run(text, ...values);
    },
    async attempt(part) {
      assertOpen();
      step('SAVEPOINT part');
      try {
        await part();
      } catch (error) {
        if (!connection.inTransaction) throw new Undone('', { cause: error });
        step('ROLLBACK TO part');
        step('RELEASE part');
        throw error;
      }
      assertOpen();
      step('RELEASE part');
    },
  };
  /** `last` runs with the commit: nobody reads between them. */
  return <T>(work: (open: Transaction) => Promise<T>, last: (result: T) => void = () => undefined) =>
    exclusive(async () => {
      await retried(() => connection.begin());
      try {
        const result = await work(open);
        assertOpen();
        use(() => last(result));
        connection.commit();
        return result;
      } catch (error) {
        throw error instanceof Undone ? undone(error.cause) : error;
      } finally {
        connection.rollback();
      }
    });
}

function undone(cause: unknown): unknown {
  if (cause instanceof Undone) return undone(cause.cause);
  return cause ?? new NotWrittenError('STORE_UNAVAILABLE', 'The disk of the store failed.');
}
