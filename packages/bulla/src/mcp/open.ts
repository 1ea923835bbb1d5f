import type { Era } from '@bulla/core/lock';
import { type Agreement, discoverFirst, initialize } from './agree.ts';
import type { Authorizer, HttpOptions } from './call.ts';
import { Connection, type ConnectionOptions, DEFAULT_TIMEOUT_MS, type Reply } from './connection.ts';
import type { RequestFrame } from './frame.ts';
import { connectHttp } from './http.ts';
import { connectSse } from './sse.ts';
import { connectStdio, type StdioOptions } from './stdio.ts';
import { environmentOf, parseUrl, type Target } from './target.ts';
import { type Connect, HttpStatusError } from './transport.ts';

/** A server that is ready to be asked, and what it told of itself. */
export interface Session extends Omit<Agreement, 'meta'> {
  readonly connection: Connection;
}

export interface OpenOptions
  extends HttpOptions,
    Omit<StdioOptions, 'env'>,
    Omit<ConnectionOptions, 'reply'> {
  /** How long a server may stay silent to `server/discover` before `initialize` is tried too. Default 3,000 ms. */
  readonly probeMs?: number | undefined;
  /** Where the values for a target's environment names are taken from. Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * Connects to a server and agrees on a protocol version: `server/discover` first, then `initialize` unless the
 * server is of the stateless era (2026-07-28, Versioning, Backward Compatibility), on the same process if that
 * survives the question. Rejects with the codes of the transports and of `Connection.request`, with `MCP_VERSION`
 * when there is no common version, and with `MCP_HANDSHAKE` for an answer that is not as specified.
 */
export async function open(target: Target, options: OpenOptions = {}): Promise<Session> {
  const connect = connector(target, options);
  try {
    return (await attempt(connect, options, discoverFirst)) ?? (await attempt(connect, options, initialize))!;
  } catch (error) {
    // 2025-11-25, Transports, Backwards Compatibility: what refuses the POST may speak the transport before it.
    if (target.kind !== 'http' || !(error instanceof HttpStatusError)) throw error;
    if (![400, 404, 405].includes(error.status)) throw error;
    const url = parseUrl(target.url);
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const overSse: Connect = (receiver) => connectSse(url, options, receiver, timeoutMs);
    return attempt(overSse, options, initialize).then(
      (session) => session!,
      () => Promise.reject(error),
    );
  }
}

/**
 * Does something that needs credentials. When the server refuses them, gets new ones, however long a person takes to
 * sign in, and does it again, once. Rejects with what the action rejects with.
 */
export async function authorized<Result>(
  authorizer: Authorizer | undefined,
  action: () => Promise<Result>,
): Promise<Result> {
  const authorization = (await authorizer?.header()) ?? null;
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof HttpStatusError) || !UNAUTHORIZED.includes(error.code)) throw error;
    const { status, challenge } = error;
    if (!(await authorizer?.renew({ status, challenge, authorization }))) throw error;
    return action();
  }
}

const UNAUTHORIZED: readonly string[] = ['MCP_HTTP_UNAUTHORIZED', 'MCP_HTTP_SCOPE'];

function connector(target: Target, options: OpenOptions): Connect {
  if (target.kind === 'http') {
    const url = parseUrl(target.url);
    return (receiver) => connectHttp(url, options, receiver);
  }
  const env = environmentOf(target, options.environment ?? process.env);
  return (receiver) => connectStdio(target.command, target.args, { ...options, env }, receiver);
}

type Agree = (connection: Connection, options: OpenOptions) => Promise<Agreement | null>;

/** Connects and agrees; null when the connection must be made anew to go on. Leaves nothing behind if it rejects. */
async function attempt(connect: Connect, options: OpenOptions, agree: Agree): Promise<Session | null> {
  let era: Era | undefined;
  const connection = await Connection.open(connect, {
    ...options,
    reply: (request) => (era === 'stateless' ? null : reply(request)),
  });
  try {
    const agreement = await agree(connection, options);
    if (agreement === null) {
      await connection.close();
      return null;
    }
    const { meta, ...rest } = agreement;
    ({ era } = agreement);
    connection.meta = meta;
    return { connection, ...rest };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** What a server of the initialize era gets for what was declared: as a person may, everything is refused. */
const REPLIES: Readonly<Record<string, Reply>> = {
  ping: { result: {} },
  'roots/list': { result: { roots: [] } },
  'elicitation/create': { result: { action: 'decline' } },
  'sampling/createMessage': { code: -1, message: 'Sampling was refused.' },
};

function reply({ method }: RequestFrame): Reply {
  if (Object.hasOwn(REPLIES, method)) return REPLIES[method]!;
  return { code: -32601, message: 'Method not found' };
}
