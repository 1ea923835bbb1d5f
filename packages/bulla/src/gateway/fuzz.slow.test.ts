import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { type Guarded, initialize, type Message, records, startRogue } from '../../test/guard.ts';

const METHODS = [
  ...[
    'initialize',
    'server/discover',
    'ping',
    'logging/setLevel',
    'tools/list',
    'prompts/list',
    'tools/call',
  ],
  ...['prompts/get', 'resources/read', 'resources/subscribe', 'completion/complete', 'subscriptions/listen'],
  ...[
    'notifications/initialized',
    'notifications/cancelled',
    'notifications/progress',
    'notifications/message',
  ],
  ...[
    'notifications/tools/list_changed',
    'notifications/resources/updated',
    'sampling/createMessage',
    'roots/list',
  ],
];
const ID = fc.oneof(fc.constant('#'), fc.integer(), fc.string(), fc.constant(null), fc.constant('x'));
const META = fc.record(
  {
    progressToken: ID,
    'io.modelcontextprotocol/protocolVersion': fc.constantFrom('2026-07-28', '2099-01-01'),
    'io.modelcontextprotocol/clientCapabilities': fc.constantFrom({}, { roots: {} }),
    'io.modelcontextprotocol/subscriptionId': ID,
    'io.modelcontextprotocol/serverInfo': fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const PARAMS = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      name: fc.constantFrom('echo', 'add', 'evil', 'ask', 7),
      uri: fc.constantFrom('file:///a', 'note:///7', 'note:///..', 7),
      arguments: fc.constantFrom({ lines: [] }),
      ref: fc.oneof(fc.jsonValue(), fc.constant({ type: 'ref/prompt', name: 'ask' })),
      requestId: ID,
      progressToken: ID,
      notifications: fc.oneof(fc.jsonValue(), fc.constant({ resourceSubscriptions: ['note:///1', 7] })),
      cursor: fc.jsonValue(),
      _meta: fc.oneof(META, fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
);
const RESULT = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      tools: fc.oneof(fc.jsonValue(), fc.array(fc.record({ name: fc.constantFrom('echo', 'evil', 7) }))),
      nextCursor: fc.jsonValue(),
      resultType: fc.constantFrom('complete', 'input_required', 'task', 7),
      inputRequests: fc.oneof(fc.jsonValue(), fc.constant({ a: { method: 'roots/list' } })),
      contents: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())),
      isError: fc.jsonValue(),
      _meta: fc.oneof(META, fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
);
const MESSAGE = fc.oneof(
  fc.record(
    { jsonrpc: fc.constant('2.0'), id: ID, method: fc.constantFrom(...METHODS), params: PARAMS },
    { requiredKeys: ['jsonrpc', 'method'] },
  ),
  fc.record({ jsonrpc: fc.constant('2.0'), id: ID, result: RESULT }),
  fc.record({ jsonrpc: fc.constant('2.0'), id: ID, error: fc.constant({ code: 1, message: 'no' }) }),
);
/** Mostly messages, some of them cut short or changed. */
const LINE = fc.oneof(
  { weight: 8, arbitrary: MESSAGE.map((message) => JSON.stringify(message)) },
  {
    weight: 2,
    arbitrary: fc.tuple(MESSAGE, fc.nat(200)).map(([message, at]) => JSON.stringify(message).slice(0, at)),
  },
  { weight: 1, arbitrary: fc.string().map((text) => text.replaceAll('\n', '')) },
);

async function expectAlive(guarded: Guarded): Promise<void> {
  const answer: Message = await guarded.call('add', { lines: [] });
  expect(answer.result ?? answer.error?.data).toBeDefined();
}

test('whatever the host sends, the session goes on, and the chain verifies', async () => {
  const guarded = await startRogue('says-what-it-is-told', { drainMs: 0 });
  await initialize(guarded);
  await fc.assert(
    fc.asyncProperty(fc.array(LINE, { maxLength: 20 }), async (lines) => {
      for (const line of lines) guarded.send(line);
      await expectAlive(guarded);
    }),
    { numRuns: 20 * inject('soak') },
  );
  expect((await guarded.end()).ended).toBe('host');
  await records(guarded.store);
});

test('whatever the server sends, the session goes on, and nothing reaches the host but what may', async () => {
  const guarded = await startRogue('says-what-it-is-told', { drainMs: 0, timeoutMs: 2000 });
  await initialize(guarded);
  await fc.assert(
    fc.asyncProperty(fc.array(LINE, { maxLength: 20 }), async (lines) => {
      await guarded.call('echo', { lines });
      await expectAlive(guarded);
    }),
    { numRuns: 20 * inject('soak') },
  );
  const methods = new Set(guarded.lines.map((line) => (JSON.parse(line) as Message).method));
  const PASSED = [
    'ping',
    'notifications/message',
    'notifications/tools/list_changed',
    'notifications/resources/updated',
    // Of a ping that it has sent.
    'notifications/cancelled',
  ];
  for (const method of methods) if (method !== undefined) expect(PASSED).toContain(method);
  expect((await guarded.end()).ended).toBe('host');
  await records(guarded.store);
});
