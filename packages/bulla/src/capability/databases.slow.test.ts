import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { type TestEnv, testAgent } from '../../test/capability-agents.ts';
import { historySuite } from '../../test/history-suite.ts';
import { hasPostgres, type Postgres } from '../../test/postgres.ts';
import { startWorker } from '../../test/processes.ts';
import { registrySuite } from '../../test/registry-suite.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sessionSuite } from '../../test/session-suite.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { openStore } from '../store/index.ts';
import { createRegistry, createSessionHost } from './index.ts';

/** Two processes with a session host each, on one session. */
async function twoProcesses(url: string): Promise<void> {
  const store = await openStore({ url, create: true, sealer });
  const registry = createRegistry(store);
  const session = await createSessionHost<TestEnv>({ registry, agent: testAgent() }).open();
  const workers = [0, 1].map(() => startWorker('session-worker.ts', [url, session.id, '50', '4']));
  expect(await Promise.all(workers.map((worker) => worker.done))).toEqual([0, 0]);
  const numbers = workers.flatMap((worker) => worker.output().map(Number));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  expect((await registry.turns(session.id)).length).toBe(100);
  expect((await registry.transitions(session.id)).length).toBeGreaterThan(0);
  expect((await registry.agents()).length).toBe(1);
  expect(await verifiedLength(store, 'default')).toBe(400);
  await store.close();
}

describe('SQLite', () => {
  test('two processes on one session: no turn is lost, and their order is kept', async () => {
    await twoProcesses(join(temporaryFolder(), 'store.db'));
  });
});

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let server: Pick<Postgres, 'database'>;
  let url = '';
  beforeAll(async () => {
    server = await sharedPostgres();
    url = server.database('capability');
  }, 60_000);

  const database = {
    open: (options = {}) => openStore({ url, create: true, sealer, ...options }),
    async tamper(sql: string) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(sql);
      await client.end();
    },
  };
  registrySuite(database);
  sessionSuite(database);
  historySuite(database);

  test('two processes on one session: no turn is lost, and their order is kept', async () => {
    await twoProcesses(server.database('processes'));
  });
});
