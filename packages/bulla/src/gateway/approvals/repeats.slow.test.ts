import { expect, test } from 'vitest';
import { type Asked, grantedStore, modernCall, startAsked } from '../../../test/approvals.ts';
import { initialize, records, told } from '../../../test/guard.ts';

const ARGS = { text: 'hello' };
const accepted = (decision: string) => ({ action: 'accept', content: { decision } });

async function outcomeOf({ store }: Asked): Promise<string> {
  const found = (await records(store)).filter(({ type, parent_id }) => type === 'tool' && parent_id !== null);
  return found.at(-1)!.id;
}

test('a call that comes again with its state gets the sealed outcome, and is not made twice', async () => {
  const guarded = await startAsked({ behaviour: 'stateless' });
  const { result } = await guarded.ask('tools/call', modernCall(ARGS));
  const more = {
    requestState: result.requestState,
    inputResponses: { bulla_consent: accepted('allow-once') },
  };
  const first = await guarded.ask('tools/call', modernCall(ARGS, more));
  const again = await guarded.ask('tools/call', modernCall(ARGS, more));
  expect(again.result).toEqual({
    ...first.result,
    _meta: { 'bulla/repeats': await outcomeOf(guarded) },
  });
  const other = await guarded.ask('tools/call', modernCall({ text: 'other' }, more));
  expect(other.error!.data!.code).toBe('CONSENT_OTHER_CALL');
  expect(guarded.executed()).toBe(1);
  await guarded.end();
  expect((await told(guarded.store)).slice(-4)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo success',
    'tools/call rogue/echo blocked GATEWAY_REPEATED',
    'tools/call rogue/echo blocked CONSENT_OTHER_CALL',
  ]);
});

/** Calls, lets a person allow it, and cancels it once the server has it. */
async function cancelled(guarded: Asked, id: number): Promise<void> {
  guarded.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: ARGS } });
  await guarded.decide('allow-once');
  while (guarded.executed() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
}

test('the answer to a call that its host left waits for it, once', async () => {
  const guarded = await startAsked({ behaviour: 'slow', guard: { count: 300 } });
  await initialize(guarded);
  await cancelled(guarded, 7);
  // It still runs: whoever calls again waits for the one that was made.
  const { result } = await guarded.call('echo', ARGS);
  expect(result).toEqual({
    content: [{ type: 'text', text: 'echo {"text":"hello"}' }],
    _meta: { 'bulla/repeats': await outcomeOf(guarded) },
  });
  expect(guarded.executed()).toBe(1);
  expect(guarded.received().some(({ method }) => method === 'notifications/cancelled')).toBe(false);
  // Once it has arrived, the same call is a new one.
  const next = guarded.call('echo', ARGS);
  await guarded.decide('deny-once');
  expect((await next).error!.data!.code).toBe('CONSENT_DENIED');
  expect(guarded.executed()).toBe(1);
  await guarded.end();
});

test('other arguments, or an answer that arrived, are no repetition', async () => {
  const guarded = await startAsked();
  await initialize(guarded);
  for (const args of [ARGS, ARGS, { text: 'other' }]) {
    const calling = guarded.call('echo', args);
    await guarded.decide('allow-once');
    expect((await calling).result._meta).toBeUndefined();
  }
  expect(guarded.executed()).toBe(3);
  await guarded.end();
});

test('a host that comes in another session gets the answer that the first one left', async () => {
  const on = await grantedStore('high');
  const first = await startAsked({ behaviour: 'slow', guard: { count: 100 }, on });
  await initialize(first);
  await cancelled(first, 7);
  await first.end();
  const second = await startAsked({ on });
  await initialize(second);
  const { result } = await second.call('echo', ARGS);
  expect(result._meta).toEqual({ 'bulla/repeats': await outcomeOf(second) });
  expect([first.executed(), second.executed()]).toEqual([1, 0]);
  await second.end();
});

test('once erased, it is asked anew', async () => {
  const guarded = await startAsked({ behaviour: 'slow', guard: { count: 50 } });
  await initialize(guarded);
  await cancelled(guarded, 7);
  let outcome: string | undefined;
  while (outcome === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const all = await records(guarded.store);
    outcome = all.find(({ type, parent_id }) => type === 'tool' && parent_id !== null)?.id;
  }
  await guarded.store.eraseOpenings(outcome);
  const next = guarded.call('echo', ARGS);
  await guarded.decide('allow-once');
  expect((await next).result._meta).toBeUndefined();
  expect(guarded.executed()).toBe(2);
  await guarded.end();
});

test('a call for which the server asks for input goes on under its approval, each part once', async () => {
  const guarded = await startAsked({
    behaviour: 'stateless-asks-once',
    guard: { features: ['elicitation'] },
  });
  const { result: asked } = await guarded.ask('tools/call', modernCall(ARGS));
  const first = await guarded.ask(
    'tools/call',
    modernCall(ARGS, {
      requestState: asked.requestState,
      inputResponses: { bulla_consent: accepted('allow-once') },
    }),
  );
  expect(Object.keys(first.result.inputRequests)).toEqual(['a']);
  expect(first.result.requestState).not.toBe('s');
  const inputResponses = { a: { action: 'accept', content: { which: 'this' } } };
  const more = { requestState: first.result.requestState, inputResponses };
  const other = await guarded.ask('tools/call', modernCall({ text: 'other' }, more));
  expect(other.error!.data!.code).toBe('CONSENT_OTHER_CALL');
  const second = await guarded.ask('tools/call', modernCall(ARGS, more));
  expect(second.result.content).toEqual([{ type: 'text', text: 'echo {"text":"hello"}' }]);
  // The server got its own state back, and what the host answered.
  const { requestState, inputResponses: given } = guarded.received().at(-1)!.params!;
  expect([requestState, given]).toEqual(['s', inputResponses]);
  const third = await guarded.ask('tools/call', modernCall(ARGS, more));
  expect(third.result).toEqual({
    ...second.result,
    _meta: { 'bulla/repeats': await outcomeOf(guarded) },
  });
  expect(guarded.executed()).toBe(2);
  await guarded.end();
  expect((await told(guarded.store)).filter((line) => line.startsWith('consent a'))).toEqual([
    'consent ask say pending',
    'consent answer say success',
  ]);
  const sealed = await records(guarded.store);
  const calls = sealed.filter(({ type }) => type === 'tool');
  expect(calls.map(({ outcome }) => outcome.status)).toEqual([
    'pending',
    'partial',
    'blocked',
    'pending',
    'success',
  ]);
  const consents = new Set(calls.map(({ context }) => context.environment.bulla.consent?.id));
  expect(consents.size).toBe(2); // one decision; denials before consent have none
});

test('a call that the server never answered is told so again, and not made twice', async () => {
  const on = await grantedStore('high');
  const first = await startAsked({ behaviour: 'never-answers', guard: { drainMs: 20 }, on });
  await initialize(first);
  await cancelled(first, 7);
  await first.end();
  const second = await startAsked({ on });
  await initialize(second);
  const { error } = await second.call('echo', ARGS);
  expect([error!.data!.code, error!.data!['bulla/repeats']]).toEqual([
    'GATEWAY_CLOSED',
    await outcomeOf(second),
  ]);
  expect([first.executed(), second.executed()]).toEqual([1, 0]);
  await second.end();
});
