import { randomUUID } from 'node:crypto';
import { toUtf8 } from '@bulla/core/crypto';
import { stringify } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import { type ErrorFrame, LISTS, quote, type RequestFrame } from '../../mcp/index.ts';
import { refused } from '../lists/page.ts';
import { cutMembers, type Edit, locate, replace } from '../wire/splice.ts';
import { edited, reread } from './asks.ts';
import { Cursors, type Position } from './cursors.ts';
import { can, type Member } from './members.ts';
import { joinPages, MAX_JOINED, type MemberPage } from './pages.ts';
import type { HostRequest } from './requests.ts';
import { NAMED_LISTS, type Routes } from './routes.ts';
import type { Answer, Traffic } from './traffic.ts';

const METHOD_NOT_FOUND = -32601;

/**
 * The lists of all members, one behind the other, in as few pages as they fit: many hosts read only one. A list is
 * complete, or it fails.
 */
export class Lists {
  readonly #traffic: Traffic;
  readonly #routes: () => Routes;
  readonly #cursors = new Cursors();

  /** `routes` is asked each time: a reload replaces them. */
  constructor(traffic: Traffic, routes: () => Routes) {
    this.#traffic = traffic;
    this.#routes = routes;
  }

  ask(request: HostRequest, frame: RequestFrame, kind: ListKind): void | Promise<void> {
    const traffic = this.#traffic;
    const members = traffic.members.present.filter((member) => can(member, LISTS[kind].capability));
    const [first] = members;
    const place = locate(frame, 'params', 'cursor');
    if (place === null && first !== undefined) {
      return this.#read(request, frame, kind, members, { member: first.index, cursor: null });
    }
    if (typeof place?.value !== 'string') return traffic.pass(request, frame, null);
    const at = this.#cursors.read(kind, place.value);
    if (at !== null && members.some(({ index }) => index === at.member)) {
      return this.#read(request, frame, kind, members, at);
    }
    // One that no server gave, so that a link refuses and records it.
    const unknown = toUtf8(stringify(randomUUID()));
    return traffic.pass(request, edited(frame, [replace(place, unknown)]), null);
  }

  #read(
    request: HostRequest,
    frame: RequestFrame,
    kind: ListKind,
    members: readonly Member[],
    from: Position,
  ): void | Promise<void> {
    const pages: MemberPage[] = [];
    let size = 0;
    const finish = (next: Position | null): void | Promise<void> => {
      const cursor = next === null ? null : this.#cursors.write(kind, next);
      if (next !== null && cursor === null) {
        throw refused(`answer to ${request.method} cannot be used: its cursor is too long`);
      }
      return request.answer(joinPages(kind, pages, cursor));
    };
    const read = (at: Position): void | Promise<void> => {
      const member = this.#traffic.members.at(at.member)!;
      const next = members.find(({ index }) => index > at.member);
      const behind: Position | null = next === undefined ? null : { member: next.index, cursor: null };
      return this.#traffic.send(request, edited(frame, cursorEdits(frame, at.cursor)), member, (bytes) => {
        const answer = reread(bytes) as Answer;
        if (answer.kind === 'error') {
          const isEmpty = at.cursor === null && mayLack(member, kind, answer);
          if (isEmpty && behind !== null) return void read(behind);
          if (isEmpty && pages.length > 0) return finish(null);
          const what = `${request.method} of ${quote(member.key)}`;
          this.#traffic.log(`${what} failed with error ${answer.error.code}`);
          return request.answer(this.#traffic.naming(member, bytes));
        }
        if (pages.length > 0 && size + bytes.length > MAX_JOINED) return finish(at);
        size += bytes.length;
        pages.push({ answer, shown: (name) => this.#shown(member, kind, name) });
        const cursor = answer.result.get('nextCursor') ?? null;
        if (typeof cursor === 'string') return finish({ member: at.member, cursor });
        if (behind === null || size > MAX_JOINED) return finish(behind);
        void read(behind);
      });
    };
    return read(from);
  }

  /** Null for what is not locked but would have the name of something that is; only a gateway that watches sees it. */
  #shown(member: Member, kind: ListKind, name: string): string | null {
    const routes = this.#routes();
    const shown = routes.shown(member.index, name);
    if (member.pins.has(kind, name)) return shown;
    const isFree = NAMED_LISTS.every((list) => list !== kind || routes.named(list, shown) === null);
    return isFree ? shown : null;
  }
}

/** A server may lack the method of some lists; what it can do is not known before it was asked. */
function mayLack({ capabilities }: Member, kind: ListKind, { error }: ErrorFrame): boolean {
  return error.code === METHOD_NOT_FOUND && (LISTS[kind].optional === true || capabilities === null);
}

/** The cursor of a request for a list as the member gave it. */
function cursorEdits(frame: RequestFrame, cursor: string | null): Edit[] {
  const place = locate(frame, 'params', 'cursor');
  if (place === null) return [];
  if (cursor !== null) return [replace(place, toUtf8(stringify(cursor)))];
  const index = frame.params!.indexOf('cursor');
  return cutMembers(locate(frame, 'params')!.span, (i) => i === index);
}
