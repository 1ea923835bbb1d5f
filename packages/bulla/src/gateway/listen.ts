import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { BullaError } from '@bulla/core/error';
import { DEFAULT_MAX_FRAME_BYTES, type RequestFrame } from '../mcp/index.ts';
import type { Recorder } from '../record/index.ts';
import type { Counts, Served } from './link.ts';
import type { Host } from './peer/channel.ts';
import { authority, checkDoor, Door, type DoorOptions, isLoopbackAddress } from './peer/http-door.ts';
import { Endpoint, type Refused } from './peer/http-endpoint.ts';
import type { ExpectedHeaders } from './peer/http-era.ts';
import { Repeated } from './peer/http-log.ts';
import { type HttpTimes, Refusal, timesOf } from './peer/http-response.ts';
import { Sessions } from './peer/http-sessions.ts';
import { recordRefusals } from './refusals.ts';

/** Not imported as a module: Node would load all of its HTTP client with it, at the start of every command. */
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

export interface ListenOptions extends DoorOptions, HttpTimes {
  /** Port 0 lets the system choose. */
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Opens what a host talks to: once for each session of the initialize era, and once for all requests of an agent in
   * the stateless one, whose hosts share it. `sessionId` is for records.
   */
  open(agent: { readonly id: string }, host: Host, sessionId: string, isShared: boolean): Promise<Served>;
  /** What the `Mcp-Param-*` headers of a call in the stateless era must say. Default: they are ignored. */
  readonly expectedHeaders?: ((frame: RequestFrame, agentId: string) => ExpectedHeaders) | undefined;
  /** The longest message. Default 10 MiB. */
  readonly maxBytes?: number | undefined;
  /** Limit on what is open at a time. Default 256. */
  readonly maxSessions?: number | undefined;
  /** What nobody has used for so long is closed. Default 600,000 ms. */
  readonly idleMs?: number | undefined;
  /** How long a request may take to come in. Default 60,000 ms. */
  readonly requestMs?: number | undefined;
  /** Closes, as `close` does. */
  readonly signal?: AbortSignal | undefined;
  /** Takes lines for the operator. Default: they are dropped. */
  readonly log?: ((line: string) => void) | undefined;
  /** Where it is recorded what was refused before a session had it. Default: nowhere. */
  readonly recorder?: Recorder | undefined;
  /** A request was refused before a session had it. */
  readonly onRefused?: ((refused: Refused) => void) | undefined;
}

/** Who may come in, and from where. */
type Admitted = Pick<DoorOptions, 'agents' | 'origins' | 'hosts'>;

export interface Listening {
  /** The address of the endpoint. */
  readonly url: string;
  /**
   * Other agents, origins and names hold from now on. The sessions of agents that are gone, or have another token, end at
   * once. Throws as `check`; then nothing is changed.
   */
  admit(options: Admitted): void;
  /** Throws `GATEWAY_LISTEN_OPTION` for what cannot be admitted. */
  check(options: Admitted): void;
  /**
   * Takes no further request, waits for answers that are on their way unless `hurry` is aborted, ends everything, and
   * tells what passed in all sessions.
   */
  close(hurry?: AbortSignal): Promise<Counts>;
}

const MAX_CONNECTIONS = 2048;
const MAX_HEADER_BYTES = 16 * 1024;
/** How long hosts may take to read what is sent to them at the end. */
const GOODBYE_MS = 2000;

/**
 * Serves hosts over Streamable HTTP, of both eras. Rejects with `GATEWAY_LISTEN_OPTION`, and with `GATEWAY_LISTEN` when
 * the address cannot be had.
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { address, requestMs = 60_000, signal, log = () => {} } = options;
  checkDoor(options, address);
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: requestMs,
    headersTimeout: Math.min(requestMs, 10_000),
    connectionsCheckingInterval: Math.min(requestMs, 5000),
    keepAliveTimeout: 60_000,
    keepAlive: true,
    insecureHTTPParser: false,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const bound = { host: address.host, port: await bind(server, options) };
  const repeated = new Repeated(log);
  const refusals = options.recorder === undefined ? null : recordRefusals(options.recorder, log);
  const onRefused = (refused: Refused): void => {
    refusals?.take(refused);
    options.onRefused?.(refused);
  };
  const sessions = new Sessions({
    times: timesOf(options),
    maxSessions: options.maxSessions ?? 256,
    idleMs: options.idleMs ?? 600_000,
    open: (id, host, sessionId, isShared) => options.open({ id }, host, sessionId, isShared),
    log: (line) => repeated.log(line, line),
  });
  const endpoint = new Endpoint({
    door: new Door(options, bound),
    sessions,
    maxBytes: options.maxBytes ?? DEFAULT_MAX_FRAME_BYTES,
    expectedHeaders: (frame, agentId) => options.expectedHeaders?.(frame, agentId) ?? {},
    refused: onRefused,
    log: (key, line) => repeated.log(key, line),
  });
  // Connections on which nothing was asked yet, which Node does not take for idle.
  const fresh = new Set<Socket>();
  server.on('connection', (socket) => {
    fresh.add(socket);
    socket.on('close', () => fresh.delete(socket));
  });
  const responses = new WeakMap<Socket, ServerResponse>();
  server.on('request', (request, response) => {
    fresh.delete(request.socket);
    responses.set(request.socket, response);
    void endpoint.handle(request, response);
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const refusal = invalidHttp(error);
    const last = responses.get(socket);
    const isAnswering = last?.headersSent && !last.writableFinished;
    if (refusal === null || !socket.writable || isAnswering) return void socket.destroy();
    onRefused({ refusal, agentId: null, isLoopback: isLoopbackAddress(socket.remoteAddress) });
    repeated.log(refusal.code, `refused a request: ${refusal.message} [${refusal.code}]`);
    socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\nConnection: close\r\n\r\n`);
  });

  const end = async (hurry?: AbortSignal): Promise<Counts> => {
    endpoint.isClosing = true;
    const closed = new Promise((resolve) => server.close(resolve));
    await sessions.drain(hurry);
    const late = setTimeout(() => server.closeAllConnections(), GOODBYE_MS);
    const counts = await sessions.close();
    for (const socket of fresh) socket.destroy();
    const sweep = setInterval(() => server.closeIdleConnections(), 20);
    await closed;
    clearInterval(sweep);
    clearTimeout(late);
    repeated.close();
    await refusals?.close();
    return counts;
  };
  let ending: Promise<Counts> | null = null;
  const close: Listening['close'] = (hurry) => {
    ending ??= end(hurry);
    return ending;
  };
  signal?.addEventListener('abort', () => void close(), { once: true });
  if (signal?.aborted) void close();
  let tokens = tokensOf(options.agents);
  return {
    url: `http://${authority(bound)}${options.path ?? '/mcp'}`,
    check: (changed) => checkDoor({ ...options, ...changed }, address),
    admit(changed) {
      const next = { ...options, ...changed };
      checkDoor(next, address);
      const before = tokens;
      tokens = tokensOf(next.agents);
      endpoint.door = new Door(next, bound);
      sessions.endOf((agentId) => before.get(agentId) !== tokens.get(agentId), 'GATEWAY_UNAUTHORIZED');
    },
    close,
  };
}

/** What the parser of HTTP refused, with the status that Node gives it; null where the connection only broke. */
function invalidHttp({ code = '' }: NodeJS.ErrnoException): Refusal | null {
  const of = (status: number, message: string) => new Refusal(status, 'session', 'GATEWAY_HTTP', message);
  if (code === 'HPE_HEADER_OVERFLOW') return of(431, 'The headers of a request are too long.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return of(408, 'A request did not come in time.');
  return code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE'
    ? of(400, 'What came is not valid HTTP.')
    : null;
}

/** The token of each agent, as far as it is known. */
function tokensOf(agents: DoorOptions['agents']): ReadonlyMap<string, string> {
  if ('id' in agents) return new Map([[agents.id, '']]);
  return new Map(agents.map(({ id, tokenHash }) => [id, Buffer.from(tokenHash).toString('hex')]));
}

/** Gives the port. */
async function bind(server: Server, options: ListenOptions): Promise<number> {
  const { host, port } = options.address;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `The gateway cannot listen on ${host}, port ${port} (${cause.code}).`;
      reject(new BullaError('GATEWAY_LISTEN', message, { cause }));
    });
    server.listen({ host, port }, resolve);
  });
  const bound = server.address() as AddressInfo;
  try {
    // A name can lead elsewhere than it says.
    checkDoor(options, { host: bound.address, port: bound.port });
    return bound.port;
  } catch (error) {
    server.close();
    throw error;
  }
}
