import { narrowed } from '@bulla/core/lock';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { lockOf, openTestStore, records } from '../../test/guard.ts';
import { startListener } from '../../test/listen.ts';
import { packaged, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import type { StdioTarget } from '../mcp/index.ts';
import { type GuardedServer, serversOf } from './servers.ts';

// The real thing on both sides: a client of the SDK over HTTP, and servers as processes of their own.

async function serve(server: StdioTarget) {
  const store = await openTestStore(temporaryFolder());
  const lock = await lockOf(server);
  const log: string[] = [];
  const full = (more: Partial<GuardedServer> = {}): GuardedServer[] => [
    {
      ...{ key: 'one', prefix: 'one', server, lock, store, allowOtherServer: true, graceMs: 200 },
      log: (line) => log.push(line),
      ...more,
    },
  ];
  const all = serversOf(full());
  const listener = await startListener(
    { server, lock, store },
    { open: ({ id }, host, sessionId) => all.open(id, host, sessionId) },
  );
  onTestFinished(async () => {
    await listener.close(AbortSignal.abort());
    await store.close();
  });
  return {
    lock,
    store,
    log,
    url: listener.url,
    replace: (more: Partial<GuardedServer>) => all.replacement(full(more))(),
  };
}

async function connect(url: string, mode: 'legacy' | 'stateless') {
  const negotiation = mode === 'legacy' ? ({ mode: 'legacy' } as const) : { mode: { pin: '2026-07-28' } };
  const client = new Client({ name: 'h', version: '1' }, { versionNegotiation: negotiation });
  const changed = Promise.withResolvers<void>();
  client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve());
  const requestInit = { headers: { authorization: 'Bearer one' } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { client, changed: changed.promise, names };
}

test('a client of the SDK hears of another lock, and goes on with another process of the server', async () => {
  const everything = packaged('server-everything');
  const { lock, store, url, replace } = await serve(everything);
  const { client, changed, names } = await connect(url, 'legacy');
  expect(await names()).toContain('get-sum');
  replace({ lock: narrowed(lock, ['echo']) });
  await changed;
  expect(await names()).toEqual(['echo']);
  await expect(client.callTool({ name: 'get-sum', arguments: { a: 1, b: 2 } })).rejects.toThrow(
    'is left out here',
  );
  // Started with another argument, so that it is another process.
  replace({ server: { ...everything, args: [...everything.args, 'stdio'] } });
  expect(await client.callTool({ name: 'get-sum', arguments: { a: 1, b: 2 } })).toMatchObject({
    content: [{ type: 'text', text: 'The sum of 1 and 2 is 3.' }],
  });
  const sessions = (await records(store)).filter(({ trigger }) => trigger.request.startsWith('guard '));
  expect(sessions.map(({ outcome }) => outcome.status)).toEqual(['pending', 'success', 'pending']);
});

test('requests of the stateless era find the new rules and the new server', async () => {
  const modern = script('modern.ts');
  const { lock, url, replace } = await serve(modern);
  const { client, names } = await connect(url, 'stateless');
  expect(await names()).toEqual(['add', 'show', 'lost']);
  replace({ lock: narrowed(lock, ['add']) });
  expect(await names()).toEqual(['add']);
  replace({ lock: narrowed(lock, ['add']), server: { ...modern, args: [...modern.args, 'again'] } });
  expect(await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject({
    structuredContent: { sum: 3 },
  });
});
