// A server that passes the server scenarios of @modelcontextprotocol/conformance in both eras.
//
//   node conformance.ts [--era both|initialize|stateless] [--port N]     Streamable HTTP on 127.0.0.1
//   node conformance.ts --stdio [--era both|initialize|stateless]
//
// Over HTTP it prints {"url":"http://127.0.0.1:PORT/mcp"} as its one line when it listens. `--era` answers that era only.
import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import {
  createMcpHandler,
  type EventStore,
  hostHeaderValidationResponse,
  isLegacyRequest,
  type JSONRPCMessage,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpHttpHandler,
  originValidationResponse,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { webListener } from '../web-listener.ts';
import { createServer } from './conformance-surface.ts';

type Era = 'both' | 'initialize' | 'stateless';
type Handler = (request: Request) => Promise<Response>;

/** The events of one session, so that a client can go on where its stream ended (Streamable HTTP, resumability). */
function eventStore(): EventStore {
  const events: { stream: string; message: JSONRPCMessage }[] = [];
  const at = (id: string) => {
    const event = events[Number(id)];
    if (event === undefined) throw new Error('There is no such event.');
    return event;
  };
  return {
    storeEvent: async (stream, message) => String(events.push({ stream, message }) - 1),
    getStreamIdForEventId: async (id) => at(id).stream,
    async replayEventsAfter(id, { send }) {
      const { stream } = at(id);
      for (const [index, event] of events.entries())
        if (index > Number(id) && event.stream === stream) await send(String(index), event.message);
      return stream;
    },
  };
}

/** Sessions that begin with `initialize` and end with DELETE. */
function sessions(): Handler {
  const open = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const known = open.get(id);
      // "The server MUST respond to requests containing that session ID with HTTP 404 Not Found."
      return known ? known.handleRequest(request) : new Response(null, { status: 404 });
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void open.set(session, transport),
      onsessionclosed: (session) => void open.delete(session),
      eventStore: eventStore(),
      retryInterval: 100,
    });
    await createServer().connect(transport);
    return transport.handleRequest(request);
  };
}

function handlerOf(era: Era): Handler {
  const initialize = sessions();
  if (era === 'initialize') return initialize;
  const stateless: McpHttpHandler = createMcpHandler(() => createServer(stateless.notify), {
    legacy: 'reject',
  });
  if (era === 'stateless') return stateless.fetch;
  return async (request) =>
    (await isLegacyRequest(request)) ? initialize(request) : stateless.fetch(request);
}

async function serveStandardInput(era: Era): Promise<void> {
  if (era === 'initialize') await createServer().connect(new StdioServerTransport());
  else serveStdio(() => createServer(), { legacy: era === 'both' ? 'serve' : 'reject' });
}

function serveHttp(era: Era, port: number): void {
  const handle = handlerOf(era);
  const listener = webListener(async (request) => {
    const rejected =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (rejected) return rejected;
    return new URL(request.url).pathname === '/mcp' ? handle(request) : new Response(null, { status: 404 });
  });
  const server = createHttpServer(listener).listen(port, '127.0.0.1', () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    process.stdout.write(`${JSON.stringify({ url })}\n`);
  });
}

const { values } = parseArgs({
  options: {
    era: { type: 'string', default: 'both' },
    port: { type: 'string', default: '0' },
    stdio: { type: 'boolean', default: false },
  },
});
const { era } = values;
if (era !== 'both' && era !== 'initialize' && era !== 'stateless') throw new Error('There is no such era.');
if (!/^\d{1,5}$/.test(values.port)) throw new Error('A port is a number.');
if (values.stdio) await serveStandardInput(era);
else serveHttp(era, Number(values.port));
