import { JsonObject } from '@bulla/core/json';
import { LIST_KINDS, type ListKind } from '@bulla/core/lock';
import { cursorKey, LISTS, type ResultFrame, readPages } from '../../mcp/index.ts';
import { type CheckedPage, checkPage, type Offer, refused } from './page.ts';
import type { Pins } from './pins.ts';

/** Asks the server for one page of a list. Rejects with a denial. */
export type AskPage = (method: string, params: JsonObject) => Promise<ResultFrame>;

/** What is known of one list. */
class Known {
  /** How often the server told that the list changed. */
  generation = 0;
  readonly items = new Map<string, { readonly offer: Offer; readonly at: number }>();
  /** When the list was last read from its beginning to its end; null if it was not. */
  readAt: number | null = null;
  reading: Promise<void> | null = null;
  /** The digests of the cursors that the host was given, the oldest first. */
  readonly cursors = new Set<string>();
  /** Changed definitions that came by while the list is read; what was read before must not overrule them. */
  readonly meanwhile = new Set<Offer>();
}

/** How many cursors of a list the host may hold. */
const MAX_CURSORS = 1000;

/**
 * What the server has offered in this session, from every list that came by. A call rests on it: what was not offered,
 * or was offered otherwise than locked, is not called. When the server tells of a change, or what is known is old, the
 * gateway reads the list again, over the same connection.
 */
export class Offers {
  #pins: Pins;
  #recheckMs: number;
  readonly #now: () => number;
  readonly #lists: Readonly<Record<ListKind, Known>> = {
    tools: new Known(),
    prompts: new Known(),
    resources: new Known(),
    resourceTemplates: new Known(),
  };
  readonly #maxListBytes: number | undefined;
  #lives = 0;

  constructor(pins: Pins, recheckMs: number, now: () => number, maxListBytes?: number) {
    this.#pins = pins;
    this.#maxListBytes = maxListBytes;
    this.#recheckMs = recheckMs;
    this.#now = now;
  }

  /** To be kept with a request for a list, and given back with its answer. */
  generation(kind: ListKind): number {
    return this.#lists[kind].generation;
  }

  /**
   * A page came by. One that was asked for before the last change tells nothing of now. Of two different definitions
   * under one name the changed one counts, until the whole list is read again.
   */
  saw(kind: ListKind, offers: readonly Offer[], generation: number): void {
    const known = this.#lists[kind];
    if (known.generation !== generation) return;
    for (const offer of offers) this.#keep(known, offer);
    if (known.reading === null) return;
    for (const offer of offers) if (offer.status === 'changed') known.meanwhile.add(offer);
  }

  /** The host is given a cursor, which it may then use. */
  gave(kind: ListKind, cursor: string): void {
    const { cursors } = this.#lists[kind];
    cursors.add(cursorKey(cursor));
    if (cursors.size > MAX_CURSORS) cursors.delete(cursors.keys().next().value!);
  }

  /** Whether the host has a cursor from the server. Any other would only tell the server something. */
  hasGiven(kind: ListKind, cursor: string): boolean {
    return this.#lists[kind].cursors.has(cursorKey(cursor));
  }

  /** Only what the lock holds is kept, so that no server can make it more. */
  #keep(known: Known, offer: Offer): void {
    if (offer.key === null || offer.status === 'unlocked') return;
    const isTainted = known.items.get(offer.key)?.offer.status === 'changed';
    if (!isTainted || offer.status === 'changed') known.items.set(offer.key, { offer, at: this.#now() });
  }

  /** The server told that something changed; nothing that it told before counts. */
  changed(method: string): void {
    for (const kind of LIST_KINDS) {
      if (LISTS[kind].changed !== method) continue;
      const known = this.#lists[kind];
      known.generation++;
      known.items.clear();
      known.readAt = null;
    }
  }

  /** Another lock counts from now on; what was compared with the one before it says nothing. */
  relock(pins: Pins, recheckMs: number): void {
    this.#pins = pins;
    this.#recheckMs = recheckMs;
    for (const kind of LIST_KINDS) {
      const known = this.#lists[kind];
      known.generation++;
      known.items.clear();
      known.meanwhile.clear();
      known.readAt = null;
    }
  }

  /** The server ended: nothing that it told counts for its successor. */
  forget(): void {
    this.#lives++;
    for (const kind of LIST_KINDS) {
      const known = this.#lists[kind];
      known.generation++;
      known.items.clear();
      known.readAt = null;
      known.cursors.clear();
    }
  }

  /** How often the server was started again. */
  get lives(): number {
    return this.#lives;
  }

  /** What is known from before this time is too old to decide by. */
  horizon(): number {
    return this.#now() - this.#recheckMs;
  }

  /** How an item stands by what was learnt since the horizon; null when that must be asked. */
  find(kind: ListKind, key: string, horizon: number): Offer | 'absent' | null {
    const { items, readAt } = this.#lists[kind];
    const found = items.get(key);
    if (found !== undefined) return found.at >= horizon ? found.offer : null;
    return readAt !== null && readAt >= horizon ? 'absent' : null;
  }

  /** Reads a list to its end, once for all who ask meanwhile. Rejects with a denial. */
  read(kind: ListKind, ask: AskPage, meta: JsonObject | null): Promise<void> {
    const known = this.#lists[kind];
    known.reading ??= this.#readAll(kind, ask, meta).finally(() => {
      known.reading = null;
      known.meanwhile.clear();
    });
    return known.reading;
  }

  async #readAll(kind: ListKind, ask: AskPage, meta: JsonObject | null): Promise<void> {
    const known = this.#lists[kind];
    const { generation } = known;
    const { method } = LISTS[kind];
    const askFrom = async (cursor: string | null): Promise<CheckedPage> => {
      const params = JsonObject.from([
        ...(cursor === null ? [] : [['cursor', cursor] as const]),
        ...(meta === null ? [] : [['_meta', meta] as const]),
      ]);
      return checkPage(kind, await ask(method, params), this.#pins);
    };
    const limits = { maxBytes: this.#maxListBytes };
    const locked: Offer[] = [];
    for await (const { offers } of readPages(askFrom, limits, () => refused(`${method} has no end`))) {
      for (const offer of offers) if (offer.status !== 'unlocked') locked.push(offer);
    }
    if (known.generation !== generation) return;
    known.items.clear();
    known.readAt = this.#now();
    for (const offer of [...locked, ...known.meanwhile]) this.#keep(known, offer);
  }
}
