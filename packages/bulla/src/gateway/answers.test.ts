import { expect, test } from 'vitest';
import { type Guarded, initialize, type Message, startRogue, told } from '../../test/guard.ts';

const codeOf = ({ error, result }: Message): unknown => error?.data?.code ?? result ?? error;
const wish = { method: 'sampling/createMessage', params: { messages: [] } };
const asks = { resultType: 'input_required', inputRequests: { a: wish } };
const twin = { method: 'ping', Method: 'sampling/createMessage', params: {} };

/** Bodies of answers, and what the host is told of them. */
const BODIES: readonly (readonly [object, string])[] = [
  [{ result: asks }, 'GATEWAY_METHOD'],
  [{ result: { ...asks, inputRequests: { a: twin } } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { ...asks, inputRequests: { a: { method: 'ping', METHOD: 1 } } } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { ...asks, inputRequests: { a: 'sampling/createMessage' } } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { ...asks, inputRequests: [wish] } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { content: [], inputRequests: { a: wish } } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { content: [], inputrequests: { a: wish } } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { content: [], requestState: 's' } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { ...asks, resultType: 'complete' } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { ...asks, resultType: null } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { content: [], ResultType: 'input_required' } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { content: [], _Meta: {} } }, 'GATEWAY_BAD_ANSWER'],
  [{ result: { content: [], _meta: { 'io.ModelContextProtocol/serverInfo': {} } } }, 'GATEWAY_BAD_ANSWER'],
  [{ error: { code: -32042, message: 'x', data: { elicitations: [] } } }, 'GATEWAY_METHOD'],
];

test('what a server wants of the host passes in no answer to a call, whatever the case', async () => {
  const guarded = await startRogue('answers-as-told');
  await initialize(guarded);
  for (const [body, code] of BODIES) {
    expect([body, codeOf(await guarded.call('echo', { body }))]).toEqual([body, code]);
  }
  const result = { resultType: 'complete', content: [], _meta: { x: 1 } };
  expect((await guarded.call('echo', { body: { result } })).result).toEqual(result);
  await guarded.end();
  expect((await told(guarded.store)).filter((line) => line.includes('failure'))).toEqual(
    BODIES.map(([, code]) => `tools/call rogue/echo failure ${code}`),
  );
});

/** The next request that is no call is answered with this. */
const prepare = (guarded: Guarded, later: object) => guarded.call('echo', { later });

test.each(['ping', 'tools/list', 'prompts/list'])('nor in an answer to %s', async (method) => {
  const guarded = await startRogue('answers-as-told');
  await initialize(guarded);
  const base = method === 'ping' ? {} : { [method.split('/')[0]!]: [] };
  for (const more of [asks, { inputRequests: { a: wish } }, { _Meta: {} }, { inputrequests: { a: wish } }]) {
    await prepare(guarded, { result: { ...base, ...more } });
    const { error } = await guarded.ask(method);
    expect([more, error?.code]).toEqual([more, 502]);
  }
  await prepare(guarded, { error: { code: -32042, message: 'x', data: { elicitations: [] } } });
  expect(codeOf(await guarded.ask(method))).toBe('GATEWAY_METHOD');
  expect((await guarded.ask(method)).error).toBeUndefined();
});

test('what the operator permits passes', async () => {
  const guarded = await startRogue('answers-as-told', { features: ['sampling', 'elicitation'] });
  await initialize(guarded);
  expect((await guarded.call('echo', { body: { result: asks } })).result).toEqual(asks);
  const error = { code: -32042, message: 'x', data: { elicitations: [] } };
  expect((await guarded.call('echo', { body: { error } })).error).toEqual(error);
});
