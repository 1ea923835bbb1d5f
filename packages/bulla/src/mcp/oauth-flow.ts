import { BullaError } from '@bulla/core/error';
import type {
  FetchLike,
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { createFetcher, isPublicHost, type Network, readBody } from '../os/index.ts';
import { type Answer, signInFailed } from './oauth-callback.ts';
import { quote } from './transport.ts';

// The protocol of authorization (discovery, registration, PKCE, exchange, refresh) is the SDK's; it is loaded when a
// server asks for credentials.

/** What a challenge of the server asks for. */
export interface Challenge {
  readonly scope: string | undefined;
  /** Where the metadata of the resource lies, at the server's own origin. */
  readonly metadata: URL | undefined;
  readonly error: string | undefined;
}

/** Reads the `WWW-Authenticate` header. Rejects with `MCP_OAUTH_FAILED` for metadata at another origin. */
export async function challengeOf(
  serverUrl: URL,
  { status, challenge }: { readonly status: number; readonly challenge: string | null },
): Promise<Challenge> {
  const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
  const headers: Record<string, string> = challenge === null ? {} : { 'www-authenticate': challenge };
  const { scope, error, resourceMetadataUrl } = extractWWWAuthenticateParams(
    new Response(null, { status, headers }),
  );
  // RFC 9728 §3: the metadata of a resource lies at its own origin.
  if (resourceMetadataUrl !== undefined && resourceMetadataUrl.origin !== serverUrl.origin)
    throw signInFailed(`the server names metadata at another origin, ${quote(resourceMetadataUrl.origin)}`);
  return { scope, error, metadata: resourceMetadataUrl };
}

/** The scopes to ask for, so that nothing that was granted is lost; null where nothing more is asked for. */
export async function widerScope(granted: string | undefined, asked: string | undefined) {
  const { computeScopeUnion, isStrictScopeSuperset } = await import('@modelcontextprotocol/client');
  const union = computeScopeUnion(granted, asked);
  return isStrictScopeSuperset(union, granted) ? union! : null;
}

interface SignInOptions {
  readonly asked: Pick<Challenge, 'scope' | 'metadata'>;
  readonly network: Network | undefined;
  answer(): Promise<Answer>;
}

/** Has a person sign in anew, whatever tokens there are. Rejects with `MCP_OAUTH_FAILED`. */
export async function signIn(
  serverUrl: URL,
  provider: OAuthClientProvider,
  { asked: { scope, metadata }, network, answer }: SignInOptions,
): Promise<boolean> {
  const { auth } = await import('@modelcontextprotocol/client');
  const careful = carefulFetch(serverUrl, network);
  const flow = {
    serverUrl,
    fetchFn: careful.fetch,
    forceReauthorization: true,
    ...(scope !== undefined && { scope }),
    ...(metadata !== undefined && { resourceMetadataUrl: metadata }),
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
    throw signInFailed(quote(cause.message), cause);
  } finally {
    careful.close();
  }
}

/** RFC 6749 §5.2: trying again changes nothing. */
const FINAL: readonly string[] = ['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_scope'];

interface RefreshOptions {
  readonly client: StoredOAuthClientInformation;
  readonly tokens: StoredOAuthTokens;
  readonly metadata: URL | undefined;
  readonly network: Network | undefined;
}

/**
 * Other tokens for a refresh token, at the authorization server that gave it and at no other (SEP-2352). Null where that
 * gives none; rejects where it cannot be told.
 */
export async function refreshed(
  serverUrl: URL,
  { client, tokens, metadata, network }: RefreshOptions,
): Promise<StoredOAuthTokens | null> {
  const sdk = await import('@modelcontextprotocol/client');
  const careful = carefulFetch(serverUrl, network);
  try {
    const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } =
      await sdk.discoverOAuthServerInfo(serverUrl, {
        fetchFn: careful.fetch,
        ...(metadata !== undefined && { resourceMetadataUrl: metadata }),
      });
    const issuer = authorizationServerMetadata?.issuer ?? String(authorizationServerUrl);
    if (tokens.issuer !== issuer || (client.issuer ?? issuer) !== issuer) return null;
    const isAllowed =
      resourceMetadata === undefined ||
      sdk.checkResourceAllowed({
        requestedResource: sdk.resourceUrlFromServerUrl(serverUrl),
        configuredResource: resourceMetadata.resource,
      });
    if (!isAllowed) return null;
    const next = await sdk.refreshAuthorization(authorizationServerUrl, {
      clientInformation: client,
      refreshToken: tokens.refresh_token!,
      fetchFn: careful.fetch,
      ...(authorizationServerMetadata !== undefined && { metadata: authorizationServerMetadata }),
      ...(resourceMetadata !== undefined && { resource: resourceMetadata.resource }),
    });
    // RFC 6749 §5.1: without a scope it is that of before.
    const scope = next.scope ?? tokens.scope;
    return { ...next, ...(scope !== undefined && { scope }), issuer };
  } catch (error) {
    if (error instanceof sdk.OAuthError && FINAL.includes(error.code)) return null;
    throw error;
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
export function checkPage(url: URL, serverUrl: URL, network: Network | undefined): void {
  if (originsOf(serverUrl, network).has(url.origin)) return;
  if (url.protocol === 'https:' && isPublicHost(url.hostname)) return;
  throw signInFailed(`the page to sign in at, ${quote(url.origin)}, is not a public https address`);
}
