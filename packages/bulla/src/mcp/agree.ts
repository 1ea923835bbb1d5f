import { setTimeout as sleep } from 'node:timers/promises';
import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, memberAt } from '@bulla/core/json';
import type { Era } from '@bulla/core/lock';
import type { Connection } from './connection.ts';
import type { ErrorFrame } from './frame.ts';
import { META_VERSION } from './http.ts';
import type { OpenOptions } from './open.ts';
import { HttpStatusError, quote, RpcError } from './transport.ts';

// How two sides agree on a protocol version (2026-07-28, Versioning and Compatibility).

/** What was agreed, and what the server told of itself. */
export interface Agreement {
  readonly era: Era;
  readonly protocolVersion: string;
  /** Told by the server itself: to be shown, never to decide by. */
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly instructions: string | null;
  /** What every request must carry, in the stateless era. */
  readonly meta: object | null;
}

export const STATELESS_VERSIONS: readonly string[] = ['2026-07-28'];
/** The newest first. */
export const INITIALIZE_VERSIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
];

const CAPABILITIES = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };
/**
 * Everything that a client can declare: a server may hide tools from those that declare less, and what a lock has
 * not seen it cannot pin. What the server then asks for is refused, as a person may refuse it.
 */
export const CLIENT_CAPABILITIES = {
  stateless: CAPABILITIES,
  initialize: {
    ...CAPABILITIES,
    tasks: {
      list: {},
      cancel: {},
      requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
    },
  },
};

declare const BULLA_VERSION: string | undefined;
/** How the gateway and the scanner name themselves to a server. */
export const CLIENT_INFO = {
  name: 'bulla',
  version: typeof BULLA_VERSION === 'undefined' ? '0.0.0' : BULLA_VERSION,
};

/**
 * Asks for the stateless era and falls back on the same connection; null when the question broke the connection,
 * as it does with servers that end on whatever comes before `initialize`.
 */
export async function discoverFirst(
  connection: Connection,
  { probeMs = 3000, signal }: Pick<OpenOptions, 'probeMs' | 'signal'>,
): Promise<Agreement | null> {
  const stop = new AbortController();
  try {
    const probe = discover(connection, stop.signal);
    const silence = sleep(probeMs, 'silent' as const, { signal: stop.signal });
    const early = await Promise.race([probe, silence]);
    if (early === 'silent') {
      // The server does not know the question, or is slow to start. What it answers first with a result tells.
      const initialized = initialize(connection);
      const either = probe.then((found) => (found === 'initialize' ? initialized : found));
      return await Promise.any([either, initialized]);
    }
    if (early !== 'initialize') return early;
  } catch (error) {
    if (connection.failure !== null && !signal?.aborted) return null;
    throw error instanceof AggregateError ? error.errors[1] : error;
  } finally {
    stop.abort();
  }
  return initialize(connection);
}

/** What the server is, if it is of the stateless era; `initialize` if its answer tells that it is not. */
async function discover(connection: Connection, signal: AbortSignal): Promise<Agreement | 'initialize'> {
  const version = STATELESS_VERSIONS[0]!;
  const meta = {
    [META_VERSION]: version,
    'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
    'io.modelcontextprotocol/clientCapabilities': CLIENT_CAPABILITIES.stateless,
  };
  let result: JsonObject;
  try {
    result = await connection.request('server/discover', { _meta: meta }, { signal });
  } catch (error) {
    return afterRefusal(error, connection.failure !== null);
  }
  if (discoveredEra(result) === 'initialize') return 'initialize';
  const info = memberAt(result, ['_meta', 'io.modelcontextprotocol/serverInfo']);
  return {
    era: 'stateless',
    protocolVersion: version,
    meta,
    ...readSelf('server/discover', result, info ?? new JsonObject()),
  };
}

/**
 * The era of a server by its answer to `server/discover`. Throws `MCP_HANDSHAKE` for an answer that is not as specified,
 * and `MCP_VERSION` for one that offers no known version.
 */
export function discoveredEra(result: JsonObject): Era {
  // A server that answers whatever it does not know with nothing knows no such thing.
  if (!result.has('supportedVersions')) return 'initialize';
  const offered = result.get('supportedVersions');
  if (!isStrings(offered)) throw handshake('server/discover', 'supportedVersions is a list of strings');
  return offered.includes(STATELESS_VERSIONS[0]!) ? 'stateless' : older(offered);
}

/** Codes by which a server of the stateless era refuses (2026-07-28, Basic, Error Codes). */
const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_VERSION = -32022;

/** Refusals that say nothing of the era: the same would come to any message. */
const FATAL: readonly Code[] = [
  'MCP_HTTP_UNREACHABLE',
  'MCP_HTTP_REDIRECT',
  'MCP_HTTP_UNAUTHORIZED',
  'MCP_HTTP_HEADER',
];

/**
 * What it tells of the era that a server refused `server/discover`: `initialize`. Throws the error itself where it tells
 * nothing, because the connection is broken or any message would be refused so, and where a server of the stateless era
 * refuses so; and `MCP_VERSION` for a server that offers no known version.
 */
export function afterRefusal(error: unknown, isBroken: boolean): 'initialize' {
  if (!(error instanceof BullaError) || isBroken || FATAL.includes(error.code)) throw error;
  const rpc = rpcOf(error);
  if (rpc?.code === HEADER_MISMATCH || rpc?.code === MISSING_CAPABILITY) throw error;
  if (rpc?.code === UNSUPPORTED_VERSION) return older(supportedIn(rpc.data));
  return 'initialize';
}

function rpcOf(error: unknown): ErrorFrame['error'] | null {
  return error instanceof RpcError || error instanceof HttpStatusError ? error.rpc : null;
}

function older(offered: readonly string[]): 'initialize' {
  if (offered.some((version) => INITIALIZE_VERSIONS.includes(version))) return 'initialize';
  throw noVersion(offered);
}

function supportedIn(data: JsonValue | undefined): readonly string[] {
  const supported = memberAt(data, ['supported']);
  return isStrings(supported) ? supported : [];
}

function isStrings(value: JsonValue | undefined): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** The handshake of 2025-11-25 and before (Lifecycle, Initialization). */
export async function initialize(connection: Connection): Promise<Agreement> {
  const ask = (protocolVersion: string): Promise<JsonObject> =>
    connection.request('initialize', {
      protocolVersion,
      capabilities: CLIENT_CAPABILITIES.initialize,
      clientInfo: CLIENT_INFO,
    });
  let result: JsonObject;
  try {
    result = await ask(INITIALIZE_VERSIONS[0]!);
  } catch (error) {
    // A server should answer with a version of its own, but the specification's own example is an error.
    result = await ask(commonVersion(error));
  }
  const protocolVersion = result.get('protocolVersion');
  if (typeof protocolVersion !== 'string') throw handshake('initialize', 'protocolVersion is a string');
  if (!INITIALIZE_VERSIONS.includes(protocolVersion)) throw noVersion([protocolVersion]);
  const self = readSelf('initialize', result, result.get('serverInfo'));
  connection.established(protocolVersion, false);
  await connection.notify('notifications/initialized');
  if (tellsChanges(self.capabilities)) connection.established(protocolVersion, true);
  return { era: 'initialize', protocolVersion, meta: null, ...self };
}

/** The version in a refusal of `initialize` that is known here. Throws `MCP_VERSION`, or the refusal if it names none. */
export function commonVersion(refusal: unknown): string {
  const supported = supportedIn(rpcOf(refusal)?.data);
  const common = INITIALIZE_VERSIONS.find((version) => supported.includes(version));
  if (common === undefined) throw supported.length > 0 ? noVersion(supported) : refusal;
  return common;
}

/** Whether the server says that it tells when one of its lists changes. */
export function tellsChanges(capabilities: JsonObject): boolean {
  return capabilities.values.some(
    (value) => value instanceof JsonObject && value.get('listChanged') === true,
  );
}

function readSelf(
  method: string,
  result: JsonObject,
  serverInfo: JsonValue | undefined,
): Pick<Agreement, 'capabilities' | 'serverInfo' | 'instructions'> {
  const capabilities = result.get('capabilities');
  const instructions = result.get('instructions') ?? null;
  if (!(capabilities instanceof JsonObject)) throw handshake(method, 'capabilities is an object');
  if (!(serverInfo instanceof JsonObject)) throw handshake(method, 'serverInfo is an object');
  if (instructions !== null && typeof instructions !== 'string') {
    throw handshake(method, 'instructions is a string');
  }
  return { capabilities, serverInfo, instructions };
}

function handshake(method: string, rule: string): BullaError {
  return new BullaError('MCP_HANDSHAKE', `The server's answer to ${method} is not as specified: ${rule}.`);
}

function noVersion(offered: readonly string[]): BullaError {
  const what = offered.length === 0 ? '' : ` It offers ${quote(offered.join(', '))}.`;
  return new BullaError('MCP_VERSION', `The server speaks no protocol version that is known here.${what}`);
}
