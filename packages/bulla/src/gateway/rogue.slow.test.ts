import { describe, expect, test } from 'vitest';
import { initialize, type Message, records, rogueLock, startRogue, told } from '../../test/guard.ts';

const ECHO = 'echo {"text":"hello"}';
const said = (message: Message): unknown => message.result?.content?.[0]?.text ?? message.error?.data?.code;
const names = (message: Message): string[] => message.result.tools.map(({ name }: { name: string }) => name);
const hello = { text: 'hello' };

describe('a tool', () => {
  test('that was added is neither shown nor called', async () => {
    const guarded = await startRogue('adds-a-tool', { recheckMs: 0 });
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    expect(names(await guarded.ask('tools/list'))).toEqual(['echo', 'add']);
    expect((await guarded.call('evil')).error).toEqual({
      code: 403,
      message:
        'Bulla: The tool "evil" is not in the lock. It stays blocked until its operator has reviewed and locked it.',
      data: {
        stage: 'pinned',
        code: 'GATEWAY_NOT_LOCKED',
        tool: 'evil',
        capsule: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    await guarded.end();
    expect((await told(guarded.store)).filter((line) => line.includes('blocked'))).toEqual([
      'tools/list rogue blocked GATEWAY_NOT_LOCKED',
      'tools/call rogue/evil blocked GATEWAY_NOT_LOCKED',
    ]);
    expect(guarded.received().filter(({ params }) => params?.name === 'evil')).toEqual([]);
  });

  test('that looks like another is neither shown nor called', async () => {
    const guarded = await startRogue('adds-a-twin');
    await initialize(guarded);
    expect(names(await guarded.ask('tools/list'))).toEqual(['echo', 'add']);
    expect((await guarded.call('\u0435cho', hello)).error?.message).toContain(
      'is not in the lock. It only looks like "echo".',
    );
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
  });

  test('that was changed without a word is found out when the list is read again', async () => {
    const guarded = await startRogue('poisons-silently', { recheckMs: 0 });
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    expect(said(await guarded.call('echo', hello))).toBe('GATEWAY_CHANGED');
    expect(said(await guarded.call('add'))).toBe('add {}');
    expect(guarded.received().filter(({ method }) => method === 'tools/call')).toHaveLength(2);
  });

  test('that is changed in a later list vanishes from it and is refused from then on', async () => {
    const guarded = await startRogue('poisons-the-second-list');
    await initialize(guarded);
    expect(names(await guarded.ask('tools/list'))).toEqual(['echo', 'add']);
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    expect(names(await guarded.ask('tools/list'))).toEqual(['add']);
    expect(said(await guarded.call('echo', hello))).toBe('GATEWAY_CHANGED');
    await guarded.ask('tools/list');
    await guarded.end();
    const lists = (await records(guarded.store)).filter(({ trigger }) =>
      trigger.request.startsWith('tools/list'),
    );
    expect(lists).toHaveLength(1);
    expect(lists[0]!.context.environment.bulla.facts).toEqual({
      removed: 1,
      changed: ['echo'],
      not_locked: [],
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
  });

  test('that stands in the list twice is refused unless both are as locked', async () => {
    const guarded = await startRogue('shows-both');
    await initialize(guarded);
    expect(names(await guarded.ask('tools/list'))).toEqual(['echo', 'add']);
    expect(said(await guarded.call('echo', hello))).toBe('GATEWAY_CHANGED');
  });

  test('is looked at again when the server tells of a change', async () => {
    const guarded = await startRogue('tells-of-a-change');
    await initialize(guarded);
    await guarded.ask('tools/list');
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    await guarded.until(({ method }) => method === 'notifications/tools/list_changed');
    expect(said(await guarded.call('echo', hello))).toBe('GATEWAY_CHANGED');
    expect(said(await guarded.call('add'))).toBe('add {}');
  });

  test('is not called while the list changes all the time', async () => {
    const guarded = await startRogue('changes-always');
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe('GATEWAY_BAD_ANSWER');
    expect(guarded.received().filter(({ method }) => method === 'tools/list')).toHaveLength(3);
  });
});

test('a changed definition is recorded and told, however much junk came before it', async () => {
  const guarded = await startRogue('hides-in-junk');
  await initialize(guarded);
  expect(said(await guarded.call('echo', hello))).toBe(ECHO);
  expect(names(await guarded.ask('tools/list'))).toEqual(['add']);
  await guarded.end();
  const lines = await told(guarded.store);
  expect(lines.filter((line) => line === 'from server rogue blocked GATEWAY_METHOD')).toHaveLength(64);
  expect(lines.at(-1)).toBe('tools/list rogue blocked GATEWAY_CHANGED');
  expect((await records(guarded.store)).at(-1)!.outcome.metrics).toEqual({
    calls: 1,
    blocked: 0,
    dropped: { GATEWAY_METHOD: 300, GATEWAY_CHANGED: 1 },
    unrecorded: { GATEWAY_METHOD: 236 },
  });
  expect(guarded.log).toContain(
    'removed from tools/list: "echo" (not as they were locked) [GATEWAY_CHANGED]',
  );
  expect(guarded.log.at(-1)).toBe(
    '236 more of GATEWAY_METHOD were counted in the last record of the session only',
  );
});

test('a changed name, a new capability and a request are told, however much junk came before them', async () => {
  const guarded = await startRogue('hides-itself-in-junk');
  await initialize(guarded);
  await guarded.ask('ping');
  await guarded.end();
  const errors = (await records(guarded.store)).map(({ outcome }) => outcome.error ?? '');
  for (const what of [
    'at "/serverInfo/name".',
    'at "/capabilities/prompts/listChanged".',
    'does not forward requests for sampling;',
  ]) {
    expect(errors.filter((error) => error.includes(what))).toHaveLength(1);
    expect(guarded.log.filter((line) => line.includes(what))).toHaveLength(1);
  }
});

describe('a list', () => {
  test('is checked on every page, and keeps its cursor and whatever else it has', async () => {
    const guarded = await startRogue('pages');
    await initialize(guarded);
    const first = await guarded.ask('tools/list');
    expect(names(first)).toEqual(['echo']);
    expect(first.result).toMatchObject({ nextCursor: 'p2', _meta: { page: 1 } });
    const second = await guarded.ask('tools/list', { cursor: 'p2' });
    expect(names(second)).toEqual(['add']);
    expect(second.result.extra).toEqual([1, 2]);
    expect(said(await guarded.call('add'))).toBe('add {}');
    // Nothing more had to be asked.
    expect(guarded.received().filter(({ method }) => method === 'tools/list')).toHaveLength(2);
  });

  test('is read by the gateway to its end before the first call', async () => {
    const guarded = await startRogue('pages');
    await initialize(guarded);
    const answers = await Promise.all(Array.from({ length: 20 }, () => guarded.call('add')));
    expect(new Set(answers.map(said))).toEqual(new Set(['add {}']));
    expect(guarded.received().filter(({ method }) => method === 'tools/list')).toHaveLength(2);
  });

  test.each(['twin-member', 'no-list'])(
    'that could be read in two ways does not pass: %s',
    async (behaviour) => {
      const guarded = await startRogue(behaviour);
      await initialize(guarded);
      expect((await guarded.ask('tools/list')).error).toMatchObject({
        code: 502,
        data: { code: 'GATEWAY_BAD_ANSWER' },
      });
      expect(said(await guarded.call('echo'))).toBe('GATEWAY_BAD_ANSWER');
    },
  );

  test('that has no end, or is refused, permits no call', async () => {
    for (const behaviour of ['repeats-a-page', 'refuses-lists']) {
      const guarded = await startRogue(behaviour);
      await initialize(guarded);
      expect(said(await guarded.call('echo'))).toBe('GATEWAY_BAD_ANSWER');
      await guarded.end();
    }
  });

  test('of prompts, resources and templates is checked too', async () => {
    const lock = await rogueLock('ordinary');
    const guarded = await startRogue('ordinary', {
      lock: { ...lock, native: { ...lock.native!, prompts: new Map(), resources: new Map() } },
    });
    await initialize(guarded);
    expect((await guarded.ask('prompts/list')).result).toEqual({ prompts: [] });
    expect((await guarded.ask('resources/list')).result).toEqual({ resources: [] });
    expect((await guarded.ask('resources/templates/list')).result.resourceTemplates).toHaveLength(1);
    expect(said(await guarded.ask('prompts/get', { name: 'ask' }))).toBe('GATEWAY_NOT_LOCKED');
    expect(said(await guarded.ask('resources/read', { uri: 'file:///a' }))).toBe('GATEWAY_NOT_LOCKED');
    expect((await guarded.ask('resources/read', { uri: 'note:///7' })).result.contents[0].uri).toBe(
      'note:///7',
    );
  });
});

test('what a server says of itself is cut down to what was locked', async () => {
  const guarded = await startRogue('changes-itself');
  const { result } = await initialize(guarded);
  expect(result).toEqual({
    protocolVersion: '2025-11-25',
    capabilities: { tools: { listChanged: true }, prompts: {} },
    serverInfo: { name: 'rogue', version: '1' },
  });
  await guarded.end();
  const changes = (await records(guarded.store)).filter(
    ({ trigger }) => trigger.request === 'initialize rogue',
  );
  expect(
    changes.flatMap(({ outcome }) => /at "([^"]+)"/.exec(outcome.error ?? '')?.[1] ?? []).toSorted(),
  ).toEqual([
    '/capabilities/logging',
    '/capabilities/tools/evil',
    '/instructions',
    '/serverInfo/description',
    '/serverInfo/version',
  ]);
  expect(changes.map(({ outcome }) => outcome.status)).not.toContain('success');
});

test('a version of the protocol that is not known does not pass', async () => {
  const guarded = await startRogue('speaks-the-future');
  expect((await initialize(guarded)).error).toMatchObject({ code: 502, data: { code: 'GATEWAY_VERSION' } });
  expect(said(await guarded.ask('tools/list'))).toBe('GATEWAY_SESSION');
});

describe('answers', () => {
  test('that come twice are passed once', async () => {
    const guarded = await startRogue('answers-twice');
    await initialize(guarded);
    for (let i = 0; i < 3; i++) expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    await guarded.ask('ping');
    expect(guarded.lines.filter((line) => line.includes('again'))).toEqual([]);
    await guarded.end();
    expect((await told(guarded.store)).filter((line) => line.includes('blocked'))).toEqual([
      'from server rogue blocked GATEWAY_ANSWER_DUPLICATE',
    ]);
    const closed = (await records(guarded.store)).at(-1)!;
    expect(closed.outcome.metrics).toEqual({
      calls: 3,
      blocked: 0,
      dropped: { GATEWAY_ANSWER_DUPLICATE: 3 },
    });
  });

  test('under wrong ids are dropped, and the right one passes', async () => {
    const guarded = await startRogue('answers-wrongly');
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    await guarded.end();
    expect((await records(guarded.store)).at(-1)!.outcome.metrics.dropped).toEqual({
      GATEWAY_ANSWER_UNKNOWN: 3,
    });
  });

  test('that nobody asked for are dropped, and answer nothing later', async () => {
    const guarded = await startRogue('answers-unasked');
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    expect(guarded.lines.filter((line) => line.includes('unasked'))).toEqual([]);
  });

  test('cannot carry a request to the host', async () => {
    const guarded = await startRogue('smuggles-a-request', { timeoutMs: 3000 });
    await initialize(guarded, { sampling: {} });
    expect(said(await guarded.call('echo'))).toBe('GATEWAY_TIMEOUT');
    expect(guarded.lines.filter((line) => line.includes('sampling'))).toEqual([]);
    await guarded.end();
    expect(await told(guarded.store)).toEqual([
      'tools/call rogue/echo pending',
      'from server rogue blocked GATEWAY_METHOD',
      'tools/call rogue/echo failure GATEWAY_TIMEOUT',
    ]);
    const cancelled = guarded.received().find(({ method }) => method === 'notifications/cancelled');
    const call = guarded.received().find(({ method }) => method === 'tools/call');
    expect(cancelled?.params?.requestId).toBe(call?.id);
  });

  test.each([
    ['answers-with-garbage', 'GATEWAY_BAD_ANSWER'],
    ['answers-with-half', 'GATEWAY_BAD_ANSWER'],
    ['answers-with-a-batch', 'GATEWAY_BAD_ANSWER'],
    ['answers-with-too-much', 'GATEWAY_BAD_ANSWER'],
    ['answers-with-a-twin', 'GATEWAY_BAD_ANSWER'],
  ])('that are no messages fail the call and nothing else: %s', async (behaviour, code) => {
    const guarded = await startRogue(behaviour, { maxBytes: 1 << 16 });
    await initialize(guarded);
    expect((await guarded.call('echo')).error).toMatchObject({ code: 502, data: { code, tool: 'echo' } });
    expect((await guarded.ask('ping')).result).toEqual({});
    await guarded.end();
    expect((await told(guarded.store)).at(-1)).toBe(`tools/call rogue/echo failure ${code}`);
  });

  test('with an error are passed as they are, and recorded as failures', async () => {
    for (const behaviour of ['reports-an-error', 'refuses-calls']) {
      const guarded = await startRogue(behaviour);
      await initialize(guarded);
      const { result, error } = await guarded.call('echo');
      if (behaviour === 'reports-an-error') expect(result.isError).toBe(true);
      else expect(error).toEqual({ code: -32601, message: 'Method not found' });
      await guarded.end();
      const { outcome, execution } = (await records(guarded.store)).at(-2)!;
      expect(outcome.status).toBe('failure');
      expect(execution.tool_calls[0].success).toBe(false);
      expect(JSON.stringify(outcome)).not.toContain('broke');
    }
  });
});

describe('what a server asks of the host', () => {
  const wanted = { roots: {}, sampling: {}, elicitation: {} };

  test('does not pass, and the server is not told that the host could do it', async () => {
    const guarded = await startRogue('asks-the-host');
    await initialize(guarded, { ...wanted, experimental: { x: {} } });
    const call = guarded.call('echo');
    const ping = await guarded.until(({ method }) => method === 'ping');
    guarded.send({ jsonrpc: '2.0', id: ping.id, result: {} });
    const answers = JSON.parse(said(await call) as string);
    expect(answers.ping).toEqual({});
    for (const method of ['roots/list', 'sampling/createMessage', 'elicitation/create', 'host/format-disk']) {
      expect(answers[method]).toMatchObject({
        code: -32601,
        data: { stage: 'method', code: 'GATEWAY_METHOD' },
      });
    }
    expect(guarded.received()[0]!.params).toMatchObject({ capabilities: {} });
    expect(Object.keys(guarded.received()[0]!.params!.capabilities as object)).toEqual([]);
    await guarded.end();
    expect((await told(guarded.store)).filter((line) => line.includes('METHOD'))).toHaveLength(4);
  });

  test('passes where the operator permits it, under ids of ours', async () => {
    const guarded = await startRogue('asks-the-host', { features: ['roots', 'elicitation'] });
    await initialize(guarded, wanted);
    const call = guarded.call('echo');
    for (const method of ['ping', 'roots/list', 'elicitation/create']) {
      const asked = await guarded.until((message) => message.method === method);
      expect(asked.id).toBeTypeOf('number');
      guarded.send({ jsonrpc: '2.0', id: asked.id, result: { of: method } });
      // A second answer goes nowhere.
      guarded.send({ jsonrpc: '2.0', id: asked.id, result: { of: 'another' } });
    }
    const answers = JSON.parse(said(await call) as string);
    expect(answers['roots/list']).toEqual({ of: 'roots/list' });
    expect(answers['elicitation/create']).toEqual({ of: 'elicitation/create' });
    expect(answers['sampling/createMessage'].code).toBe(-32601);
    expect(guarded.received()[0]!.params!.capabilities).toEqual({ roots: {}, elicitation: {} });
  });
});

test('a flood of notifications reaches the host in order, and what is unknown does not', async () => {
  const guarded = await startRogue('floods-with-notifications');
  await initialize(guarded);
  expect(said(await guarded.call('echo', hello))).toBe(ECHO);
  const data = guarded.lines.flatMap((line) => {
    const { method, params } = JSON.parse(line);
    return method === 'notifications/message' ? [params.data] : [];
  });
  expect(data).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
  expect(guarded.lines.some((line) => line.includes('no/known/kind'))).toBe(false);
  await guarded.end();
  expect((await records(guarded.store)).at(-1)!.outcome.metrics.dropped).toEqual({ GATEWAY_METHOD: 5000 });
  expect((await told(guarded.store)).filter((line) => line.includes('METHOD'))).toHaveLength(1);
});

test('progress passes while its request is open, and no other', async () => {
  const guarded = await startRogue('tells-progress');
  await initialize(guarded);
  const params = { name: 'echo', _meta: { progressToken: 'p-1' } };
  expect(said(await guarded.ask('tools/call', params))).toBe('done');
  await guarded.ask('ping');
  const progress = guarded.lines
    .map((line) => JSON.parse(line))
    .filter(({ method }) => method === 'notifications/progress');
  expect(progress.map(({ params }) => params)).toEqual([{ progressToken: 'p-1', progress: 1 }]);
});

describe('a server that dies', () => {
  test('fails what is open, says how it ended, and ends the session', async () => {
    const guarded = await startRogue('dies', { count: 2 });
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    const [a, b] = [guarded.call('echo', hello), guarded.call('add')];
    expect([said(await a), said(await b)]).toEqual([ECHO, 'GATEWAY_SERVER_ENDED']);
    expect((await b).error).toMatchObject({
      code: 503,
      message: 'Bulla: The server ended with exit code 7.',
    });
    expect(await guarded.over).toMatchObject({
      ended: 'server',
      error: { code: 'MCP_SERVER_ENDED' },
      calls: 3,
    });
    const lines = await told(guarded.store);
    expect(lines.at(-1)).toBe('tools/call rogue/add failure GATEWAY_SERVER_ENDED');
    expect(lines.filter((line) => line.endsWith('pending'))).toHaveLength(3);
    expect((await records(guarded.store)).at(-1)).toMatchObject({
      type: 'system',
      outcome: { status: 'failure', error: 'session: MCP_SERVER_ENDED' },
    });
  });
});

describe('in the stateless era', () => {
  const meta = {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'modern-host', version: '3' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, roots: {} },
    },
  };
  const call = { name: 'echo', arguments: hello, ...meta };

  test('a call passes without a handshake, and the list is asked for in the same way', async () => {
    const guarded = await startRogue('stateless');
    const discovered = await guarded.ask('server/discover', meta);
    expect(discovered.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      instructions: 'Use the tools with care.',
    });
    expect(said(await guarded.ask('tools/call', call))).toBe(ECHO);
    const seen = guarded.received().map(({ method, params }) => [method, params!._meta]);
    const filtered = { ...meta._meta, 'io.modelcontextprotocol/clientCapabilities': {} };
    expect(seen).toEqual([
      ['server/discover', filtered],
      ['tools/list', filtered],
      ['tools/call', filtered],
    ]);
    await guarded.end();
    expect((await records(guarded.store))[1]!.trigger.source).toBe('modern-host/3');
  });

  test('a version that is not known is refused as the protocol says', async () => {
    const guarded = await startRogue('stateless');
    const future = { _meta: { ...meta._meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } };
    expect((await guarded.ask('tools/list', future)).error).toMatchObject({
      code: -32022,
      data: { supported: ['2026-07-28'], requested: '2099-01-01' },
    });
    expect(guarded.received()).toEqual([]);
  });

  test('methods of the other era do not pass', async () => {
    const guarded = await startRogue('stateless');
    expect((await guarded.ask('ping', meta)).error?.code).toBe(-32601);
    expect((await guarded.ask('logging/setLevel', { level: 'info', ...meta })).error?.code).toBe(-32601);
  });

  test('what a server wants to ask in its result does not pass unless permitted', async () => {
    const guarded = await startRogue('stateless-asks');
    expect((await guarded.ask('tools/call', call)).error).toMatchObject({
      data: { code: 'GATEWAY_METHOD', tool: 'echo' },
    });
    expect(guarded.lines.some((line) => line.includes('password'))).toBe(false);
    await guarded.end();
    expect((await told(guarded.store)).at(-1)).toBe('tools/call rogue/echo failure GATEWAY_METHOD');
    const permitted = await startRogue('stateless-asks', { features: ['elicitation'] });
    expect((await permitted.ask('tools/call', call)).result.inputRequests.a.params.message).toBe(
      'Your password?',
    );
    await permitted.end();
    expect((await told(permitted.store)).at(-1)).toBe('tools/call rogue/echo partial');
  });

  test('a result of unknown type does not pass', async () => {
    const guarded = await startRogue('stateless-unknown-result');
    expect(said(await guarded.ask('tools/call', call))).toBe('GATEWAY_BAD_ANSWER');
  });

  test('subscriptions keep the id of the host, and only theirs pass', async () => {
    const guarded = await startRogue('stateless-subscriptions');
    guarded.send({
      jsonrpc: '2.0',
      id: 'my subscription',
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, ...meta },
    });
    const acknowledged = await guarded.until(
      ({ method }) => method === 'notifications/subscriptions/acknowledged',
    );
    const key = 'io.modelcontextprotocol/subscriptionId';
    expect(acknowledged.params).toEqual({
      _meta: { [key]: 'my subscription' },
      notifications: { toolsListChanged: true },
    });
    expect(said(await guarded.ask('tools/call', call))).toBe(ECHO);
    const told = guarded.lines
      .map((line) => JSON.parse(line))
      .filter(({ method }) => method !== undefined)
      .slice(1);
    expect(told).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/tools/list_changed',
        params: { _meta: { [key]: 'my subscription' } },
      },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'my subscription' } },
    ]);
    // Every one of them counts as a change all the same.
    expect(said(await guarded.ask('tools/call', call))).toBe(ECHO);
    expect(guarded.received().filter(({ method }) => method === 'tools/list')).toHaveLength(2);
  });
});
