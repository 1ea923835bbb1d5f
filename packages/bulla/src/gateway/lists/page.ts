import { JsonObject } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import { caseTwin, LISTS, quote, type ResultFrame } from '../../mcp/index.ts';
import { Denial, RPC } from '../denial.ts';
import { cutItems, type Edit, placeOf } from '../wire/splice.ts';
import type { Pins, Verdict } from './pins.ts';

/** A definition that the server offered, and how it stands to the lock. */
export interface Offer extends Verdict {
  readonly kind: ListKind;
  /** Null for what has no name; it can only be removed. */
  readonly key: string | null;
}

/** One page of a list, judged. */
export interface Page {
  readonly offers: readonly Offer[];
  /** Cuts everything that is not exactly as it was locked. */
  readonly edits: readonly Edit[];
  readonly nextCursor: string | null;
}

const MEMBERS = ['nextCursor', '_meta', 'resultType', 'ttlMs', 'cacheScope'];

/**
 * Checks a page against the lock, whoever asked for it. Throws a denial for an answer that is no page: a host might
 * read into it what was not checked.
 */
export function checkPage(kind: ListKind, frame: ResultFrame, pins: Pins): Page {
  const { result } = frame;
  const { method, key } = LISTS[kind];
  const twin = caseTwin(result, [kind, ...MEMBERS]);
  if (twin !== null) throw misshapen(method, `its member ${quote(twin)} could be taken for another`);
  const type = result.get('resultType');
  if (type !== undefined && type !== 'complete') throw misshapen(method, 'it is not complete');
  const nextCursor = result.get('nextCursor') ?? null;
  if (nextCursor !== null && typeof nextCursor !== 'string') {
    throw misshapen(method, 'its cursor is no text');
  }
  const place = placeOf(frame, 'result', kind);
  if (place === null || !Array.isArray(place.value)) throw misshapen(method, `it has no list of ${kind}`);
  const offers = place.value.map((item): Offer => {
    const name = item instanceof JsonObject ? item.get(key) : undefined;
    if (typeof name !== 'string') return { kind, key: null, status: 'unlocked', digest: null };
    // A name that is kept must not keep the whole page in memory.
    return { kind, key: pins.own(kind, name) ?? name, ...pins.judge(kind, name, item as JsonObject) };
  });
  const edits = cutItems(place.span, (i) => offers[i]!.status !== 'same');
  return { offers, edits, nextCursor };
}

function misshapen(method: string, what: string): Denial {
  return new Denial('lists', 'GATEWAY_LIST', `The server's answer to ${method} cannot be used: ${what}.`, {
    rpc: RPC.bad,
  });
}
