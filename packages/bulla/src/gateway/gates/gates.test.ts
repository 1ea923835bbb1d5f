import { readEvidence } from '@bulla/core/evidence';
import { expect, test } from 'vitest';
import { initialize, records, startRogue, told } from '../../../test/guard.ts';
import { Denial } from '../denial.ts';
import type { Gate, GatedCall, Ruling } from './index.ts';

/** A gate that asks a person about every call. */
function asking(): Gate & { readonly asked: GatedCall[]; answer(ruling: Ruling, index?: number): void } {
  const asked: GatedCall[] = [];
  const answers: ((ruling: Ruling) => void)[] = [];
  return {
    name: 'consent',
    asked,
    answer: (ruling, index = 0) => answers[index]!(ruling),
    rule: (call) => ({
      ask: new Promise((resolve) => {
        asked.push(call);
        answers.push(resolve);
        call.signal.addEventListener('abort', () =>
          resolve({ deny: new Denial('consent', 'CONSENT_NOT_OPEN', 'The question was taken back.') }),
        );
      }),
    }),
  };
}

const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
};

test('calls that wait for a person hold no slot: the host is read on, and can take them back', async () => {
  const gate = asking();
  const guarded = await startRogue('ordinary', { gates: [gate] });
  await initialize(guarded);
  // More than there are slots, so that a waiting call that held one would stop the reading.
  for (let id = 1000; id < 1100; id++)
    guarded.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { id } } });
  expect((await guarded.ask('ping')).result).toEqual({});
  await until(() => gate.asked.length === 100);
  guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1000 } });
  await until(() => gate.asked[0]!.signal.aborted);
  gate.answer({ pass: { evidence: { consent: { id: 'c-1' } } } }, 1);
  const answer = await guarded.until(({ id }) => id === 1001);
  expect(answer.result.content[0].text).toBe('echo {"id":1001}');
  await guarded.end();
  const lines = await told(guarded.store);
  expect(lines.filter((line) => line === 'tools/call rogue/echo pending')).toHaveLength(1);
  expect(lines.filter((line) => line === 'tools/call rogue/echo success')).toHaveLength(1);
  // The one that was taken back, and those that were still open at the end.
  expect(
    lines.filter((line) => line === 'tools/call rogue/echo blocked CONSENT_NOT_OPEN').length,
  ).toBeGreaterThan(0);
  expect(gate.asked.every(({ signal }, i) => i === 1 || signal.aborted)).toBe(true);
  const intent = (await records(guarded.store)).find(
    ({ outcome }) => outcome.status === 'pending' && outcome.summary.startsWith('tools/call'),
  )!;
  expect(readEvidence(intent)).toMatchObject({
    consent: { id: 'c-1' },
    tool: { server: 'rogue', name: 'echo' },
  });
});

test('what a gate denies is recorded once, with its part; nothing reaches the server', async () => {
  const denial = new Denial('policy', 'POLICY_DENIED', 'No.');
  const part = { evidence: { policy: { id: 'rules', hash: 'sha256:1' } } };
  const guarded = await startRogue('ordinary', {
    gates: [{ name: 'policy', rule: () => ({ deny: denial, part }) }],
  });
  await initialize(guarded);
  expect((await guarded.call('echo')).error).toMatchObject({
    code: 403,
    data: { stage: 'policy', code: 'POLICY_DENIED' },
  });
  await guarded.end();
  expect(await told(guarded.store)).toEqual(['tools/call rogue/echo blocked POLICY_DENIED']);
  const [, blocked] = await records(guarded.store);
  expect(readEvidence(blocked)).toMatchObject({
    policy: part.evidence.policy,
    tool: { name: 'echo', locked: expect.any(String) },
  });
  expect(guarded.received().some(({ method }) => method === 'tools/call')).toBe(false);
});

test('an effect that refuses keeps the call from being made, and it is denied', async () => {
  const { BullaError } = await import('@bulla/core/error');
  const gate: Gate = {
    name: 'envelope',
    rule: () => ({
      pass: {
        onIntent: () => async () => {
          throw new BullaError('EE_NONCE_REPLAY', 'The nonce was used.');
        },
      },
    }),
  };
  const guarded = await startRogue('ordinary', { gates: [gate] });
  await initialize(guarded);
  expect((await guarded.call('echo')).error).toMatchObject({
    data: { stage: 'envelope', code: 'EE_NONCE_REPLAY' },
  });
  await guarded.end();
  expect(await told(guarded.store)).toEqual(['tools/call rogue/echo blocked EE_NONCE_REPLAY']);
});

test('a gate that is asked again when the intent is durable can still stop the call', async () => {
  const gate: Gate = {
    name: 'policy',
    rule: () => ({ pass: {} }),
    again: async () => {
      throw new Denial('policy', 'POLICY_DENIED', 'Not any more.');
    },
  };
  const guarded = await startRogue('ordinary', { gates: [gate] });
  await initialize(guarded);
  expect((await guarded.call('echo')).error).toMatchObject({ data: { code: 'POLICY_DENIED' } });
  await guarded.end();
  expect(await told(guarded.store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo blocked POLICY_DENIED',
  ]);
  expect(guarded.received().some(({ method }) => method === 'tools/call')).toBe(false);
});
