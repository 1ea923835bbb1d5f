import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as soon } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { lockOf, records, rogueLock } from '../../test/guard.ts';
import { serveHttp, webListener } from '../../test/http.ts';
import {
  begin,
  beginSession,
  call,
  errorIn,
  exchange,
  INITIALIZE,
  startListener,
  stateless,
} from '../../test/listen.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { createServer } from '../../test/servers/modern.ts';
import type { ListenOptions } from './listen.ts';

async function rogue(behaviour = 'ordinary', options: Partial<ListenOptions> = {}) {
  const server = script('rogue.mjs', `${temporaryFolder()}/received`, behaviour);
  const lock = await rogueLock(behaviour.startsWith('stateless') ? 'stateless' : 'ordinary');
  return startListener({ server, lock }, options);
}

/** Sends bytes as they are, and reads until the other side closes. */
async function raw(port: number, ...parts: (string | Uint8Array)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  for (const part of parts) socket.write(part);
  return text(socket);
}

const statuses = (answer: string) =>
  [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const PING = '{"jsonrpc":"2.0","id":"p","method":"ping"}';
const head = (port: number, ...more: string[]) =>
  [
    'POST /mcp HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Authorization: Bearer one',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    ...more,
  ].join('\r\n');

describe('two readings of one request', () => {
  test.each([
    ['a length and chunks', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['chunks and a length', ['Transfer-Encoding: chunked', 'Content-Length: 4']],
    ['two lengths', ['Content-Length: 42', 'Content-Length: 4']],
    ['two equal lengths', ['Content-Length: 42', 'Content-Length: 42']],
    ['a list of lengths', ['Content-Length: 42, 42']],
    ['a signed length', ['Content-Length: +42']],
    ['an unknown transfer encoding', ['Transfer-Encoding: xchunked']],
    ['chunks that are not last', ['Transfer-Encoding: chunked, identity']],
    ['a space before the colon', ['Content-Length : 42']],
    ['a folded header', ['X-A: b', ' Content-Length: 42']],
    ['a bare line feed', ['X-A: b\nContent-Length: 42']],
    ['a null byte', ['X-A: b\0', 'Content-Length: 42']],
  ])('%s: nothing is answered but 400, and the connection is closed', async (_, more) => {
    const { port, refused } = await rogue();
    const hidden = `${head(port, 'Content-Length: 42', 'X-Hidden: yes')}\r\n\r\n${PING}`;
    const answer = await raw(port, `${head(port, ...more)}\r\n\r\n0\r\n\r\n`, hidden);
    expect(statuses(answer)).toEqual([400]);
    expect(refused.map(({ agentId, refusal }) => [agentId, refusal.message])).toEqual([
      [null, 'What came is not valid HTTP.'],
    ]);
  });

  test('two hosts, no host, and a request that does not wait for its turn', async () => {
    const { port } = await rogue('never-answers');
    const close = 'Connection: close';
    const twice = `${head(port, 'Content-Length: 42', 'Host: evil.example', close)}\r\n\r\n${PING}`;
    expect(statuses(await raw(port, twice))[0]).toBeOneOf([400, 403]);
    const none = `${head(port, 'Content-Length: 42', close).replace(/Host: .*\r\n/, '')}\r\n\r\n${PING}`;
    expect(statuses(await raw(port, none))).toEqual([400]);
    const one = `${head(port, `Content-Length: ${PING.length}`)}\r\n\r\n${PING}`;
    const answer = await raw(port, one + one);
    expect(statuses(answer)).toEqual([400, 400]);
    expect(answer).toContain('A request after initialize names its session');
    expect(answer).toContain('On one connection a request comes after the response to the one before it.');
  });

  test('a header that is too large', async () => {
    const { port } = await rogue();
    const answer = await raw(port, `${head(port, `X-A: ${'a'.repeat(17_000)}`)}\r\n\r\n`);
    expect(statuses(answer)).toEqual([431]);
  });
});

describe('messages that are too large', () => {
  const big = (length: number) => `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(length)}"}`;
  const tooLarge = [413, null, -32600, 'MCP_FRAME_TOO_LARGE', 'Bulla: A message is longer than 1000 bytes.'];

  test('the connection is used on after one that is a little too large', async () => {
    const { port } = await rogue('ordinary', { maxBytes: 1000 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(errorIn(await exchange(port, { body: big(2000), agent }))).toEqual(tooLarge);
    const { sent, got } = await begin(port, { body: PING, agent });
    expect([got.statusCode, sent.reusedSocket]).toEqual([400, true]);
    got.resume();
    agent.destroy();
  });

  test('one that is far too large is answered before it is closed', async () => {
    const { port } = await rogue('ordinary', { maxBytes: 1000 });
    const reply = await exchange(port, { body: big(20_000_000) });
    expect([errorIn(reply), reply.headers.connection]).toEqual([tooLarge, 'close']);
    const chunked = { 'transfer-encoding': 'chunked' };
    const streamed = await exchange(port, { body: big(5_000_000), headers: chunked });
    expect([errorIn(streamed), streamed.headers.connection]).toEqual([tooLarge, 'close']);
  });

  test('one without end is cut off, whoever sends it', async () => {
    const { port } = await rogue('ordinary', { maxBytes: 1000 });
    for (const token of ['one', 'nobody']) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(
        `${head(port, 'Content-Length: 100000000000').replace('Bearer one', `Bearer ${token}`)}\r\n\r\n`,
      );
      const closed = new Promise((resolve) => socket.on('close', resolve));
      while (!socket.destroyed) {
        if (!socket.write(Buffer.alloc(1 << 16)))
          await Promise.race([once(socket, 'drain'), closed]).catch(() => {});
        await soon();
      }
      await closed;
    }
    expect((await exchange(port, { body: INITIALIZE })).status).toBe(200);
  });

  test('a message of the greatest length passes, in chunks too', async () => {
    const { port } = await rogue('ordinary', { maxBytes: 100_000 });
    const headers = { 'mcp-session-id': await beginSession(port) };
    const body = (length: number) => JSON.stringify(call(1, 'echo', { text: 'x'.repeat(length) }));
    const exact = body(100_000 - body(0).length);
    expect(exact).toHaveLength(100_000);
    for (const more of [{}, { 'transfer-encoding': 'chunked' }])
      expect((await exchange(port, { body: exact, headers: { ...headers, ...more } })).status).toBe(200);
    expect((await exchange(port, { body: `${exact} `, headers })).status).toBe(413);
  });
});

describe('hosts that do not go on', () => {
  test('one that does not finish its request is cut off', async () => {
    const { port } = await rogue('ordinary', { requestMs: 100 });
    expect(statuses(await raw(port, 'POST /mcp HTTP/1.1\r\nHost:'))).toEqual([408]);
    expect(statuses(await raw(port, `${head(port, 'Content-Length: 100')}\r\n\r\n{`))).toEqual([408]);
  });

  test('one that goes away in the middle of its request does no harm', async () => {
    const { port, refused } = await rogue();
    const socket = connect(port, '127.0.0.1');
    socket.write(`${head(port, 'Content-Length: 100')}\r\n\r\n{`);
    await once(socket, 'connect');
    socket.destroy();
    expect((await exchange(port, { body: INITIALIZE })).status).toBe(200);
    expect(refused).toEqual([]);
  });

  test('one that does not read its stream is cut off, and its session goes on', async () => {
    const { port, close } = await rogue('says-what-it-is-told', { stallMs: 1500 });
    const headers = { 'mcp-session-id': await beginSession(port) };
    const stream = connect(port, '127.0.0.1');
    stream.on('error', () => {});
    const closed = new Promise((resolve) => stream.on('close', resolve));
    const get = head(port, `Mcp-Session-Id: ${headers['mcp-session-id']}`).replace('POST', 'GET');
    stream.write(`${get}\r\n\r\n`);
    await once(stream, 'readable');
    const params = { level: 'info', data: 'x'.repeat(2_000_000) };
    const lines = [JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })];
    // Together they are more than the system takes for a socket that nobody reads.
    let carried = 0;
    for (let id = 0; id < 16; id++) {
      const { text } = await exchange(port, { body: call(id, 'echo', { lines }), headers });
      expect(text).toContain(`"id":${id},"result"`);
      if (text.startsWith('event:')) carried++;
    }
    expect(carried).toBeGreaterThan(0);
    let length = 0;
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    await closed;
    expect(length).toBeLessThan((16 - carried) * 2_000_000);
    expect(await close()).toEqual({ calls: 16, blocked: 0 });
  });
});

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** The memory that is in use. */
function used(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

test('a thousand sessions come and go, and leave nothing behind', async () => {
  const url = await serveHttp(webListener((request) => createMcpHandler(createServer).fetch(request)));
  const lock = await lockOf(script('modern.ts'));
  const server = { kind: 'http', url: url.href } as const;
  const { port, store, close, log } = await startListener({ server, lock }, { maxSessions: 40 });
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const round = async (_: unknown, i: number): Promise<number> => {
    const { status, headers } = await exchange(port, { body: INITIALIZE, agent });
    const id = { 'mcp-session-id': headers['mcp-session-id'] as string };
    // Every second one forgets a stream, which ends with the session.
    if (i % 2 === 0) (await begin(port, { method: 'GET', headers: id })).got.resume();
    expect((await exchange(port, { method: 'DELETE', headers: id, agent })).status).toBe(200);
    return status;
  };
  const rounds = async (count: number) => {
    for (let i = 0; i < count; i += 20) {
      expect(await Promise.all(Array.from({ length: 20 }, round))).toEqual(Array(20).fill(200));
    }
  };
  await rounds(200);
  const before = used();
  await rounds(800);
  expect(used() - before).toBeLessThan(16 * 1024 * 1024);
  expect((await exchange(port, { ...stateless('tools/list'), agent })).status).toBe(200);
  agent.destroy();
  await close();
  expect(log).toEqual([]);
  expect(await records(store)).toHaveLength(2 * 1001);
});
