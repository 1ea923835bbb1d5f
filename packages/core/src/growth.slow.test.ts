import { existsSync, readdirSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { growthsOf, steep, untried } from '../test/growth.ts';

const WORKER = new URL('../test/growth-worker.ts', import.meta.url);
const DOORS: Record<string, object> = {};
for (const folder of readdirSync(new URL('.', import.meta.url)))
  if (existsSync(new URL(`./${folder}/index.ts`, import.meta.url)))
    DOORS[folder] = await import(`./${folder}/index.ts`);

test('the work of every reader grows as what it reads', async () => {
  const growths = await growthsOf(WORKER, 'steps');
  expect(steep(growths)).toEqual([]);
  expect(Object.keys(DOORS)).toHaveLength(16);
  expect(untried(DOORS, growths)).toEqual([]);
});

test.runIf(inject('soak') > 1)('so does its time', { timeout: 3_600_000 }, async () => {
  expect(steep(await growthsOf(WORKER, 'time'))).toEqual([]);
});
