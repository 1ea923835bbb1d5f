import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { committing, input, sealer, storeSuite, verifiedLength } from '../../test/store-suite.ts';
import { type Effect, openStore, setKill } from './index.ts';
import { OURS } from './rows.ts';
import { openSqlite } from './sqlite.ts';

import { createStore } from './store.ts';

describe('SQLite', () => {
  let file = '';
  beforeAll(() => {
    file = join(mkdtempSync(join(tmpdir(), 'bulla-store-')), 'store.db');
  });
  storeSuite((options) => openStore({ url: file, create: true, ...options }));
});

describe('a SQLite file', () => {
  test('reading never creates one', async () => {
    const file = join(temporaryFolder(), 'none.db');
    await expect(openStore({ url: file })).rejects.toMatchObject({ code: 'STORE_MISSING' });
    expect(existsSync(file)).toBe(false);
  });

  test.each([
    [`SELECT length FROM chain WHERE ${OURS} AND name = ?`, 'chain_by_name'],
    [
      `SELECT reason FROM standing_kill WHERE ${OURS} AND coalesce(agent_id, '') = ?`,
      'standing_kill_by_agent',
    ],
  ])('has an index for %s', async (sql, index) => {
    const file = join(temporaryFolder(), 'a.db');
    await (await openStore({ url: file, create: true })).close();
    const plan = new Database(file, { readonly: true }).prepare(`EXPLAIN QUERY PLAN ${sql}`).all('', 'x');
    expect(plan).toMatchObject([{ detail: expect.stringContaining(`USING INDEX ${index} (`) }]);
  });

  test('is durable: WAL, and every commit waits for the disk', async () => {
    const file = join(temporaryFolder(), 'a.db');
    const store = await openStore({ url: file, create: true, sealer });
    await store.chain('c').append(input('x'));
    expect(new Database(file, { readonly: true }).pragma('journal_mode', { simple: true })).toBe('wal');
    await store.close();
  });

  test('of a newer version is refused, and left as it was', async () => {
    const file = join(temporaryFolder(), 'newer.db');
    const db = new Database(file);
    db.pragma('user_version = 99');
    db.close();
    const before = readFileSync(file);
    await expect(openStore({ url: file, create: true })).rejects.toMatchObject({ code: 'STORE_NEWER' });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('of another program is refused', async () => {
    const file = join(temporaryFolder(), 'foreign.db');
    const db = new Database(file);
    db.exec('CREATE TABLE theirs (x)');
    db.close();
    await expect(openStore({ url: file, create: true })).rejects.toMatchObject({ code: 'STORE_NOT_A_STORE' });
    const text = join(temporaryFolder(), 'text.db');
    writeFileSync(text, 'this is not a database, but long enough to be looked at as one'.repeat(20));
    await expect(openStore({ url: text, create: true })).rejects.toMatchObject({ code: 'STORE_UNREADABLE' });
  });

  test('opened to read refuses to write', async () => {
    const file = join(temporaryFolder(), 'ro.db');
    const store = await openStore({ url: file, create: true, sealer });
    await store.chain('c').append(input('x'));
    await store.close();
    chmodSync(file, 0o444);
    const reader = await openStore({ url: file, readOnly: true, sealer });
    expect(await verifiedLength(reader, 'c')).toBe(1);
    await expect(reader.chain('c').append(input('y'))).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
    await reader.close();
    expect(statSync(file).size).toBeGreaterThan(0);
  });

  test('that is full refuses, and nothing is half-written', async () => {
    const file = join(temporaryFolder(), 'full.db');
    const driver = openSqlite(file, { tenant: null, create: true, maxPages: 120 });
    const store = createStore(driver, { url: file, tenant: null, sealer });
    const appended: number[] = [];
    const failed: string[] = [];
    for (let i = 0; i < 100; i++) {
      await store
        .chain('c')
        .append(input(`n${i} ${'x'.repeat(2000)}`))
        .then(
          (capsule) => appended.push(capsule.sequence),
          (error) => failed.push(error.code),
        );
    }
    expect(new Set(failed)).toEqual(new Set(['STORE_FULL']));
    expect(appended.length).toBeGreaterThan(5);
    expect(await verifiedLength(store, 'c')).toBe(appended.length);
    await store.close();
  });

  test('whose disk is full ends the whole transaction of an effect, and the store goes on', async () => {
    const file = join(temporaryFolder(), 'full.db');
    const driver = openSqlite(file, { tenant: null, create: true, maxPages: 150 });
    const store = createStore(driver, { url: file, tenant: null, sealer });
    const append = (name: string, payload: string, effect?: Effect) =>
      store.chain('c').append(committing(name, { args: name }), {
        openings: [{ kind: 'args', salt: new Uint8Array(32), payload }],
        ...(effect && { effect }),
      });
    await append('a', 'small');
    const results = await Promise.allSettled([
      append('b', 'small', setKill({ agentId: 'b', reason: 'x', capsuleId: 'x' })),
      append('c', 'x'.repeat(1_000_000)),
      append('d', 'small'),
    ]);
    expect(results.map((result) => (result as PromiseRejectedResult).reason?.code)).toEqual([
      'STORE_FULL',
      'STORE_FULL',
      'STORE_FULL',
    ]);
    expect(await store.kills()).toEqual([]);
    expect([await store.opening('b'), await store.opening('d')]).toEqual([null, null]);
    await append('e', 'small');
    expect(await store.opening('e')).toMatchObject({ chain: 'c', sequence: 1, payload: 'small' });
    expect(await verifiedLength(store, 'c')).toBe(2);
    await store.close();
  });

  test('that is gone is not written to; the store goes on when it is back', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'store.db');
    const store = await openStore({ url: file, create: true, sealer });
    await store.chain('c').append(input('first'));
    await store.assertMayAct('a');
    mkdirSync(join(folder, 'away'));
    const move = (from: string, to: string) => {
      for (const name of ['store.db', 'store.db-wal', 'store.db-shm'])
        renameSync(join(from, name), join(to, name));
    };
    move(folder, join(folder, 'away'));
    const gone = { code: 'STORE_UNAVAILABLE', message: `The file of the store is not there: ${file}.` };
    await expect(store.chain('c').append(input('refused'))).rejects.toMatchObject(gone);
    await expect(store.assertMayAct('a')).rejects.toMatchObject(gone);
    expect(existsSync(file)).toBe(false);
    move(join(folder, 'away'), folder);
    await store.chain('c').append(input('second'));
    // A file in its place that is another one: not what was open is written, but what is there.
    await store.close();
    const reopened = await openStore({ url: file, sealer });
    await reopened.chain('c').append(input('third'));
    copyFileSync(file, join(folder, 'copy.db'));
    rmSync(`${file}-wal`, { force: true });
    rmSync(`${file}-shm`, { force: true });
    renameSync(join(folder, 'copy.db'), file);
    await reopened.chain('c').append(input('fourth'));
    await reopened.close();
    const after = await openStore({ url: file });
    const summaries: string[] = [];
    for await (const { data } of after.chain('c').records()) summaries.push(JSON.parse(data).outcome.summary);
    expect(summaries.at(-1)).toBe('fourth');
    await after.close();
  });

  test('that goes while a transaction is open acknowledges nothing', async () => {
    const file = join(temporaryFolder(), 'store.db');
    const store = await openStore({ url: file, create: true, sealer });
    await store.chain('c').append(input('first'));
    const away = async () => renameSync(file, `${file}.away`);
    await expect(store.chain('c').append(input('second'), { effect: away })).rejects.toMatchObject({
      code: 'STORE_UNCERTAIN',
    });
    renameSync(`${file}.away`, file);
    await store.chain('c').append(input('third'));
    await store.close();
  });
});
