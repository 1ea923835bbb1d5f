import { describe, expect, test } from 'vitest';
import { modernCall, startAsked } from '../../../test/approvals.ts';
import { initialize, records, told } from '../../../test/guard.ts';

const ARGS = { text: 'hello' };
const FORMS = { elicitation: { form: {} } };
const accepted = (decision: string) => ({ action: 'accept', content: { decision } });

/** The first call of a host of the stateless era, and what it is asked. */
async function askedModern(options: Parameters<typeof startAsked>[0] = {}) {
  const guarded = await startAsked({ behaviour: 'stateless', ...options });
  const { result } = await guarded.ask('tools/call', modernCall(ARGS));
  const again = (response: object | undefined, args: object = ARGS, state: string = result.requestState) =>
    guarded.ask(
      'tools/call',
      modernCall(args, {
        requestState: state,
        ...(response && { inputResponses: { bulla_consent: response } }),
      }),
    );
  return { guarded, result, again };
}

describe('a host of the stateless era', () => {
  test('is asked in the result of its call, and calls again with the answer', async () => {
    const { guarded, result, again } = await askedModern();
    const { bulla_consent: input } = result.inputRequests;
    expect([result.resultType, Object.keys(result.inputRequests), input.method, input.params.mode]).toEqual([
      'input_required',
      ['bulla_consent'],
      'elicitation/create',
      'form',
    ]);
    expect(input.params.requestedSchema).toEqual({
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Allow it?',
          enum: ['allow-once', 'deny-once', 'never'],
          enumNames: ['allow this call', 'deny this call', 'refuse the scope until you grant it again'],
        },
      },
      required: ['decision'],
    });
    expect(input.params.message.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^desk asks os:here\/1000$/),
      expect.stringMatching(/^to call say = rogue\/echo/),
      'arguments {"text":"hello"}',
    ]);
    expect(guarded.executed()).toBe(0);
    const { result: done } = await again(accepted('allow-once'));
    expect(done.content).toEqual([{ type: 'text', text: 'echo {"text":"hello"}' }]);
    // What was for us did not reach the server.
    const [call] = guarded.received().filter(({ method }) => method === 'tools/call');
    expect(Object.keys(call!.params!).sort()).toEqual(['_meta', 'arguments', 'name']);
    expect(await told(guarded.store)).toEqual([
      expect.any(String),
      expect.any(String),
      expect.any(String),
      'consent ask say pending',
      'consent answer say success',
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
    ]);
    const intent = (await records(guarded.store)).find(({ type }) => type === 'tool')!;
    expect(intent.authority.policy_reference).toBe('consent:host-reported');
    await guarded.end();
  });

  test.each([
    ['declines', { action: 'decline' }, 'CONSENT_DENIED', 'user_rejected', 'answered'],
    ['denies', accepted('deny-once'), 'CONSENT_DENIED', 'user_rejected', 'answered'],
    ['closes the question', { action: 'cancel' }, 'CONSENT_WITHDRAWN', 'user_timeout', 'withdrawn'],
  ])('%s', async (_, response, code, reason, detail) => {
    const { guarded, again } = await askedModern();
    const { error } = await again(response);
    expect(error!.data).toMatchObject({ stage: 'consent', code, reason, detail, tool: 'echo' });
    expect(guarded.executed()).toBe(0);
    await guarded.end();
  });

  test('an answer that is none is asked for again, and an answer elsewhere counts', async () => {
    const { guarded, again } = await askedModern();
    for (const response of [accepted('allow-session'), { action: 'accept' }, undefined]) {
      const { result } = await again(response);
      expect(result.resultType).toBe('input_required');
    }
    await guarded.decide('allow-once');
    expect((await again(undefined)).result.content[0].text).toBe('echo {"text":"hello"}');
    expect(guarded.executed()).toBe(1);
    await guarded.end();
  });

  test('a state is for one call, once, unchanged', async () => {
    const { guarded, result, again } = await askedModern();
    const codeOf = async (answer: ReturnType<typeof again>) => (await answer).error?.data?.code;
    const state: string = result.requestState;
    expect(await codeOf(again(accepted('allow-once'), { text: 'other' }))).toBe('CONSENT_OTHER_CALL');
    const flipped = `${state.slice(0, -3)}${state.at(-3) === 'A' ? 'B' : 'A'}${state.slice(-2)}`;
    expect(await codeOf(again(accepted('allow-once'), ARGS, flipped))).toBe('GATEWAY_STATE');
    expect(await codeOf(again(accepted('allow-once'), ARGS, 'bulla1.'))).toBe('GATEWAY_STATE');
    expect(await codeOf(again(accepted('allow-once'), ARGS, `${state}=`))).toBe('GATEWAY_STATE');
    expect(guarded.executed()).toBe(0);
    expect((await again(accepted('allow-once'))).result.content[0].text).toBe('echo {"text":"hello"}');
    expect(guarded.executed()).toBe(1);
    await guarded.end();
  });

  test('without forms is not asked: the call waits for an answer elsewhere', async () => {
    const guarded = await startAsked({ behaviour: 'stateless' });
    const calling = guarded.ask('tools/call', modernCall(ARGS, {}, {}));
    await guarded.decide('allow-once');
    expect((await calling).result.content[0].text).toBe('echo {"text":"hello"}');
    await guarded.end();
  });

  test('is not asked where the host may not answer', async () => {
    const guarded = await startAsked({ behaviour: 'stateless', rules: { highChannels: 'out-of-band' } });
    const calling = guarded.ask('tools/call', modernCall(ARGS));
    await guarded.decide('allow-once');
    expect((await calling).result.content[0].text).toBe('echo {"text":"hello"}');
    await guarded.end();
  });

  test('what is too long to be shown as a whole is not shown in a part', async () => {
    const guarded = await startAsked({ behaviour: 'stateless' });
    const args = { text: 'x'.repeat(7000) };
    const calling = guarded.ask('tools/call', modernCall(args));
    await guarded.decide('allow-once');
    expect((await calling).result.content[0].text).toBe(`echo ${JSON.stringify(args)}`);
    await guarded.end();
  });
});

describe('a host of the initialize era', () => {
  test('is sent the question, and its answer lets the call go on', async () => {
    const guarded = await startAsked();
    await initialize(guarded, FORMS);
    const calling = guarded.call('echo', ARGS);
    const question = await guarded.until(({ method }) => method === 'elicitation/create');
    expect(Object.keys(question.params!)).toEqual(['message', 'requestedSchema']);
    guarded.send({ jsonrpc: '2.0', id: question.id, result: accepted('allow-once') });
    expect((await calling).result.content[0].text).toBe('echo {"text":"hello"}');
    expect(guarded.executed()).toBe(1);
    expect(guarded.received().some(({ method }) => method === 'elicitation/create')).toBe(false);
    await guarded.end();
  });

  test('an answer elsewhere withdraws the question from the host', async () => {
    const guarded = await startAsked();
    await initialize(guarded, FORMS);
    const calling = guarded.call('echo', ARGS);
    const question = await guarded.until(({ method }) => method === 'elicitation/create');
    await guarded.decide('deny-once');
    expect((await calling).error!.data).toMatchObject({ code: 'CONSENT_DENIED', detail: 'answered' });
    const cancelled = await guarded.until(({ method }) => method === 'notifications/cancelled');
    expect(cancelled.params).toEqual({ requestId: question.id });
    await guarded.end();
  });

  test('an error for an answer leaves the question open elsewhere', async () => {
    const guarded = await startAsked();
    await initialize(guarded, FORMS);
    const calling = guarded.call('echo', ARGS);
    const question = await guarded.until(({ method }) => method === 'elicitation/create');
    guarded.send({ jsonrpc: '2.0', id: question.id, error: { code: -32603, message: 'no' } });
    await guarded.decide('allow-once');
    expect((await calling).result.content[0].text).toBe('echo {"text":"hello"}');
    await guarded.end();
  });

  test('a cancelled call withdraws its question', async () => {
    const guarded = await startAsked();
    await initialize(guarded, FORMS);
    guarded.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo', arguments: ARGS } });
    const question = await guarded.until(({ method }) => method === 'elicitation/create');
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    await guarded.until(({ method, params }) => {
      return method === 'notifications/cancelled' && params!.requestId === question.id;
    });
    await guarded.end();
    expect(guarded.executed()).toBe(0);
    expect((await told(guarded.store)).slice(-3)).toEqual([
      'consent ask say pending',
      'consent end say blocked user_timeout',
      'tools/call rogue/echo blocked user_timeout',
    ]);
  });

  test('two identical calls at once are two questions and two answers', async () => {
    const guarded = await startAsked();
    await initialize(guarded, FORMS);
    const calls = [guarded.call('echo', ARGS), guarded.call('echo', ARGS)];
    const first = await guarded.until(({ method }) => method === 'elicitation/create');
    const second = await guarded.until(
      ({ method, id }) => method === 'elicitation/create' && id !== first.id,
    );
    guarded.send({ jsonrpc: '2.0', id: first.id, result: accepted('allow-once') });
    guarded.send({ jsonrpc: '2.0', id: second.id, result: { action: 'decline' } });
    const answers = await Promise.all(calls);
    expect(answers.map(({ error }) => error?.data?.code ?? null).sort()).toEqual(['CONSENT_DENIED', null]);
    expect(guarded.executed()).toBe(1);
    await guarded.end();
  });
});

describe('with parking', () => {
  const parked = { rules: { parkMs: 60_000 }, gate: { patienceMs: 20 } };

  test('the agent is told to come back, and the same call redeems the answer once', async () => {
    const guarded = await startAsked(parked);
    await initialize(guarded);
    const { error } = await guarded.call('echo', ARGS);
    const prompt = await guarded.question();
    expect(error!.data).toMatchObject({ code: 'CONSENT_PENDING', question: prompt.id });
    expect((await guarded.call('echo', ARGS)).error!.data!.code).toBe('CONSENT_PENDING');
    expect(await guarded.consent.pending()).toHaveLength(1);
    await guarded.decide('allow-once', prompt);
    expect((await guarded.call('echo', ARGS)).result.content[0].text).toBe('echo {"text":"hello"}');
    expect(guarded.executed()).toBe(1);
    // The next one is a new call.
    expect((await guarded.call('echo', ARGS)).error!.data!.code).toBe('CONSENT_PENDING');
    expect((await guarded.question()).id).not.toBe(prompt.id);
    expect(guarded.executed()).toBe(1);
    await guarded.end();
  });

  test('other arguments are another call', async () => {
    const guarded = await startAsked(parked);
    await initialize(guarded);
    await guarded.call('echo', ARGS);
    await guarded.decide('allow-once');
    expect((await guarded.call('echo', { text: 'other' })).error!.data!.code).toBe('CONSENT_PENDING');
    expect(guarded.executed()).toBe(0);
    await guarded.end();
  });

  test('a denial waits too', async () => {
    const guarded = await startAsked(parked);
    await initialize(guarded);
    await guarded.call('echo', ARGS);
    await guarded.decide('deny-once');
    expect((await guarded.call('echo', ARGS)).error!.data!.code).toBe('CONSENT_DENIED');
    expect((await guarded.call('echo', ARGS)).error!.data!.code).toBe('CONSENT_PENDING');
    await guarded.end();
  });

  test('a cancelled call leaves its question', async () => {
    const guarded = await startAsked({ rules: { parkMs: 60_000 } });
    await initialize(guarded);
    guarded.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo', arguments: ARGS } });
    const prompt = await guarded.question();
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    await guarded.decide('allow-once', prompt);
    expect((await guarded.call('echo', ARGS)).result.content[0].text).toBe('echo {"text":"hello"}');
    expect(guarded.executed()).toBe(1);
    await guarded.end();
  });
});
