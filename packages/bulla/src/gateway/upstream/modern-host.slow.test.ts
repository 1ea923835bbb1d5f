import { describe, expect, test } from 'vitest';
import { type Era, startEra } from '../../../test/eras.ts';
import { type Message, told as recorded } from '../../../test/guard.ts';

// A host of the stateless era, a server that knows only the initialize one.

const META = 'io.modelcontextprotocol/';
const SUBSCRIPTION = `${META}subscriptionId`;
const CAN = { elicitation: { form: {}, url: {} }, roots: {}, sampling: {} };
const meta = (capabilities: object = {}, more: object = {}): object => ({
  [`${META}protocolVersion`]: '2026-07-28',
  [`${META}clientInfo`]: { name: 'test-host', version: '1' },
  [`${META}clientCapabilities`]: capabilities,
  ...more,
});
const said = (message: Message): unknown => JSON.parse(message.result?.content?.[0]?.text ?? 'null');
const form = {
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: { type: 'object' } },
};
const call = (steps: object[], more: object = {}, _meta = meta(CAN)): object => ({
  name: 'do',
  arguments: { steps },
  ...more,
  _meta,
});
const messages = (guarded: Era): Message[] => guarded.lines.map((line) => JSON.parse(line) as Message);
const told = (guarded: Era): Message[] => messages(guarded).filter(({ method }) => method !== undefined);
const answers = (result: Parsed, value: object = { action: 'accept' }): object =>
  Object.fromEntries(Object.keys(result.inputRequests).map((key) => [key, value]));
type Parsed = ReturnType<typeof JSON.parse>;

describe.each(['stdio', 'http'] as const)('over %s', (over) => {
  test('the host is told of the server as that describes itself', async () => {
    const guarded = await startEra('initialize', { over });
    expect((await guarded.ask('server/discover', { _meta: meta(CAN) })).result).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      },
      instructions: 'Use the tools with care.',
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { [`${META}serverInfo`]: { name: 'eras', version: '1' } },
    });
    await expect.poll(() => guarded.received('notifications/initialized')).toHaveLength(1);
    expect(guarded.received().filter(({ method }) => method !== undefined)).toEqual([
      {
        jsonrpc: '2.0',
        id: expect.any(Number),
        method: 'initialize',
        params: {
          protocolVersion: '2025-11-25',
          capabilities: CAN,
          clientInfo: { name: 'test-host', version: '1' },
        },
      },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
    ]);
  });

  test('requests lose what belongs to the other era, and results gain it', async () => {
    const guarded = await startEra('initialize', { over });
    const args = '{"steps":[{"do":"odd"}],"n":1.50,"big":10000000000000000000001,"u":"\\u00e9\\/"}';
    const own = JSON.stringify(meta()).slice(1, -1);
    guarded.send(
      `{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"do","arguments":${args},"_meta":{${own},"traceparent":"x","progressToken":"p"}}}`,
    );
    await guarded.until(({ id }) => id === 'odd');
    const line = guarded.wire().find((each) => each.includes('"tools/call"'))!;
    const id = /"id":(\d+)/.exec(line)![1];
    expect(line).toBe(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"do","arguments":${args},"_meta":{"traceparent":"x","progressToken":${id}}}}`,
    );
    expect(guarded.lines.find((each) => each.includes('"odd"'))).toBe(
      '{ "result" : {"resultType":"complete","z":1.50,"a":10000000000000000000001,"u":"\\u00e9\\/","e":1E+2,"content":[],"structuredContent":{"b":-0.0,"a":[ ]}} , "id": "odd","jsonrpc":"2.0" }',
    );
    const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    for (const [method, params, result] of [
      ['tools/list', {}, cached],
      ['prompts/list', {}, cached],
      ['resources/list', {}, cached],
      ['resources/templates/list', {}, cached],
      ['resources/read', { uri: 'file:///a' }, cached],
      ['prompts/get', { name: 'ask' }, { resultType: 'complete', messages: [] }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'ask' }, argument: { name: 'a', value: '' } },
        { resultType: 'complete', completion: { values: ['x'] } },
      ],
    ] as const) {
      expect((await guarded.ask(method, { ...params, _meta: meta() })).result).toMatchObject(result);
      expect(guarded.received(method).at(-1)!.params!._meta).toEqual({});
    }
    expect((await guarded.ask('resources/read', { uri: 'file:///b', _meta: meta() })).error).toEqual({
      code: -32602,
      message: 'Resource not found',
    });
    expect(guarded.received('initialize')).toHaveLength(1);
  });

  test('what the server asks during a call is asked in the result, and the repeated call goes on', async () => {
    const guarded = await startEra('initialize', { over });
    const params = { ...form.params, elicitationId: 'e', mode: 'url', url: 'https://a.example/' };
    const steps = [
      { do: 'ask', requests: [{ ...form, params }] },
      { do: 'ask', requests: [{ method: 'roots/list' }] },
      { do: 'progress' },
    ];
    const first = await guarded.ask('tools/call', call(steps, {}, meta(CAN, { progressToken: 'p1' })));
    const { elicitationId: _, ...asked } = params;
    expect(first.result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        [Object.keys(first.result.inputRequests)[0]!]: { method: form.method, params: asked },
      },
      requestState: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    const { requestState } = first.result;
    const accepted = { action: 'accept', content: { n: 1.5 } };
    const second = await guarded.ask(
      'tools/call',
      call(
        steps,
        { requestState, inputResponses: answers(first.result, accepted) },
        meta(CAN, { progressToken: 'p2' }),
      ),
    );
    expect(second.result).toMatchObject({ resultType: 'input_required' });
    expect(Object.values(second.result.inputRequests)).toEqual([{ method: 'roots/list' }]);
    const third = await guarded.ask(
      'tools/call',
      call(
        steps,
        { requestState: second.result.requestState, inputResponses: answers(second.result, { roots: [] }) },
        meta(CAN, { progressToken: 'p3' }),
      ),
    );
    expect(third.result.resultType).toBe('complete');
    expect(said(third)).toEqual([[accepted], [{ roots: [] }], 'progress']);
    expect(told(guarded)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'p3', progress: 1 } },
    ]);
    expect(guarded.received('tools/call')).toHaveLength(1);
  });

  test('a state is good for one call, once, with the same arguments', async () => {
    const guarded = await startEra('initialize', { over });
    const steps = [{ do: 'ask', requests: [form] }];
    const first = await guarded.ask('tools/call', call(steps));
    const { requestState } = first.result;
    const inputResponses = answers(first.result);
    const refused = { code: -32602, data: { code: 'GATEWAY_PARAMS' } };
    const send = (more: object, other: object[] = steps) => guarded.ask('tools/call', call(other, more));
    expect((await send({ requestState: 'x', inputResponses })).error).toMatchObject(refused);
    expect((await send({ requestState, inputResponses }, [{ do: 'odd' }])).error).toMatchObject(refused);
    const read = { uri: 'file:///a', requestState, inputResponses, _meta: meta(CAN) };
    expect((await guarded.ask('resources/read', read)).error).toMatchObject(refused);
    expect((await send({ requestState, inputResponses: { a: 1 } })).error).toMatchObject(refused);
    // What is missing is asked for again, under a new state.
    const again = await send({ requestState, inputResponses: {} });
    expect(again.result).toEqual({
      ...first.result,
      requestState: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    expect(again.result.requestState).not.toBe(requestState);
    expect((await send({ requestState, inputResponses })).error).toMatchObject(refused);
    const last = await send({ requestState: again.result.requestState, inputResponses });
    expect(said(last)).toEqual([[{ action: 'accept' }]]);
    expect((await send({ requestState: again.result.requestState, inputResponses })).error).toMatchObject(
      refused,
    );
    expect(guarded.received('tools/call')).toHaveLength(1);
    // Without a state it is a new call.
    expect(Object.keys((await send({ inputResponses })).result.inputRequests)).toHaveLength(1);
    expect(guarded.received('tools/call')).toHaveLength(2);
  });

  test('log messages go to the request that asked for them', async () => {
    const guarded = await startEra('initialize', { over });
    const log = (level: string) => ({ do: 'log', level, data: level });
    await guarded.ask('tools/call', call([log('error')]));
    const wants = meta(CAN, { [`${META}logLevel`]: 'warning' });
    await guarded.ask('tools/call', call([log('info'), log('error')], {}, wants));
    await guarded.ask('tools/call', call([log('critical')], {}, wants));
    expect(told(guarded).map(({ params }) => params)).toEqual([
      { level: 'error', data: 'error' },
      { level: 'critical', data: 'critical' },
    ]);
    expect(guarded.received('logging/setLevel').map(({ params }) => params)).toEqual([{ level: 'warning' }]);
  });

  test('subscriptions are acknowledged here, and told with their ids', async () => {
    const guarded = await startEra('initialize', { over });
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ['file:///a', 'file:///b'],
    };
    const listen = (id: string, wanted: object) =>
      guarded.send({
        jsonrpc: '2.0',
        id,
        method: 'subscriptions/listen',
        params: { notifications: wanted, _meta: meta() },
      });
    const acknowledged = (id: string) =>
      guarded.until(
        ({ method, params }) =>
          method === 'notifications/subscriptions/acknowledged' &&
          (params!._meta as Parsed)[SUBSCRIPTION] === id,
      );
    listen('l1', notifications);
    const { promptsListChanged: _, ...accepted } = notifications;
    expect((await acknowledged('l1')).params!.notifications).toEqual(accepted);
    listen('l2', { resourceSubscriptions: ['file:///a'] });
    await acknowledged('l2');
    expect(guarded.received('resources/subscribe').map(({ params }) => params!.uri)).toEqual([
      'file:///a',
      'file:///b',
    ]);
    const updated = 'notifications/resources/updated';
    const listChanged = 'notifications/tools/list_changed';
    const steps = [
      { do: 'changed', method: updated, params: { uri: 'file:///a' } },
      { do: 'changed', method: listChanged },
    ];
    await guarded.ask('tools/call', call(steps));
    await guarded.until(({ method }) => method === listChanged);
    expect(told(guarded).slice(2)).toEqual([
      { jsonrpc: '2.0', method: updated, params: { _meta: { [SUBSCRIPTION]: 'l1' }, uri: 'file:///a' } },
      { jsonrpc: '2.0', method: updated, params: { _meta: { [SUBSCRIPTION]: 'l2' }, uri: 'file:///a' } },
      { jsonrpc: '2.0', method: listChanged, params: { _meta: { [SUBSCRIPTION]: 'l1' } } },
    ]);
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'l1' } });
    await expect
      .poll(() => guarded.received('resources/unsubscribe').map(({ params }) => params!.uri))
      .toEqual(['file:///b']);
    // The server knows nothing of the subscription.
    expect(guarded.received('notifications/cancelled')).toEqual([]);
    expect(guarded.received('subscriptions/listen')).toEqual([]);
    listen('l3', { promptsListChanged: true });
    const ended = await guarded.until(({ id }) => id === 'l3');
    expect(ended.result).toEqual({ resultType: 'complete', _meta: { [SUBSCRIPTION]: 'l3' } });
  });

  test('a list may change without a subscription: it is read again, and nobody is blamed', async () => {
    const guarded = await startEra('initialize', { over });
    await guarded.ask('tools/call', call([{ do: 'changed', method: 'notifications/tools/list_changed' }]));
    await guarded.ask('tools/call', call([]));
    expect(guarded.received('tools/list')).toHaveLength(2);
    expect(told(guarded)).toEqual([]);
    expect(guarded.log).toEqual([]);
    expect((await recorded(guarded.store)).filter((line) => line.includes('blocked'))).toEqual([]);
  });

  test('the change of a list that the server did not declare to tell is dropped and recorded', async () => {
    const guarded = await startEra('initialize', { over });
    const method = 'notifications/prompts/list_changed';
    await guarded.ask('tools/call', call([{ do: 'changed', method }]));
    await guarded.ask('tools/call', call([]));
    expect(told(guarded)).toEqual([]);
    expect((await recorded(guarded.store)).filter((line) => line.includes('blocked'))).toEqual([
      'from server eras blocked GATEWAY_UNRELATED',
    ]);
  });

  test('a cancelled call is cancelled at the server, under the id that it has there', async () => {
    const guarded = await startEra('initialize', { over });
    const steps = [{ do: 'ask', requests: [form] }, { do: 'wait' }];
    const first = await guarded.ask('tools/call', call(steps));
    const more = { requestState: first.result.requestState, inputResponses: answers(first.result) };
    guarded.send({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: call(steps, more) });
    await expect.poll(() => guarded.received().filter(({ result }) => result !== undefined)).toHaveLength(1);
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } });
    const { id } = guarded.received('tools/call')[0]!;
    await expect
      .poll(() => guarded.received('notifications/cancelled').map(({ params }) => params))
      .toContainEqual({ requestId: id });
  });

  test('an elicitation that must come first is asked for, and then the call is made anew', async () => {
    const guarded = await startEra('initialize', { over });
    const elicitation = { mode: 'url', elicitationId: 'e', url: 'https://a.example/', message: 'Go.' };
    const steps = [{ do: 'fail', code: -32042, data: { elicitations: [elicitation] } }];
    const first = await guarded.ask('tools/call', call(steps));
    expect(Object.values(first.result.inputRequests)).toEqual([
      { method: 'elicitation/create', params: { mode: 'url', url: 'https://a.example/', message: 'Go.' } },
    ]);
    const { requestState } = first.result;
    const second = await guarded.ask(
      'tools/call',
      call(steps, { requestState, inputResponses: answers(first.result) }),
    );
    expect(guarded.received('tools/call')).toHaveLength(2);
    expect(guarded.received('tools/call')[1]!.params).toEqual({
      name: 'do',
      arguments: { steps },
      _meta: {},
    });
    const declined = await guarded.ask(
      'tools/call',
      call(steps, {
        requestState: second.result.requestState,
        inputResponses: answers(second.result, { action: 'decline' }),
      }),
    );
    expect(declined.error).toMatchObject({ code: 403, data: { code: 'GATEWAY_INPUT' } });
    const cannot = await guarded.ask('tools/call', call(steps, {}, meta({ elicitation: {} })));
    expect(cannot.error).toMatchObject({
      code: 403,
      message:
        'Bulla: The server wants the user to open a URL first, which the host does not declare that it can.',
    });
  });
});

test('a request of the server that the host cannot answer, or that belongs to one of several calls, is refused', async () => {
  const guarded = await startEra('initialize');
  const ask = [{ do: 'ask', requests: [form] }];
  const none = await guarded.ask('tools/call', call(ask, {}, meta({ roots: {} })));
  expect(none.error).toMatchObject({
    code: -32021,
    message: 'Bulla: The call needs elicitation by form, which the host does not declare that it can do.',
    data: { code: 'GATEWAY_INPUT', requiredCapabilities: { elicitation: { form: {} } } },
  });
  await expect.poll(() => guarded.received('notifications/cancelled')).toHaveLength(1);
  guarded.send({ jsonrpc: '2.0', id: 'w', method: 'tools/call', params: call([{ do: 'wait' }]) });
  await expect.poll(() => guarded.received('tools/call')).toHaveLength(2);
  const several = await guarded.ask('tools/call', call(ask));
  expect(said(several)).toMatchObject([
    [{ code: 403, message: expect.stringContaining('Several requests of the host are open') }],
  ]);
});

test('what the operator does not permit is refused to the server', async () => {
  const guarded = await startEra('initialize', { features: ['roots'] });
  const answer = await guarded.ask('tools/call', call([{ do: 'ask', requests: [form] }]));
  expect(said(answer)).toMatchObject([
    [{ code: -32601, message: expect.stringContaining('does not forward requests for elicitation') }],
  ]);
  expect(guarded.received('initialize')[0]!.params!.capabilities).toEqual({ roots: {} });
});

test('a flood of requests of the server is bounded', async () => {
  const guarded = await startEra('initialize');
  const requests = Array.from({ length: 100 }, () => form);
  const steps = [{ do: 'ask', requests }];
  const first = await guarded.ask('tools/call', call(steps));
  expect(Object.keys(first.result.inputRequests)).toHaveLength(1);
  await expect.poll(() => guarded.received().filter(({ error }) => error !== undefined)).toHaveLength(68);
  const more = (result: Parsed) => ({ requestState: result.requestState, inputResponses: answers(result) });
  const second = await guarded.ask('tools/call', call(steps, more(first.result)));
  expect(Object.keys(second.result.inputRequests)).toHaveLength(31);
  const last = await guarded.ask('tools/call', call(steps, more(second.result)));
  expect((said(last) as object[][])[0]!.filter((each) => 'action' in each)).toHaveLength(32);
});

test('a call that the host does not repeat is cancelled at the server', async () => {
  const guarded = await startEra('initialize', { timeoutMs: 300 });
  const first = await guarded.ask('tools/call', call([{ do: 'ask', requests: [form] }]));
  await expect.poll(() => guarded.received('notifications/cancelled')).toHaveLength(1);
  const { requestState } = first.result;
  const late = call([{ do: 'ask', requests: [form] }], {
    requestState,
    inputResponses: answers(first.result),
  });
  expect((await guarded.ask('tools/call', late)).error).toMatchObject({ code: -32602 });
  expect(guarded.received().find(({ error }) => error !== undefined)?.error?.data?.code).toBe(
    'GATEWAY_TIMEOUT',
  );
});

describe('the era of a server', () => {
  test('is asked for, unless the lock tells it', async () => {
    const unlocked = await startEra('initialize', { locked: 'stateless' });
    expect((await unlocked.ask('tools/list', { _meta: meta() })).result.tools).toHaveLength(1);
    expect(
      unlocked
        .received()
        .map(({ method }) => method)
        .slice(1),
    ).toEqual(['server/discover', 'initialize', 'notifications/initialized', 'tools/list']);
  });

  test('is asked for with the question of the host itself', async () => {
    const guarded = await startEra('initialize', { locked: 'stateless' });
    const answer = await guarded.ask('server/discover', { _meta: meta() });
    expect(answer.result.supportedVersions).toEqual(['2026-07-28']);
    expect(guarded.received('server/discover')).toHaveLength(1);
    const modern = await startEra('stateless');
    expect((await modern.ask('server/discover', { _meta: meta() })).result._meta).toBeDefined();
    expect(
      modern
        .received()
        .map(({ method }) => method)
        .slice(1),
    ).toEqual(['server/discover']);
  });

  test('is found though the server is silent', async () => {
    const guarded = await startEra('initialize', { locked: 'stateless', behaviour: 'silent' });
    expect((await guarded.ask('tools/list', { _meta: meta() })).result.tools).toHaveLength(1);
  });

  test('is what the server showed first, whatever it says later', async () => {
    const guarded = await startEra('initialize', { locked: 'stateless', behaviour: 'late' });
    expect((await guarded.ask('tools/list', { _meta: meta() })).result.resultType).toBe('complete');
    expect((await guarded.ask('tools/list', { _meta: meta() })).result.resultType).toBe('complete');
    expect(guarded.received('tools/list').map(({ params }) => params!._meta)).toEqual([{}, {}]);
    expect(guarded.log).toEqual([]);
  });

  test('is found though the server ends on the question', async () => {
    const guarded = await startEra('initialize', { locked: 'stateless', behaviour: 'ends-at-discover' });
    expect((await guarded.ask('server/discover', { _meta: meta() })).result.supportedVersions).toEqual([
      '2026-07-28',
    ]);
    expect((await guarded.ask('tools/list', { _meta: meta() })).result.tools).toHaveLength(1);
    expect(guarded.wire().filter((line) => line === '"start"')).toHaveLength(2);
  });

  test('is found once for all who ask meanwhile, and the other way round', async () => {
    const guarded = await startEra('stateless', { locked: 'initialize' });
    const lists = ['tools/list', 'prompts/list', 'resources/list'];
    const all = await Promise.all(lists.map((method) => guarded.ask(method, { _meta: meta() })));
    expect(all.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    expect(guarded.received('server/discover')).toHaveLength(1);
  });
});

test('a host may use both eras at a server of one', async () => {
  const guarded = await startEra('initialize');
  expect((await guarded.ask('tools/list', { _meta: meta() })).result.resultType).toBe('complete');
  const { result } = await guarded.ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'test-host', version: '1' },
  });
  expect(result.serverInfo).toEqual({ name: 'eras', version: '1' });
  guarded.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  expect((await guarded.ask('tools/list')).result.resultType).toBeUndefined();
  expect(guarded.received('initialize')).toHaveLength(1);
  expect(guarded.received('notifications/initialized')).toHaveLength(1);
});
