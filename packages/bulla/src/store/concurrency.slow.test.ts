import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { hasPostgres, type Postgres, startPostgres } from '../../test/postgres.ts';
import { startWorker } from '../../test/processes.ts';
import { verifiedLength } from '../../test/store-suite.ts';
import { openStore } from './index.ts';

/** The acknowledged records, and a check that each of them is in the chain as it was acknowledged. */
async function expectAcknowledged(url: string, chain: string, lines: readonly string[]): Promise<number> {
  const store = await openStore({ url });
  const length = await verifiedLength(store, chain);
  const hashes = new Map<number, string>();
  for await (const row of store.chain(chain).records()) hashes.set(row.sequence, row.hash);
  await store.close();
  const lost = lines.filter((line) => hashes.get(Number(line.split(' ')[0])) !== line.split(' ')[1]);
  expect(lost).toEqual([]);
  return length;
}

const PROCESSES = 8;
const EACH = inject('soak') > 1 ? 1_000 : 200;
const ALL = PROCESSES * EACH;

function suite(url: () => string): void {
  test(`8 processes × ${EACH} appends to one chain: ${ALL} records, no fork, no gap`, {
    timeout: 300_000,
  }, async () => {
    const workers = Array.from({ length: PROCESSES }, () =>
      startWorker('append-worker.ts', [url(), 'eight', `${EACH}`, '16']),
    );
    expect(await Promise.all(workers.map((worker) => worker.done))).toEqual(new Array(PROCESSES).fill(0));
    const lines = workers.flatMap((worker) => worker.output());
    expect(new Set(lines.map((line) => line.split(' ')[0])).size).toBe(ALL);
    expect(await expectAcknowledged(url(), 'eight', lines)).toBe(ALL);
  });

  test('kill -9 under load, again and again: every acknowledged record is there', {
    timeout: 300_000 * inject('rounds'),
  }, async () => {
    const lines: string[] = [];
    for (let round = 0; round < 3 * inject('rounds'); round++) {
      const workers = [0, 1].map(() => startWorker('append-worker.ts', [url(), 'killed', '0', '16']));
      while (workers.some((worker) => worker.output().length < 10)) {
        expect(workers.map((worker) => worker.exitCode)).toEqual([null, null]);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
      for (const worker of workers) worker.kill('SIGKILL');
      await Promise.all(workers.map((worker) => worker.done));
      lines.push(...workers.flatMap((worker) => worker.output()));
      expect(await expectAcknowledged(url(), 'killed', lines)).toBeGreaterThanOrEqual(lines.length);
    }
    expect(lines.length).toBeGreaterThan(50);
  });
}

describe('SQLite', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bulla-processes-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  suite(() => join(folder, 'store.db'));
});

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let server: Postgres;
  let url = '';
  beforeAll(async () => {
    server = await startPostgres();
    url = server.database('processes');
  }, 60_000);
  afterAll(() => server.stop());
  suite(() => url);

  test('the server dies under load: every acknowledged record is there', { timeout: 120_000 }, async () => {
    const worker = startWorker('append-worker.ts', [url, 'server', '0', '16'], 'ignore');
    while (worker.output().length < 100) await new Promise((resolve) => setTimeout(resolve, 20));
    await server.crash();
    worker.kill('SIGKILL');
    await worker.done;
    expect(await expectAcknowledged(url, 'server', worker.output())).toBeGreaterThanOrEqual(100);
  });
});
