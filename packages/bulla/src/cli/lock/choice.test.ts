import { PassThrough } from 'node:stream';
import { readLock, surfaceOf } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import { lockOf, SHOP, type TestSurface } from '../../../test/lockfiles.ts';
import type { Surface } from '../../mcp/index.ts';
import { leftOutOf, parseChoice } from './choice.ts';

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
const surface = { ...surfaceOf(lock.native!), clientCapabilities: {}, findings: [] } as unknown as Surface;
const left = async (options: Parameters<typeof leftOutOf>[2], old = lock) =>
  [...(await leftOutOf(surface, old, options))].sort();

describe('which tools are left out', () => {
  test('none, unless somebody says so', async () => {
    expect(await left({})).toEqual([]);
  });

  test('all but those that are named, those that are named, and both', async () => {
    expect(await left({ only: ['search', 'order*'] })).toEqual(['refund']);
    expect(await left({ except: ['*u*'] })).toEqual(['order_status', 'refund']);
    expect(await left({ only: ['order*'], except: ['order'] })).toEqual(['order', 'refund', 'search']);
  });

  test('what the lock left out, until somebody chooses anew', async () => {
    const native = { ...lock.native!, leftOut: new Map([['refund', { digest: '', sourceDigest: null }]]) };
    const old = { ...lock, native };
    expect(await left({}, old)).toEqual(['refund']);
    expect(await left({ only: ['*'] }, old)).toEqual([]);
  });

  test('a name that no tool has is refused', async () => {
    for (const options of [{ only: ['serch'] }, { except: ['refunds'] }, { only: ['order', 'x*'] }])
      await expect(left(options)).rejects.toMatchObject({ code: 'LOCK_SELECTION' });
  });
});

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
    expect([...(await leftOutOf(surface, null, { choose: true }, at))]).toEqual(['order_status']);
    const text = said();
    const rows = [...lock.tools.keys()].map((name, i) => `   ${i + 1}  LOW     ${name}  Does`);
    for (const row of rows) expect(text).toContain(row);
    expect(text).not.toContain('\u001b');
    expect(text).toContain('That is none of the numbers 1 to 4.');
  });

  test('no answer is no lock, and without a terminal nobody is asked', async () => {
    const { at } = typing('');
    await expect(leftOutOf(surface, null, { choose: true }, at)).rejects.toMatchObject({
      code: 'LOCK_SELECTION',
    });
    const file = { input: new PassThrough(), output: new PassThrough() };
    await expect(leftOutOf(surface, null, { choose: true }, file)).rejects.toMatchObject({
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
