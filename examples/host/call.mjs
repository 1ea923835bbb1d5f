// A host of a few lines: starts the server that a configuration names, calls one of its tools, prints what it says.
//   node call.mjs CONFIGURATION TOOL ARGUMENTS
// Exits with 1 when the server does not start, or the call is denied or fails.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [file, name, args] = process.argv.slice(2);
const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'));
const [{ command, args: words, env }] = Object.values(mcpServers);
const client = new Client({ name: 'example-host', version: '1.0.0' });
// As hosts do: with few variables of its own environment, and those of the configuration.
const own = { PATH: process.env.PATH, HOME: process.env.HOME };
try {
  await client.connect(new StdioClientTransport({ command, args: words, env: { ...own, ...env } }));
  const { content, isError } = await client.callTool({ name, arguments: JSON.parse(args) });
  console.log(content[0].text);
  if (isError) process.exitCode = 1;
} catch (error) {
  const code = error.data?.code ?? error.code;
  console.log(code === undefined ? error.message : `${error.message} [${code}]`);
  process.exitCode = 1;
} finally {
  await client.close();
}
