import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BullaError } from '@bulla/core/error';
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { Authorizer } from './call.ts';
import { quote } from './transport.ts';

/** Not imported as a module: Node would load all of its HTTP client with it, at the start of every command. */
const { createServer } = process.getBuiltinModule('node:http');

/** What may be kept until the next time. It holds secrets. */
export interface OAuthMemory {
  readonly client?: StoredOAuthClientInformation | undefined;
  readonly tokens?: StoredOAuthTokens | undefined;
  /** The port of the address that the client was registered with. */
  readonly port?: number | undefined;
}

export interface OAuthOptions {
  /** Shows a person the page where to sign in. */
  openBrowser(url: URL): void | Promise<void>;
  readonly memory?: { load(): OAuthMemory; save(memory: OAuthMemory): void } | undefined;
  /** Of a client that was registered beforehand; else the client registers itself. */
  readonly client?: StoredOAuthClientInformation | undefined;
  /** How long a person may take. Default five minutes. */
  readonly signInMs?: number | undefined;
}

// The protocol of authorization (discovery, registration, PKCE, exchange, refresh) is the SDK's; it is loaded when a
// server asks for credentials. Ours is only where the person comes back to.

/**
 * Signs a person in when the server asks for it, by a page in a browser that leads back to this machine. `renew`
 * rejects with `MCP_OAUTH_FAILED`.
 */
export function oauth(serverUrl: URL, options: OAuthOptions): Authorizer {
  let memory: OAuthMemory = options.memory?.load() ?? {};
  const remember = (more: OAuthMemory): void => {
    memory = { ...memory, ...more };
    options.memory?.save(memory);
  };
  return {
    header: () => (memory.tokens === undefined ? null : `Bearer ${memory.tokens.access_token}`),
    renew: async (status, challenge) => {
      const callback = await awaitCallback(memory.port);
      if (callback.port !== memory.port) remember({ port: callback.port, client: undefined });
      const redirectUrl = `http://127.0.0.1:${callback.port}/callback`;
      let verifier = '';
      // Binds the code that comes back to the authorization server that was asked for it.
      let discovery: OAuthDiscoveryState | undefined;
      const provider: OAuthClientProvider = {
        redirectUrl,
        clientMetadata: {
          client_name: 'Bulla',
          redirect_uris: [redirectUrl],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
        },
        state: () => callback.state,
        clientInformation: () => options.client ?? memory.client,
        ...(options.client === undefined && { saveClientInformation: (client) => remember({ client }) }),
        tokens: () => memory.tokens,
        saveTokens: (tokens) => remember({ tokens }),
        redirectToAuthorization: (url) => options.openBrowser(url),
        saveCodeVerifier: (value) => {
          verifier = value;
        },
        codeVerifier: () => verifier,
        saveDiscoveryState: (state) => {
          discovery = state;
        },
        discoveryState: () => discovery,
        invalidateCredentials: (scope) => {
          if (scope === 'all' || scope === 'client') remember({ client: undefined });
          if (scope === 'all' || scope === 'tokens') remember({ tokens: undefined });
        },
      };
      try {
        return await authorize(serverUrl, provider, status, challenge, () =>
          callback.answer(options.signInMs ?? 300_000),
        );
      } finally {
        callback.close();
      }
    },
  };
}

/** Credentials that no person is needed for, such as the SDK's `ClientCredentialsProvider`. */
export function oauthWith(serverUrl: URL, provider: OAuthClientProvider): Authorizer {
  return {
    async header() {
      const tokens = await provider.tokens();
      return tokens === undefined ? null : `Bearer ${tokens.access_token}`;
    },
    renew: (status, challenge) => authorize(serverUrl, provider, status, challenge, null),
  };
}

interface Answer {
  readonly code: string;
  readonly iss: string | undefined;
}

async function authorize(
  serverUrl: URL,
  provider: OAuthClientProvider,
  status: number,
  challenge: string | null,
  answer: (() => Promise<Answer>) | null,
): Promise<boolean> {
  const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
  const headers: Record<string, string> = challenge === null ? {} : { 'www-authenticate': challenge };
  const asked = extractWWWAuthenticateParams(new Response(null, { status, headers }));
  const widen = status === 403;
  if (widen && asked.error !== 'insufficient_scope') return false;
  const flow = {
    serverUrl,
    forceReauthorization: widen,
    ...(asked.scope !== undefined && { scope: asked.scope }),
    ...(asked.resourceMetadataUrl !== undefined && { resourceMetadataUrl: asked.resourceMetadataUrl }),
  };
  try {
    if ((await auth(provider, flow)) === 'AUTHORIZED') return true;
    if (answer === null) return false;
    const { code, iss } = await answer();
    return (
      (await auth(provider, { ...flow, authorizationCode: code, ...(iss !== undefined && { iss }) })) ===
      'AUTHORIZED'
    );
  } catch (cause) {
    if (cause instanceof BullaError) throw cause;
    throw failed(quote((cause as Error).message), cause);
  }
}

function failed(why: string, cause?: unknown): BullaError {
  return new BullaError('MCP_OAUTH_FAILED', `The sign-in did not succeed: ${why}.`, { cause });
}

interface Callback {
  readonly port: number;
  readonly state: string;
  answer(waitMs: number): Promise<Answer>;
  close(): void;
}

/** Waits on the loopback address for the browser to come back (RFC 8252 §7.3), with a state that nobody can guess. */
async function awaitCallback(port: number | undefined): Promise<Callback> {
  const state = randomBytes(32).toString('base64url');
  const came = Promise.withResolvers<Answer>();
  came.promise.catch(() => {}); // told to whoever asks for the answer
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const query = url.searchParams;
    if (request.method !== 'GET' || url.pathname !== '/callback' || query.get('state') !== state) {
      response.writeHead(404).end();
      return;
    }
    response
      .writeHead(200, { 'content-type': 'text/plain', connection: 'close' })
      .end('You can close this page.\n');
    const code = query.get('code');
    if (code !== null) came.resolve({ code, iss: query.get('iss') ?? undefined });
    else came.reject(failed(quote(query.get('error') ?? 'no code came back')));
  });
  await listen(server, port ?? 0).catch(() => listen(server, 0));
  return {
    port: (server.address() as AddressInfo).port,
    state,
    async answer(waitMs) {
      const timer = setTimeout(() => came.reject(failed(`nobody signed in within ${waitMs} ms`)), waitMs);
      try {
        return await came.promise;
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
