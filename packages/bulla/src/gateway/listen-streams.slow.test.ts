import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Message, records, rogueLock, told } from '../../test/guard.ts';
import {
  begin,
  beginSession,
  call,
  eventually,
  exchange,
  messagesIn,
  startListener,
  stateless,
} from '../../test/listen.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import type { LinkOptions } from './link.ts';
import type { ListenOptions } from './listen.ts';

async function rogue(
  behaviour: string,
  options: Partial<ListenOptions> = {},
  link: Partial<LinkOptions> & { count?: number } = {},
) {
  const { count = 0, ...rest } = link;
  const file = `${temporaryFolder()}/received`;
  const server = script('rogue.mjs', file, behaviour, String(count));
  const lock = await rogueLock(behaviour.startsWith('stateless') ? 'stateless' : 'ordinary');
  const listener = await startListener({ server, lock, ...rest }, options);
  const received = (): Message[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Message)
      : [];
  return { ...listener, received };
}

/** Reads a stream until it has told so many messages. */
async function readMessages(got: IncomingMessage, count: number): Promise<Message[]> {
  let all = '';
  for await (const chunk of got.iterator({ destroyOnReturn: false })) {
    all += chunk;
    if (messagesIn(all).length >= count && all.endsWith('\n\n')) break;
  }
  return messagesIn(all);
}

const token = (progressToken: unknown) => ({ progressToken });

test('what precedes the answer makes a stream of events of it', async () => {
  const { port } = await rogue('tells-progress');
  const headers = { 'mcp-session-id': await beginSession(port) };
  const reply = await exchange(port, { body: call(1, 'echo', {}, token('t')), headers });
  const { connection, date, 'keep-alive': _, ...rest } = reply.headers;
  expect([reply.status, rest]).toEqual([
    200,
    {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked',
    },
  ]);
  expect(reply.text).toBe(
    'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}\n\n' +
      'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}\n\n',
  );
});

test('a message is the exact bytes of the server, on one line', async () => {
  const { port } = await rogue('exact-bytes', { streamAfterMs: 60_000 });
  const headers = { 'mcp-session-id': await beginSession(port) };
  const exact = (id: string) =>
    `{ "result" : {"content":[],"n":1.50,"big":10000000000000000000001,"u":"\\u00e9\\/"},"id": ${id} , "jsonrpc":"2.0"}`;
  expect((await exchange(port, { body: call('a', 'echo'), headers })).text).toBe(exact('"a"'));

  const told = await rogue('says-what-it-is-told');
  const other = { 'mcp-session-id': await beginSession(told.port) };
  const notice = (end: string, data: string) =>
    `{"jsonrpc":"2.0",${end}"method":"notifications/message","params":{"level":"info","data":"${data}"}}`;
  const lines = [notice('\r', '\u2028\u0085'), exact('"#"')];
  const { text } = await exchange(told.port, { body: call('a', 'echo', { lines }), headers: other });
  expect(text).toBe(
    `event: message\ndata: ${notice(' ', '\\u2028\\u0085')}\n\nevent: message\ndata: ${exact('"a"')}\n\n`,
  );
});

test('a request that waits gets a stream, which is kept alive', async () => {
  const { port } = await rogue('never-answers', { streamAfterMs: 20, beatMs: 20 });
  const headers = { 'mcp-session-id': await beginSession(port) };
  const { got } = await begin(port, { body: call(1, 'echo'), headers });
  expect(got.headers['content-type']).toBe('text/event-stream');
  let beats = '';
  for await (const chunk of got.iterator({ destroyOnReturn: false })) {
    beats += chunk;
    if (beats.length >= 9) break;
  }
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  await exchange(port, { body: cancelled, headers });
  expect(`${beats}${await text(got)}`).toMatch(/^(?::\n\n){3,}$/);
});

test('two clients with one token use the same ids and progress tokens at once', async () => {
  const { port } = await rogue('tells-progress');
  const one = async (n: number) => {
    const headers = { 'mcp-session-id': await beginSession(port) };
    const replies = await Promise.all(
      [7, '7'].map((id) => exchange(port, { body: call(id, 'echo', { n }, token('same')), headers })),
    );
    return replies.map(({ text }) =>
      messagesIn(text).map(({ id, params, result }) => [id, params?.progressToken, result?.content[0].text]),
    );
  };
  const expected = [7, '7'].map((id) => [
    [undefined, 'same', undefined],
    [id, undefined, 'done'],
  ]);
  expect(await Promise.all([one(1), one(2)])).toEqual([expected, expected]);

  const modern = await rogue('stateless');
  const asked = (n: number) => {
    const params = { name: 'echo', arguments: { text: `${n}` }, _meta: token('same') };
    return exchange(modern.port, stateless('tools/call', params, {}, 'i'));
  };
  const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => asked(n)));
  expect(
    replies.map(({ text }) => JSON.parse(text)).map(({ id, result }) => [id, result.content[0].text]),
  ).toEqual(Array.from({ length: 20 }, (_, n) => ['i', `echo {"text":"${n}"}`]));
  // In one session of the initialize era an id stands for one request.
  const slow = await rogue('slow', {}, { count: 300 });
  const headers = { 'mcp-session-id': await beginSession(slow.port) };
  const both = await Promise.all([1, 2].map(() => exchange(slow.port, { body: call(1, 'echo'), headers })));
  expect(
    both
      .map(({ text }) => JSON.parse(text))
      .map(({ id, error }) => [id, error?.data.code])
      .sort(),
  ).toEqual([
    [null, 'GATEWAY_ID_IN_USE'],
    [1, undefined],
  ]);
});

test('in the initialize era a host that goes away cancels nothing', async () => {
  const { port, received, store, close } = await rogue('slow', { streamAfterMs: 1 }, { count: 300 });
  const headers = { 'mcp-session-id': await beginSession(port) };
  const { sent } = await begin(port, { body: call(1, 'echo'), headers });
  sent.destroy();
  await eventually(() => told(store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo success',
  ]);
  expect(received().map(({ method }) => method)).not.toContain('notifications/cancelled');
  expect((await exchange(port, { body: call(1, 'echo'), headers })).status).toBe(200);
  expect(await close()).toEqual({ calls: 2, blocked: 0 });
});

test('in the initialize era a request is cancelled by a notification, which ends its response', async () => {
  const { port, received, store } = await rogue('never-answers');
  const headers = { 'mcp-session-id': await beginSession(port) };
  const waiting = exchange(port, { body: call(1, 'echo'), headers });
  await eventually(() => received().map(({ method }) => method)).toContain('tools/call');
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  expect((await exchange(port, { body: cancelled, headers })).status).toBe(202);
  const { status, text } = await waiting;
  expect([status, text]).toEqual([200, '']);
  await eventually(() => told(store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo failure GATEWAY_CANCELLED',
  ]);
});

test('in the stateless era a host that goes away cancels its request, and no other', async () => {
  const { port, received, store } = await rogue('never-answers', { streamAfterMs: 1 });
  const asked = () => stateless('tools/call', { name: 'echo' });
  const [first, second] = await Promise.all([begin(port, asked()), begin(port, asked())]);
  const ids = () =>
    received()
      .filter(({ method }) => method === 'tools/call')
      .map(({ id }) => id);
  const cancelled = () =>
    received()
      .filter(({ method }) => method === 'notifications/cancelled')
      .map(({ params }) => params!.requestId);
  await eventually(() => ids().length).toBe(2);
  first.sent.destroy();
  await eventually(() => cancelled().length).toBe(1);
  expect(ids()).toContain(cancelled()[0]);
  await eventually(() => told(store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo pending',
    'tools/call rogue/echo failure GATEWAY_CANCELLED',
  ]);
  second.sent.destroy();
  await eventually(() => cancelled().length).toBe(2);
  expect(new Set(cancelled())).toEqual(new Set(ids()));
});

test('messages of no request go to the stream of the session, of which there is one', async () => {
  const { port } = await rogue('tells-of-a-change');
  const headers = { 'mcp-session-id': await beginSession(port) };
  const { got, sent } = await begin(port, { method: 'GET', headers });
  expect([got.statusCode, got.headers['content-type']]).toEqual([200, 'text/event-stream']);
  const again = await exchange(port, { method: 'GET', headers });
  expect([again.status, JSON.parse(again.text).error.data.code]).toEqual([409, 'GATEWAY_SESSION']);
  await exchange(port, { body: call(1, 'echo'), headers });
  expect(await readMessages(got, 1)).toEqual([
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
  ]);
  sent.destroy();
  // One that was closed can be opened again; what came meanwhile has waited.
  await exchange(port, { body: call(2, 'echo'), headers });
  await eventually(async () => (await begin(port, { method: 'GET', headers })).got.statusCode).toBe(200);
});

test('without that stream they wait for it, up to a limit', async () => {
  const { port, log } = await rogue('says-what-it-is-told');
  const headers = { 'mcp-session-id': await beginSession(port) };
  const lines = (count: number, data: (i: number) => unknown) =>
    Array.from({ length: count }, (_, i) =>
      JSON.stringify({
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'info', data: data(i) },
      }),
    );
  // A request that is open carries them too.
  const carried = await exchange(port, { body: call(1, 'echo', { lines: lines(3, (i) => i) }), headers });
  expect(messagesIn(carried.text).map(({ id, params }) => id ?? params.data)).toEqual([0, 1, 2, 1]);
  await exchange(port, { method: 'DELETE', headers });

  const later = await rogue('answers-then-tells');
  const other = { 'mcp-session-id': await beginSession(later.port) };
  await exchange(later.port, { body: call(1, 'echo', { lines: lines(70, (i) => i) }), headers: other });
  const go = { jsonrpc: '2.0', method: 'notifications/initialized' };
  await exchange(later.port, { body: go, headers: other });
  await eventually(() => later.log.length).toBe(1);
  expect(later.log).toEqual(['dropped a message of the server: the host has no stream open to get it on']);
  const { got } = await begin(later.port, { method: 'GET', headers: other });
  expect((await readMessages(got, 64)).map(({ params }) => params!.data)).toEqual(
    Array.from({ length: 64 }, (_, i) => i),
  );
  expect(log).toEqual([]);
});

test('a server asks the host, and gets its answer', async () => {
  const { port } = await rogue('asks-the-host', {}, { features: ['roots'] });
  const headers = { 'mcp-session-id': await beginSession(port) };
  const { got } = await begin(port, { body: call(1, 'echo'), headers });
  const asked = await readMessages(got, 2);
  expect(asked.map(({ method }) => method)).toEqual(['ping', 'roots/list']);
  for (const { id, method } of asked) {
    const answered = await exchange(port, { body: { jsonrpc: '2.0', id, result: { method } }, headers });
    expect(answered.status).toBe(202);
  }
  const [answer] = messagesIn(await text(got));
  const refused = { code: -32601, message: expect.any(String), data: expect.anything() };
  expect([answer.id, JSON.parse(answer.result.content[0].text)]).toEqual([
    1,
    {
      ping: { method: 'ping' },
      'roots/list': { method: 'roots/list' },
      'sampling/createMessage': refused,
      'elicitation/create': refused,
      'host/format-disk': refused,
    },
  ]);
});

test('subscriptions of the stateless era are streams of their own', async () => {
  const { port, log } = await rogue('stateless-subscriptions');
  const listen = stateless('subscriptions/listen', { notifications: { toolsListChanged: true } }, {}, 's');
  const { got } = await begin(port, listen);
  expect(got.headers['content-type']).toBe('text/event-stream');
  await exchange(port, stateless('tools/call', { name: 'echo' }));
  // The server ends it.
  const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
  const messages = messagesIn(await text(got));
  expect(
    messages.map(({ method, params }) => [method, params._meta?.[SUBSCRIPTION] ?? params.requestId]),
  ).toEqual([
    ['notifications/subscriptions/acknowledged', 's'],
    ['notifications/tools/list_changed', 's'],
    ['notifications/cancelled', 's'],
  ]);
  expect(log).toHaveLength(1);
});

test('closing waits for answers, ends streams, and lets nothing further in', async () => {
  const { port, store, close, url } = await rogue('slow', {}, { count: 200, drainMs: 60_000 });
  const headers = { 'mcp-session-id': await beginSession(port) };
  const { got } = await begin(port, { method: 'GET', headers });
  const waiting = exchange(port, { body: call(1, 'echo'), headers });
  await eventually(async () => (await told(store))[0]).toBe('tools/call rogue/echo pending');
  const closed = close();
  expect(JSON.parse((await waiting).text).result.content[0].text).toBe('echo {}');
  expect(await text(got)).toBe('');
  expect(await closed).toEqual({ calls: 1, blocked: 0 });
  await expect(fetch(url)).rejects.toThrow('fetch failed');
  expect((await records(store)).at(-1)).toMatchObject({
    trigger: { request: 'guard rogue' },
    outcome: { status: 'success' },
  });
});

test('closing in a hurry answers what is open with an error', async () => {
  const stop = new AbortController();
  const { port, store, close } = await rogue('never-answers', { signal: stop.signal }, { drainMs: 0 });
  const headers = { 'mcp-session-id': await beginSession(port) };
  const waiting = exchange(port, { body: call(1, 'echo'), headers });
  const modern = exchange(port, stateless('tools/call', { name: 'echo' }, {}, 2));
  await eventually(async () => (await told(store)).length).toBe(2);
  stop.abort();
  const codes = (await Promise.all([waiting, modern])).map(({ status, text }) => {
    const { id, error } = JSON.parse(text);
    return [status, id, error.data.code];
  });
  expect(codes).toEqual([
    [200, 1, 'GATEWAY_CLOSED'],
    [200, 2, 'GATEWAY_CLOSED'],
  ]);
  expect(await close()).toEqual({ calls: 2, blocked: 0 });
});

test('a session that is ended answers what is open, and ends its stream', async () => {
  const { port, store } = await rogue('never-answers');
  const headers = { 'mcp-session-id': await beginSession(port) };
  const { got } = await begin(port, { method: 'GET', headers });
  const waiting = exchange(port, { body: call(1, 'echo'), headers });
  await eventually(async () => (await told(store)).length).toBe(1);
  expect((await exchange(port, { method: 'DELETE', headers })).status).toBe(200);
  const { id, error } = JSON.parse((await waiting).text);
  expect([id, error.data.code, await text(got)]).toEqual([1, 'GATEWAY_CLOSED', '']);
  expect(await told(store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo failure GATEWAY_CLOSED',
  ]);
});

test('a session that has a stream open is not idle', async () => {
  const { port, store } = await rogue('ordinary', { idleMs: 1000, beatMs: 100 });
  const headers = { 'mcp-session-id': await beginSession(port) };
  const { got, sent } = await begin(port, { method: 'GET', headers });
  let beats = '';
  for await (const chunk of got.iterator({ destroyOnReturn: false })) {
    beats += chunk;
    if (beats.length >= 45) break;
  }
  // Fifteen beats are longer than a session may be idle.
  expect(await records(store)).toHaveLength(1);
  sent.destroy();
  await eventually(async () => (await records(store)).length).toBe(2);
});
