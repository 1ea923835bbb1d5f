import { readFileSync } from 'node:fs';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { lockOf, rogueLock, told } from '../../test/guard.ts';
import { eventually, startListener } from '../../test/listen.ts';
import { packaged, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';

// The real thing on both sides: clients of the SDK over HTTP, and servers as processes of their own.

const requestInit = { headers: { authorization: 'Bearer one' } };
type Negotiation = NonNullable<ClientOptions['versionNegotiation']>;

async function connectV2(url: string, versionNegotiation: Negotiation) {
  const client = new Client({ name: 'v2', version: '1' }, { versionNegotiation });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport };
}

async function connectV1(url: string) {
  const client = new ClientV1({ name: 'v1', version: '1' });
  const transport = new TransportV1(new URL(url), { requestInit });
  // Its own types disagree about an optional member.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  onTestFinished(() => client.close());
  return { client, transport };
}

const everything = packaged('server-everything');
const ECHO = 'tools/call mcp-servers/everything/echo';
const LONG = 'tools/call mcp-servers/everything/trigger-long-running-operation';

test('a client of the SDK v1 has a session with server-everything', async () => {
  const listener = await startListener({ server: everything, lock: await lockOf(everything) });
  const { client, transport } = await connectV1(listener.url);
  expect(transport.sessionId).toMatch(/^[\w-]{43}$/);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
  expect(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })).toEqual({
    content: [{ type: 'text', text: 'Echo: hi' }],
  });
  const progress: number[] = [];
  await client.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
    undefined,
    { onprogress: (step) => progress.push(step.progress) },
  );
  expect(progress).toEqual([1, 2]);
  await transport.terminateSession();
  expect(await listener.close()).toEqual({ calls: 2, blocked: 0 });
  expect(await told(listener.store)).toEqual([
    `${ECHO} pending`,
    `${ECHO} success`,
    `${LONG} pending`,
    `${LONG} success`,
  ]);
  expect(listener.log).toEqual([]);
});

test.for<Negotiation>([{ mode: 'legacy' }, { mode: 'auto' }])(
  'a client of the SDK v2 has a session with server-everything: %o',
  async (negotiation) => {
    const listener = await startListener({ server: everything, lock: await lockOf(everything) });
    const { client, transport } = await connectV2(listener.url, negotiation);
    expect(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })).toEqual({
      content: [{ type: 'text', text: 'Echo: hi' }],
    });
    await transport.terminateSession();
    expect(await listener.close()).toEqual({ calls: 1, blocked: 0 });
  },
);

test('a client of the SDK v2 talks to a server of the stateless era', async () => {
  const server = script('modern.ts');
  const listener = await startListener({ server, lock: await lockOf(server) });
  const { client, transport } = await connectV2(listener.url, { mode: { pin: '2026-07-28' } });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add', 'show', 'lost']);
  expect(await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject({
    structuredContent: { sum: 3 },
  });
  expect((await client.readResource({ uri: 'ui://modern/page.html' })).contents).toHaveLength(1);
  expect(transport.sessionId).toBe(undefined);
  expect(await listener.close()).toEqual({ calls: 2, blocked: 0 });
  expect(listener.log).toEqual([]);
});

test.for<[string, Negotiation]>([
  ['never-answers', { mode: 'legacy' }],
  ['stateless-never-answers', { mode: { pin: '2026-07-28' } }],
])('what a client of the SDK v2 aborts is cancelled: %s', async ([behaviour, negotiation]) => {
  const file = `${temporaryFolder()}/received`;
  const server = script('rogue.mjs', file, behaviour);
  const era = negotiation.mode === 'legacy' ? 'ordinary' : 'stateless';
  const listener = await startListener({ server, lock: await rogueLock(era) });
  const { client } = await connectV2(listener.url, negotiation);
  const stop = new AbortController();
  const called = client.callTool({ name: 'echo' }, { signal: stop.signal });
  const sent = (method: string) =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter((message) => message.method === method);
  await eventually(() => sent('tools/call').length).toBe(1);
  stop.abort();
  await expect(called).rejects.toThrow();
  await eventually(() => sent('notifications/cancelled').map(({ params }) => params.requestId)).toEqual([
    sent('tools/call')[0].id,
  ]);
  expect(await listener.close()).toEqual({ calls: 1, blocked: 0 });
  expect(await told(listener.store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo failure GATEWAY_CANCELLED',
  ]);
});
