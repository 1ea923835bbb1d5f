import type { ShownLink, ShownTool } from '../../capability/index.ts';
import { cursorKey } from '../../mcp/index.ts';

/** A page that the host was given, and the pages before it. */
interface Given {
  readonly before: Given | null;
  readonly tools: readonly ShownTool[];
  /** How many tools and bytes all of them have. */
  readonly count: number;
  readonly bytes: number;
}

/** Makes the link of a complete list; null where there is none. Rejects when it cannot be recorded. */
export type LinkShown = (tools: readonly ShownTool[]) => Promise<ShownLink | null>;

/** How many lists may be read at a time, and how much of each is kept until its end. */
const MAX_LISTS = 16;
const MAX_TOOLS = 10_000;
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * The tools that the host was last shown, as one complete list. What the gateway reads for itself is not shown to
 * anybody. The link is made once for a list, when it was given.
 */
export class Shown {
  readonly #make: LinkShown;
  /** The lists of which a page is still to come, by the cursor that leads to it, the oldest first. */
  readonly #open = new Map<string, Given>();
  #digests = '';
  #tools: readonly ShownTool[] | null = null;
  #link: Promise<ShownLink | null> | null = null;

  constructor(make: LinkShown) {
    this.#make = make;
  }

  /** A page was given to the host, which had asked for it with this cursor. */
  gave(cursor: string | null, tools: readonly ShownTool[], bytes: number, nextCursor: string | null): void {
    const before = cursor === null ? null : this.#open.get(cursorKey(cursor));
    // The beginning of that list is not known any more.
    if (before === undefined) return;
    const count = (before?.count ?? 0) + tools.length;
    const given: Given = { before, tools, count, bytes: (before?.bytes ?? 0) + bytes };
    // Of a list that is too long nothing can be said, nor of one before it.
    const isTooLong = count > MAX_TOOLS || given.bytes > MAX_BYTES;
    if (isTooLong) this.#forget();
    else if (nextCursor === null) this.#complete(given);
    else this.#await(given, nextCursor);
  }

  #await(given: Given, nextCursor: string): void {
    this.#open.set(cursorKey(nextCursor), given);
    if (this.#open.size > MAX_LISTS) this.#open.delete(this.#open.keys().next().value!);
  }

  /** The link of the last complete list; null where the host was shown none. Rejects when it cannot be recorded. */
  async link(): Promise<ShownLink | null> {
    const tools = this.#tools;
    if (tools === null) return (await this.#link) ?? null;
    this.#link ??= this.#make(tools);
    const link = this.#link;
    try {
      const made = await link;
      // Only the hashes are needed from now on.
      if (this.#link === link) this.#tools = null;
      return made;
    } catch (error) {
      // The next call tries again.
      if (this.#link === link) this.#link = null;
      throw error;
    }
  }

  #complete(last: Given): void {
    const pages: (readonly ShownTool[])[] = [];
    for (let given: Given | null = last; given !== null; given = given.before) pages.push(given.tools);
    const tools = pages.reverse().flat();
    // Hosts ask again and again: the same list has the same link.
    const isKnown = tools.every(({ digest }) => digest !== null);
    const digests = isKnown ? JSON.stringify(tools.map(nameAndDigest)) : '';
    const isSame = isKnown && digests === this.#digests && (this.#link !== null || this.#tools !== null);
    if (isSame) return;
    this.#digests = digests;
    this.#tools = tools;
    this.#link = null;
    // At once, so that the first call need not wait for it.
    void this.link().catch(() => undefined);
  }

  #forget(): void {
    this.#digests = '';
    this.#tools = null;
    this.#link = null;
  }
}

const nameAndDigest = ({ definition, digest }: ShownTool) => [definition.get('name'), digest];
