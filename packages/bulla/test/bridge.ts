// A gateway that decides nothing: `node bridge.ts URL` carries messages between stdio and Streamable HTTP.
import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const host = new StdioServerTransport();
const server = new StreamableHTTPClientTransport(new URL(process.argv[2]!));
host.onmessage = async (message: JSONRPCMessage) => {
  try {
    await server.send(message);
  } catch (error) {
    process.stderr.write(`${error}\n`);
    if (!('id' in message)) return;
    await host.send({ jsonrpc: '2.0', id: message.id!, error: { code: -32000, message: String(error) } });
  }
};
server.onmessage = (message) => void host.send(message);
host.onclose = () => void server.close();
await server.start();
await host.start();
