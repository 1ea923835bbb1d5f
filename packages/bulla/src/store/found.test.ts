import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, sealer } from '../../test/store-suite.ts';
import { openStore } from './index.ts';

test('what was changed in the store is not found under the hash that it had', async () => {
  const url = join(temporaryFolder(), 'store.db');
  const store = await openStore({ url, create: true, sealer });
  const [first, second] = [
    await store.chain('c').append(input('one')),
    await store.chain('c').append(input('two')),
  ];
  expect((await store.find({ hash: first.hash })).map(({ sequence }) => sequence)).toEqual([0]);
  const db = new Database(url);
  db.prepare(`UPDATE record SET data = replace(data, '"one"', '"won"') WHERE sequence = 0`).run();
  const error = {
    code: 'CAPSULE_HASH',
    message: `The content of the record does not have the hash ${first.hash}.`,
  };
  for (const query of [{ hash: first.hash }, { id: first.id }, { sequence: 0 }, { chain: 'c' }])
    await expect(store.find(query)).rejects.toMatchObject(error);
  expect((await store.find({ hash: second.hash })).length).toBe(1);
  // A whole record of its own in the place of another one.
  db.exec('UPDATE record SET data = (SELECT data FROM record WHERE sequence = 1) WHERE sequence = 0');
  db.close();
  await expect(store.find({ hash: first.hash })).rejects.toMatchObject(error);
  await store.close();
});
