import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, sealer, verifiedLength } from '../../test/store-suite.ts';
import { openStore } from './index.ts';

async function appended(url: string, count: number, name = 'n', more = {}): Promise<void> {
  const store = await openStore({ url, create: true, sealer, operator: 'op.example', ...more });
  for (let i = 0; i < count; i++) await store.chain('c').append(input(`${name}${i}`));
  await store.close();
}

/** A store with 8 records that was set back to a backup with 5. */
async function rolledBack(): Promise<string> {
  const folder = temporaryFolder();
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')];
  await appended(file, 5);
  copyFileSync(file, backup);
  await appended(file, 3, 'lost');
  copyFileSync(backup, file);
  for (const extra of ['-wal', '-shm']) rmSync(`${file}${extra}`, { force: true });
  return file;
}

test('a store that was set back refuses to append, and says how it can go on', async () => {
  const file = await rolledBack();
  const store = await openStore({ url: file, sealer });
  const error = {
    code: 'STORE_BEHIND',
    message:
      'The chain c has 5 records, but a checkpoint of it covers 8: the store was set back. If that is meant to be so, run "bulla chain recover --chain c --reason TEXT".',
  };
  await expect(store.chain('c').append(input('x'))).rejects.toMatchObject(error);
  await expect(store.chain('c').append(input('x'))).rejects.toMatchObject(error);
  await expect(store.chain('c').checkpoint()).rejects.toMatchObject(error);
  const rows = await Array.fromAsync(store.chain('c').records());
  await expect(store.chain('c').adopt([{ ...rows[4]!, sequence: 5 }])).rejects.toMatchObject(error);
  expect(await verifiedLength(store, 'c')).toBe(5);
  await store.close();
});

test('an operator lets it go on: under another name, with a record of it', async () => {
  const file = await rolledBack();
  const store = await openStore({ url: file, sealer });
  const sealed = await store.chain('c').recover('restored the backup of Monday');
  expect(sealed).toMatchObject({ sequence: 5, type: 'system', domain: 'system' });
  expect(sealed.outcome.summary).toBe('restored the backup of Monday');
  expect(sealed.context.environment).toEqual({
    bulla: {
      v: 1,
      origin: 'op.example/-/c~2',
      recovered: {
        origin: 'op.example/-/c',
        size: 8,
        root: expect.stringMatching(/^[0-9a-f]{64}$/),
        length: 5,
      },
    },
  });
  await store.chain('c').append(input('after'));
  const { origin, size } = await store.chain('c').checkpoint();
  expect({ origin, size }).toEqual({ origin: 'op.example/-/c~2', size: 7 });
  await expect(store.chain('c').recover('again')).rejects.toMatchObject({ code: 'STORE_NOT_BEHIND' });
  await store.close();
  const later = await openStore({ url: file, sealer });
  await later.chain('c').append(input('and later'));
  expect(await verifiedLength(later, 'c')).toBe(8);
  await later.close();
});

test('a store that is set back under a running process is noticed there', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'store.db');
  const store = await openStore({ url: file, create: true, sealer });
  for (let i = 0; i < 2; i++) await store.chain('c').append(input(`n${i}`));
  const db = new Database(file);
  const before = db.prepare('SELECT length, head_hash, tree FROM chain').get();
  for (let i = 2; i < 4; i++) await store.chain('c').append(input(`n${i}`));
  await store.chain('c').checkpoint();
  db.exec('DELETE FROM record WHERE sequence > 1');
  db.prepare('UPDATE chain SET length = @length, head_hash = @head_hash, tree = @tree').run(before);
  db.close();
  await expect(store.chain('c').append(input('x'))).rejects.toMatchObject({ code: 'STORE_BEHIND' });
  await store.close();
});

test('a store with other records than its checkpoint covers refuses to append', async () => {
  const file = await rolledBack();
  // Somebody appends without the file of checkpoints, which is put back afterwards.
  await appended(file, 4, 'other', { checkpoints: temporaryFolder() });
  const store = await openStore({ url: file, sealer });
  await expect(store.chain('c').append(input('x'))).rejects.toMatchObject({
    code: 'STORE_FORKED',
    message:
      'The first 8 records of the chain c are not those that a checkpoint of it covers. If that is meant to be so, run "bulla chain recover --chain c --reason TEXT".',
  });
  await store.close();
});

test('a database that was deleted is noticed by the file that was not', async () => {
  const file = join(temporaryFolder(), 'store.db');
  for (let round = 0; round < 2; round++) {
    const store = await openStore({ url: file, create: true, sealer });
    await store.chain('c').append(input('x'));
    await store.close();
  }
  for (const extra of ['', '-wal', '-shm']) rmSync(`${file}${extra}`, { force: true });
  const store = await openStore({ url: file, create: true, sealer });
  await expect(store.chain('c').append(input('x'))).rejects.toMatchObject({ code: 'STORE_BEHIND' });
  const sealed = await store.chain('c').recover('begun anew');
  expect(sealed.sequence).toBe(0);
  expect((sealed.context.environment as { bulla: { origin: string } }).bulla.origin).toMatch(
    /^bulla-[0-9a-f]{16}\/-\/c~2$/,
  );
  await store.close();
});

test('a line that a crash cut off does not count, and does not spoil the next; garbage alone is refused', async () => {
  const file = join(temporaryFolder(), 'store.db');
  await appended(file, 2);
  const folder = `${file}.checkpoints`;
  expect(readdirSync(folder)).toEqual(['op.example%2F-%2Fc.checkpoints']);
  const path = join(folder, readdirSync(folder)[0]!);
  appendFileSync(path, '{"made_at":"2026-01-01T00:00:00.000Z","checkpoint":"op.example/-/c\\n999\\nAAA');
  await appended(file, 1);
  const lines = readFileSync(path, 'utf8').split('\n');
  expect(lines.map((line) => line.slice(0, 11))).toEqual(['{"made_at":', '{"made_at":', '{"made_at":', '']);
  writeFileSync(path, 'garbage\n');
  await expect(appended(file, 1)).rejects.toMatchObject({ code: 'CHECKPOINT_FILE' });
  rmSync(path);
  mkdirSync(path);
  await expect(appended(file, 1)).rejects.toMatchObject({ code: 'CHECKPOINT_FILE' });
});
