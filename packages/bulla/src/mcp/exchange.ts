import { randomInt } from 'node:crypto';
import { JsonNumber } from '@bulla/core/json';
import { type Id, idKey } from './frame.ts';

export interface Waiting {
  /** The id that the asker gave it; null for a request of our own. */
  readonly id: Id | null;
  /** Ids of askers are told apart within one scope. Default: the empty one. */
  readonly scope?: string;
}

/** What an answer is to us: that to a request, or one that nobody waits for. */
export type Match<Request> = Request | 'late' | 'duplicate' | 'unknown';

/** Limit on the ended requests in memory, by which a late answer is recognised. */
const MAX_OVER = 10_000;
/** Ids are drawn from here: too many to guess, and all of them integers that every language holds. */
const ID_RANGE = 2 ** 48 - 1;

/**
 * Requests that go one way, and the ids under which the other side knows them. The other side never sees the asker's
 * ids, and ours cannot be guessed: whoever can make it print a line still cannot answer for it.
 */
export class Exchange<Request extends Waiting> {
  /** The oldest first. */
  readonly #open = new Set<Request>();
  readonly #byTheirs = new Map<string, Request>();
  readonly #byOurs = new Map<string, Request>();
  readonly #ours = new Map<Request, string>();
  /** What another answer to a request that is over would be. */
  readonly #over = new Map<string, 'late' | 'duplicate'>();
  /** Their ids; once there are as many as may be, the oldest stands at `#oldest`. To find it in the map is slow. */
  readonly #overIds: string[] = [];
  #oldest = 0;

  get size(): number {
    return this.#open.size;
  }

  open(): Request[] {
    return [...this.#open];
  }

  isOpen(request: Request): boolean {
    return this.#open.has(request);
  }

  /** Whether the asker uses this id, for a request that is open or was not freed. */
  isTaken(id: Id, scope = ''): boolean {
    return this.#byTheirs.has(scoped(id, scope));
  }

  /** Takes a request in; false when the asker has another one under the same id. */
  take(request: Request): boolean {
    if (request.id !== null) {
      if (this.isTaken(request.id, request.scope)) return false;
      this.#byTheirs.set(scoped(request.id, request.scope), request);
    }
    this.#open.add(request);
    return true;
  }

  /** Gives a request its id on the other side. */
  assign(request: Request): JsonNumber {
    let lexeme: string;
    do lexeme = String(randomInt(1, ID_RANGE));
    while (this.#byOurs.has(lexeme) || this.#over.has(lexeme));
    this.#byOurs.set(lexeme, request);
    this.#ours.set(request, lexeme);
    return new JsonNumber(lexeme);
  }

  /** The id of a request on the other side, or null before it has one. */
  idOf(request: Request): JsonNumber | null {
    const lexeme = this.#ours.get(request);
    return lexeme === undefined ? null : new JsonNumber(lexeme);
  }

  /** The open request that the asker, or the other side, calls so. */
  find(side: 'asker' | 'other', id: Id, scope = ''): Request | undefined {
    const found = side === 'asker' ? this.#byTheirs.get(scoped(id, scope)) : this.#byOurs.get(idKey(id));
    return found !== undefined && this.#open.has(found) ? found : undefined;
  }

  /** Matches an answer. A request that is answered is no longer open, but keeps the asker's id until it is freed. */
  settle(id: Id | null): Match<Request> {
    if (id === null) return 'unknown';
    const key = idKey(id);
    const request = this.#byOurs.get(key);
    if (request !== undefined) {
      this.#forget(request, 'duplicate');
      return request;
    }
    const over = this.#over.get(key) ?? 'unknown';
    if (over === 'late') this.#over.set(key, 'duplicate');
    return over;
  }

  /** Nobody waits for an answer of the other side any more; the asker's id is kept until it is freed. */
  abandon(request: Request): void {
    this.#forget(request, 'late');
  }

  /** The asker has its answer, or wants none: it may use the id again. */
  free(request: Request): void {
    this.#forget(request, 'late');
    this.release(request);
  }

  /** The asker waits no longer, and may use the id again; the request stays open for the other side. */
  release(request: Request): void {
    if (request.id === null) return;
    const key = scoped(request.id, request.scope);
    if (this.#byTheirs.get(key) === request) this.#byTheirs.delete(key);
  }

  #forget(request: Request, over: 'late' | 'duplicate'): void {
    if (!this.#open.delete(request)) return;
    const ours = this.#ours.get(request);
    if (ours === undefined) return;
    this.#ours.delete(request);
    this.#byOurs.delete(ours);
    this.#over.set(ours, over);
    if (this.#overIds.length < MAX_OVER) {
      this.#overIds.push(ours);
      return;
    }
    this.#over.delete(this.#overIds[this.#oldest]!);
    this.#overIds[this.#oldest] = ours;
    this.#oldest = (this.#oldest + 1) % MAX_OVER;
  }
}

function scoped(id: Id, scope = ''): string {
  return scope + idKey(id);
}
