import { describe, expect, test } from 'vitest';
import { type Era, startEra } from '../../../test/eras.ts';
import { initialize, type Message } from '../../../test/guard.ts';

// A host of the initialize era, a server that knows only the stateless one.

const META = 'io.modelcontextprotocol/';
const said = (message: Message): unknown => JSON.parse(message.result?.content?.[0]?.text ?? 'null');
const run = (guarded: Era, ...steps: object[]): Promise<Message> => guarded.call('do', { steps });
const asked = (guarded: Era, method: string): Promise<Message> =>
  guarded.until((message) => message.method === method && message.id !== undefined);
const form = {
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: { type: 'object' } },
};
const FEATURES = { elicitation: { form: {}, url: {} }, roots: {}, sampling: {} };

describe.each(['stdio', 'http'] as const)('over %s', (over) => {
  const start = () => startEra('stateless', { over });

  test('the host is told of the server as that describes itself', async () => {
    const guarded = await start();
    expect((await initialize(guarded)).result).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      },
      serverInfo: { name: 'eras', version: '1' },
      instructions: 'Use the tools with care.',
    });
    const [refused, discover] = guarded.received().filter(({ method }) => method !== undefined);
    expect(refused?.method).toBe('initialize');
    expect(discover).toEqual({
      jsonrpc: '2.0',
      id: expect.any(Number),
      method: 'server/discover',
      params: {
        _meta: {
          [`${META}protocolVersion`]: '2026-07-28',
          [`${META}clientInfo`]: { name: 'test-host', version: '1' },
          [`${META}clientCapabilities`]: {},
        },
      },
    });
  });

  test('requests carry what the host told once, and results pass as they are', async () => {
    const guarded = await start();
    await initialize(guarded);
    expect((await guarded.ask('ping')).result).toEqual({});
    expect((await guarded.ask('logging/setLevel', { level: 'warning' })).result).toEqual({});
    const args = '{"steps":[{"do":"odd"}],"n":1.50,"big":10000000000000000000001,"u":"\\u00e9\\/"}';
    guarded.send(
      `{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"do","arguments":${args},"_meta":{"traceparent":"x","progressToken":"p"}}}`,
    );
    await guarded.until(({ id }) => id === 'odd');
    const [line] = guarded.wire().filter((each) => each.includes('"tools/call"'));
    const id = /"id":(\d+)/.exec(line!)![1];
    const meta = `"${META}protocolVersion":"2026-07-28","${META}clientInfo":{"name":"test-host","version":"1"},"${META}clientCapabilities":{},"${META}logLevel":"warning"`;
    expect(line).toBe(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"do","arguments":${args},"_meta":{${meta},"traceparent":"x","progressToken":${id}}}}`,
    );
    expect(guarded.lines.find((each) => each.includes('"odd"'))).toBe(
      '{ "result" : {"resultType":"complete","z":1.50,"a":10000000000000000000001,"u":"\\u00e9\\/","e":1E+2,"content":[],"structuredContent":{"b":-0.0,"a":[ ]}} , "id": "odd","jsonrpc":"2.0" }',
    );
    for (const [method, params] of [
      ['tools/list', undefined],
      ['prompts/get', { name: 'ask' }],
      ['resources/read', { uri: 'file:///a' }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'ask' }, argument: { name: 'a', value: '' } },
      ],
    ] as const) {
      const answer = await guarded.ask(method, params);
      expect(answer.result?.resultType).toBe('complete');
      expect(guarded.received(method).at(-1)!.params!._meta).toMatchObject({
        [`${META}logLevel`]: 'warning',
      });
    }
  });

  test('what a result asks for reaches the host as requests', async () => {
    const guarded = await start();
    await initialize(guarded, FEATURES);
    const url = {
      method: 'elicitation/create',
      params: { mode: 'url', url: 'https://a.example/', message: 'Go.' },
    };
    const call = run(guarded, { do: 'ask', requests: [form, url, { method: 'roots/list' }] });
    const roots = await asked(guarded, 'roots/list');
    expect(roots.params).toBeUndefined();
    const [first, second] = guarded.lines
      .map((line) => JSON.parse(line) as Message)
      .filter(({ method }) => method === 'elicitation/create');
    expect(first!.params).toEqual(form.params);
    expect(second!.params).toEqual({
      ...url.params,
      elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    guarded.send(`{"jsonrpc":"2.0","id":${second!.id},"result":{"action":"accept"}}`);
    guarded.send(`{"jsonrpc":"2.0","id":${first!.id},"result":{"action":"accept","content":{"n":1.50}}}`);
    guarded.send(`{"jsonrpc":"2.0","id":${roots.id},"result":{"roots":[]}}`);
    expect(said(await call)).toEqual([
      { kéy0: { action: 'accept', content: { n: 1.5 } }, kéy1: { action: 'accept' }, kéy2: { roots: [] } },
    ]);
    const [one, two] = guarded.wire().filter((line) => line.includes('"tools/call"'));
    const [id, again] = [one, two].map((line) => /"id":(\d+)/.exec(line!)![1]);
    expect(again).not.toBe(id);
    const responses =
      '{"kéy1":{"action":"accept"},"kéy0":{"action":"accept","content":{"n":1.50}},"kéy2":{"roots":[]}}';
    expect(two).toBe(
      one!
        .replace(`"id":${id}`, `"id":${again}`)
        .replace('"params":{', `"params":{"inputResponses":${responses},"requestState":"sé/1",`),
    );
  });

  test('a host that refuses ends the call', async () => {
    const guarded = await start();
    await initialize(guarded, FEATURES);
    const call = run(guarded, { do: 'ask', requests: [form, { method: 'roots/list' }] });
    const { id } = await asked(guarded, 'elicitation/create');
    const roots = await asked(guarded, 'roots/list');
    guarded.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'No.' } });
    expect((await call).error).toMatchObject({
      code: 403,
      message: 'Bulla: The call needs input, which was refused with error -1: "No.".',
      data: { code: 'GATEWAY_INPUT' },
    });
    const cancelled = await guarded.until(({ method }) => method === 'notifications/cancelled');
    expect(cancelled.params).toEqual({ requestId: roots.id });
    expect(guarded.received('tools/call')).toHaveLength(1);
  });

  test('a call that gives only a state is repeated, and one without end is ended', async () => {
    const guarded = await start();
    await initialize(guarded, FEATURES);
    expect(said(await run(guarded, { do: 'state', times: 2 }))).toEqual(['2']);
    expect(guarded.received('tools/call').map(({ params }) => params!.requestState)).toEqual([
      undefined,
      '1',
      '2',
    ]);
    const call = run(guarded, { do: 'loop' });
    for (let i = 0; i < 16; i++) {
      const seen = guarded.lines.length;
      await guarded.until(() => guarded.lines.slice(seen - 1).some((line) => line.includes('roots/list')));
      const last = guarded.lines.findLast((line) => line.includes('"roots/list"'))!;
      guarded.send({ jsonrpc: '2.0', id: JSON.parse(last).id, result: { roots: [] } });
      await expect.poll(() => guarded.received('tools/call').length).toBe(i + 5);
    }
    expect((await call).error).toMatchObject({
      message: "Bulla: The server's answer cannot be used: it asks for input more than 16 times.",
      data: { code: 'GATEWAY_BAD_ANSWER' },
    });
  });

  test('progress and log messages pass', async () => {
    const guarded = await start();
    await initialize(guarded);
    const params = {
      name: 'do',
      arguments: { steps: [{ do: 'progress' }, { do: 'log', level: 'error', data: 1 }] },
    };
    expect(said(await guarded.ask('tools/call', { ...params, _meta: { progressToken: 'p' } }))).toEqual([
      'progress',
      'logged',
    ]);
    const told = guarded.lines.map((line) => JSON.parse(line) as Message).filter(({ method }) => method);
    expect(told).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } },
      { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 1 } },
    ]);
  });

  test('subscriptions and changes of lists are one subscription at the server', async () => {
    const guarded = await start();
    await initialize(guarded);
    await expect.poll(() => guarded.received('subscriptions/listen')).toHaveLength(1);
    for (const uri of ['file:///b', 'file:///a']) {
      expect((await guarded.ask('resources/subscribe', { uri })).result).toEqual({});
    }
    const lists = { toolsListChanged: true, resourcesListChanged: true };
    expect(guarded.received('subscriptions/listen').map(({ params }) => params!.notifications)).toEqual([
      lists,
      { ...lists, resourceSubscriptions: ['file:///b'] },
      { ...lists, resourceSubscriptions: ['file:///a', 'file:///b'] },
    ]);
    const updated = 'notifications/resources/updated';
    const listChanged = 'notifications/tools/list_changed';
    const steps = [
      { do: 'changed', method: updated, params: { uri: 'file:///a' } },
      { do: 'changed', method: listChanged, name: 'toolsListChanged' },
    ];
    expect(said(await run(guarded, ...steps))).toEqual(['changed', 'changed']);
    await guarded.until(({ method }) => method === listChanged);
    const told = guarded.lines.map((line) => JSON.parse(line) as Message).filter(({ method }) => method);
    expect(told).toEqual([
      { jsonrpc: '2.0', method: updated, params: { _meta: { extra: 1 }, uri: 'file:///a' } },
      { jsonrpc: '2.0', method: listChanged, params: { _meta: { extra: 1 } } },
    ]);
    expect((await guarded.ask('resources/unsubscribe', { uri: 'file:///a' })).result).toEqual({});
    const before = guarded.lines.length;
    expect(said(await run(guarded, steps[0]!))).toEqual(['changed']);
    expect(guarded.lines.slice(before).filter((line) => line.includes(updated))).toEqual([]);
  });

  test('a cancelled call withdraws what it asked for, and is cancelled at the server', async () => {
    const guarded = await start();
    await initialize(guarded, FEATURES);
    guarded.send({
      jsonrpc: '2.0',
      id: 'c',
      method: 'tools/call',
      params: { name: 'do', arguments: { steps: [{ do: 'ask', requests: [form] }, { do: 'wait' }] } },
    });
    const { id } = await asked(guarded, 'elicitation/create');
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } });
    const withdrawn = await guarded.until(({ method }) => method === 'notifications/cancelled');
    expect(withdrawn.params).toEqual({ requestId: id });
    // What comes too late is dropped.
    guarded.send({ jsonrpc: '2.0', id, result: { action: 'accept' } });
    guarded.send({
      jsonrpc: '2.0',
      id: 'd',
      method: 'tools/call',
      params: { name: 'do', arguments: { steps: [{ do: 'ask', requests: [form] }, { do: 'wait' }] } },
    });
    const second = await guarded.until(
      (message) => message.method === 'elicitation/create' && message.id !== id,
    );
    guarded.send({ jsonrpc: '2.0', id: second.id, result: { action: 'accept' } });
    await expect.poll(() => guarded.received('tools/call')).toHaveLength(3);
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'd' } });
    await expect.poll(() => guarded.received('notifications/cancelled')).toHaveLength(1);
    const { id: last } = guarded.received('tools/call')[2]!;
    expect(guarded.received('notifications/cancelled')[0]!.params).toMatchObject({ requestId: last });
  });
});

test('a subscription that the server ended is made again when something is asked', async () => {
  const guarded = await startEra('stateless');
  await initialize(guarded);
  await guarded.ask('resources/subscribe', { uri: 'file:///a' });
  const before = guarded.received('subscriptions/listen').length;
  expect(said(await run(guarded, { do: 'end' }))).toEqual(['ended']);
  await expect
    .poll(
      async () => {
        await run(guarded);
        return guarded.received('subscriptions/listen').length;
      },
      { timeout: 10_000 },
    )
    .toBe(before + 1);
  await run(guarded, {
    do: 'changed',
    method: 'notifications/resources/updated',
    params: { uri: 'file:///a' },
  });
  await guarded.until(({ method }) => method === 'notifications/resources/updated');
});

test('an answer to a repeated call that cannot be read fails the call', async () => {
  const guarded = await startEra('stateless');
  await initialize(guarded, FEATURES);
  const line = '{"jsonrpc":"2.0","id":"#","result":{"a":1,"a":2}}';
  const call = run(guarded, { do: 'ask', requests: [form] }, { do: 'say', line }, { do: 'wait' });
  const { id } = await asked(guarded, 'elicitation/create');
  guarded.send({ jsonrpc: '2.0', id, result: { action: 'accept' } });
  expect((await call).error).toMatchObject({ code: 503, data: { code: 'GATEWAY_SERVER_FAILED' } });
});

test('a request for what the operator does not permit is refused, and ends the call', async () => {
  const guarded = await startEra('stateless', { features: [] });
  await initialize(guarded, FEATURES);
  expect((await run(guarded, { do: 'ask', requests: [form] })).error).toMatchObject({
    message: expect.stringContaining(
      'does not forward requests for elicitation; its operator can permit them.',
    ),
    data: { code: 'GATEWAY_INPUT' },
  });
  expect(guarded.received('tools/call')[0]!.params!._meta).toMatchObject({
    [`${META}clientCapabilities`]: {},
  });
  expect(guarded.lines.filter((line) => line.includes('elicitation/create"'))).toEqual([]);
});

test('a server may send no requests, and tell of no subscription but ours', async () => {
  const guarded = await startEra('stateless');
  await initialize(guarded, FEATURES);
  const forged = {
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
    params: { _meta: { [`${META}subscriptionId`]: 7 } },
  };
  const request = { jsonrpc: '2.0', id: 'mine', method: 'roots/list' };
  const say = (message: object) => ({ do: 'say', line: JSON.stringify(message) });
  expect(said(await run(guarded, say(forged), say(request)))).toEqual(['said', 'said']);
  await expect.poll(() => guarded.received().find(({ id }) => id === 'mine')?.error?.code).toBe(-32601);
  expect(
    guarded.lines.filter((line) => line.includes('list_changed') || line.includes('roots/list')),
  ).toEqual([]);
});

test('a server that knows neither era is told by its own error', async () => {
  const guarded = await startEra('stateless', { behaviour: 'silent', timeoutMs: 200 });
  const answer = await guarded.ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'h', version: '1' },
  });
  expect(answer.error).toMatchObject({ data: { code: 'GATEWAY_TIMEOUT' } });
});
