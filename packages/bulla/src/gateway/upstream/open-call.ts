import { createHash } from 'node:crypto';
import { exactText } from '@bulla/core/canon';
import { JsonObject, stringify } from '@bulla/core/json';
import { type Id, idKey, META_VERSION, type RequestFrame } from '../../mcp/index.ts';
import { AGAIN } from '../gates/methods.ts';
import { META_CAPABILITIES, META_CLIENT } from '../gates/session.ts';
import { bytesOf, type Edit, locate, raw, setMembers } from '../wire/splice.ts';
import { isToken, LOG_LEVEL } from '../wire/tokens.ts';
import { hasCapability } from './ends.ts';
import type { Answer } from './life.ts';

/** The members of `_meta` that a server of the initialize era does not know. */
const STATELESS_META = [META_VERSION, META_CLIENT, META_CAPABILITIES, LOG_LEVEL];

/** What a server asked for, and how it is told the answer. */
export interface Asked {
  /** The server's id of it, byte for byte. */
  readonly idBytes: Uint8Array;
  readonly method: string;
  readonly params: Uint8Array | null;
}

/** The request of the host that the answer to a call goes to. */
export interface Asker {
  readonly id: Id;
  /** The progress token that the server would have to give, byte for byte. */
  readonly token: Uint8Array | null;
  readonly capabilities: JsonObject;
  readonly level: string | null;
  readonly signal: AbortSignal | undefined;
}

/** A request of a host of the stateless era that is open at a server of the initialize era. */
export interface OpenCall {
  /** By which the server knows it. */
  readonly id: Id;
  readonly method: string;
  /** Of its parameters, without what may differ when it is repeated. */
  readonly digest: string;
  /** Closes its stream. */
  readonly stop: AbortController;
  /** Null while the host is to repeat the call with what the server asked for. */
  asker: Asker | null;
  /** The last asker, by which it is told what the host can do. */
  capabilities: JsonObject;
  readonly asked: Map<string, Asked>;
  /** The answer, if it came while nobody waited for it. */
  early: Answer | null;
  timer: NodeJS.Timeout | undefined;
}

export function askerOf(frame: RequestFrame, signal: AbortSignal | undefined): Asker {
  const meta = frame.params!.get('_meta') as JsonObject;
  const capabilities = meta.get(META_CAPABILITIES);
  const level = meta.get(LOG_LEVEL);
  const token = locate(frame, 'params', '_meta', 'progressToken');
  return {
    id: frame.id,
    token: token !== null && isToken(token.value) ? Uint8Array.from(bytesOf(frame, token)) : null,
    capabilities: capabilities instanceof JsonObject ? capabilities : new JsonObject(),
    level: typeof level === 'string' ? level : null,
    signal,
  };
}

/** Tells two requests apart that are not the same call. */
export function digestOf({ method, params }: RequestFrame): string {
  const kept = [...params!].filter(([key]) => key !== '_meta' && !AGAIN.includes(key));
  return createHash('sha256')
    .update(exactText([method, JsonObject.from(kept)]))
    .digest('hex');
}

/** The edits that make a request one of the initialize era. */
export function withoutMeta(frame: RequestFrame): Edit[] {
  const edits = setMembers(locate(frame, 'params', '_meta')!, [], STATELESS_META);
  return [...edits, ...setMembers(locate(frame, 'params')!, [], AGAIN)];
}

/** The capability of a host that a request of a server needs; null for requests that hosts are not asked. */
export function needOf(method: string, params: JsonObject | null): readonly string[] | null {
  if (method === 'roots/list') return ['roots'];
  if (method === 'sampling/createMessage') return ['sampling'];
  if (method !== 'elicitation/create') return null;
  return params?.get('mode') === 'url' ? ['elicitation', 'url'] : ['elicitation', 'form'];
}

/** Whether a host declares what a request needs. One that declares elicitation without a mode takes forms. */
export function declares(capabilities: JsonObject, need: readonly string[]): boolean {
  if (hasCapability(capabilities, ...need)) return true;
  const elicitation = capabilities.get('elicitation');
  return need[1] === 'form' && elicitation instanceof JsonObject && elicitation.size === 0;
}

/** The result that asks the host for input (2026-07-28, Multi Round-Trip Requests). */
export function inputRequired(asked: ReadonlyMap<string, Asked>, state: string): Uint8Array {
  const requests = [...asked].flatMap(([key, { method, params }], i) => [
    `${i > 0 ? ',' : ''}${stringify(key)}:{"method":${stringify(method)}`,
    ...(params === null ? ['}'] : [',"params":', params, '}']),
  ]);
  return raw(
    '{"resultType":"input_required","inputRequests":{',
    requests,
    `},"requestState":${stringify(state)}}`,
  );
}

/** The key of an id, for maps. */
export function keyOf({ id }: { readonly id: Id }): string {
  return idKey(id);
}
