import { randomUUID } from 'node:crypto';
import { readLock, writeLock } from '@bulla/core/lock';
import { Server as Server1 } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { initialize, lockOf, type Message, startGuard } from '../../../test/guard.ts';
import { serveHttp, webListener } from '../../../test/http.ts';
import { script } from '../../../test/mcp.ts';
import { createServer } from '../../../test/servers/modern.ts';
import { scan } from '../../mcp/index.ts';

// Servers of the SDKs over HTTP, each of which knows only one era.

test('a host of the initialize era uses an HTTP server that refuses it with a status', async () => {
  const handler = createMcpHandler(createServer, { legacy: 'reject' });
  const statuses: string[] = [];
  const url = await serveHttp(
    webListener(async (request) => {
      const { method } = await request.clone().json();
      const response = await handler.fetch(request);
      statuses.push(`${method} ${response.status}`);
      return response;
    }),
  );
  const lock = await lockOf(script('modern.ts', 'reject'));
  const guarded = await startGuard({ server: { kind: 'http', url: url.href }, lock });
  expect((await initialize(guarded)).result).toMatchObject({
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'modern', version: '1.0.0' },
    instructions: 'Use the tools with care.',
  });
  expect((await guarded.call('add', { a: 1, b: 2 })).result.structuredContent).toEqual({ sum: 3 });
  expect((await guarded.ask('resources/read', { uri: 'note://7' })).result.contents).toMatchObject([
    { uri: 'note://7' },
  ]);
  expect(statuses.slice(0, 2)).toEqual(['initialize 400', 'server/discover 200']);
  expect(statuses).toContain('subscriptions/listen 200');
});

test('a host of the stateless era uses an HTTP server with sessions, which asks during a call', async () => {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const server = new Server1({ name: 'surface', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [{ name: 'ask', description: 'Asks.', inputSchema: { type: 'object' as const } }],
    }));
    server.setRequestHandler(CallToolRequestSchema, async (_, extra) => {
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
      const answer = await server.elicitInput(
        { message: 'Who?', requestedSchema },
        { relatedRequestId: extra.requestId },
      );
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
    });
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    await server.connect(transport as Parameters<typeof server.connect>[0]);
    return transport;
  };
  const url = await serveHttp(async (incoming, outgoing) => {
    const session = incoming.headers['mcp-session-id'];
    const known = typeof session === 'string' ? transports.get(session) : undefined;
    await (known ?? (await open())).handleRequest(incoming, outgoing);
  });
  const server = { kind: 'http' as const, url: url.href };
  const surface = await scan(server);
  const { text } = writeLock(surface, {
    generator: 'bulla',
    updatedAt: new Date(0),
    identity: { transport: 'http', url: url.href },
  });
  const guarded = await startGuard({ server, lock: readLock(Buffer.from(text)), features: ['elicitation'] });
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'h', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  const params = { name: 'ask', arguments: {} };
  const [one, other] = await Promise.all([1, 2].map(() => guarded.ask('tools/call', { ...params, _meta })));
  // Each request of the server came on the stream of its call.
  const finish = async ({ result }: Message, name: string): Promise<unknown> => {
    const [key] = Object.keys(result.inputRequests);
    const inputResponses = { [key!]: { action: 'accept', content: { name } } };
    const { requestState } = result;
    const done = await guarded.ask('tools/call', { ...params, requestState, inputResponses, _meta });
    return JSON.parse(done.result.content[0].text);
  };
  expect(await finish(other!, 'Bob')).toEqual({ action: 'accept', content: { name: 'Bob' } });
  expect(await finish(one!, 'Ada')).toEqual({ action: 'accept', content: { name: 'Ada' } });
});
