// An ordinary server of the initialize era whose surface is what a JSON file says: `node surface.mjs FILE`. The file is
// read anew for each question. A list that is given as a string is sent as it is, digit for digit.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [file] = process.argv.slice(2);
const LISTS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

function answer(method, params) {
  const surface = JSON.parse(readFileSync(file, 'utf8'));
  const { serverInfo = { name: 'surface', version: '1.0.0' }, instructions, contents = {} } = surface;
  const capabilities = surface.capabilities ?? { tools: {}, prompts: {}, resources: {} };
  if (method === 'initialize')
    return JSON.stringify({ protocolVersion: '2025-11-25', capabilities, serverInfo, instructions });
  if (method === 'resources/read' && contents[params.uri] !== undefined)
    return JSON.stringify({ contents: [{ uri: params.uri, text: contents[params.uri] }] });
  const list = LISTS[method];
  if (list === undefined) return null;
  const items = surface[list] ?? [];
  return `{"${list}":${typeof items === 'string' ? items : JSON.stringify(items)}}`;
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = answer(method, params);
  const error = '"error":{"code":-32601,"message":"Method not found"}';
  process.stdout.write(
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${result === null ? error : `"result":${result}`}}\n`,
  );
});
