import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { BullaError } from '@bulla/core/error';
import { Refusal } from './http-response.ts';

/** An agent that proves itself with a bearer token, of which only the SHA-256 is known here. */
export interface AgentToken {
  readonly id: string;
  readonly tokenHash: Uint8Array;
}

export interface DoorOptions {
  /** Who may come in. One agent without a token: whoever reaches the address, which must be a loopback one. */
  readonly agents: readonly AgentToken[] | { readonly id: string };
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: string | undefined;
  /** Web pages, by their origins, that may send requests. Default: none. */
  readonly origins?: readonly string[] | undefined;
  /** Names, with their ports, under which the address is reached beside its own. Default: none. */
  readonly hosts?: readonly string[] | undefined;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Throws `GATEWAY_LISTEN_OPTION` for options with which nothing may be served. */
export function checkDoor({ agents, path = '/mcp' }: DoorOptions, { host }: Address): void {
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(path)) {
    throw badOption('A path is such as /mcp, without a slash at its end.');
  }
  if (!Array.isArray(agents)) {
    if (isLoopback(host)) return;
    throw badOption(`Without tokens only a loopback address is served, such as 127.0.0.1; ${host} is none.`);
  }
  if (agents.length === 0) throw badOption('No agent has a token, so nobody could come in.');
  if (agents.some(({ tokenHash }) => tokenHash.length !== 32)) {
    throw badOption('The hash of a token is a SHA-256.');
  }
  const owners = new Map<string, string>();
  for (const { id, tokenHash } of agents) {
    const hash = Buffer.from(tokenHash).toString('hex');
    const other = owners.get(hash);
    if (other !== undefined)
      throw badOption(`The agents ${JSON.stringify(other)} and ${JSON.stringify(id)} have the same token.`);
    owners.set(hash, id);
  }
}

function badOption(message: string): BullaError {
  return new BullaError('GATEWAY_LISTEN_OPTION', message);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host);
}

/** Whether an address is one of this machine; of IPv4 also in the clothes of IPv6. */
export function isLoopbackAddress(address: string | undefined = ''): boolean {
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** How an address is written in a URL and in a `Host` header. */
export function authority({ host, port }: Address): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Who may send requests, from where, and which agent they are. */
export class Door {
  readonly #path: string;
  readonly #agents: DoorOptions['agents'];
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;

  /** `address` is the one that is listened on, with the port that it got. */
  constructor({ agents, path = '/mcp', origins = [], hosts = [] }: DoorOptions, address: Address) {
    this.#path = path;
    this.#agents = agents;
    const own = [address.host, 'localhost', '127.0.0.1', '::1'].map((host) =>
      authority({ host, port: address.port }),
    );
    // RFC 9110 §7.2: the port is left out where it is the default of the scheme.
    const short = address.port === 80 ? own.map((host) => host.replace(/:80$/, '')) : [];
    this.#hosts = new Set([...own, ...short, ...hosts].map((host) => host.toLowerCase()));
    // A page of our own address; we serve none, and who can serve one there needs no browser to get here.
    this.#origins = new Set([...origins, ...[...own, ...short].map((host) => `http://${host}`)]);
  }

  /** The id of the agent that sent a request. Throws a refusal for one that may not come in. */
  admit({ headersDistinct: headers, url = '' }: IncomingMessage): string {
    this.#checkPlace(headers);
    const query = url.indexOf('?');
    if (query < 0 ? url !== this.#path : url.slice(0, query) !== this.#path) {
      throw new Refusal(404, 'session', 'GATEWAY_HTTP', 'There is nothing at this path.');
    }
    if (query >= 0) {
      const message = 'The endpoint takes no query; a token stands in the Authorization header.';
      throw new Refusal(400, 'session', 'GATEWAY_HTTP', message);
    }
    return this.#agent(headers.authorization);
  }

  /** A page in a browser that was led here under another name must not get through (DNS rebinding). */
  #checkPlace({ host = [], origin = [] }: IncomingMessage['headersDistinct']): void {
    if (host.length !== 1 || !this.#hosts.has(host[0]!.toLowerCase())) {
      throw new Refusal(403, 'session', 'GATEWAY_ORIGIN', 'The gateway is not served under this host name.');
    }
    // `null` is what every page without an origin says.
    if (origin.some((value) => value === 'null' || !this.#origins.has(value)) || origin.length > 1) {
      throw new Refusal(403, 'session', 'GATEWAY_ORIGIN', 'Requests of this web page are not allowed.');
    }
  }

  #agent(authorization: readonly string[] | undefined): string {
    if ('id' in this.#agents) return this.#agents.id;
    const token = authorization?.length === 1 ? /^bearer +(\S+)$/i.exec(authorization[0]!)?.[1] : undefined;
    const hash = createHash('sha256')
      .update(token ?? '', 'latin1')
      .digest();
    let found: string | null = null;
    // All of them are compared, so that the time tells nothing.
    for (const { id, tokenHash } of this.#agents) if (timingSafeEqual(hash, tokenHash)) found = id;
    if (found !== null && token !== undefined) return found;
    // RFC 6750 §3.1: a request without credentials gets no error code.
    const challenge = authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"';
    throw new Refusal(401, 'session', 'GATEWAY_UNAUTHORIZED', 'A bearer token of an agent is needed.', {
      headers: { 'www-authenticate': challenge },
    });
  }
}
