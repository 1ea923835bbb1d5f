import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Lock } from '@bulla/core/lock';
import { expect, test } from 'vitest';
import { initialize, openTestStore, records, rogueLock, startGuard, startRogue } from '../../test/guard.ts';
import { refusal, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { createRecorder } from '../record/index.ts';
import type { Context } from './context.ts';
import type { Gate } from './gates/gate.ts';
import { gatesOf } from './gates/index.ts';
import { Session } from './gates/session.ts';
import { History } from './history.ts';
import { Offers } from './lists/offers.ts';
import { pinsOf } from './lists/pins.ts';
import { Shown } from './lists/shown.ts';
import { ChainRecord, type SessionContext } from './record.ts';
import { selfTest } from './self-test.ts';
import { UNTRACED } from './telemetry.ts';
import { Unrecorded } from './unrecorded.ts';
import { Wire } from './wire/wire.ts';

test.each([
  ['enforce', 'denied'],
  ['filter', 'noticed'],
  ['audit', 'noticed'],
] as const)(
  'a link proves itself before it serves, and says so where its session begins: %s',
  async (mode, fact) => {
    const guarded = await startRogue('ordinary', { mode });
    await initialize(guarded);
    expect(await guarded.end()).toEqual({ ended: 'host', error: null, calls: 0, blocked: 0 });
    const [opened, closed, ...others] = await records(guarded.store);
    expect(others).toEqual([]);
    expect(opened!.context.environment.bulla.facts).toEqual({ selfTest: fact, consent: 'none' });
    expect(closed!.outcome.metrics).toEqual({ calls: 0, blocked: 0, dropped: {} });
    expect(guarded.received().map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
    ]);
    expect(guarded.log).toEqual([]);
  },
);

class Everything<Key, Value> extends Map<Key, Value> {
  override has(): boolean {
    return true;
  }
}

test('a link whose lock seems to hold everything does not start, and the refusal is recorded', async () => {
  const store = await openTestStore(temporaryFolder());
  const lock = await rogueLock('ordinary');
  const native = { ...lock.native!, tools: new Everything(lock.native!.tools) };
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, 'ordinary');
  const guarded = await startGuard({ store, server, lock: { ...lock, native } as Lock });
  expect(await refusal(guarded.over)).toMatchObject({ code: 'GATEWAY_SELF_TEST' });
  expect(existsSync(received)).toBe(false);
  expect(
    (await records(store)).map(({ context, outcome }) => [
      context.environment.bulla.facts ?? null,
      outcome.status,
      outcome.error,
    ]),
  ).toEqual([
    [{ selfTest: 'failed', consent: 'none' }, 'pending', null],
    [null, 'failure', 'session: GATEWAY_SELF_TEST'],
  ]);
  await store.close();
});

/** A session without a server, whose gates a test may spoil. */
async function tested(
  spoil: (gates: readonly Gate[]) => readonly Gate[],
  configured: readonly Gate[] = [],
  { isRecorded = true, calls = true }: { isRecorded?: boolean; calls?: boolean } = {},
): Promise<string> {
  const store = await openTestStore(temporaryFolder());
  const lock = await rogueLock('ordinary');
  const pins = pinsOf(lock);
  const session: SessionContext = {
    agentId: 'bot',
    sessionId: 'one',
    server: { name: 'rogue', digest: 'sha256:0' },
    lock: pins.lock,
  };
  const recorder = createRecorder(store.chain('default'));
  const record = isRecorded ? new ChainRecord({ ...session, store, recorder }) : new Unrecorded(session);
  const history = new History('one');
  const context: Context = {
    pins,
    enforce: { lists: true, calls },
    features: new Set(),
    session: new Session(),
    offers: new Offers(pins, 1000, () => 0),
    shown: new Shown(async () => null),
    record,
    history,
    host: { write() {} },
    wire: new Wire({ isPerRequest: false, send: async () => {} }, 1000),
    checkOutput: () => {},
    tools: new Map(),
    rulesFor: () => null,
    preflight: null,
    released: false,
    telemetry: UNTRACED,
    transport: 'pipe',
    askHost: () => Promise.reject(new Error('nobody is asked here')),
    gates: [],
    log() {},
  };
  try {
    const gates = spoil(gatesOf(context, { lock, gates: configured, rules: [] }));
    return await selfTest(
      { ...context, gates },
      configured.map(({ name }) => name),
    );
  } catch (error) {
    return (error as Error).message;
  } finally {
    expect(await records(store)).toEqual([]);
    expect([record.counts.calls, record.counts.blocked, history.facts.denials]).toEqual([0, 0, 0]);
    await store.close();
  }
}

test('the gates are those that the configuration says, and the first of them denies', async () => {
  const failed = (why: string) => `The gateway failed its own test: ${why}. Nothing is served.`;
  const policy: Gate = { name: 'policy', rule: () => ({ pass: {} }) };
  const consent: Gate = { name: 'consent', rule: () => ({ pass: {} }) };
  expect(await tested((gates) => gates)).toBe('denied');
  expect(await tested((gates) => gates, [policy, consent])).toBe('denied');
  expect(await tested((gates) => gates.slice(1))).toBe(failed('the lock does not decide first'));
  expect(await tested((gates) => gates.slice(0, -1))).toBe(failed('the kill switch does not decide last'));
  expect(await tested((gates) => gates.filter((gate) => gate !== consent), [policy, consent])).toBe(
    failed('the gate "consent" is missing'),
  );
  expect(await tested((gates) => gates, [])).toBe('denied');
  const without = (at: number) => (gates: readonly Gate[]) => gates.toSpliced(at, 1);
  expect(await tested(without(1))).toBe(failed('the gate "arguments" is missing'));
  expect(await tested(without(2))).toBe(failed('the gate "uris" is missing'));
  expect(await tested(without(3), [policy])).toBe(failed('the gate "policy" is missing'));
  expect(await tested(without(3))).toBe(failed('the gate "policy" is missing'));
  expect(await tested(([first, ...rest]) => [first!, consent, ...rest])).toBe(
    failed('the gate "arguments" is missing'),
  );
  const blind: Gate = { name: 'pinned', rule: () => ({ pass: {} }) };
  expect(await tested(([, ...rest]) => [blind, ...rest])).toBe(failed('a forbidden call was not denied'));
});

test('a session without a record proves itself too, and counts nothing', async () => {
  const blind: Gate = { name: 'pinned', rule: () => ({ pass: {} }) };
  const failed = 'The gateway failed its own test: a forbidden call was not denied. Nothing is served.';
  const isRecorded = false;
  expect(await tested((gates) => gates, [], { isRecorded })).toBe('denied');
  expect(await tested((gates) => gates, [], { isRecorded, calls: false })).toBe('noticed');
  expect(await tested(([, ...rest]) => [blind, ...rest], [], { isRecorded })).toBe(failed);
});
