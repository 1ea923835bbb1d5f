import { expect, inject, test } from 'vitest';
import { growthsOf, steep } from '../test/growth.ts';

const WORKER = new URL('../test/growth-worker.ts', import.meta.url);

test('the work of a reader grows as what it reads', async () => {
  const growths = await growthsOf(WORKER, 'steps');
  expect(steep(growths)).toEqual([]);
  expect(growths.length).toBeGreaterThan(70);
});

test.runIf(inject('soak') > 1)('so does its time', { timeout: 3_600_000 }, async () => {
  expect(steep(await growthsOf(WORKER, 'time'))).toEqual([]);
});
