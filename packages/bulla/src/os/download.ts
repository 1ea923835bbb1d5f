import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { BullaError } from '@bulla/core/error';
import { isPublicAddress, isPublicHost } from './address.ts';

// Not imported as modules: Node would load all of its HTTP client with them, at the start of every command.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http');
const { Agent, request: httpsRequest } = process.getBuiltinModule('node:https');

// Asking addresses that somebody else named: over https, public ones only, at most so much and for so long. The address
// that is checked is the one that is dialled, and each redirect begins anew.

export interface Network {
  /** Certificates to trust instead of the usual ones, as npm's `ca` and `cafile` say. */
  readonly ca?: readonly string[] | undefined;
  /** The proxy of npm's own configuration. Which addresses it dials is then its decision, not ours. */
  readonly proxy?: URL | null | undefined;
  /** Whether a host is reached without the proxy. */
  readonly isDirect?: ((hostname: string) => boolean) | undefined;
  /**
   * Origins that may lie at a private address and speak plain http, because whoever runs this machine configured them.
   * Nothing that came over the network adds to them.
   */
  readonly privateOrigins?: ReadonlySet<string> | undefined;
  /** How names become addresses. Default: as the system does it. */
  readonly resolve?: Resolve | undefined;
  /** How long nothing may arrive. Default 30 s. */
  readonly idleMs?: number | undefined;
  /** How long one file may take. Default 300 s. */
  readonly totalMs?: number | undefined;
}

type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

interface FetchOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The most bytes that the body may have. */
  readonly maxBytes: number;
}

interface SendOptions extends FetchOptions {
  readonly method: string;
  readonly body?: Uint8Array | undefined;
}

export interface Reply {
  /** Where it came from, after redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Throws `DOWNLOAD_TOO_LARGE`, `DOWNLOAD_TIMEOUT` and `DOWNLOAD_FAILED` while it is read. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface Fetcher {
  /**
   * Asks for a file and follows redirects. Rejects with `DOWNLOAD_ADDRESS` for an address that may not be asked,
   * `DOWNLOAD_PRIVATE` for one that is not public, `DOWNLOAD_REDIRECT`, `DOWNLOAD_TOO_LARGE`, `DOWNLOAD_TIMEOUT` and
   * `DOWNLOAD_FAILED`. Any status that is no redirect is given back: the caller knows what it means.
   */
  get(url: URL, options: FetchOptions): Promise<Reply>;
  /** Sends one request, once, and follows nothing: also a redirect is given back. Rejects as `get` does. */
  send(url: URL, options: SendOptions): Promise<Reply>;
  close(): void;
}

const MAX_REDIRECTS = 5;
const RETRIES = 2;
const REDIRECTS: readonly (number | undefined)[] = [301, 302, 303, 307, 308];

export function createFetcher(network: Network = {}): Fetcher {
  const { privateOrigins = new Set(), ca, proxy = null, idleMs = 30_000, totalMs = 300_000 } = network;
  const tls = { keepAlive: true, maxSockets: 8, ...(ca !== undefined && { ca: [...ca] }) };
  const checked = publicLookup(network.resolve ?? ((hostname) => lookup(hostname, { all: true })));
  const agents = {
    direct: new Agent(tls),
    plain: new HttpAgent({ keepAlive: true, maxSockets: 8 }),
    proxied: proxy === null ? null : new Agent({ ...tls, proxyEnv: { HTTPS_PROXY: proxy.href } }),
  };

  const ask = (
    url: URL,
    { method, headers = {}, body }: Omit<SendOptions, 'maxBytes'>,
    signal: AbortSignal,
  ) => {
    const isConfigured = privateOrigins.has(url.origin);
    checkAddress(url, isConfigured);
    const isProxied =
      agents.proxied !== null && url.protocol === 'https:' && !network.isDirect?.(url.hostname);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const agent = url.protocol === 'https:' ? (isProxied ? agents.proxied! : agents.direct) : agents.plain;
    return new Promise<IncomingMessage>((done, fail) => {
      const request = send(url, {
        ...{ method, agent, signal, timeout: idleMs },
        headers: { 'user-agent': 'bulla', 'accept-encoding': 'identity', ...headers },
        ...(isConfigured || isProxied ? {} : { lookup: checked }),
      });
      request.on('timeout', () => request.destroy(timeout(url)));
      request.on('response', done);
      request.on('error', fail);
      request.end(body);
    });
  };

  return {
    async get(start, { headers = {}, maxBytes }) {
      const signal = AbortSignal.timeout(totalMs);
      let [url, sent] = [start, headers];
      for (let hops = 0; ; hops++) {
        const response = await retried(url, () => ask(url, { method: 'GET', headers: sent }, signal), signal);
        if (!REDIRECTS.includes(response.statusCode)) return replyOf(url, response, maxBytes, signal);
        response.destroy();
        const next = URL.parse(response.headers.location ?? '', url);
        if (next === null || hops === MAX_REDIRECTS)
          throw new BullaError(
            'DOWNLOAD_REDIRECT',
            `${shown(start)} redirects ${next === null ? 'to no address' : `more than ${MAX_REDIRECTS} times`}.`,
          );
        // What was meant for one server is not told to another.
        if (next.origin !== url.origin) sent = withoutSecrets(sent);
        url = next;
      }
    },
    async send(url, { maxBytes, ...options }) {
      const signal = AbortSignal.timeout(totalMs);
      const response = await ask(url, options, signal).catch((error) => {
        throw failed(url, error, signal);
      });
      return replyOf(url, response, maxBytes, signal);
    },
    close() {
      for (const agent of Object.values(agents)) agent?.destroy();
    },
  };
}

function replyOf(url: URL, response: IncomingMessage, maxBytes: number, signal: AbortSignal): Reply {
  const { statusCode, headers } = response;
  try {
    checkLength(url, headers, maxBytes);
  } catch (error) {
    response.destroy();
    throw error;
  }
  return { url, status: statusCode!, headers, body: bounded(url, response, maxBytes, signal) };
}

/** Reads a body to its end. */
export async function readBody({ body }: Reply): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Throws `DOWNLOAD_ADDRESS` and `DOWNLOAD_PRIVATE`. */
function checkAddress(url: URL, isConfigured: boolean): void {
  if (url.username !== '' || url.password !== '')
    throw new BullaError(
      'DOWNLOAD_ADDRESS',
      `The address of a download at ${url.host} holds a user name or a password.`,
    );
  if (url.protocol !== 'https:' && !(isConfigured && url.protocol === 'http:'))
    throw new BullaError('DOWNLOAD_ADDRESS', `${shown(url)} is not an https address.`);
  if (!isConfigured && !isPublicHost(url.hostname)) throw notPublic(url.hostname, url.hostname);
}

function notPublic(host: string, address: string): BullaError {
  const what = host === address ? 'is not a public address' : `resolves to ${address}, which is not public`;
  return new BullaError('DOWNLOAD_PRIVATE', `${host} ${what}; nothing is downloaded from there.`);
}

/** Resolves a name, for the connection that is about to be made, and gives only public addresses: all, or none. */
function publicLookup(resolve: Resolve): LookupFunction {
  const checked = async (hostname: string) => {
    const addresses = await resolve(hostname);
    const bad = addresses.find(({ address }) => !isPublicAddress(address));
    if (bad !== undefined || addresses.length === 0) throw notPublic(hostname, bad?.address ?? 'nothing');
    return [...addresses];
  };
  return (hostname, { all }, callback) => {
    checked(hostname).then(
      (found) => (all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

/** A connection may break before anything is answered, above all one that was kept open: then it is asked again. */
async function retried(
  url: URL,
  ask: () => Promise<IncomingMessage>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  for (let left = RETRIES; ; left--) {
    try {
      return await ask();
    } catch (error) {
      const failure = failed(url, error, signal);
      if (failure.code !== 'DOWNLOAD_FAILED' || left === 0) throw failure;
    }
  }
}

function failed(url: URL, error: unknown, signal: AbortSignal): BullaError {
  if (error instanceof BullaError) return error;
  if (signal.aborted) return timeout(url);
  const { code, message } = error as NodeJS.ErrnoException;
  return new BullaError('DOWNLOAD_FAILED', `${shown(url)} cannot be fetched (${code ?? message}).`, {
    cause: error,
  });
}

function timeout(url: URL): BullaError {
  return new BullaError('DOWNLOAD_TIMEOUT', `${shown(url)} took too long to answer.`);
}

function tooLarge(url: URL, maxBytes: number): BullaError {
  return new BullaError('DOWNLOAD_TOO_LARGE', `${shown(url)} has more than ${maxBytes} bytes.`);
}

function checkLength(url: URL, headers: IncomingMessage['headers'], maxBytes: number): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new BullaError('DOWNLOAD_FAILED', `${shown(url)} comes in an encoding that was not asked for.`);
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(url, maxBytes);
}

/** The body, no longer than it may be, whatever its headers said. */
async function* bounded(
  url: URL,
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      left -= chunk.length;
      if (left < 0) throw tooLarge(url, maxBytes);
      yield chunk;
    }
    if (!response.complete) throw new BullaError('DOWNLOAD_FAILED', `${shown(url)} ended before its end.`);
  } catch (error) {
    throw failed(url, error, signal);
  } finally {
    response.destroy();
  }
}

function withoutSecrets(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'),
  );
}

/** An address as it may be told: what stands behind `?` is often a secret. */
function shown(url: URL): string {
  return `${url.origin}${url.pathname}`;
}
