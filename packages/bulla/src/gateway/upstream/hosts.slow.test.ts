import { Client as Client2, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { bundledGuard, guardTarget, preparePlace } from '../../../test/guard-process.ts';
import { packaged, script } from '../../../test/mcp.ts';
import type { StdioTarget } from '../../mcp/index.ts';

// SDK clients of both generations on one side, servers that know only the other era on the other.

const cli = bundledGuard();
const PASS = ['--quiet', '--pass', 'roots', '--pass', 'elicitation', '--pass', 'sampling'];

async function guarded(target: StdioTarget): Promise<{ command: string; args: string[]; stderr: 'ignore' }> {
  const { command, args } = guardTarget(cli(), await preparePlace(target), target, ...PASS);
  return { command, args: [...args], stderr: 'ignore' };
}

async function connect1(target: StdioTarget): Promise<Client1> {
  const capabilities = { elicitation: { form: {}, url: {} }, roots: {} };
  const client = new Client1({ name: 'v1', version: '1' }, { capabilities });
  await client.connect(new Stdio1(await guarded(target)));
  onTestFinished(() => client.close());
  return client;
}

async function connect2(target: StdioTarget, options: ClientOptions = {}): Promise<Client2> {
  const versionNegotiation = { mode: { pin: '2026-07-28' } } as const;
  const client = new Client2({ name: 'v2', version: '1' }, { ...options, versionNegotiation });
  await client.connect(new Stdio2(await guarded(target)));
  onTestFinished(() => client.close());
  return client;
}

test('a client of the first SDK uses a server of the second that knows only 2026-07-28', async () => {
  const client = await connect1(script('modern.ts', 'reject'));
  expect(client.getServerVersion()).toMatchObject({ name: 'modern', version: '1.0.0' });
  expect(client.getInstructions()).toBe('Use the tools with care.');
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add', 'show', 'lost']);
  expect((await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).structuredContent).toEqual({
    sum: 3,
  });
  expect((await client.getPrompt({ name: 'greet', arguments: { name: 'you' } })).messages).toEqual([]);
  expect((await client.readResource({ uri: 'note://7' })).contents).toMatchObject([{ uri: 'note://7' }]);
  expect(await client.ping()).toEqual({});
});

test('a client of the first SDK is asked for input, and told of changes', async () => {
  const client = await connect1(script('eras.mjs', '/dev/null', 'stateless'));
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept',
    content: { said: params.message },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }));
  const updated = new Promise((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
  });
  const requests = [
    {
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
    },
    { method: 'elicitation/create', params: { mode: 'url', message: 'Go.', url: 'https://a.example/' } },
    { method: 'roots/list' },
  ];
  await client.subscribeResource({ uri: 'file:///a' });
  const change = { do: 'changed', method: 'notifications/resources/updated', params: { uri: 'file:///a' } };
  const { content } = await client.callTool({
    name: 'do',
    arguments: { steps: [{ do: 'ask', requests }, change] },
  });
  expect(JSON.parse((content as { text: string }[])[0]!.text)).toEqual([
    {
      kéy0: { action: 'accept', content: { said: 'Who?' } },
      kéy1: { action: 'accept', content: { said: 'Go.' } },
      kéy2: { roots: [] },
    },
    'changed',
  ]);
  expect(await updated).toBe('file:///a');
});

test('a client of the second SDK uses a server that knows only 2025-11-25', async () => {
  const client = await connect2(packaged('server-everything'), {
    capabilities: { elicitation: { form: {} } },
  });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  expect(client.getServerVersion()?.name).toBe('mcp-servers/everything');
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain('trigger-elicitation-request');
  expect((await client.callTool({ name: 'echo', arguments: { message: 'hi' } })).content).toEqual([
    { type: 'text', text: 'Echo: hi' },
  ]);
  const asked = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
  expect(JSON.stringify(asked.content)).toContain('Ada');
  expect((await client.listResources()).resources.length).toBeGreaterThan(0);
  expect((await client.getPrompt({ name: 'simple-prompt' })).messages).toHaveLength(1);
});
