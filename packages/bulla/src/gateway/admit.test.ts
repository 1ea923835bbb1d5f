import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { rogueLock } from '../../test/guard.ts';
import { hashOf, startListener } from '../../test/listen.ts';
import { script } from '../../test/mcp.ts';

const hello = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'h', version: '1' } },
};
const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };

const headersOf = (token: string, session?: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
});

async function start() {
  const listener = await startListener({
    server: script('rogue.mjs', '/dev/null', 'ordinary'),
    lock: await rogueLock('ordinary'),
  });
  const post = async (token: string, message: object, session?: string) => {
    const response = await fetch(listener.url, {
      method: 'POST',
      headers: headersOf(token, session),
      body: JSON.stringify(message),
    });
    await response.text();
    return response;
  };
  const begin = async (token: string) => (await post(token, hello)).headers.get('mcp-session-id')!;
  return { listener, post, begin };
}

test('a token that is taken back or changed stops at once, and its sessions end; others go on', async () => {
  const { listener, post, begin } = await start();
  const [one, two] = [await begin('one'), await begin('two')];
  const stream = await fetch(listener.url, {
    headers: { ...headersOf('one', one), accept: 'text/event-stream' },
  });
  expect(stream.status).toBe(200);
  listener.admit({
    agents: [
      { id: 'one', tokenHash: hashOf('other') },
      { id: 'two', tokenHash: hashOf('two') },
      { id: 'three', tokenHash: hashOf('three') },
    ],
  });
  expect((await post('one', ping, one)).status).toBe(401);
  expect((await post('other', ping, one)).status).toBe(404);
  expect((await post('two', ping, two)).status).toBe(200);
  expect(await begin('three')).toMatch(/^[\w-]{43}$/);
  // The stream that was open ends with its session.
  expect(await stream.text()).not.toContain('data: {');
});

test('a token that is taken back while a body comes in counts no longer', async () => {
  const { listener, begin } = await start();
  const session = await begin('two');
  const body = JSON.stringify(ping);
  const slow = httpRequest(listener.url, {
    method: 'POST',
    headers: { ...headersOf('two', session), 'content-length': body.length },
  });
  slow.write(body.slice(0, 5));
  const other = await begin('one');
  expect(other).toMatch(/^[\w-]{43}$/);
  listener.admit({ agents: [{ id: 'one', tokenHash: hashOf('one') }] });
  slow.end(body.slice(5));
  const [response] = (await once(slow, 'response')) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(401);
});

test('what cannot be admitted changes nothing', async () => {
  const { listener, post, begin } = await start();
  const session = await begin('one');
  for (const agents of [[], [{ id: 'one', tokenHash: new Uint8Array(3) }]]) {
    for (const change of [listener.check, listener.admit]) {
      expect(() => change({ agents })).toThrow(expect.objectContaining({ code: 'GATEWAY_LISTEN_OPTION' }));
    }
  }
  expect((await post('one', ping, session)).status).toBe(200);
});
