import { JsonObject } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import { LISTS, type Page, pageOf, type RefuseList, type ResultFrame } from '../../mcp/index.ts';
import { Denial } from '../denial.ts';
import { cutItems, type Edit, locate } from '../wire/splice.ts';
import type { Pins, Verdict } from './pins.ts';

/** A definition that the server offered, and how it stands to the lock. */
export interface Offer extends Verdict {
  readonly kind: ListKind;
  /** Null for what has no name; it can only be removed. */
  readonly key: string | null;
}

/** One page of a list, compared with the lock. */
export interface CheckedPage extends Page {
  readonly offers: readonly Offer[];
  /** Cuts everything that is not exactly as it was locked. */
  readonly edits: readonly Edit[];
}

/**
 * Checks a page against the lock, whoever asked for it. Throws a denial for an answer that is no page: a host might
 * read into it what was not checked.
 */
export function checkPage(kind: ListKind, frame: ResultFrame, pins: Pins): CheckedPage {
  const { method, key } = LISTS[kind];
  const refuse: RefuseList = (_, reason) => refused(`answer to ${method} cannot be used: ${reason}`);
  const page = pageOf(kind, frame, refuse);
  const type = frame.result.get('resultType');
  if (type !== undefined && type !== 'complete') throw refuse('MCP_LIST_SHAPE', 'it is not complete');
  const offers = page.items.map((item): Offer => {
    const name = item instanceof JsonObject ? item.get(key) : undefined;
    if (typeof name !== 'string') return { kind, key: null, status: 'unlocked', digest: null };
    // A name that is kept must not keep the whole page in memory.
    return { kind, key: pins.own(kind, name) ?? name, ...pins.verdictOn(kind, name, item as JsonObject) };
  });
  const edits = cutItems(locate(frame, 'result', kind)!.span, (i) => offers[i]!.status !== 'same');
  return { ...page, offers, edits };
}

/** The denial of a list that cannot be used. */
export function refused(what: string): Denial {
  return new Denial('lists', 'GATEWAY_BAD_ANSWER', `The server's ${what}.`);
}
