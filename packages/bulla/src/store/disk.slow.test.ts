import { execFileSync, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repo, temporaryFolder } from '../../test/run.ts';
import { verifiedLength } from '../../test/store-suite.ts';
import { openStore } from './index.ts';

test('the disk of a SQLite file fails under load and comes back: calls are refused, and then go on', async () => {
  const file = join(temporaryFolder(), 'store.db');
  const script = join(repo, 'packages/bulla/test/disk-worker.ts');
  const child = spawn(process.execPath, ['--conditions=bulla-source', script, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  const lines = () => text.split('\n').slice(0, -1);
  const tolds = () => lines().map((line) => line.split(' ')[1]!);
  /** Waits until the newest answers, after so many, are as they should be. */
  const newest = async (count: number, isSo: (told: string) => boolean) => {
    const from = tolds().length;
    for (;;) {
      expect(child.exitCode).toBe(null);
      const seen = tolds().slice(from);
      if (seen.length >= count && seen.slice(-count).every(isSo)) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const isStored = (told: string) => told === 'stored';
  for (let round = 0; round < 2; round++) {
    await newest(3, isStored);
    // No file may grow beyond what it has; the first bytes that do not fit fail with EFBIG.
    const size = Math.max(statSync(file).size, statSync(`${file}-wal`).size);
    limit(child.pid!, String(size));
    await newest(4, (told) => !isStored(told));
    limit(child.pid!, 'unlimited');
    await newest(3, isStored);
  }
  child.stdin.end();
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);

  const told = new Map(lines().map((line) => line.split(' ') as [string, string]));
  const store = await openStore({ url: file });
  const ids: string[] = [];
  for await (const { data } of store.chain('c').records()) ids.push(JSON.parse(data).id);
  expect(await verifiedLength(store, 'c')).toBe(ids.length);
  await store.close();
  const stored = new Set(ids);
  expect(new Set(told.values())).toEqual(new Set(['stored', 'STORE_UNAVAILABLE', 'STORE_UNCERTAIN']));
  expect([...told].filter(([id, said]) => said === 'stored' && !stored.has(id))).toEqual([]);
  expect([...told].filter(([id, said]) => said === 'STORE_UNAVAILABLE' && stored.has(id))).toEqual([]);
});

/** The soft limit on the size of files of a process. */
function limit(pid: number, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}
