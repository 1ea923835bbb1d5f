import { PassThrough } from 'node:stream';
import { readLock, surfaceOf } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import { lockOf, SHOP, type TestSurface } from '../../../test/lockfiles.ts';
import { chooseTools, parseChoice } from './choice.ts';

const names = ['search', 'order', 'order_status', 'refund'];
const shop: TestSurface = {
  ...SHOP,
  tools: names.map((name) => ({
    name,
    description: `Does \u001b[31m${name}.`,
    inputSchema: { type: 'object' },
  })),
};
const lock = readLock(lockOf(shop));
const { tools } = surfaceOf(lock.native!);
const none = new Set<string>();
describe('--choose', () => {
  /** A terminal on which these lines are typed. */
  function typing(text: string) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const at = {
      input: Object.assign(input, { isTTY: true }),
      output: Object.assign(output, { isTTY: true }),
    };
    input.end(text);
    return { at, said: () => String(output.read() ?? '') };
  }

  test('shows the tools and takes numbers, asking again for what is none', async () => {
    const { at, said } = typing('5\n1, 3-4\n');
    expect([...(await chooseTools(tools, none, at))]).toEqual(['order', 'refund', 'search']);
    const text = said();
    const rows = [...lock.tools.keys()].map((name, i) => `   ${i + 1}  LOW     ${name}  Does`);
    for (const row of rows) expect(text).toContain(row);
    expect(text).not.toContain('\u001b');
    expect(text).toContain('That is none of the numbers 1 to 4.');
  });

  test('no answer is no lock, and without a terminal nobody is asked', async () => {
    const { at } = typing('');
    await expect(chooseTools(tools, none, at)).rejects.toMatchObject({
      code: 'LOCK_SELECTION',
    });
    const file = { input: new PassThrough(), output: new PassThrough() };
    await expect(chooseTools(tools, none, file)).rejects.toMatchObject({
      message: expect.stringContaining('no terminal'),
    });
  });

  test.each([
    ['all', [1, 2, 3]],
    ['none', []],
    ['2', [2]],
    [' 1-2,3 ', [1, 2, 3]],
    ['3 1', [3, 1]],
    ['', null],
    ['0', null],
    ['4', null],
    ['2-1', null],
    ['1,x', null],
    ['yes', null],
  ])('%j', (answer, expected) => {
    const chosen = parseChoice(answer, 3);
    expect(chosen && [...chosen]).toEqual(expected);
  });
});
