import { BullaError } from '@bulla/core/error';
import { type Authorization, type Lock, NO_AUTHORIZATION } from '@bulla/core/lock';
import { isSameServer, oauthMemory, targetOf } from '../locks/index.ts';
import {
  type Authorizer,
  bearer,
  type Confinement,
  type HttpOptions,
  type OAuthMemory,
  oauth,
  parseTarget,
  parseUrl,
  type Surface,
  scan,
  type Target,
} from '../mcp/index.ts';
import type { Observer } from './observer.ts';
import { type Notices, tellLoose } from './open.ts';
import { pathsOf, withContents } from './paths.ts';

/** A header of requests to a server at an address. */
export interface Header {
  readonly name: string;
  readonly value: string;
}

/** How a server is reached and scanned. */
export interface ServerAccess extends Pick<Notices, 'onLoose'> {
  /** The data directory, which keeps what sign-ins gave. */
  readonly home?: string | undefined;
  /** For the whole scan. Default one minute. */
  readonly timeoutMs?: number | undefined;
  readonly headers?: readonly Header[] | undefined;
  /** Headers whose values are secrets. */
  readonly secretHeaders?: readonly Header[] | undefined;
  /** A bearer token. */
  readonly token?: string | undefined;
  /** Reads the token again where it stands, because the server refuses it. */
  readonly readToken?: (() => Promise<string>) | undefined;
  /** A person who can sign in; absent where nobody can. */
  readonly signIn?: SignIn | undefined;
  readonly fetchIcons?: boolean | undefined;
  /** Where a server that is started here takes its variables and its folder from. Default: this process. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  readonly cwd?: string | undefined;
  /** Start the server in a sandbox, or not at all. Default: it may do what this user may. */
  readonly confine?: Confinement | undefined;
}

interface SignIn {
  /** Whether somebody asked for it: over plain HTTP there must be a reason to offer it. */
  readonly isAsked: boolean;
  /** Origins of authorization servers at private addresses that may be used. */
  readonly privateOrigins?: readonly string[] | undefined;
  /** How long a person may take. Default five minutes. */
  readonly signInMs?: number | undefined;
  /** Whether a person may be asked for a wider scope than was granted. Default true. */
  readonly stepUp?: boolean | undefined;
  openBrowser(page: URL): void;
}

/** The server that is meant: its command or address in words, else the one that a lock names. */
export interface MeantServer {
  readonly server?: readonly string[] | undefined;
  /** The variables of the environment that it may see. Default: for the same command, those of the lock. */
  readonly env?: readonly string[] | undefined;
}

/**
 * The server that is meant. Throws `MCP_TARGET` for neither words nor a lock, the other `MCP_TARGET_…` codes,
 * `USAGE` and `LOCK_NO_SERVER`.
 */
export function targetFor({ server: words = [], env = [] }: MeantServer, lock: Lock | null): Target {
  if (words.length === 0) {
    if (lock === null) throw new BullaError('MCP_TARGET', 'Name the server after --.');
    const locked = targetOf(lock);
    if (env.length === 0) return locked;
    if (locked.kind === 'stdio') return parseTarget([locked.command, ...locked.args], env);
    throw new BullaError('USAGE', 'A server at an address has no environment to pass on.');
  }
  const named = parseTarget(words, env);
  if (named.kind === 'http' || env.length > 0 || !lock?.native) return named;
  const locked = targetOf(lock);
  return isSameServer(locked, named, { env: false }) ? locked : named;
}

/** The same confinement, in which the pinned program can be read too. */
export function confineWith(
  confine: Confinement | undefined,
  pinned: { readonly program: readonly string[] } | null,
): Confinement | undefined {
  return confine && pinned ? { ...confine, program: pinned.program } : confine;
}

/** What a scan found, and with which rights it was made. */
export interface Scanned {
  readonly surface: Surface;
  readonly authorization: Authorization;
}

const DEFAULT_MS = 60_000;

/**
 * Scans a server. Rejects with the `MCP_…` codes, and with `USAGE` for access that is not for this kind of
 * server.
 */
export async function scanServer(
  target: Target,
  access: ServerAccess = {},
  { onScan }: Pick<Observer, 'onScan'> = {},
): Promise<Scanned> {
  const { timeoutMs = DEFAULT_MS, fetchIcons = false } = access;
  const scanning = async (more: Parameters<typeof scan>[1]) => {
    onScan?.(true);
    try {
      return await scan(target, { totalMs: timeoutMs, timeoutMs, fetchIcons, ...more });
    } finally {
      onScan?.(false);
    }
  };
  const { http, authorization } = rightsFor(target, access);
  const { environment, cwd, confine } = access;
  const surface = await scanning(
    http ?? { ...(environment && { environment }), ...(cwd && { cwd }), confine },
  );
  return { surface, authorization: authorization() };
}

/** With which headers and credentials a server is reached; `http` is null for one that is started here. */
export interface Rights {
  readonly http: Pick<HttpOptions, 'headers' | 'secretHeaders' | 'authorizer'> | null;
  /** In the words of a lock, as far as it is known yet: a person may sign in later. */
  authorization(): Authorization;
}

/** Throws `USAGE` for access that is not for this kind of server. */
export function rightsFor(target: Target, access: ServerAccess): Rights {
  const { headers = [], secretHeaders = [], token, signIn } = access;
  if (target.kind === 'stdio') {
    if (headers.length + secretHeaders.length > 0 || token || signIn?.isAsked)
      throw new BullaError('USAGE', 'Headers and tokens are for a server at an address.');
    return { http: null, authorization: () => NO_AUTHORIZATION };
  }
  if (access.confine !== undefined)
    throw new BullaError('USAGE', 'Only a server that is started here can be confined.');
  const record = (given: readonly Header[]) =>
    Object.fromEntries(given.map(({ name, value }) => [name, value]));
  const credentials = credentialsFor(target.url, access);
  const names = [...new Set([...headers, ...secretHeaders].map(({ name }) => name.toLowerCase()))].sort();
  return {
    http: {
      headers: record(headers),
      secretHeaders: record(secretHeaders),
      ...(credentials && { authorizer: credentials.authorizer }),
    },
    authorization: () => ({
      ...(credentials?.used() ?? {
        ...NO_AUTHORIZATION,
        scheme: names.length > 0 ? ('headers' as const) : ('none' as const),
      }),
      headers: names,
    }),
  };
}

/**
 * Makes sure that a server is used with the kind of rights with which it was locked: it may show each caller something
 * else. Who issued a token, and for what, is known only when it is used. Throws `GATEWAY_OTHER_RIGHTS`.
 */
export function checkRights({ native }: Lock, { http, authorization }: Rights): void {
  if (native === null) return;
  const [was, is] = [native.authorization, authorization()];
  const isSignInAhead = was.scheme === 'oauth' && http?.authorizer !== undefined;
  if ((was.scheme === is.scheme || isSignInAhead) && was.headers.join() === is.headers.join()) return;
  const words = ({ scheme, headers }: Authorization) =>
    `${SCHEME_WORDS[scheme]}${headers.length > 0 ? `, headers ${headers.join(', ')}` : ''}`;
  throw new BullaError(
    'GATEWAY_OTHER_RIGHTS',
    `The lock was made with other rights (${words(was)}) than are used here (${words(is)}), and a server may offer something else to them.`,
  );
}

const SCHEME_WORDS: Readonly<Record<Authorization['scheme'], string>> = {
  none: 'no credentials',
  bearer: 'a bearer token',
  oauth: 'a sign-in',
  headers: 'no token',
};

interface Credentials {
  readonly authorizer: Authorizer;
  /** With which rights the server was scanned; null when it asked for none. */
  used(): Authorization | null;
}

/** A token, else a person who can sign in. */
function credentialsFor(address: string, access: ServerAccess): Credentials | null {
  const { token, signIn } = access;
  if (token !== undefined) {
    if (signIn?.isAsked) throw new BullaError('USAGE', 'With a token, nobody needs to sign in.');
    return {
      authorizer: bearer(token, access.readToken),
      used: () => ({ ...NO_AUTHORIZATION, scheme: 'bearer' }),
    };
  }
  const url = parseUrl(address);
  if (signIn === undefined || !(signIn.isAsked || url.protocol === 'https:')) return null;
  const folder = pathsOf(access.home).oauth;
  tellLoose(withContents(folder), access);
  const kept = oauthMemory(folder, url);
  let memory = kept.load();
  const authorizer = oauth(url, {
    network: { privateOrigins: new Set(signIn.privateOrigins ?? []) },
    openBrowser: (page) => signIn.openBrowser(page),
    signInMs: signIn.signInMs,
    stepUp: signIn.stepUp,
    memory: {
      ...kept,
      load() {
        memory = kept.load();
        return memory;
      },
      save(next) {
        memory = next;
        kept.save(next);
      },
    },
  });
  return { authorizer, used: () => oauthContext(memory) };
}

function oauthContext({ tokens }: OAuthMemory): Authorization | null {
  if (tokens === undefined) return null;
  const scopes = (tokens.scope ?? '').split(' ').filter((scope) => scope !== '');
  return { ...NO_AUTHORIZATION, scheme: 'oauth', issuer: tokens.issuer ?? null, scopes };
}
