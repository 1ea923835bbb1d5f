import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, sealer, verifiedLength } from '../../test/store-suite.ts';
import type { Driver } from './driver.ts';
import { openSqlite } from './sqlite.ts';
import { createStore } from './store.ts';

type Outcome = 'not persisted' | 'persisted';
const WRITES = ['append', 'appendLocked', 'addToIndex', 'transaction'] as const;

/** Fails at the n-th write, before it happens or after it has. */
function faulty(driver: Driver, at: number, outcome: Outcome): Driver {
  let count = 0;
  const broken = { ...driver };
  for (const name of WRITES) {
    const real = driver[name] as (...args: unknown[]) => Promise<unknown>;
    broken[name] = (async (...args: unknown[]) => {
      const fails = count++ === at;
      if (fails && outcome === 'not persisted')
        throw new BullaError('STORE_FAILED', 'A fault, before the write.');
      const result = await real(...args);
      if (fails) throw new BullaError('STORE_FAILED', 'A fault, after the write.');
      return result;
    }) as never;
  }
  return broken;
}

test.each(
  (['not persisted', 'persisted'] as const).flatMap((outcome) =>
    Array.from({ length: 12 }, (_, at) => [at, outcome] as const),
  ),
)('a fault at write %i, %s: what was acknowledged is there, what was refused is not', async (at, outcome) => {
  const file = join(temporaryFolder(), 'store.db');
  const store = createStore(faulty(openSqlite(file, { tenant: null, create: true }), at, outcome), {
    url: file,
    tenant: null,
    sealer,
  });
  // A second writer, so that the locked path is taken too.
  const other = createStore(openSqlite(file, { tenant: null, create: true }), {
    url: file,
    tenant: null,
    sealer,
  });
  const acknowledged: string[] = [];
  const refused: string[] = [];
  for (let round = 0; round < 6; round++) {
    const results = await Promise.allSettled(
      [0, 1, 2].map((i) => store.chain('c').append(input(`r${round} n${i}`))),
    );
    results.forEach((result, i) => {
      (result.status === 'fulfilled' ? acknowledged : refused).push(`r${round} n${i}`);
    });
    await other.chain('c').append(input(`other ${round}`));
    acknowledged.push(`other ${round}`);
  }
  await store.find({ chain: 'c' }).catch(() => undefined);
  const summaries: string[] = [];
  for await (const row of other.chain('c').records()) summaries.push(JSON.parse(row.data).outcome.summary);
  expect(summaries.toSorted()).toEqual(acknowledged.toSorted());
  expect(refused.filter((summary) => summaries.includes(summary))).toEqual([]);
  expect(acknowledged.length + refused.length).toBe(6 * 4);
  expect(await verifiedLength(other, 'c')).toBe(summaries.length);
  expect((await other.find({ chain: 'c', limit: 1000 })).length).toBe(summaries.length);
  await Promise.all([store.close(), other.close()]);
});

test('when the store fails and cannot be asked, the caller is told that it is uncertain', async () => {
  const file = join(temporaryFolder(), 'store.db');
  const driver = openSqlite(file, { tenant: null, create: true });
  const gone = async () => {
    throw new BullaError('STORE_UNREADABLE', 'Gone.');
  };
  const store = createStore({ ...driver, append: gone, settle: gone }, { url: file, tenant: null, sealer });
  await expect(store.chain('c').append(input('x'))).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  await store.close();
});

test('entries that the database does not take are told of, one by one, and the others are found', async () => {
  const file = join(temporaryFolder(), 'store.db');
  const driver = openSqlite(file, { tenant: null, create: true });
  const told: string[] = [];
  const listen = (warning: Error) => told.push(warning.message);
  process.on('warning', listen);
  onTestFinished(() => void process.off('warning', listen));
  const picky: Driver = {
    ...driver,
    addToIndex: async (chain, from, entries) => {
      if (entries.some(({ summary }) => summary.startsWith('bad')))
        throw new BullaError('STORE_FAILED', 'No such text.');
      return driver.addToIndex(chain, from, entries);
    },
  };
  const store = createStore(picky, { url: file, tenant: null, sealer });
  const summaries = ['good 0', 'bad 1', 'good 2', 'good 3', 'bad 4'];
  for (const summary of summaries) await store.chain('c').append(input(summary));
  expect((await store.find({ text: 'good' })).map(({ sequence }) => sequence)).toEqual([3, 2, 0]);
  expect((await store.find({})).length).toBe(5);
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual(
    [1, 4].map((n) => `Record ${n} of the chain c can be found by its hash only (STORE_FAILED).`),
  );
  await store.close();
});
