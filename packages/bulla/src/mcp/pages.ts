import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import type { JsonValue } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import { caseTwin, type ResultFrame } from './frame.ts';
import { quote } from './transport.ts';

export interface Page {
  readonly items: readonly JsonValue[];
  readonly nextCursor: string | null;
  /** Its size on the wire. */
  readonly size: number;
}

export interface PageLimits {
  /** The most pages of one list. Default 1,000. */
  readonly maxPages?: number | undefined;
  /** The most items of one list. Default 100,000. */
  readonly maxItems?: number | undefined;
  /** The most bytes of all pages of one list together. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
}

/** Makes the error for a list that cannot be used. */
export type RefuseList = (code: 'MCP_LIST_SHAPE' | 'MCP_LIST_TOO_LONG', reason: string) => Error;

const MEMBERS = ['nextCursor', '_meta', 'resultType', 'ttlMs', 'cacheScope'];

/** Reads the answer to a list request. Refuses with `MCP_LIST_SHAPE`. */
export function pageOf(kind: ListKind, { result, bytes }: ResultFrame, refuse: RefuseList): Page {
  const twin = caseTwin(result, [kind, ...MEMBERS]);
  if (twin !== null)
    throw refuse('MCP_LIST_SHAPE', `the member ${quote(twin)} differs from a known one only in case`);
  const items = result.get(kind);
  if (!Array.isArray(items)) throw refuse('MCP_LIST_SHAPE', `${kind} is not a list`);
  const nextCursor = result.get('nextCursor') ?? null;
  if (nextCursor !== null && typeof nextCursor !== 'string')
    throw refuse('MCP_LIST_SHAPE', 'nextCursor is not a string');
  return { items, nextCursor, size: bytes.length };
}

/**
 * Reads the pages of a list to its end, whatever the server sends: refuses with `MCP_LIST_TOO_LONG` beyond a limit
 * and for a cursor that leads back. Rejects with what `ask` rejects with.
 */
export async function* readPages<P extends Page>(
  ask: (cursor: string | null) => Promise<P>,
  { maxPages = 1000, maxItems = 100_000, maxBytes = 64 * 1024 * 1024 }: PageLimits,
  refuse: RefuseList,
): AsyncGenerator<P, void, void> {
  const cursors = new Set<string>();
  let [items, bytes] = [0, 0];
  for (let cursor: string | null = null; ; ) {
    const page: P = await ask(cursor);
    items += page.items.length;
    bytes += page.size;
    if (items > maxItems) throw refuse('MCP_LIST_TOO_LONG', `it has more than ${maxItems} items`);
    if (bytes > maxBytes) throw refuse('MCP_LIST_TOO_LONG', `it has more than ${maxBytes} bytes`);
    yield page;
    cursor = page.nextCursor;
    if (cursor === null) return;
    const key = cursorKey(cursor);
    if (cursors.has(key)) throw refuse('MCP_LIST_TOO_LONG', 'the same page was offered twice');
    cursors.add(key);
    if (cursors.size >= maxPages) throw refuse('MCP_LIST_TOO_LONG', `it has more than ${maxPages} pages`);
  }
}

/** The digest, because a cursor may be long, and a part of a text keeps the whole text in memory. */
export function cursorKey(cursor: string): string {
  return sha256Hex(toUtf8(cursor));
}
