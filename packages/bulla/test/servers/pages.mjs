// A server that shows a page from a file: `node pages.mjs FILE`. Where the file holds JSON, it is the whole answer to
// whatever is read or called.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const uri = 'ui://pages/page';
const inputSchema = { type: 'object' };
const methods = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'pages', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'show', inputSchema, _meta: { ui: { resourceUri: uri } } }] }),
  'resources/list': () => ({ resources: [{ uri, name: 'page' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'ui://{+page}', name: 'page' }] }),
  'resources/read': () => answer(),
  'tools/call': () => answer(),
};

function answer() {
  const text = readFileSync(process.argv[2], 'utf8');
  return text.startsWith('{') ? JSON.parse(text) : { contents: [{ uri, text }] };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const body = methods[method] ? { result: methods[method]() } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
});
