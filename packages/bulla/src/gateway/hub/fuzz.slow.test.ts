import { join } from 'node:path';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { type Guarded, initialize, lockOf, type Message, records } from '../../../test/guard.ts';
import { startHub } from '../../../test/hub.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';

const META = fc.constantFrom(
  {},
  { progressToken: 'x' },
  {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
);
const LISTENED = fc.record(
  {
    toolsListChanged: fc.oneof(fc.boolean(), fc.jsonValue()),
    resourceSubscriptions: fc.oneof(
      fc.subarray(['a:///a', 'b:///a', 'b:///note/1', 'c:///a']),
      fc.jsonValue(),
    ),
  },
  { requiredKeys: [] },
);
const PARAMS = fc.record(
  {
    name: fc.constantFrom('a_echo', 'b_echo', 'b_greet', 'echo', 'b_', '_', 'a_b_echo', 7),
    uri: fc.constantFrom('a:///a', 'b:///note/7', 'b:///note/..', 'c:///a', 7),
    arguments: fc.oneof(fc.jsonValue(), fc.constant({})),
    ref: fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(
        { type: 'ref/prompt', name: 'b_greet' },
        { type: 'ref/resource', uri: 'b:///note/{id}' },
      ),
    ),
    cursor: fc.oneof(fc.jsonValue(), fc.base64String()),
    level: fc.constantFrom('debug', 'none'),
    notifications: fc.oneof(LISTENED, fc.jsonValue()),
    requestId: fc.oneof(fc.integer(), fc.string(), fc.constant('open')),
    progressToken: fc.oneof(fc.integer(), fc.string()),
    _meta: fc.oneof(META, fc.jsonValue()),
  },
  { requiredKeys: [] },
);
const REQUESTS = [
  ...['initialize', 'server/discover', 'ping', 'logging/setLevel', 'tools/list', 'prompts/list'],
  ...['resources/list', 'resources/templates/list', 'tools/call', 'prompts/get', 'resources/read'],
  ...['resources/subscribe', 'completion/complete', 'no/such/method', 'constructor'],
];
const NOTIFICATIONS = ['initialized', 'cancelled', 'progress', 'roots/list_changed', 'message', 'x'];
const request = fc.record({ method: fc.constantFrom(...REQUESTS), params: PARAMS });
const notification = fc.record({
  method: fc.constantFrom(...NOTIFICATIONS.map((name) => `notifications/${name}`)),
  params: PARAMS,
});
const answer = fc.record({
  id: fc.oneof(fc.integer(), fc.string()),
  result: fc.dictionary(fc.string(), fc.jsonValue()),
});

async function start(): Promise<Guarded> {
  const member = async (key: string) => {
    const server = script('member.mjs', join(temporaryFolder(), 'received'), key);
    return { key, server, lock: await lockOf(server), drainMs: 0 };
  };
  const hub = await startHub([await member('a'), await member('b')]);
  await initialize(hub);
  return hub;
}

async function ended(hub: Guarded): Promise<void> {
  expect((await hub.end()).ended).toBe('host');
  await records(hub.store);
}

test('every request is answered once, whatever it asks and whatever comes between', async () => {
  const hub = await start();
  let next = 1;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(request, request, notification, answer), { maxLength: 20 }),
      async (all) => {
        const ids: string[] = [];
        const from = hub.lines.length;
        for (const message of all) {
          const isRequest = 'method' in message && REQUESTS.includes(message.method);
          const id = `r${next++}`;
          if (isRequest) ids.push(id);
          hub.send({ jsonrpc: '2.0', ...(isRequest && { id }), ...message });
        }
        for (const id of ids) await hub.until((one) => one.id === id);
        expect((await hub.call('b_echo')).result.content).toHaveLength(1);
        const answered = hub.lines
          .slice(from)
          .map((line) => JSON.parse(line) as Message)
          .filter(({ id, method }) => method === undefined && typeof id === 'string')
          .map(({ id }) => id);
        expect(answered.toSorted()).toEqual(ids.toSorted());
      },
    ),
    { numRuns: 20 * inject('soak') },
  );
  const failures = hub.log.filter((line) => line.includes('GATEWAY_FAILED'));
  expect(failures).toEqual([]);
  await ended(hub);
});

test('whatever is subscribed to and cancelled, and whatever is no message, the session goes on', async () => {
  const hub = await start();
  const listen = fc.record({
    id: fc.constantFrom('open', 'other'),
    method: fc.constant('subscriptions/listen'),
    params: PARAMS,
  });
  const line = fc.oneof(
    fc.oneof(listen, request, notification).map((message) => JSON.stringify({ jsonrpc: '2.0', ...message })),
    fc.string().map((text) => text.replaceAll('\n', '')),
    fc.constantFrom('{"jsonrpc":"2.0","id":"open","method":1}', '[]', '{"id":"open"}'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
      for (const one of lines) hub.send(one);
      expect((await hub.call('a_echo')).result.content).toHaveLength(1);
      expect((await hub.call('b_echo')).result.content).toHaveLength(1);
    }),
    { numRuns: 20 * inject('soak') },
  );
  expect(hub.log.filter((text) => text.includes('GATEWAY_FAILED'))).toEqual([]);
  await ended(hub);
});
