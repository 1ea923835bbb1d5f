import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgres, type Postgres, startPostgres } from '../../test/postgres.ts';
import { input, sealer, storeSuite, verifiedLength } from '../../test/store-suite.ts';
import { openStore } from './index.ts';

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let server: Postgres;
  let url = '';
  beforeAll(async () => {
    server = await startPostgres();
    url = server.database('suite');
  }, 60_000);
  afterAll(() => server.stop());

  storeSuite((options) => openStore({ url, create: true, ...options }));

  test('a database without our tables is missing, and is not changed by looking', async () => {
    const empty = server.database('empty');
    await expect(openStore({ url: empty })).rejects.toMatchObject({ code: 'STORE_MISSING' });
    await expect(openStore({ url: empty })).rejects.toMatchObject({ code: 'STORE_MISSING' });
  });

  test('a server that does not answer is told of', async () => {
    await expect(openStore({ url: 'postgres://bulla@127.0.0.1:1/none' })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'Nothing listens at the address of the server (ECONNREFUSED).',
    });
  });

  test('what was acknowledged before the server crashed is there afterwards', async () => {
    const store = await openStore({ url, create: true, sealer });
    const before = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.chain('crash').append(input(`n${i}`))),
    );
    await server.crash();
    const after = await store.chain('crash').append(input('after'));
    expect([before.length, after.sequence]).toEqual([50, 50]);
    expect(await verifiedLength(store, 'crash')).toBe(51);
    await store.close();
  }, 60_000);
});
