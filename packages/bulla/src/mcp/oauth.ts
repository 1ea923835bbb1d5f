import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { Network } from '../os/index.ts';
import type { Authorizer, RefusedCredentials } from './call.ts';
import { awaitCallback, signInFailed } from './oauth-callback.ts';
import { type Challenge, challengeOf, checkPage, refreshed, signIn, widerScope } from './oauth-flow.ts';

/** What may be kept until the next time. It holds secrets. */
export interface OAuthMemory {
  readonly client?: StoredOAuthClientInformation | undefined;
  readonly tokens?: StoredOAuthTokens | undefined;
  /** The port of the address that the client was registered with. */
  readonly port?: number | undefined;
  /** When the access token ends, in milliseconds since 1970, where that is known. */
  readonly endsAt?: number | undefined;
  /** Where the metadata of the resource lies, as the server said. */
  readonly metadata?: string | undefined;
}

interface OAuthOptions {
  /**
   * Its private origins are authorization servers beside the server's own origin. Others are public and speak https: a
   * server names them, and must not lead this machine to its neighbours.
   */
  readonly network?: Network | undefined;
  /** Shows a person the page where to sign in. */
  openBrowser(url: URL): void | Promise<void>;
  readonly memory?:
    | {
        load(): OAuthMemory;
        save(memory: OAuthMemory): void;
        /** Runs something while no other process that has the same memory does. Default: nobody else has it. */
        alone?<Result>(action: () => Promise<Result>): Promise<Result>;
      }
    | undefined;
  /** How long a person may take. Default five minutes. */
  readonly signInMs?: number | undefined;
  /** Whether a person may be asked for a wider scope than was granted. Default true. */
  readonly stepUp?: boolean | undefined;
  /** The time, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** How long before its end a token is renewed; of one that lives shortly, a quarter of its life. */
const EARLY_MS = 30_000;

/**
 * Signs a person in when the server asks for it, by a page in a browser that leads back to this machine, and renews what
 * that gave without a person as long as the authorization server allows it. A person who was asked in vain is not asked
 * again for the same. `renew` rejects with `MCP_OAUTH_FAILED`.
 */
export function oauth(serverUrl: URL, options: OAuthOptions): Authorizer {
  const { network, now = Date.now, stepUp = true } = options;
  let memory: OAuthMemory = options.memory?.load() ?? {};
  /** The access token that could not be renewed without a person. */
  let stuck: string | undefined;
  /** When the next attempt is made to renew one that ends. */
  let notBefore = 0;
  /** For which refusals a person was asked in vain. */
  const inVain = new Set<string>();
  let refreshing: Promise<boolean> | null = null;
  let renewing: { readonly key: string; readonly done: Promise<boolean> } | null = null;

  const remember = (more: OAuthMemory): void => {
    memory = { ...memory, ...more };
    options.memory?.save(memory);
  };
  const keep = (tokens: StoredOAuthTokens): void => {
    const { expires_in: seconds } = tokens;
    remember({ tokens, endsAt: seconds !== undefined && seconds > 0 ? now() + seconds * 1000 : undefined });
  };
  const current = (): string | null =>
    memory.tokens === undefined ? null : `Bearer ${memory.tokens.access_token}`;

  /** Another process may have got other tokens meanwhile. */
  const reload = (): void => {
    const kept = options.memory?.load();
    if (kept?.tokens !== undefined) memory = kept;
  };

  /** True when there is another access token than before, got without a person. Rejects where that cannot be told. */
  const refreshOnce = async (): Promise<boolean> => {
    const before = memory.tokens?.access_token;
    if (before === stuck) return false;
    const alone = options.memory?.alone ?? ((action) => action());
    const isRenewed = await alone(async () => {
      reload();
      const { client, tokens, metadata } = memory;
      if (tokens?.access_token !== before) return tokens !== undefined;
      if (client === undefined || tokens?.refresh_token === undefined) return false;
      const next = await refreshed(serverUrl, {
        ...{ client, tokens, network },
        metadata: metadata === undefined ? undefined : new URL(metadata),
      });
      if (next !== null) keep(next);
      return next !== null;
    });
    if (!isRenewed) stuck = before;
    return isRenewed;
  };
  const refresh = (): Promise<boolean> => {
    refreshing ??= refreshOnce()
      // What was said is not told: it may quote a token.
      .catch(() => Promise.reject(signInFailed('the tokens cannot be renewed now')))
      .finally(() => {
        refreshing = null;
      });
    return refreshing;
  };
  /** Renews a token that ends soon. If that fails, the server says whether it still takes it, and there is a next time. */
  const refreshEarly = async (): Promise<void> => {
    const { tokens, endsAt } = memory;
    if (tokens?.refresh_token === undefined || endsAt === undefined) return;
    const early = Math.min(EARLY_MS, ((tokens.expires_in ?? 0) * 1000) / 4);
    if (now() < endsAt - early || now() < notBefore) return;
    await refresh().catch(() => {
      notBefore = now() + EARLY_MS;
    });
  };

  const askPerson = async (asked: Pick<Challenge, 'scope' | 'metadata'>): Promise<boolean> => {
    const callback = await awaitCallback(memory.port);
    try {
      if (callback.port !== memory.port) remember({ port: callback.port, client: undefined });
      const provider = providerOf(callback);
      const answer = () => callback.answer(options.signInMs ?? 300_000);
      return await signIn(serverUrl, provider, { asked, network, answer });
    } finally {
      callback.close();
    }
  };

  const providerOf = ({ port, state }: { port: number; state: string }): OAuthClientProvider => {
    const redirectUrl = `http://127.0.0.1:${port}/callback`;
    let verifier = '';
    // Binds the code that comes back to the authorization server that was asked for it.
    let discovery: OAuthDiscoveryState | undefined;
    return {
      redirectUrl,
      clientMetadata: {
        client_name: 'Bulla',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      state: () => state,
      clientInformation: () => memory.client,
      saveClientInformation: (client) => remember({ client }),
      tokens: () => memory.tokens,
      saveTokens: keep,
      redirectToAuthorization: (url) => {
        checkPage(url, serverUrl, network);
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
  };

  const renewOnce = async (refused: RefusedCredentials, key: string): Promise<boolean> => {
    if (current() !== refused.authorization) return true;
    reload();
    if (current() !== refused.authorization) return true;
    const asked = await challengeOf(serverUrl, refused);
    if (asked.metadata !== undefined && asked.metadata.href !== memory.metadata)
      remember({ metadata: asked.metadata.href });
    let { scope } = asked;
    if (refused.status === 403) {
      if (asked.error !== 'insufficient_scope' || !stepUp) return false;
      const wider = await widerScope(memory.tokens?.scope, scope);
      if (wider === null) return false;
      scope = wider;
    } else if (await refresh()) return true;
    if (inVain.has(key)) return false;
    try {
      return await askPerson({ scope, metadata: asked.metadata });
    } catch (error) {
      inVain.add(key);
      throw error;
    }
  };

  return {
    async header() {
      await refreshEarly();
      return current();
    },
    async renew(refused) {
      const key = `${refused.status} ${refused.authorization}`;
      // One after the other, and those that were refused with the same are served by one.
      while (renewing !== null && renewing.key !== key) await renewing.done.catch(() => {});
      if (renewing === null) {
        const done = renewOnce(refused, key).finally(() => {
          renewing = null;
        });
        renewing = { key, done };
      }
      return renewing.done;
    },
    advice: `Sign in again with 'bulla scan --sign-in' for this server; the next request uses what that gives.`,
  };
}
