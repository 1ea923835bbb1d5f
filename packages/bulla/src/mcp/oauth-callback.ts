import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BullaError } from '@bulla/core/error';
import { quote } from './transport.ts';

/** Not imported as a module: Node would load all of its HTTP client with it, at the start of every command. */
const { createServer } = process.getBuiltinModule('node:http');

export function signInFailed(why: string, cause?: unknown): BullaError {
  return new BullaError('MCP_OAUTH_FAILED', `The sign-in did not succeed: ${why}.`, { cause });
}

/** What a browser brings back. */
export interface Answer {
  readonly code: string;
  readonly iss: string | undefined;
}

/** Waits on the loopback address for the browser to come back (RFC 8252 §7.3), with a state that nobody can guess. */
export async function awaitCallback(port: number | undefined) {
  const state = randomBytes(32).toString('base64url');
  const came = Promise.withResolvers<Answer>();
  came.promise.catch(() => {}); // the caller that awaits the answer gets the error
  const server = createServer((request, response) => {
    // Any process on this machine may ask, for anything.
    const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
    const query = url?.searchParams;
    if (request.method !== 'GET' || url?.pathname !== '/callback' || query?.get('state') !== state) {
      response.writeHead(404).end();
      return;
    }
    response
      .writeHead(200, { 'content-type': 'text/plain', connection: 'close' })
      .end('You can close this page.\n');
    const code = query.get('code');
    if (code !== null) came.resolve({ code, iss: query.get('iss') ?? undefined });
    else came.reject(signInFailed(quote(query.get('error') ?? 'no code came back')));
  });
  await listen(server, port ?? 0).catch(() => listen(server, 0)); // another program may have the port
  return {
    port: (server.address() as AddressInfo).port,
    state,
    async answer(waitMs: number): Promise<Answer> {
      const timer = setTimeout(
        () => came.reject(signInFailed(`nobody signed in within ${waitMs} ms`)),
        waitMs,
      );
      try {
        return await came.promise;
      } finally {
        clearTimeout(timer);
      }
    },
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
