// A host of a few lines: starts the server that a configuration names, calls one of its tools, prints what it says.
//   node call.mjs CONFIGURATION TOOL ARGUMENTS
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [file, name, args] = process.argv.slice(2);
const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'));
const [{ command, args: words, env }] = Object.values(mcpServers);
const client = new Client({ name: 'example-host', version: '1.0.0' });
// As hosts do: with few variables of its own environment, and those of the configuration.
const own = { PATH: process.env.PATH, HOME: process.env.HOME };
await client.connect(new StdioClientTransport({ command, args: words, env: { ...own, ...env } }));
try {
  const { content } = await client.callTool({ name, arguments: JSON.parse(args) });
  console.log(content[0].text);
} catch (error) {
  console.log(`${error.message} [${error.data?.code}]`);
} finally {
  await client.close();
}
