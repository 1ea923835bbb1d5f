import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, sealer } from '../../test/store-suite.ts';
import { openStore } from './index.ts';

test('what was changed in the store is found, and told not to have the hash that it had', async () => {
  const url = join(temporaryFolder(), 'store.db');
  const store = await openStore({ url, create: true, sealer });
  const [first, second] = [
    await store.chain('c').append(input('one')),
    await store.chain('c').append(input('two')),
  ];
  expect((await store.find({ hash: first.hash })).map(({ sequence }) => sequence)).toEqual([0]);
  const db = new Database(url);
  db.prepare(`UPDATE record SET data = replace(data, '"one"', '"won"') WHERE sequence = 0`).run();
  const intact = async (query: Parameters<typeof store.find>[0]) =>
    (await store.find(query)).map((found) => [found.sequence, found.intact]);
  for (const query of [{ hash: first.hash }, { id: first.id }, { sequence: 0 }])
    expect(await intact(query)).toEqual([[0, false]]);
  expect(await intact({ chain: 'c' })).toEqual([
    [1, true],
    [0, false],
  ]);
  expect(await intact({ hash: second.hash })).toEqual([[1, true]]);
  // A whole record of its own in the place of another one.
  db.exec('UPDATE record SET data = (SELECT data FROM record WHERE sequence = 1) WHERE sequence = 0');
  db.close();
  expect(await intact({ hash: first.hash })).toEqual([[0, false]]);
  await store.close();
});

test('what the search tables name falsely is not what was asked for', async () => {
  const url = join(temporaryFolder(), 'store.db');
  const store = await openStore({ url, create: true, sealer });
  const append = (tool: string) =>
    store.chain('c').append(input(tool, { execution: { tool_calls: [{ tool } as never] } }));
  const [first, second] = [await append('read'), await append('write')];
  const intact = async (query: Parameters<typeof store.find>[0]) =>
    (await store.find(query)).map((found) => [found.sequence, found.intact]);
  expect(await intact({ hash: second.hash, id: second.id, tool: 'write' })).toEqual([[1, true]]);
  const db = new Database(url);
  db.exec(`DELETE FROM found WHERE hash = '${first.hash}'; DELETE FROM found_tool WHERE tool = 'read';
    UPDATE found SET hash = '${first.hash}', id = '${first.id}', status = 'failure';
    UPDATE found_tool SET tool = 'read'`);
  for (const query of [{ hash: first.hash }, { id: first.id }, { tool: 'read' }, { status: 'failure' }])
    expect(await intact(query)).toEqual([[1, false]]);
  // In the place of another record it is not what is asked for by place.
  db.exec('DELETE FROM record WHERE sequence = 0; UPDATE record SET sequence = 0 WHERE sequence = 1');
  db.close();
  expect(await intact({ chain: 'c', sequence: 0 })).toEqual([[0, false]]);
  await store.close();
});
