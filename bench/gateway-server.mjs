// A server with one tool, whose result is one text block of as many bytes as it is asked for.
import { createInterface } from 'node:readline';

const TOOL = {
  name: 'fill',
  description: 'Gives a text of this many bytes.',
  inputSchema: { type: 'object', properties: { bytes: { type: 'integer' } }, required: ['bytes'] },
};
const texts = new Map();

/** The text is made once, so that what is measured is how it is passed on. */
function textOf(bytes) {
  if (!texts.has(bytes)) texts.set(bytes, 'The quick brown fox. '.repeat(bytes / 21 + 1).slice(0, bytes));
  return texts.get(bytes);
}

function answer({ method, params }) {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fill', version: '1' } };
  }
  if (method === 'tools/list') return { tools: [TOOL] };
  if (method === 'tools/call') return { content: [{ type: 'text', text: textOf(params.arguments.bytes) }] };
  return {};
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answer(message) })}\n`);
}
