// A server of the stateless era, written with the SDK: `node modern.ts [reject]` on stdio, and `createServer` for tests.
import { fromJsonSchema, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

export const PAGE: string = '<!doctype html><p>Hello</p>';

export function createServer(): McpServer {
  const server = new McpServer(
    {
      name: 'modern',
      version: '1.0.0',
      icons: [{ src: 'data:image/png;base64,AAAA', mimeType: 'image/png' }],
    },
    { instructions: 'Use the tools with care.' },
  );
  const object = (properties: Record<string, { type: string }>) =>
    fromJsonSchema<Record<string, number>>({ type: 'object', properties, additionalProperties: false });
  server.registerTool(
    'add',
    {
      title: 'Add',
      description: 'Adds two numbers.',
      inputSchema: object({ a: { type: 'number' }, b: { type: 'number' } }),
      outputSchema: object({ sum: { type: 'number' } }),
      annotations: { readOnlyHint: true },
      icons: [{ src: 'https://example.invalid/add.png' }, { src: 'javascript:alert(1)' }],
    },
    ({ a = 0, b = 0 }) => ({ content: [], structuredContent: { sum: a + b } }),
  );
  server.registerTool(
    'show',
    {
      description: 'Shows a page.',
      inputSchema: object({}),
      _meta: { ui: { resourceUri: 'ui://modern/page.html' } },
    },
    () => ({ content: [] }),
  );
  server.registerTool(
    'lost',
    {
      description: 'Points nowhere.',
      inputSchema: object({}),
      _meta: { ui: { resourceUri: 'ui://modern/none' } },
    },
    () => ({ content: [] }),
  );
  server.registerPrompt(
    'greet',
    { description: 'Greets.', argsSchema: object({ name: { type: 'string' } }) },
    () => ({
      messages: [],
    }),
  );
  server.registerResource(
    'page',
    'ui://modern/page.html',
    { mimeType: 'text/html;profile=mcp-app' },
    (uri) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'text/html;profile=mcp-app',
          text: PAGE,
          _meta: { ui: { csp: { connectDomains: ['https://example.invalid'] } } },
        },
      ],
    }),
  );
  server.registerResource('note', new ResourceTemplate('note://{id}', { list: undefined }), {}, (uri) => ({
    contents: [{ uri: uri.href, text: '' }],
  }));
  return server;
}

if (process.argv[1] === import.meta.filename) {
  serveStdio(createServer, { legacy: process.argv[2] === 'reject' ? 'reject' : 'serve' });
}
