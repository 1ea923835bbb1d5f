// A bare client of the SDK: starts the server that its arguments name, connects, lists all that it offers, and ends.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'bare', version: '1' });
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
const offered = client.getServerCapabilities() ?? {};
const { tools } = await client.listTools();
if (offered.prompts) await client.listPrompts();
if (offered.resources) await Promise.all([client.listResources(), client.listResourceTemplates()]);
console.log(tools.length);
await client.close();
