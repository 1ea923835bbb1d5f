import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BullaError } from '@bulla/core/error';
import { type Answer, plain, type Witness } from './server.ts';

/** Not imported as a module: Node would load all of its HTTP client with it, at the start of every command. */
const { createServer } = process.getBuiltinModule('node:http');

/** One request that was answered, for the operator's log. */
export interface RequestLine {
  readonly method: string;
  readonly path: string;
  readonly answer: Answer;
}

export interface ServeOptions {
  readonly witness: Witness;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** The path before `/add-checkpoint`; empty, or it begins with a slash and does not end with one. Default empty. */
  readonly prefix?: string;
  /** The largest body of a request. Default 128 KiB: sixteen signatures by ML-DSA-44 and the longest proof are half. */
  readonly maxBodyBytes?: number;
  /** How long a request may take to come in, in milliseconds. Default 15,000. */
  readonly requestMs?: number;
  /** How long requests that are under way may take when the server is closed, in milliseconds. Default 5,000. */
  readonly closeMs?: number;
  readonly onRequest?: (line: RequestLine) => void;
}

interface ServedWitness {
  /** The submission prefix, which is the monitoring prefix too. */
  readonly url: string;
  /** Takes no further request, ends those under way, and resolves when all connections are closed. */
  close(): Promise<void>;
}

/**
 * Serves a witness over HTTP: `POST <prefix>/add-checkpoint`, and `GET <prefix>/<SHA-256 of the origin>/checkpoint`
 * for monitors. All else is answered with 404 or 405, a body that is too large with 413. Rejects with
 * `WITNESS_LISTEN` when the address cannot be had, and `WITNESS_OPTION`.
 */
export async function serveWitness(options: ServeOptions): Promise<ServedWitness> {
  const { prefix = '', requestMs = 15_000, closeMs = 5000 } = options;
  if (!/^(?:\/[A-Za-z0-9._~-]+)*$/.test(prefix)) {
    throw new BullaError(
      'WITNESS_OPTION',
      'A prefix is a path such as /witness, without a slash at its end.',
    );
  }
  let closing = false;
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: Math.min(requestMs, 10_000),
      keepAliveTimeout: 60_000,
      connectionsCheckingInterval: Math.min(requestMs, 5000),
    },
    (request, response) => {
      respond(options, prefix, request).then(
        (reply) => {
          send(response, reply, closing);
          options.onRequest?.({ method: request.method!, path: request.url!, answer: reply });
        },
        () => request.destroy(), // the sender went away
      );
    },
  );
  server.maxConnections = 500;
  await listen(server, options);
  return {
    url: `http://${authority(server.address() as AddressInfo)}${prefix}`,
    close: () =>
      new Promise((resolve) => {
        closing = true;
        const late = setTimeout(() => server.closeAllConnections(), closeMs);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
      }),
  };
}

function listen(server: Server, { host, port }: ServeOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `The witness cannot listen on ${host}, port ${port} (${cause.code}).`;
      reject(new BullaError('WITNESS_LISTEN', message, { cause }));
    });
    server.listen({ host, port }, resolve);
  });
}

function authority({ address, family, port }: AddressInfo): string {
  return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** An answer with what HTTP adds to it. */
interface Reply extends Answer {
  readonly allow?: string;
}

async function respond(
  { witness, maxBodyBytes = 128 * 1024 }: ServeOptions,
  prefix: string,
  request: IncomingMessage,
): Promise<Reply> {
  const { method, url } = request;
  const hash =
    url!.startsWith(`${prefix}/`) && /^\/([0-9a-f]{64})\/checkpoint$/.exec(url!.slice(prefix.length))?.[1];
  if (hash) {
    if (method === 'GET' || method === 'HEAD') return witness.checkpoint(hash);
    return { ...plain(405, 'This is to be read with GET.'), allow: 'GET, HEAD' };
  }
  if (url !== `${prefix}/add-checkpoint`) return plain(404, 'There is nothing here.');
  if (method !== 'POST') return { ...plain(405, 'Checkpoints come by POST.'), allow: 'POST' };
  if (request.headers['content-encoding'] !== undefined) return plain(415, 'A request is not compressed.');
  const body = await readBody(request, maxBodyBytes);
  if (body === null) return plain(413, `A request has at most ${maxBodyBytes} bytes.`);
  return witness.addCheckpoint(body);
}

/** Limit on what is read and discarded of a body that is too large, so that its sender gets to see the answer. */
const MAX_DISCARDED = 1024 * 1024;

/** The body, or null if it is too large. Rejects when the sender goes away or is too slow. */
async function readBody(request: IncomingMessage, limit: number): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit + MAX_DISCARDED) return null;
    if (size <= limit) chunks.push(chunk);
  }
  return size > limit ? null : Buffer.concat(chunks);
}

function send(response: ServerResponse, reply: Reply, closing: boolean): void {
  const { status, contentType, body, allow } = reply;
  const { req: request } = response;
  // What is left of a body that is far too large must not be taken for the next request.
  const cut = status === 413 && !request.complete;
  if (cut) response.on('finish', () => request.destroy());
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    ...(allow !== undefined && { allow }),
    ...((cut || closing) && { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}
