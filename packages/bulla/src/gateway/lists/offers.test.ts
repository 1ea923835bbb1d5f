import { toUtf8 } from '@bulla/core/crypto';
import type { JsonObject } from '@bulla/core/json';
import { describe, expect, test } from 'vitest';
import { rogueLock } from '../../../test/guard.ts';
import { refusal } from '../../../test/mcp.ts';
import { parseFrame, type ResultFrame } from '../../mcp/index.ts';
import { Offers } from './offers.ts';
import { pinsOf } from './pins.ts';

const pins = pinsOf(await rogueLock('ordinary'));
const lock = (await rogueLock('ordinary')).native!;
const page = (result: string): ResultFrame =>
  parseFrame(toUtf8(`{"jsonrpc":"2.0","id":1,"result":${result}}`)) as ResultFrame;
const whole = page('{"tools":[]}');
const offer = (status: 'same' | 'changed') =>
  ({ kind: 'tools', key: 'echo', status, digest: lock.tools.get('echo')!.digest }) as const;
const lockedEcho = {
  name: 'echo',
  description: 'Gives back a text.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
};
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
    expect(await refusal(read)).toMatchObject({ code: 'GATEWAY_BAD_ANSWER' });
    expect(asked).toBeLessThan(1010);
  });

  test('is read no further than its budget in bytes, and only what is locked is kept', async () => {
    const offers = new Offers(pins, 100, () => 0, 100_000);
    let pages = 0;
    const endless = async (): Promise<ResultFrame> => {
      const name = 'n'.repeat(30_000);
      return page(
        `{"tools":[{"name":"${name}","inputSchema":{}}],"nextCursor":"${'c'.repeat(1000)}${pages++}"}`,
      );
    };
    expect(await refusal(offers.read('tools', endless, null))).toMatchObject({
      code: 'GATEWAY_BAD_ANSWER',
      message: "The server's tools/list has no end.",
    });
    expect(pages).toBe(4);
  });

  test('that a page showed as changed stays so when a list was being read meanwhile', async () => {
    const offers = new Offers(pins, 100, () => 0);
    const echo = `{"tools":[${JSON.stringify(lockedEcho)}],"nextCursor":"2"}`;
    const { promise: last, resolve } = Promise.withResolvers<ResultFrame>();
    const asked = Promise.withResolvers<void>();
    const reading = offers.read(
      'tools',
      async (_, params) => {
        if (!params.has('cursor')) return page(echo);
        asked.resolve();
        return last;
      },
      null,
    );
    await asked.promise;
    offers.saw('tools', [offer('changed')], offers.generation('tools'));
    resolve(whole);
    await reading;
    expect(offers.find('tools', 'echo', 0)).toMatchObject({ status: 'changed' });
    // The next reading tells what is offered then.
    await offers.read('tools', async () => page(echo.replace(',"nextCursor":"2"', '')), null);
    expect(offers.find('tools', 'echo', 0)).toMatchObject({ status: 'same' });
  });
});
