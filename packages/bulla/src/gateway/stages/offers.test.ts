import { toUtf8 } from '@bulla/core/crypto';
import type { JsonObject } from '@bulla/core/json';
import { describe, expect, test } from 'vitest';
import { rogueLock } from '../../../test/guard.ts';
import { refusal } from '../../../test/mcp.ts';
import { parseFrame, type ResultFrame } from '../../mcp/index.ts';
import { pinsOf } from '../pins.ts';
import { Offers } from './offers.ts';

const pins = pinsOf(await rogueLock('ordinary'));
const lock = (await rogueLock('ordinary')).native!;
const page = (result: string): ResultFrame =>
  parseFrame(toUtf8(`{"jsonrpc":"2.0","id":1,"result":${result}}`), { spans: true }) as ResultFrame;
const whole = page('{"tools":[]}');
const offer = (status: 'same' | 'changed') =>
  ({ kind: 'tools', key: 'echo', status, digest: lock.tools.get('echo')!.digest }) as const;
const params = (value: JsonObject): string => String(value.get('cursor'));

describe('what the server offers', () => {
  test('counts for a while', () => {
    let now = 1000;
    const offers = new Offers(pins, 100, () => now);
    offers.saw('tools', [offer('same')], 0);
    expect(offers.find('tools', 'echo', offers.horizon())).toMatchObject({ status: 'same' });
    now += 100;
    expect(offers.find('tools', 'echo', offers.horizon())).toMatchObject({ status: 'same' });
    now += 1;
    expect(offers.find('tools', 'echo', offers.horizon())).toBeNull();
  });

  test('counts no more after a change, nor when it was asked for before', () => {
    const offers = new Offers(pins, 100, () => 0);
    const before = offers.generation('tools');
    offers.saw('tools', [offer('same')], before);
    offers.changed('notifications/tools/list_changed');
    expect(offers.find('tools', 'echo', 0)).toBeNull();
    offers.saw('tools', [offer('same')], before);
    expect(offers.find('tools', 'echo', 0)).toBeNull();
    offers.changed('notifications/resources/list_changed');
    expect([
      offers.generation('tools'),
      offers.generation('resources'),
      offers.generation('resourceTemplates'),
    ]).toEqual([1, 1, 1]);
  });

  test('stays changed until the whole list is read again', async () => {
    const offers = new Offers(pins, 100, () => 0);
    offers.saw('tools', [offer('changed')], 0);
    offers.saw('tools', [offer('same')], 0);
    expect(offers.find('tools', 'echo', 0)).toMatchObject({ status: 'changed' });
    await offers.read('tools', async () => whole, null);
    expect(offers.find('tools', 'echo', 0)).toBe('absent');
  });
});

describe('a list', () => {
  test('is read once for all who ask meanwhile', async () => {
    const offers = new Offers(pins, 100, () => 0);
    const asked: string[] = [];
    const ask = async (method: string, given: JsonObject): Promise<ResultFrame> => {
      asked.push(`${method} ${params(given)}`);
      return asked.length === 1 ? page('{"tools":[],"nextCursor":"p2"}') : whole;
    };
    await Promise.all([offers.read('tools', ask, null), offers.read('tools', ask, null)]);
    expect(asked).toEqual(['tools/list undefined', 'tools/list p2']);
  });

  test.each([
    ['pages for ever', (n: number) => `p${n}`],
    ['comes back to a page', () => 'p'],
  ])('that %s is refused', async (_, cursor) => {
    const offers = new Offers(pins, 100, () => 0);
    let asked = 0;
    const read = offers.read(
      'tools',
      async () => page(`{"tools":[],"nextCursor":"${cursor(asked++)}"}`),
      null,
    );
    expect(await refusal(read)).toMatchObject({ code: 'GATEWAY_LIST' });
    expect(asked).toBeLessThan(1010);
  });
});
