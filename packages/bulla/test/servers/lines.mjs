// A side of a conversation that reads lines as Node's readline does: `node lines.mjs server LOG` answers what it is
// asked; `node lines.mjs reader` reads to the end. Each line that it saw is told in hexadecimal, a line each: in the
// file LOG, or on standard output. lines.py and lines.go do the same as their languages do.
import { appendFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [role, log] = process.argv.slice(2);
const inputSchema = { type: 'object' };
const results = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'lines', version: '1' },
  },
  'tools/list': { tools: [{ name: 'say', inputSchema }] },
};

function answer(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return; // as the SDKs do
  }
  const { id, method, params } = message;
  if (id === undefined || method === undefined) return;
  const raw = params?.arguments?.say;
  const result = JSON.stringify(results[method] ?? {});
  writeSync(1, `${raw?.replaceAll('#', String(id)) ?? `{"jsonrpc":"2.0","id":${id},"result":${result}}`}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const seen = `${Buffer.from(line).toString('hex')}\n`;
  if (role === 'reader') writeSync(1, seen);
  else {
    appendFileSync(log, seen);
    answer(line);
  }
}
