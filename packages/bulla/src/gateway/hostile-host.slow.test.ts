import { describe, expect, test } from 'vitest';
import { type Guarded, initialize, type Message, records, startRogue, told } from '../../test/guard.ts';

const codeOf = (message: Message): unknown => message.error?.data?.code;
const goesOn = async (guarded: Guarded): Promise<void> => {
  expect((await guarded.call('echo')).result.content[0].text).toBe('echo {}');
};

describe('what is no message', () => {
  test('is answered with an error, and the session goes on', async () => {
    const json = [-32700, 'MCP_FRAME_JSON', null];
    const shape = [-32600, 'MCP_FRAME_SHAPE', null];
    const cases: [string, unknown[]][] = [
      ['}{', json],
      ['{"jsonrpc":"2.0","id":1,', json],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","sk-123":1,"sk-123":2}', json],
      ['{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', json],
      ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', [-32600, 'MCP_FRAME_BATCH', null]],
      ['"hello"', shape],
      ['null', shape],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', shape],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', shape],
      ['{"jsonrpc":"2.0","id":1.0,"method":"ping"}', shape],
      // Where the id can be read, whoever waits is told.
      ['{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}', [-32600, 'MCP_FRAME_SHAPE', 'a']],
      ['{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call"}', [-32600, 'MCP_FRAME_CASE_TWIN', 7]],
      ['{"jsonrpc":"1.0","id":"b","method":"ping"}', [-32600, 'MCP_FRAME_SHAPE', 'b']],
      [`{"jsonrpc":"2.0","id":"x","method":"${'x'.repeat(1 << 16)}"}`, [-32600, 'MCP_FRAME_TOO_LARGE', null]],
    ];
    const guarded = await startRogue('ordinary', { maxBytes: 1 << 16 });
    await initialize(guarded);
    for (const [line] of cases) guarded.send(line);
    await goesOn(guarded);
    const answers = guarded.lines.slice(1, -1).map((line) => JSON.parse(line) as Message);
    expect(answers.map(({ id, error }) => [error?.code, error?.data?.code, id])).toEqual(
      cases.map(([, answer]) => answer),
    );
    expect(guarded.received().map(({ method }) => method)).not.toContain('ping');
    await guarded.end();
    expect((await told(guarded.store)).slice(0, 5)).toEqual([
      'from host rogue blocked MCP_FRAME_JSON',
      'from host rogue blocked MCP_FRAME_BATCH',
      'from host rogue blocked MCP_FRAME_SHAPE',
      'from host rogue blocked MCP_FRAME_CASE_TWIN',
      'from host rogue blocked MCP_FRAME_TOO_LARGE',
    ]);
    // The host is told what it wrote; the record is not.
    expect(JSON.stringify(await records(guarded.store))).not.toContain('sk-123');
  });

  test('is passed over where it is blank', async () => {
    const guarded = await startRogue('ordinary');
    for (const line of ['', ' \t', '\r']) guarded.send(line);
    await initialize(guarded);
    await goesOn(guarded);
    expect(guarded.lines).toHaveLength(2);
  });
});

describe('ids', () => {
  test('that belong to an open request are refused without touching that one', async () => {
    const guarded = await startRogue('slow', { count: 100 });
    await initialize(guarded);
    const first = guarded.ask('tools/call', { name: 'echo', arguments: { n: 1 } }, 'same');
    guarded.send({ jsonrpc: '2.0', id: 'same', method: 'tools/call', params: { name: 'add' } });
    guarded.send({ jsonrpc: '2.0', id: 'same', method: 'ping' });
    const refused = await guarded.until(({ error }) => error !== undefined);
    expect(refused).toMatchObject({ id: null, error: { code: -32600, data: { code: 'GATEWAY_ID_IN_USE' } } });
    expect((await first).result.content[0].text).toBe('echo {"n":1}');
    expect(guarded.lines.filter((line) => line.includes('"same"'))).toHaveLength(1);
    expect(guarded.received().filter(({ method }) => method === 'tools/call')).toHaveLength(1);
    // Once it is answered, the id is free.
    guarded.send({ jsonrpc: '2.0', id: 'same', method: 'ping' });
    await guarded.until(({ id, result }) => id === 'same' && result.content === undefined);
  });

  test('of another type are others', async () => {
    const guarded = await startRogue('slow', { count: 50 });
    await initialize(guarded);
    const ids = [1, '1', -1, 0, ''];
    const answers = await Promise.all(
      ids.map((id, n) => guarded.ask('tools/call', { name: 'echo', arguments: { n } }, id)),
    );
    expect(answers.map(({ id, result }) => [id, result.content[0].text])).toEqual(
      ids.map((id, n) => [id, `echo {"n":${n}}`]),
    );
  });
});

describe('requests', () => {
  test('before the handshake are refused, and reach nobody', async () => {
    const guarded = await startRogue('ordinary');
    for (const method of ['tools/call', 'tools/list', 'resources/read']) {
      expect(codeOf(await guarded.ask(method, { name: 'echo', uri: 'file:///a' }))).toBe('GATEWAY_SESSION');
    }
    guarded.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await initialize(guarded);
    await goesOn(guarded);
    expect(guarded.received().map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/list',
      'tools/call',
    ]);
    await guarded.end();
    expect((await told(guarded.store)).slice(0, 4)).toEqual([
      'tools/call rogue/echo blocked GATEWAY_SESSION',
      'tools/list rogue blocked GATEWAY_SESSION',
      'resources/read rogue blocked GATEWAY_SESSION',
      'from host rogue blocked GATEWAY_UNRELATED',
    ]);
  });

  test('that shake hands twice are refused', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    expect(codeOf(await guarded.ask('initialize', { capabilities: { sampling: {} } }))).toBe(
      'GATEWAY_SESSION',
    );
    await goesOn(guarded);
  });

  test('that are not in the table are refused', async () => {
    const methods = [
      'tasks/list',
      'tools/Call',
      'server/shutdown',
      '',
      'constructor',
      '__proto__',
      'roots/list',
    ];
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    for (const method of methods) {
      expect((await guarded.ask(method)).error).toMatchObject({
        code: -32601,
        data: { stage: 'method', code: 'GATEWAY_METHOD', tool: null },
      });
    }
    await guarded.end();
    expect(guarded.received().map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
    ]);
    expect(await told(guarded.store)).toEqual(
      methods.map((method) => `${method} rogue blocked GATEWAY_METHOD`),
    );
  });

  test('with params that another reader could understand otherwise are refused', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    for (const params of [
      { name: 'echo', Name: 'evil' },
      // A long s, which folding takes for an s.
      { name: 'echo', 'argument\u017f': {} },
      { arguments: {} },
      { name: ['echo'] },
      { name: 'echo', task: { ttl: 1 } },
      // Members that are not known: a server may act on them, and nothing would cover them.
      { name: 'echo', arguments: {}, unknown: 1 },
      { name: 'echo', uri: 'file:///a' },
      { name: 'echo', requestedOutputs: [] },
    ]) {
      expect((await guarded.ask('tools/call', params)).error).toMatchObject({
        code: -32602,
        data: { code: 'GATEWAY_PARAMS' },
      });
    }
    expect(guarded.received().map(({ method }) => method)).not.toContain('tools/call');
  });

  test('to prompts, resources and completions are checked like calls', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    const complete = (ref: object) =>
      guarded.ask('completion/complete', { ref, argument: { name: 'a', value: 'x' } });
    expect((await guarded.ask('prompts/get', { name: 'ask' })).result.messages).toHaveLength(1);
    expect(codeOf(await guarded.ask('prompts/get', { name: 'other' }))).toBe('GATEWAY_NOT_LOCKED');
    expect((await guarded.ask('resources/read', { uri: 'file:///a' })).result.contents).toHaveLength(1);
    for (const [method, params] of [
      ['prompts/get', { name: 'ask', unknown: 1 }],
      ['resources/read', { uri: 'file:///a', name: 'a' }],
      ['resources/subscribe', { uri: 'file:///a', unknown: 1 }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'ask' }, requestState: 's' }],
    ] as const) {
      expect([method, codeOf(await guarded.ask(method, params))]).toEqual([method, 'GATEWAY_PARAMS']);
    }
    for (const uri of [
      'file:///b',
      'file:///a/../b',
      'note:///..',
      'note:///%2e%2e',
      'note:///a/b',
      'note:///$HOME',
    ]) {
      expect([uri, codeOf(await guarded.ask('resources/read', { uri }))]).toEqual([
        uri,
        'GATEWAY_NOT_LOCKED',
      ]);
      expect([uri, codeOf(await guarded.ask('resources/subscribe', { uri }))]).toEqual([
        uri,
        'GATEWAY_NOT_LOCKED',
      ]);
    }
    expect((await complete({ type: 'ref/prompt', name: 'ask' })).result.completion.values).toEqual(['x']);
    expect((await complete({ type: 'ref/resource', uri: 'note:///{id}' })).result.completion.values).toEqual([
      'x',
    ]);
    expect(codeOf(await complete({ type: 'ref/prompt', name: 'other' }))).toBe('GATEWAY_NOT_LOCKED');
    expect(codeOf(await complete({ type: 'ref/resource', uri: 'note:///7' }))).toBe('GATEWAY_NOT_LOCKED');
    expect(codeOf(await complete({ type: 'ref/other' }))).toBe('GATEWAY_PARAMS');
    await guarded.end();
    const chain = JSON.stringify(await records(guarded.store));
    expect(chain).toContain('completion/complete rogue/note:///{id}');
    // What was asked for beyond the lock is an argument, and is not told.
    expect(chain).not.toContain('$HOME');
  });

  test('by the thousand are refused when nobody waits for their answers', async () => {
    const guarded = await startRogue('never-answers', { drainMs: 0 });
    await initialize(guarded);
    await guarded.ask('tools/list');
    for (let n = 0; n < 1030; n++) {
      guarded.send({
        jsonrpc: '2.0',
        id: n,
        method: 'tools/call',
        params: { name: 'echo', arguments: { n } },
      });
    }
    expect(codeOf(await guarded.until(({ error }) => error !== undefined))).toBe('GATEWAY_OVERLOADED');
    await guarded.end();
    const lines = await told(guarded.store);
    expect(lines.filter((line) => line.endsWith('pending'))).toHaveLength(1024);
    expect(lines.filter((line) => line.endsWith('OVERLOADED'))).toHaveLength(6);
    expect(lines.filter((line) => line.endsWith('failure GATEWAY_CLOSED'))).toHaveLength(1024);
  });
});

describe('what is taken back', () => {
  test('is cancelled at the server under the id that it has there', async () => {
    const guarded = await startRogue('slow', { count: 200 });
    await initialize(guarded);
    await guarded.ask('tools/list');
    guarded.send({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'echo' } });
    while (!guarded.received().some(({ method }) => method === 'tools/call')) await guarded.ask('ping');
    guarded.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'c', reason: 'no' },
    });
    // Of a request that is not open, nothing is told to the server.
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'unknown' } });
    expect((await guarded.call('echo', { n: 2 })).result.content[0].text).toBe('echo {"n":2}');
    const call = guarded.received().find(({ method }) => method === 'tools/call')!;
    const cancelled = guarded.received().filter(({ method }) => method === 'notifications/cancelled');
    expect(cancelled.map(({ params }) => params)).toEqual([{ requestId: call.id, reason: 'no' }]);
    // The late answer is no offence, and reaches nobody.
    expect(guarded.lines.some((line) => line.includes('"c"'))).toBe(false);
    await guarded.end();
    expect(await told(guarded.store)).toEqual([
      'tools/call rogue/echo pending',
      'tools/call rogue/echo failure GATEWAY_CANCELLED',
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
    ]);
  });

  test('before it was forwarded never is', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    guarded.send(
      [
        '{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"echo"}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}',
      ].join('\n'),
    );
    await guarded.ask('ping');
    await guarded.end();
    expect(guarded.received().map(({ method }) => method)).not.toContain('tools/call');
    expect(guarded.lines.some((line) => line.includes('"c"'))).toBe(false);
  });
});

test('answers that the host was not asked for go nowhere', async () => {
  const guarded = await startRogue('ordinary');
  await initialize(guarded);
  guarded.send({ jsonrpc: '2.0', id: 1, result: {} });
  guarded.send({ jsonrpc: '2.0', id: 'x', error: { code: 1, message: 'no' } });
  guarded.send({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 1, progress: 1 },
  });
  guarded.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
  guarded.send({ jsonrpc: '2.0', method: 'notifications/unknown' });
  await goesOn(guarded);
  expect(guarded.received().map(({ method }) => method)).toEqual([
    'initialize',
    'notifications/initialized',
    'tools/list',
    'tools/call',
  ]);
  await guarded.end();
  expect((await records(guarded.store)).at(-1)!.outcome.metrics.dropped).toEqual({
    GATEWAY_ANSWER_UNKNOWN: 2,
    GATEWAY_UNRELATED: 1,
    GATEWAY_METHOD: 2,
  });
});
