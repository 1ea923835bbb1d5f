import { BullaError } from '../../error.ts';
import { type JsonObject, pointer } from '../../json/index.ts';

/**
 * What a tool server offers, as it was scanned: every definition whole and lossless, in the server's order.
 * Everything in it is the server's word and may be hostile.
 */
export interface Surface {
  readonly protocolVersion: string;
  /** `stateless` from 2026-07-28 on, `initialize` before. */
  readonly era: Era;
  /** What the server says of itself. It identifies nothing: the lock's identity is the transport's. */
  readonly serverInfo: JsonObject;
  readonly instructions: string | null;
  readonly capabilities: JsonObject;
  readonly tools: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
  /** Content behind `icons[].src` and `ui://` addresses that could be read. */
  readonly contents: readonly Content[];
}

export type Era = 'stateless' | 'initialize';

/** Content that a definition points to, known by its hash. */
export interface Content {
  readonly uri: string;
  /** SHA-256 of the content's bytes, 64 lower-case hex digits. */
  readonly sha256: string;
  readonly mimeType: string | null;
  /** The `_meta` that came with the content, such as the policy and permissions of a `ui://` page. */
  readonly meta?: JsonObject;
}

/** The four lists of a surface, with the member by which each of their definitions is known. */
export const LISTS = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
} as const;

export type ListKind = keyof typeof LISTS;

export const LIST_KINDS = Object.keys(LISTS) as readonly ListKind[];

/** What `make` gives for each list. */
export function forLists<Value>(make: (kind: ListKind) => Value): Readonly<Record<ListKind, Value>> {
  return Object.fromEntries(LIST_KINDS.map((kind) => [kind, make(kind)])) as Record<ListKind, Value>;
}

/**
 * The definitions of one list by their name, URI or URI template. Throws `LOCK_DEFINITION` for one without,
 * and `LOCK_DUPLICATE` when two share it: nobody could say which of them is meant.
 */
export function byKey(kind: ListKind, definitions: readonly JsonObject[]): Map<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  definitions.forEach((definition, index) => {
    const key = definition.get(LISTS[kind]);
    const path = pointer([kind, index, LISTS[kind]]);
    if (typeof key !== 'string' || key === '')
      throw new BullaError('LOCK_DEFINITION', `One of the ${kind} has no ${LISTS[kind]}.`, { path });
    const message = `Two of the ${kind} are called ${JSON.stringify(key)}.`;
    if (found.has(key)) throw new BullaError('LOCK_DUPLICATE', message, { path });
    found.set(key, definition);
  });
  return found;
}
