import { JsonObject, type JsonValue, memberAt, textAt } from '@bulla/core/json';
import type { Era } from '@bulla/core/lock';
import { INITIALIZE_VERSIONS, META_VERSION, type RequestFrame, STATELESS_VERSIONS } from '../../mcp/index.ts';
import { Denial, RPC } from '../denial.ts';
import { boundedName } from '../notices.ts';
import { cutMembers, type Edit, locate } from '../wire/splice.ts';

export const META_CLIENT = 'io.modelcontextprotocol/clientInfo';
export const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/**
 * Which era a request is of. In the stateless one every request says so itself; in the other one the handshake comes
 * first. A host may use both on one process (2026-07-28, Versioning, Backward Compatibility).
 */
export class Session {
  #handshake: 'none' | 'asked' | 'done' = 'none';
  #host = '';
  #introduced: JsonObject | null = null;
  #capabilities: JsonObject | null = null;

  /** The host as it names itself; it proves nothing. */
  get host(): string {
    return this.#host;
  }

  /** The version that the handshake agreed on; null without one. */
  get version(): string | null {
    return (this.#introduced?.get('protocolVersion') ?? null) as string | null;
  }

  /** The server's answer to `initialize`, which was checked; null without one. */
  get introduced(): JsonObject | null {
    return this.#introduced;
  }

  /** What the host said in the handshake that it can do; null without one. */
  get capabilities(): JsonObject | null {
    return this.#capabilities;
  }

  /** Whether the handshake of the initialize era is done. */
  get isEstablished(): boolean {
    return this.#handshake === 'done';
  }

  /** Tells the era of a request. Throws a denial for one that comes too early, or speaks an unknown version. */
  read({ method, params }: RequestFrame): Era {
    const version = memberAt(params, ['_meta', META_VERSION]);
    if (version !== undefined) {
      if (typeof version !== 'string' || !STATELESS_VERSIONS.includes(version)) throw unsupported(version);
      this.#name(memberAt(params, ['_meta', META_CLIENT]));
      return 'stateless';
    }
    if (method === 'initialize') {
      if (this.#handshake !== 'none') {
        throw new Denial('session', 'GATEWAY_SESSION', 'The session is already initialized.');
      }
      this.#handshake = 'asked';
      this.#name(memberAt(params, ['clientInfo']));
      const capabilities = memberAt(params, ['capabilities']);
      this.#capabilities = capabilities instanceof JsonObject ? capabilities : null;
      return 'initialize';
    }
    if (this.#handshake === 'done' || method === 'ping') return 'initialize';
    const message = 'The request names no protocol version, and the session was not initialized.';
    throw new Denial('session', 'GATEWAY_SESSION', message);
  }

  /** The server answered `initialize`. Throws a denial for a version that is not known here. */
  initialized(result: JsonObject): void {
    const protocolVersion = result.get('protocolVersion');
    this.#handshake = 'none';
    if (typeof protocolVersion !== 'string' || !INITIALIZE_VERSIONS.includes(protocolVersion)) {
      throw new Denial('session', 'GATEWAY_VERSION', 'The server speaks a version that is not known here.', {
        kind: 'peer',
      });
    }
    this.#handshake = 'done';
    this.#introduced = result;
  }

  /** The server refused `initialize`, or the request did not reach it: it may be asked again. */
  notInitialized(): void {
    this.#handshake = 'none';
  }

  #name(info: JsonValue | undefined): void {
    const parts = [textAt(info, ['name']), textAt(info, ['version'])];
    this.#host = boundedName(parts.filter((part) => part !== null).join('/'));
  }
}

function unsupported(version: JsonValue): Denial {
  const requested = typeof version === 'string' ? version.slice(0, 40) : '';
  const data = { supported: STATELESS_VERSIONS, requested };
  return new Denial('session', 'GATEWAY_VERSION', 'The gateway does not know this protocol version.', {
    rpc: RPC.version,
    data,
  });
}

/** Cuts capabilities out of a request whose methods the gateway does not forward to the host. */
export function withholdCapabilities(frame: RequestFrame, features: ReadonlySet<string>): Edit[] {
  const paths = [['_meta', META_CAPABILITIES]];
  if (frame.method === 'initialize') paths.push(['capabilities']);
  return paths.flatMap((path) => {
    const located = locate(frame, 'params', ...path);
    if (!(located?.value instanceof JsonObject)) return [];
    const { keys } = located.value;
    return cutMembers(located.span, (i) => !features.has(keys[i]!));
  });
}

/** The `_meta` of the gateway's own requests, by which they belong to the session of a request of the host. */
export function ownMeta(frame: RequestFrame, features: ReadonlySet<string>): JsonObject | null {
  const meta = frame.params?.get('_meta');
  if (!(meta instanceof JsonObject) || !meta.has(META_VERSION)) return null;
  const capabilities = meta.get(META_CAPABILITIES);
  const entries = [META_VERSION, META_CLIENT]
    .filter((key) => meta.has(key))
    .map((key): [string, JsonValue] => [key, meta.get(key)!]);
  if (capabilities instanceof JsonObject) {
    const kept = [...capabilities].filter(([key]) => features.has(key));
    entries.push([META_CAPABILITIES, JsonObject.from(kept)]);
  }
  return JsonObject.from(entries);
}
