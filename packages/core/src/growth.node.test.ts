import { expect, inject, test } from 'vitest';
import { steepReaders } from '../test/growth.ts';

const WORKER = new URL('../test/growth-worker.ts', import.meta.url);

test('the work of a reader grows as what it reads', async () => {
  expect(await steepReaders(WORKER, 'steps', 280)).toEqual([]);
});

test.runIf(inject('soak') > 1)('so does its time', { timeout: 3_600_000 }, async () => {
  expect(await steepReaders(WORKER, 'time', 280)).toEqual([]);
});
