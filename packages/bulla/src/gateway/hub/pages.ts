import { toUtf8 } from '@bulla/core/crypto';
import { JsonObject, type Span, stringify } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import { LISTS, type ResultFrame } from '../../mcp/index.ts';
import { cutItems, cutMembers, type Edit, locate, replace, splice } from '../wire/splice.ts';
import { SERVER_INFO } from '../wire/tokens.ts';
import { cachingOf, OWN_INFO } from './self.ts';

/** A page of a list of one member. */
export interface MemberPage {
  readonly answer: ResultFrame;
  /** The name by which an item is shown; null for one that is not shown. */
  shown(name: string): string | null;
}

/** Limit on the bytes of several pages that are sent as one. A page by itself may be longer. */
export const MAX_JOINED: number = 1024 * 1024;

/**
 * Pages of several members as one page: the first, with the items of the others behind its own. Everything but names,
 * the cursor and what several pages must say together stays byte for byte.
 */
export function joinPages(
  kind: ListKind,
  pages: readonly MemberPage[],
  nextCursor: string | null,
): Uint8Array {
  const [first, ...others] = pages as [MemberPage, ...MemberPage[]];
  const { answer } = first;
  const list = locate(answer, 'result', kind)!;
  const edits = [...listEdits(kind, first), ...cursorEdits(answer, list.span, nextCursor)];
  const more = others.flatMap((page) => itemsOf(kind, page));
  if (more.length > 0) {
    const isEmpty = kept(kind, first).every((isKept) => !isKept);
    const bytes = Buffer.concat(more.flatMap((item, i) => (i === 0 && isEmpty ? [item] : [COMMA, item])));
    edits.push({ start: list.span.end - 1, end: list.span.end - 1, bytes });
  }
  if (others.length > 0) for (const edit of sharedEdits(pages)) edits.push(edit);
  return splice(answer.bytes, edits);
}

const COMMA = toUtf8(',');

/** Which items of a page are shown. */
function kept(kind: ListKind, { answer, shown }: MemberPage): boolean[] {
  const items = locate(answer, 'result', kind)!.value as unknown[];
  if (LISTS[kind].key !== 'name') return items.map(() => true);
  return items.map((item) => {
    const name = item instanceof JsonObject ? item.get('name') : undefined;
    return typeof name !== 'string' || shown(name) !== null;
  });
}

/** Puts the shown names in place, and cuts the items that have none. */
function listEdits(kind: ListKind, page: MemberPage): Edit[] {
  const { span } = locate(page.answer, 'result', kind)!;
  const isKept = kept(kind, page);
  const names = span.children!.flatMap((item, i) => (isKept[i] ? nameEdits(kind, page, i, item) : []));
  return [...names, ...cutItems(span, (i) => !isKept[i])];
}

function nameEdits(kind: ListKind, { answer, shown }: MemberPage, index: number, span: Span): Edit[] {
  const item = (locate(answer, 'result', kind)!.value as unknown[])[index];
  const at = item instanceof JsonObject && LISTS[kind].key === 'name' ? item.indexOf('name') : -1;
  const name = at < 0 ? undefined : (item as JsonObject).values[at];
  if (typeof name !== 'string') return [];
  return [replace({ value: name, span: span.children![at]! }, toUtf8(stringify(shown(name)!)))];
}

/** The shown items of a page, each with its shown name. */
function itemsOf(kind: ListKind, page: MemberPage): Uint8Array[] {
  const { bytes } = page.answer;
  const isKept = kept(kind, page);
  return locate(page.answer, 'result', kind)!.span.children!.flatMap((span, i) => {
    if (!isKept[i]) return [];
    const edits = nameEdits(kind, page, i, span).map((edit) => ({
      ...edit,
      start: edit.start - span.start,
      end: edit.end - span.start,
    }));
    return [splice(bytes.subarray(span.start, span.end), edits)];
  });
}

function cursorEdits(answer: ResultFrame, list: Span, cursor: string | null): Edit[] {
  const place = locate(answer, 'result', 'nextCursor');
  if (cursor !== null) {
    const bytes = toUtf8(stringify(cursor));
    if (place !== null) return [replace(place, bytes)];
    return [{ start: list.end, end: list.end, bytes: Buffer.concat([toUtf8(',"nextCursor":'), bytes]) }];
  }
  if (place === null) return [];
  const index = answer.result.indexOf('nextCursor');
  return cutMembers(locate(answer, 'result')!.span, (i) => i === index);
}

/** What is said once for all pages: the strictest rule for caching, and whose page it is. */
function sharedEdits(pages: readonly MemberPage[]): Edit[] {
  const { answer } = pages[0]!;
  const caching = cachingOf(pages.map((page) => page.answer));
  const values = [
    { place: locate(answer, 'result', 'ttlMs'), value: caching.ttlMs },
    { place: locate(answer, 'result', 'cacheScope'), value: caching.cacheScope },
    { place: locate(answer, 'result', '_meta', SERVER_INFO), value: OWN_INFO },
  ];
  return values.flatMap(({ place, value }) =>
    place === null ? [] : [replace(place, toUtf8(stringify(value)))],
  );
}
