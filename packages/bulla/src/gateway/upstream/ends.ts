import { type JsonObject, memberAt, stringify } from '@bulla/core/json';
import { type Frame, type Id, META_VERSION, type RequestFrame, STATELESS_VERSIONS } from '../../mcp/index.ts';
import { META_CAPABILITIES, META_CLIENT } from '../gates/session.ts';
import { bytesOf, locate, type Member, raw } from '../wire/splice.ts';
import { LOG_LEVEL } from '../wire/tokens.ts';
import type { Life } from './life.ts';

/** The two ends between which messages are translated: the server as it runs now, and the way to the host. */
export interface Ends {
  readonly life: Life;
  readonly host: HostSession;
  /** What the operator lets the server ask of the host. */
  readonly features: ReadonlySet<string>;
  /** The time limit of a call. */
  readonly timeoutMs: number;
  /** Gives the host a message of the server; `on` is the id of the request that it belongs to. */
  pass(frame: Frame, on?: Id): void | Promise<void>;
  /** The same for a message that was written here. */
  deliver(bytes: Uint8Array, on?: Id): void | Promise<void>;
  /** A list of the server changed, and the host did not ask to be told. */
  changed(method: string): void;
  /** Follows work that nobody waits for. If it rejects, the gateway has failed. */
  follow(work: void | Promise<void>): void;
}

/** Methods whose result may ask for input (2026-07-28, Multi Round-Trip Requests, Supported Requests). */
export const MAY_ASK: readonly string[] = ['tools/call', 'prompts/get', 'resources/read'];

/** Limit on the resources that a host may subscribe to. */
export const MAX_URIS = 1024;

/** What a host of the initialize era has told once, and every server that is started for it must know. */
export class HostSession {
  /** The host's `initialize`, cut to what its operator permits. */
  initialize: RequestFrame | null = null;
  /** The version that the host was told. */
  protocolVersion: string | null = null;
  /** Whether `notifications/initialized` came. */
  isInitialized = false;
  level: string | null = null;
  readonly uris = new Set<string>();

  /** What every request to a server of the stateless era carries for this host. */
  meta(): Member[] {
    const frame = this.initialize!;
    const [client, capabilities] = ['clientInfo', 'capabilities'].map((key) => locate(frame, 'params', key));
    return [
      [META_VERSION, raw(stringify(STATELESS_VERSIONS[0]!))],
      ...(client ? [[META_CLIENT, bytesOf(frame, client)] as const] : []),
      [META_CAPABILITIES, capabilities ? bytesOf(frame, capabilities) : raw('{}')],
      ...(this.level === null ? [] : [[LOG_LEVEL, raw(stringify(this.level))] as const]),
    ];
  }
}

/** The bytes of an object with these members. */
export function objectBytes(members: readonly Member[]): Uint8Array {
  const pieces = members.flatMap(([name, value], i) => [`${i > 0 ? ',' : ''}${stringify(name)}:`, value]);
  return raw('{', pieces, '}');
}

/** Whether a server declares a capability, or a part of it. */
export function hasCapability(capabilities: JsonObject, ...path: readonly string[]): boolean {
  const found = memberAt(capabilities, path);
  return found !== undefined && found !== false && found !== null;
}
