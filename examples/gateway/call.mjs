// An agent of a few lines: calls a tool of the gateway, and prints what it says.
//   node call.mjs TOOL ARGUMENTS
// Exits with 1 when the call is denied or fails.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [name, args] = process.argv.slice(2);
const client = new Client({ name: 'desk', version: '1.0.0' });
const requestInit = { headers: { authorization: `Bearer ${process.env.DESK_TOKEN}` } };
try {
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://127.0.0.1:8484/mcp'), { requestInit }),
  );
  const { content, isError } = await client.callTool({ name, arguments: JSON.parse(args) });
  console.log(content[0].text);
  if (isError) process.exitCode = 1;
} catch (error) {
  console.log(error.message);
  process.exitCode = 1;
} finally {
  await client.close();
}
