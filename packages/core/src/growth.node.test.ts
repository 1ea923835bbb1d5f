import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { COUNTING } from '../test/steps.ts';

const WORKER = fileURLToPath(new URL('../test/growth-worker.ts', import.meta.url));

/** No reader may cost more than this power of the size of what it reads. */
const MOST = 1.2;

/** The growth is measured in a process that has nothing but the readers in it. */
async function steep(by: 'steps' | 'time'): Promise<unknown[]> {
  const flags = by === 'steps' ? COUNTING : [];
  const args = [...flags, '--conditions=bulla-source', WORKER, `--${by}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 });
  const growths = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(growths.length).toBeGreaterThan(200);
  return growths.filter(({ exponent }) => !(exponent < MOST));
}

test('the work of a reader grows as what it reads', async () => {
  expect(await steep('steps')).toEqual([]);
});

test.runIf(inject('soak') > 1)('so does its time', { timeout: 3_600_000 }, async () => {
  expect(await steep('time')).toEqual([]);
});
