import { readLock, surfaceOf } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import { lockOf, SHOP, type TestSurface } from '../../test/lockfiles.ts';
import type { Surface } from '../mcp/index.ts';
import { leftOutOf } from './choice.ts';

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
const surface = { ...surfaceOf(lock.native!), findings: [] } as unknown as Surface;
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

  test('whoever is asked sees what the names leave, and what was left out so far', async () => {
    const asked: unknown[] = [];
    const choose = async (tools: Surface['tools'], before: ReadonlySet<string>) => {
      asked.push([tools.map((tool) => tool.get('name')), [...before]]);
      return new Set(['order']);
    };
    const native = { ...lock.native!, leftOut: new Map([['refund', { digest: '', sourceDigest: null }]]) };
    expect(await left({ only: ['order*', 'refund'], choose }, { ...lock, native })).toEqual([
      'order_status',
      'refund',
      'search',
    ]);
    expect(asked).toEqual([[['order', 'order_status', 'refund'], ['refund']]]);
  });
});
