import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BullaError } from '@bulla/core/error';
import type {
  FetchLike,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { createFetcher, isPublicHost, type Network, readBody } from '../os/index.ts';
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

interface OAuthOptions {
  /**
   * Its private origins are authorization servers beside the server's own origin. Others are public and speak https: a
   * server names them, and must not lead this machine to its neighbours.
   */
  readonly network?: Network | undefined;
  /** Shows a person the page where to sign in. */
  openBrowser(url: URL): void | Promise<void>;
  readonly memory?: { load(): OAuthMemory; save(memory: OAuthMemory): void } | undefined;
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
        clientInformation: () => memory.client,
        saveClientInformation: (client) => remember({ client }),
        tokens: () => memory.tokens,
        saveTokens: (tokens) => remember({ tokens }),
        redirectToAuthorization: (url) => {
          checkPage(url, originsOf(serverUrl, options.network));
          return options.openBrowser(url);
        },
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
        const answer = () => callback.answer(options.signInMs ?? 300_000);
        return await authorize(serverUrl, provider, { status, challenge }, answer, options.network);
      } finally {
        callback.close();
      }
    },
  };
}

interface Answer {
  readonly code: string;
  readonly iss: string | undefined;
}

async function authorize(
  serverUrl: URL,
  provider: OAuthClientProvider,
  { status, challenge }: { status: number; challenge: string | null },
  answer: () => Promise<Answer>,
  network: Network | undefined,
): Promise<boolean> {
  const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
  const headers: Record<string, string> = challenge === null ? {} : { 'www-authenticate': challenge };
  const asked = extractWWWAuthenticateParams(new Response(null, { status, headers }));
  const widen = status === 403;
  if (widen && asked.error !== 'insufficient_scope') return false;
  const { resourceMetadataUrl } = asked;
  // RFC 9728 §3: the metadata of a resource lies at its own origin.
  if (resourceMetadataUrl !== undefined && resourceMetadataUrl.origin !== serverUrl.origin)
    throw failed(`the server names metadata at another origin, ${quote(resourceMetadataUrl.origin)}`);
  const careful = carefulFetch(serverUrl, network);
  const flow = {
    serverUrl,
    fetchFn: careful.fetch,
    forceReauthorization: widen,
    ...(asked.scope !== undefined && { scope: asked.scope }),
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
  };
  try {
    if ((await auth(provider, flow)) === 'AUTHORIZED') return true;
    const { code, iss } = await answer();
    const withCode = { ...flow, authorizationCode: code, ...(iss !== undefined && { iss }) };
    return (await auth(provider, withCode)) === 'AUTHORIZED';
  } catch (error) {
    // The SDK tells of a failed request in its own words, or goes on without it.
    const cause = careful.refusal() ?? (error as Error);
    if (cause instanceof BullaError && cause.code === 'MCP_OAUTH_FAILED') throw cause;
    throw failed(quote(cause.message), cause);
  } finally {
    careful.close();
  }
}

const MAX_ANSWER_BYTES = 1024 * 1024;
const ANSWER_MS = 30_000;

function originsOf({ origin }: URL, network: Network | undefined): ReadonlySet<string> {
  return new Set([origin, ...(network?.privateOrigins ?? [])]);
}

/** The `fetch` of the SDK's flow: public addresses only, no redirect to another origin, limited in size and time. */
function carefulFetch(serverUrl: URL, network: Network | undefined) {
  const fetcher = createFetcher({
    ...{ idleMs: ANSWER_MS, totalMs: ANSWER_MS, ...network },
    privateOrigins: originsOf(serverUrl, network),
  });
  let refusal: BullaError | null = null;
  const send: FetchLike = async (input, init = {}) => {
    // A request makes one text of whatever body the SDK gives, with its type.
    const request = new Request(input, init as RequestInit);
    const body = new Uint8Array(await request.arrayBuffer());
    const reply = await fetcher.send(new URL(request.url), {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      maxBytes: MAX_ANSWER_BYTES,
      ...(body.length > 0 && { body }),
    });
    const bytes = await readBody(reply);
    const headers = new Headers();
    for (const [name, value] of Object.entries(reply.headers)) headers.set(name, String(value));
    return new Response(bytes.length === 0 ? null : new Uint8Array(bytes), { status: reply.status, headers });
  };
  const fetch: FetchLike = (input, init) =>
    send(input, init).catch((error) => {
      if (error instanceof BullaError) refusal ??= error;
      throw error;
    });
  return { fetch, refusal: () => refusal, close: () => fetcher.close() };
}

/** A page is opened in a browser that may reach what this program must not. */
function checkPage(url: URL, origins: ReadonlySet<string>): void {
  if (origins.has(url.origin) || (url.protocol === 'https:' && isPublicHost(url.hostname))) return;
  throw failed(`the page to sign in at, ${quote(url.origin)}, is not a public https address`);
}

function failed(why: string, cause?: unknown): BullaError {
  return new BullaError('MCP_OAUTH_FAILED', `The sign-in did not succeed: ${why}.`, { cause });
}

/** Waits on the loopback address for the browser to come back (RFC 8252 §7.3), with a state that nobody can guess. */
async function awaitCallback(port: number | undefined) {
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
    else came.reject(failed(quote(query.get('error') ?? 'no code came back')));
  });
  await listen(server, port ?? 0).catch(() => listen(server, 0)); // another program may have the port
  return {
    port: (server.address() as AddressInfo).port,
    state,
    async answer(waitMs: number): Promise<Answer> {
      const timer = setTimeout(() => came.reject(failed(`nobody signed in within ${waitMs} ms`)), waitMs);
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
