import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { type Authorization, type Lock, NO_AUTHORIZATION } from '@bulla/core/lock';
import { visible } from '@bulla/core/text';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { oauthMemory, targetOf } from '../../locks/index.ts';
import {
  type Authorizer,
  bearer,
  type OAuthMemory,
  oauth,
  parseTarget,
  parseUrl,
  type Surface,
  scan,
  type Target,
} from '../../mcp/index.ts';
import { home, tellLooseIn } from '../place.ts';
import { say, showing } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';

/** How a server is reached and scanned. */
export interface ServerOptions {
  timeout: number;
  env: string[];
  header: Header[];
  headerEnv: Header[];
  bearerEnv?: string;
  signIn?: boolean;
  authServer?: string[];
  fetchIcons?: boolean;
}

interface Header {
  readonly name: string;
  readonly value: string;
}

const DEFAULT_MS = 60_000;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** The longest time that a timer can be set to. */
const MAX_MS = 2 ** 31 - 1;

/** Reads a time as Go writes it, such as `10s`, `1m30s` or `1.5s`. */
function duration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!, 0);
  if (parts.map(([part]) => part).join('') !== text || !(ms >= 1 && ms <= MAX_MS))
    throw new InvalidArgumentError('A time is expected, such as 10s or 1m30s.');
  return Math.round(ms);
}

/** Headers that carry credentials and nothing else; on a command line everybody on the machine could read them. */
const SECRET = ['authorization', 'proxy-authorization', 'cookie'];

function header(text: string, previous: Header[]): Header[] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('A header is written "Name: value".');
  if (SECRET.includes(name.toLowerCase()))
    throw new InvalidArgumentError('A secret does not belong here; use --bearer-env or --header-env.');
  return [...previous, { name, value }];
}

function headerEnv(text: string, previous: Header[]): Header[] {
  const [, name, value] = /^([^:=\s]+)=([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('It is written Header-Name=VARIABLE.');
  return [...previous, { name, value }];
}

const collect = (value: string, previous: string[]) => [...previous, value];

function origin(text: string, previous: string[] = []): string[] {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !['', '/'].includes(url.pathname) || url.search)
    throw new InvalidArgumentError('It is an origin such as https://sso.internal:8443.');
  return [...previous, url.origin];
}

export const SERVER_HELP = `
The server stands after --: a command with its arguments, one quoted string, or an address (https://…).
It gets no shell, and of the environment only what programs need to run and what --env names.`;

/** Adds the options by which a server is reached. */
export function serverOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-t, --timeout <time>', 'how long the scan may take')
        .argParser(duration)
        .default(DEFAULT_MS, '1m'),
    )
    .option(
      '--env <name>',
      'a variable of the environment that the server may see; may be repeated',
      collect,
      [],
    )
    .option('--header <header>', 'a header "Name: value" for a server at an address', header, [])
    .option('--header-env <name=variable>', 'a header whose value is in the environment', headerEnv, [])
    .option('--bearer-env <variable>', 'the variable of the environment that holds a bearer token')
    .option('--sign-in', 'sign in with a browser if the server asks, without a terminal too')
    .option(
      '--auth-server <origin>',
      'an authorization server at a private address that may be used to sign in; may be repeated',
      origin,
    )
    .option('--fetch-icons', 'fetch icons from public addresses that the server chose, to pin their content');
}

/**
 * The server that is meant: the one after `--`, else the one that the lock names. The variables are those that --env
 * names, else, for the same command, those of the lock. Throws `MCP_TARGET` for neither, the other `MCP_TARGET_…`
 * codes, and `LOCK_NO_SERVER`.
 */
export function targetFor(words: readonly string[], env: readonly string[], lock: Lock | null): Target {
  if (words.length === 0) {
    if (lock === null) throw new BullaError('MCP_TARGET', 'Name the server after --.');
    const locked = targetOf(lock);
    if (env.length === 0) return locked;
    if (locked.kind === 'stdio') return parseTarget([locked.command, ...locked.args], env);
    throw new BullaError('USAGE', 'A server at an address has no environment to pass on.');
  }
  const named = parseTarget(words, env);
  const identity = lock?.native?.identity;
  if (named.kind === 'http' || env.length > 0 || identity?.transport !== 'stdio') return named;
  const same = (command: string, args: readonly string[]) => JSON.stringify([command, ...args]);
  const isLocked = same(named.command, named.args) === same(identity.command, identity.args);
  return isLocked ? { ...named, env: identity.env } : named;
}

/** What a scan found, and with which rights it was made. */
export interface Scanned {
  readonly surface: Surface;
  readonly authorization: Authorization;
}

/**
 * Scans a server. Rejects with the `MCP_…` codes, with `USAGE` for options that are not for this kind of
 * server, and with `MCP_TARGET_ENV` for a variable that is not set.
 */
export async function scanServer(target: Target, options: ServerOptions, isShown = true): Promise<Scanned> {
  const working = (action: () => Promise<Surface>) =>
    isShown ? showing('scanning the server…', action) : action();
  const limits = {
    totalMs: options.timeout,
    timeoutMs: options.timeout,
    fetchIcons: options.fetchIcons ?? false,
  };
  if (target.kind === 'stdio') {
    if (options.header.length + options.headerEnv.length > 0 || options.bearerEnv || options.signIn)
      throw new BullaError('USAGE', 'Headers and tokens are for a server at an address.');
    return {
      surface: await working(() => scan(target, limits)),
      authorization: NO_AUTHORIZATION,
    };
  }
  const record = (given: readonly Header[]) =>
    Object.fromEntries(given.map(({ name, value }) => [name, value]));
  const headers = record(options.header);
  const secretHeaders = record(
    options.headerEnv.map(({ name, value }) => ({ name, value: variable(value) })),
  );
  const credentials = credentialsFor(target.url, options);
  const surface = await working(() =>
    scan(target, {
      ...limits,
      headers,
      secretHeaders,
      ...(credentials && { authorizer: credentials.authorizer }),
    }),
  );
  const names = [
    ...new Set([...options.header, ...options.headerEnv].map(({ name }) => name.toLowerCase())),
  ].sort();
  const used = credentials?.used() ?? {
    ...NO_AUTHORIZATION,
    scheme: names.length > 0 ? ('headers' as const) : ('none' as const),
  };
  return { surface, authorization: { ...used, headers: names } };
}

function variable(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new BullaError('MCP_TARGET_ENV', `The environment variable ${name} is not set.`);
}

interface Credentials {
  readonly authorizer: Authorizer;
  /** With which rights the server was scanned; null when it asked for none. */
  used(): Authorization | null;
}

/**
 * A token from the environment, else a person who can sign in. Without a terminal nobody is there to do so, and over
 * plain HTTP there must be a reason to offer it.
 */
function credentialsFor(address: string, options: ServerOptions): Credentials | null {
  const { bearerEnv, signIn } = options;
  if (bearerEnv !== undefined) {
    if (signIn) throw new BullaError('USAGE', 'With a token, nobody needs to sign in.');
    return {
      authorizer: bearer(variable(bearerEnv)),
      used: () => ({ ...NO_AUTHORIZATION, scheme: 'bearer' }),
    };
  }
  const url = parseUrl(address);
  if (!signIn && !(streams.stderr.isTTY && url.protocol === 'https:')) return null;
  const folder = join(home(), 'oauth');
  tellLooseIn(folder);
  const kept = oauthMemory(folder, url);
  let memory = kept.load();
  const authorizer = oauth(url, {
    network: { privateOrigins: new Set(options.authServer ?? []) },
    openBrowser(page) {
      say(`The server asks you to sign in. Open this page in a browser:\n  ${visible(page.href)}`);
    },
    memory: {
      load: () => memory,
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
