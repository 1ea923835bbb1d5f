import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Era, startEra } from '../../../test/eras.ts';
import { initialize, lockOf, type Message, startGuard, told } from '../../../test/guard.ts';
import { readAll, serveHttp } from '../../../test/http.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';
import type { Gate } from '../gates/index.ts';

const META = 'io.modelcontextprotocol/';
const meta = {
  [`${META}protocolVersion`]: '2026-07-28',
  [`${META}clientCapabilities`]: {},
};
const run = (guarded: Era, ...steps: object[]): Promise<Message> => guarded.call('do', { steps });
const die = { do: 'die' };
const starts = (guarded: Era): number => guarded.wire().filter((line) => line === '"start"').length;
/** What reached the server since its last start. */
const since = (guarded: Era): Message[] => {
  const lines = guarded.wire();
  return lines.slice(lines.lastIndexOf('"start"') + 1).map((line) => JSON.parse(line) as Message);
};
const methods = (messages: readonly Message[]): unknown[] => messages.map(({ method }) => method);
const ENDED = {
  code: 503,
  message: 'Bulla: The server ended with exit code 7.',
  data: { code: 'GATEWAY_SERVER_ENDED' },
};

describe('a server that ended', () => {
  test('ends the session, unless it may be started again', async () => {
    const guarded = await startEra('initialize');
    await initialize(guarded);
    expect((await run(guarded, die)).error).toMatchObject(ENDED);
    expect(await guarded.over).toMatchObject({ ended: 'server', error: { code: 'MCP_SERVER_ENDED' } });
  });

  test('is told again what the host told it, and its lists are checked anew', async () => {
    const guarded = await startEra('initialize', { restart: true });
    await initialize(guarded, { roots: {} });
    await guarded.ask('logging/setLevel', { level: 'error' });
    await guarded.ask('resources/subscribe', { uri: 'file:///a' });
    guarded.send({
      jsonrpc: '2.0',
      id: 'w',
      method: 'tools/call',
      params: { name: 'do', arguments: { steps: [{ do: 'wait' }] } },
    });
    await expect.poll(() => guarded.received('tools/call')).toHaveLength(1);
    const [first] = guarded.received('initialize');
    expect((await run(guarded, die)).error).toMatchObject(ENDED);
    expect((await guarded.until(({ id }) => id === 'w')).error).toMatchObject(ENDED);
    expect(starts(guarded)).toBe(1);
    expect((await run(guarded)).result).toBeDefined();
    const again = since(guarded);
    expect(methods(again)).toEqual([
      'initialize',
      'notifications/initialized',
      'logging/setLevel',
      'resources/subscribe',
      'tools/list',
      'tools/call',
    ]);
    expect(again[0]!.params).toEqual(first!.params);
    expect(again[2]!.params).toEqual({ level: 'error' });
    expect(again[3]!.params).toEqual({ uri: 'file:///a' });
    await guarded.end();
    expect((await told(guarded.store)).filter((line) => line.includes('tools/call'))).toEqual([
      'tools/call eras/do pending',
      'tools/call eras/do pending',
      expect.stringMatching(/^tools\/call eras\/do failure GATEWAY_SERVER_ENDED$/),
      expect.stringMatching(/^tools\/call eras\/do failure GATEWAY_SERVER_ENDED$/),
      'tools/call eras/do pending',
      'tools/call eras/do success',
    ]);
  });

  test('of the stateless era is asked again how it describes itself', async () => {
    const guarded = await startEra('stateless', { restart: true });
    const params = (...steps: object[]) => ({ name: 'do', arguments: { steps }, _meta: meta });
    expect((await guarded.ask('tools/call', params(die))).error).toMatchObject(ENDED);
    expect((await guarded.ask('tools/call', params())).result.resultType).toBe('complete');
    expect(methods(since(guarded))).toEqual(['server/discover', 'tools/list', 'tools/call']);
  });

  test('ends what the host of the other era listened to, with a result', async () => {
    const guarded = await startEra('initialize', { restart: true });
    guarded.send({
      jsonrpc: '2.0',
      id: 'l',
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta: meta },
    });
    await guarded.until(({ method }) => method === 'notifications/subscriptions/acknowledged');
    const params = { name: 'do', arguments: { steps: [die] }, _meta: meta };
    expect((await guarded.ask('tools/call', params)).error).toMatchObject(ENDED);
    expect((await guarded.until(({ id }) => id === 'l')).result).toEqual({
      resultType: 'complete',
      _meta: { [`${META}subscriptionId`]: 'l' },
    });
    expect((await guarded.ask('tools/list', { _meta: meta })).result.tools).toHaveLength(1);
    expect(methods(since(guarded))).toEqual(['initialize', 'notifications/initialized', 'tools/list']);
  });

  test('listens again for a host of the initialize era', async () => {
    const guarded = await startEra('stateless', { restart: true });
    await initialize(guarded);
    await guarded.ask('resources/subscribe', { uri: 'file:///a' });
    expect((await run(guarded, die)).error).toMatchObject(ENDED);
    expect((await run(guarded)).result).toBeDefined();
    const listen = since(guarded).find(({ method }) => method === 'subscriptions/listen');
    expect(listen!.params!.notifications).toEqual({
      toolsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['file:///a'],
    });
    const step = { do: 'changed', method: 'notifications/resources/updated', params: { uri: 'file:///a' } };
    await run(guarded, step);
    await guarded.until(({ method }) => method === 'notifications/resources/updated');
  });

  test('may know another era than before', async () => {
    const guarded = await startEra('changes', { restart: true });
    await initialize(guarded);
    expect((await run(guarded, die)).error).toMatchObject(ENDED);
    expect((await run(guarded)).result.resultType).toBe('complete');
    expect(methods(since(guarded)).slice(0, 2)).toEqual(['initialize', 'server/discover']);
  });

  test('withdraws what it asked of the host', async () => {
    const guarded = await startEra('initialize', { restart: true });
    await initialize(guarded, { roots: {} });
    const call = run(
      guarded,
      { do: 'say', line: '{"jsonrpc":"2.0","id":"q","method":"roots/list"}' },
      { do: 'wait' },
    );
    const asked = await guarded.until(({ method }) => method === 'roots/list');
    void run(guarded, die);
    expect((await call).error).toMatchObject(ENDED);
    const cancelled = await guarded.until(({ method }) => method === 'notifications/cancelled');
    expect(cancelled.params).toEqual({ requestId: asked.id });
    guarded.send({ jsonrpc: '2.0', id: asked.id, result: { roots: [] } });
    expect((await run(guarded)).result).toBeDefined();
    expect(since(guarded).filter(({ id }) => id === 'q')).toEqual([]);
  });
});

test.each(['initialize', 'stateless'] as const)(
  'a server (%s) that changed while it was away is found out before a call reaches it',
  async (era) => {
    const guarded = await startEra(era, { restart: true, behaviour: 'poisons-itself' });
    await initialize(guarded);
    expect((await run(guarded)).result).toBeDefined();
    expect((await run(guarded, die)).error).toMatchObject(ENDED);
    expect((await run(guarded)).error).toMatchObject({ data: { code: 'GATEWAY_CHANGED' } });
    expect(since(guarded).filter(({ method }) => method === 'tools/call')).toEqual([]);
    await guarded.end();
    const asked = era === 'initialize' ? 'initialize' : 'server/discover';
    expect(await told(guarded.store)).toContain(`${asked} eras blocked GATEWAY_SELF_CHANGED`);
  },
);

test('a call that was decided before the server ended is decided again', async () => {
  let kills = 0;
  const killing: Gate = {
    name: 'policy',
    rule: () => ({ pass: {} }),
    // Comes after the lists were looked at for the last time.
    async again({ frame }) {
      if (frame.params?.has('_meta') && kills++ === 0) await run(guarded, die);
    },
  };
  const guarded = await startEra('initialize', {
    restart: true,
    behaviour: 'poisons-itself',
    gates: [killing],
  });
  await initialize(guarded);
  const answer = await guarded.ask('tools/call', { name: 'do', arguments: {}, _meta: { last: true } });
  expect(kills).toBe(1);
  expect(answer.error).toMatchObject({ data: { code: 'GATEWAY_CHANGED' } });
  expect(since(guarded).filter(({ method }) => method === 'tools/call')).toEqual([]);
});

test('a session that an HTTP server has lost counts as its end', async () => {
  let [session, lost] = [0, false];
  const tools = [{ name: 'echo', description: 'Gives back a text.', inputSchema: { type: 'object' } }];
  const methodsSeen: string[] = [];
  const url = await serveHttp(async (incoming, outgoing) => {
    if (incoming.method !== 'POST') return void outgoing.writeHead(405).end();
    const { id, method } = JSON.parse(Buffer.from(await readAll(incoming)).toString());
    methodsSeen.push(method);
    if (lost && method !== 'initialize') return void outgoing.writeHead(404).end();
    if (id === undefined) return void outgoing.writeHead(202).end();
    const headers = {
      'content-type': 'application/json',
      ...(method === 'initialize' && { 'mcp-session-id': `s${++session}` }),
    };
    if (method === 'initialize') lost = false;
    const capabilities = { tools: {} };
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'surface', version: '1.0.0' } }
        : method === 'tools/list'
          ? { tools }
          : { content: [] };
    outgoing.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const file = join(temporaryFolder(), 'surface.json');
  writeFileSync(file, JSON.stringify({ tools, capabilities: { tools: {} } }));
  const lock = await lockOf(script('surface.mjs', file));
  const guarded = await startGuard({ server: { kind: 'http', url: url.href }, lock, restart: true });
  await initialize(guarded);
  expect((await guarded.call('echo')).result).toEqual({ content: [] });
  lost = true;
  expect((await guarded.call('echo')).error).toMatchObject({
    message: 'Bulla: The server has ended the session.',
  });
  methodsSeen.length = 0;
  expect((await guarded.call('echo')).result).toEqual({ content: [] });
  expect(methodsSeen).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call']);
  expect(session).toBe(2);
});

test('a server that ends again and again is given up', { timeout: 60_000 }, async () => {
  const guarded = await startEra('initialize', { restart: true });
  await initialize(guarded);
  for (let i = 0; i < 5; i++) expect((await run(guarded, die)).error).toMatchObject(ENDED);
  expect(await guarded.over).toMatchObject({ ended: 'server', error: { code: 'MCP_SERVER_ENDED' } });
  expect(starts(guarded)).toBe(5);
});
