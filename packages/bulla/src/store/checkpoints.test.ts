import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, sealer } from '../../test/store-suite.ts';
import { openStore } from './index.ts';

test('a minute after a record that none covers, a checkpoint is made', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = await openStore({ url: join(temporaryFolder(), 's.db'), create: true, sealer });
  const chain = store.chain('c');
  /** The checkpoints, once there are so many of them; what the timer starts takes some turns of the event loop. */
  const sizes = async (count: number) => {
    for (let turn = 0; turn < 20 || (await chain.checkpoints()).length < count; turn++)
      await new Promise((resolve) => setImmediate(resolve));
    return (await chain.checkpoints()).map(({ size }) => size);
  };
  await chain.append(input('one'));
  await vi.advanceTimersByTimeAsync(30_000);
  await chain.append(input('two'));
  await vi.advanceTimersByTimeAsync(29_999);
  expect(await sizes(0)).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await sizes(1)).toEqual([2]);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await sizes(1)).toEqual([2]);
  await chain.append(input('three'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await sizes(2)).toEqual([3, 2]);
  await store.close();
});

test('a checkpoint that cannot be made is told; the records are safe, and the next attempt covers them', async () => {
  const folder = temporaryFolder();
  const errors: unknown[] = [];
  let witnessIsDown = true;
  const store = await openStore({
    url: join(folder, 's.db'),
    create: true,
    sealer,
    submit: async ({ note }) => {
      if (witnessIsDown) throw new Error('nobody is there');
      return note;
    },
    onCheckpointError: (error) => errors.push(error),
  });
  const chain = store.chain('c');
  await Promise.all(Array.from({ length: 256 }, (_, i) => chain.append(input(`n${i}`))));
  await expect(chain.checkpoint()).rejects.toThrow('nobody is there');
  expect(errors).toEqual([new Error('nobody is there')]);
  witnessIsDown = false;
  expect((await chain.checkpoint()).size).toBe(256);
  await store.close();
});

test('a folder that cannot be used keeps records from being written before any is lost', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'taken'), '');
  const store = await openStore({
    url: join(folder, 's.db'),
    create: true,
    sealer,
    checkpoints: join(folder, 'taken'),
  });
  await expect(store.chain('c').append(input('x'))).rejects.toMatchObject({ code: 'HOME_UNWRITABLE' });
  expect((await store.chain('c').head()).length).toBe(0);
  await store.close();
  mkdirSync(join(folder, 'fine'));
  chmodSync(join(folder, 'fine'), 0o700);
  const other = await openStore({
    url: join(folder, 's.db'),
    sealer,
    checkpoints: join(folder, 'fine'),
  });
  await other.chain('c').append(input('x'));
  await other.close();
});
