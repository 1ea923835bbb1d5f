import { join } from 'node:path';
import { readEvidence } from '@bulla/core/evidence';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { brokenStore } from '../../test/broken-store.ts';
import { initialize, openTestStore, records, startRogue, told } from '../../test/guard.ts';
import { temporaryFolder } from '../../test/run.ts';
import type { Part } from '../record/index.ts';
import type { Store } from '../store/index.ts';
import type { Gate } from './gates/gate.ts';

const LAZY = new Map([['echo', { outcome: 'lazy' as const }]]);

/** A store that tells of each outcome before it writes it, and waits then. */
async function waiting(before: () => Promise<void>): Promise<Store> {
  const real = await openTestStore(temporaryFolder());
  onTestFinished(() => real.close());
  return {
    ...real,
    chain: (name) => ({
      ...real.chain(name),
      async append(input, options) {
        if (options?.closes !== undefined) await before();
        return real.chain(name).append(input, options);
      },
    }),
  };
}

describe('a tool whose outcome is lazy', () => {
  test('is answered before its outcome is durable; any other is not', async () => {
    let release = Promise.withResolvers<void>();
    const store = await waiting(() => release.promise);
    const guarded = await startRogue('ordinary', { store, tools: LAZY });
    await initialize(guarded);
    expect((await guarded.call('echo')).result.content[0].text).toBe('echo {}');
    expect(await told(store)).toEqual(['tools/call rogue/echo pending']);
    release.resolve();
    release = Promise.withResolvers<void>();
    const [durable, other] = [guarded.call('add'), guarded.ask('tools/list')];
    // Answered after the call was, and it waits for nothing.
    await other;
    expect(guarded.lines.join()).not.toContain('add {}');
    release.resolve();
    await durable;
    await guarded.end();
    expect(await told(store)).toEqual([
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
      'tools/call rogue/add pending',
      'tools/call rogue/add success',
    ]);
    const [, echo, echoed, add] = await records(store);
    expect([echo, echoed, add].map((record) => readEvidence(record)!.outcome)).toEqual([
      'lazy',
      'lazy',
      undefined,
    ]);
  });

  test.each<[string, Part['evidence']]>([
    ['somebody approved once', { consent: { id: 'c', asked: 'q', answered: 'a' } }],
    ['an envelope binds', { envelope: { profile: 'envelope-v1', audience: 'bank' } }],
  ])('is durable all the same for a call that %s', async (_, evidence) => {
    const gate: Gate = { name: 'consent', rule: () => ({ pass: { evidence } }) };
    let answered = false;
    const order: string[] = [];
    const store = await waiting(async () => {
      order.push(answered ? 'answered before' : 'recorded before');
    });
    const guarded = await startRogue('ordinary', { store, tools: LAZY, gates: [gate] });
    await initialize(guarded);
    await guarded.call('echo');
    answered = true;
    await guarded.end();
    expect(order).toEqual(['recorded before']);
    expect((await records(store)).map((record) => readEvidence(record)!.outcome)).toEqual(
      new Array(4).fill(undefined),
    );
  });

  test('takes one commit a call in a row of calls, not two', async () => {
    let commits = 0;
    const store = brokenStore(join(temporaryFolder(), 'store.db'), (driver) => ({
      append(...args) {
        commits++;
        return driver.append(...args);
      },
      appendLocked(...args) {
        commits++;
        return driver.appendLocked(...args);
      },
    }));
    onTestFinished(() => store.close());
    const run = async (tools: typeof LAZY | undefined) => {
      const guarded = await startRogue('ordinary', { store, tools });
      await initialize(guarded);
      await guarded.call('add');
      const before = commits;
      // A slow machine must not reach the 20 ms: what is lazy waits for the next call here.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      for (let i = 0; i < 10; i++) await guarded.call('echo');
      const spent = commits - before;
      vi.advanceTimersByTime(20);
      vi.useRealTimers();
      await guarded.end();
      return spent;
    };
    expect([await run(undefined), await run(LAZY)]).toEqual([20, 10]);
    expect((await told(store)).filter((line) => line === 'tools/call rogue/echo success')).toHaveLength(20);
    expect(await store.chain('default').openIntents()).toBe(0);
  });

  test('whose outcome is lost leaves its intent open, and the operator is told', async () => {
    const store = await waiting(() => Promise.reject(new Error('disk')));
    const guarded = await startRogue('ordinary', { store, tools: LAZY });
    await initialize(guarded);
    expect((await guarded.call('echo')).result).toBeDefined();
    await guarded.end();
    const [, intent] = await records(store);
    expect(guarded.log.filter((line) => line.includes('outcome'))).toEqual([
      expect.stringContaining(`the outcome of ${intent!.id} is not recorded`),
    ]);
    expect(await store.chain('default').openIntents()).toBe(1);
  });
});
