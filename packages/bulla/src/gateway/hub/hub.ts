import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { memberAt, stringify } from '@bulla/core/json';
import { LIST_KINDS } from '@bulla/core/lock';
import {
  type Frame,
  type Id,
  idKey,
  LISTS,
  META_VERSION,
  type NotificationFrame,
  quote,
  type RequestFrame,
} from '../../mcp/index.ts';
import { Denial, denialBytes } from '../denial.ts';
import { checkParams } from '../gates/params.ts';
import type { Counts, Ending, Served } from '../link.ts';
import type { Channel, Host } from '../peer/channel.ts';
import { idIn } from '../peer/host.ts';
import { locate, replace, splice } from '../wire/splice.ts';
import { idOf } from '../wire/tokens.ts';
import { edited, reread } from './asks.ts';
import { Listening, splitListen } from './listen.ts';
import { Lists } from './lists.ts';
import { can, Members, reasonOf } from './members.ts';
import { Opening } from './opening.ts';
import type { HostRequest } from './requests.ts';
import { type NamedList, type Place, type Routed, type Routes, routesOf } from './routes.ts';
import { resultBytes } from './self.ts';
import { shadowsOf } from './shadows.ts';
import { Traffic, whenAll } from './traffic.ts';

/** A server to stand behind the hub. */
export interface HubMember extends Routed {
  /** Opens the link to it. The host that it gets is the hub's. */
  open(host: Host): Promise<Served>;
}

export interface HubOptions {
  /** Goes on without a server that cannot be started, refuses to begin, or ends. Default: what needs it fails. */
  readonly allowMissing?: boolean | undefined;
  /** Takes lines for the operator. Default: they are dropped. */
  readonly log?: ((line: string) => void) | undefined;
}

const CALLED_BY_NAME: Readonly<Record<string, NamedList>> = {
  'tools/call': 'tools',
  'prompts/get': 'prompts',
};
const CALLED_BY_URI = ['resources/read', 'resources/subscribe', 'resources/unsubscribe'];
const TO_ALL = ['notifications/initialized', 'notifications/roots/list_changed'];

/**
 * Several servers that look like one. Each keeps its own link, with its lock, gates, record and names; the hub shows
 * tools and prompts as `prefix_name`, decides from the locks which server a request is for, and edits only names, ids,
 * cursors and the names of logs. Denials of links speak of a tool as its server does. One server alone needs no hub.
 * Rejects with `GATEWAY_COLLISION` and `GATEWAY_PREFIX` (see `routesOf`) before any server is started, and with whatever
 * keeps one of them from being opened; then none is left running.
 */
export async function openHub(
  members: readonly HubMember[],
  host: Host,
  options: HubOptions = {},
): Promise<Hub> {
  const { log = () => {}, allowMissing = false } = options;
  const routes = routesOf(members);
  for (const line of shadowsOf(members)) log(line);
  const joined = new Members(allowMissing, log);
  const traffic = new Traffic(joined, log);
  const opened = await Promise.allSettled(
    members.map(async ({ key, open }, index) => {
      const write = (bytes: Uint8Array): void | Promise<void> => {
        const member = joined.at(index);
        // Before its link is open, no server can have something to say to the host.
        if (member !== undefined) return traffic.wrote(member, bytes, host);
      };
      joined.join(index, key, routes.pins[index]!, await open({ write }));
    }),
  );
  for (const [index, one] of opened.entries()) {
    if (one.status === 'fulfilled') continue;
    log(`the server ${quote(members[index]!.key)} is missing: ${reasonOf(one.reason)}`);
  }
  const failed = opened.find((one) => one.status === 'rejected');
  if (failed !== undefined && (!allowMissing || joined.all.length === 0)) {
    const code = failed.reason instanceof BullaError ? failed.reason.code : 'GATEWAY_FAILED';
    await joined.close(code).catch(() => {});
    throw failed.reason;
  }
  joined.begin();
  return new Router(routes, traffic);
}

/** Several servers as a host has them. */
export interface Hub extends Served {
  /** Other locks of the same members, under the same prefixes, decide from now on where requests go. */
  reroute(routes: Routes): void;
}

/** Decides for each message of the host which members it is for. */
class Router implements Hub {
  #routes: Routes;
  readonly #traffic: Traffic;
  readonly #members: Members;
  readonly #opening: Opening;
  readonly #lists: Lists;

  constructor(routes: Routes, traffic: Traffic) {
    this.#routes = routes;
    this.#traffic = traffic;
    this.#members = traffic.members;
    this.#opening = new Opening(traffic);
    this.#lists = new Lists(traffic, () => this.#routes);
  }

  reroute(routes: Routes): void {
    this.#routes = routes;
    for (const member of this.#members.all) member.pins = routes.pins[member.index]!;
  }

  get isWaiting(): boolean {
    return this.#members.all.some(({ link }) => link.isWaiting);
  }

  get over(): Promise<Ending> {
    return this.#members.over;
  }

  drain(hurry?: AbortSignal): Promise<void> {
    return this.#members.drain(hurry);
  }

  close(code: string | null): Promise<Counts> {
    return this.#members.close(code);
  }

  gone(channel: Channel): void {
    for (const request of this.#traffic.requests.on(channel)) {
      // 2025-11-25, Utilities, Cancellation: `initialize` is never cancelled.
      if (request.method === 'initialize') continue;
      request.cancel();
      this.#traffic.withdraw(request);
    }
  }

  fromHost(frame: Frame, channel: Channel): void | Promise<void> {
    if (frame.kind === 'notification') return this.#notified(frame, channel);
    if (frame.kind !== 'request') {
      const found = this.#traffic.asks.answered(frame);
      if (found === 'late') return;
      // Nobody asked: a link drops and records it.
      const { member, frame: answer } = found ?? { member: this.#members.first, frame };
      return member.link.fromHost(answer, channel);
    }
    const request = this.#traffic.requests.take(frame, channel);
    if (request === null) return this.#refuseId(frame, channel);
    try {
      return this.#route(request, frame);
    } catch (error) {
      return this.#traffic.fail(request, error);
    }
  }

  refusedFromHost(error: BullaError, bytes: Uint8Array, channel: Channel): void | Promise<void> {
    const id = idIn(bytes);
    const isTaken = id !== null && this.#traffic.requests.find(id, channel) !== undefined;
    const { link } = this.#members.first;
    return link.refusedFromHost(error, bytes, isTaken ? withoutId(channel) : channel);
  }

  /** The link that has the other request refuses and records it: there, the id is taken in the scope of the leg. */
  #refuseId(frame: RequestFrame, channel: Channel): void | Promise<void> {
    const [leg] = this.#traffic.requests.find(frame.id, channel)!.legs;
    if (leg !== undefined) return leg.member.link.fromHost(frame, inScope(leg.scope, channel));
    const message = `The id ${quote(idKey(frame.id))} belongs to a request that is still open.`;
    this.#traffic.log(`${message} [GATEWAY_ID_IN_USE]`);
    return channel.answer(denialBytes(null, new Denial('ids', 'GATEWAY_ID_IN_USE', message)));
  }

  #route(request: HostRequest, frame: RequestFrame): void | Promise<void> {
    const { method, params } = frame;
    if (method === 'initialize') return this.#opening.initialize(request, frame);
    if (method === 'server/discover') return this.#opening.discover(request, frame);
    const kind = LIST_KINDS.find((one) => LISTS[one].method === method);
    if (kind !== undefined) return this.#lists.ask(request, frame, kind);
    const called = Object.hasOwn(CALLED_BY_NAME, method) ? CALLED_BY_NAME[method] : undefined;
    if (called !== undefined) return this.#named(request, frame, called, ['params', 'name']);
    if (CALLED_BY_URI.includes(method)) {
      return this.#addressed(request, frame, memberAt(params, ['uri']), this.#routes.resource);
    }
    if (method === 'completion/complete') {
      if (memberAt(params, ['ref', 'type']) === 'ref/prompt') {
        return this.#named(request, frame, 'prompts', ['params', 'ref', 'name']);
      }
      return this.#addressed(request, frame, memberAt(params, ['ref', 'uri']), this.#routes.reference);
    }
    if (method === 'ping' && isPlainPing(frame)) return request.answer(resultBytes(request.idBytes, {}));
    if (method === 'logging/setLevel') return this.#setLevel(request, frame);
    if (method === 'subscriptions/listen') return this.#listen(request, frame);
    return this.#traffic.pass(request, frame, null);
  }

  /** To the member that has the tool or prompt, under its name there. */
  #named(
    request: HostRequest,
    frame: RequestFrame,
    kind: NamedList,
    path: readonly string[],
  ): void | Promise<void> {
    const place = locate(frame, ...path);
    if (typeof place?.value !== 'string') return this.#traffic.pass(request, frame, null);
    const named = this.#routes.named(kind, place.value);
    const isThere = named !== null && this.#members.at(named.member) !== undefined;
    const found = isThere ? named : this.#strange(kind, place.value);
    const edits = found.name === place.value ? [] : [replace(place, toUtf8(stringify(found.name)))];
    return this.#traffic.pass(request, edited(frame, edits), found.member);
  }

  /** A name that is not shown goes where it is not locked, whose link refuses and records it. */
  #strange(kind: NamedList, shown: string): Place {
    const own = this.#routes.strange(kind, shown);
    if (own !== null && this.#members.at(own.member) !== undefined) return own;
    return this.#routes.unlocked(kind, this.#members.first.index, shown);
  }

  #addressed(
    request: HostRequest,
    frame: RequestFrame,
    uri: unknown,
    ownerOf: (uri: string) => number | null,
  ): void | Promise<void> {
    return this.#traffic.pass(request, frame, typeof uri === 'string' ? ownerOf(uri) : null);
  }

  /** To every member that has logs; the first answer stands for all, unless one refuses. */
  #setLevel(request: HostRequest, frame: RequestFrame): void | Promise<void> {
    const members = this.#members.present.filter((member) => can(member, 'logging'));
    if (members.length === 0) return this.#traffic.pass(request, frame, null);
    return this.#traffic.sendAll(request, frame, members, (answers) => {
      const at = Math.max(
        answers.findIndex(({ kind }) => kind === 'error'),
        0,
      );
      return request.answer(this.#traffic.naming(members[at]!, answers[at]!.bytes));
    });
  }

  #listen(request: HostRequest, frame: RequestFrame): void | Promise<void> {
    const parts = splitListen(frame, this.#members.present, this.#routes.resource);
    if (parts === null) return this.#traffic.pass(request, frame, null);
    return new Listening(request, this.#traffic).start(frame, parts);
  }

  #notified(frame: NotificationFrame, channel: Channel): void | Promise<void> {
    const { method } = frame;
    if (TO_ALL.includes(method) && this.#opening.isEstablished) {
      return whenAll(this.#members.present.map(({ link }) => link.fromHost(frame, channel)));
    }
    if (method === 'notifications/cancelled') {
      const id = idOf(frame.params ?? undefined, 'requestId');
      if (id !== null) return this.#cancelled(frame, id, channel);
    }
    const progress = method === 'notifications/progress' ? this.#traffic.asks.progressed(frame) : null;
    if (progress !== null) return progress.member.link.fromHost(progress.frame, channel);
    return this.#members.first.link.fromHost(frame, channel);
  }

  #cancelled(frame: NotificationFrame, id: Id, channel: Channel): void | Promise<void> {
    const request = this.#traffic.requests.find(id, channel);
    // 2025-11-25, Utilities, Cancellation: `initialize` is never cancelled.
    if (request === undefined || request.method === 'initialize') return;
    try {
      checkParams(frame.params, ['requestId', 'reason']);
    } catch {
      return this.#members.first.link.fromHost(frame, channel);
    }
    request.cancel();
    return whenAll([...request.legs].map((leg) => leg.member.link.fromHost(frame, leg)));
  }
}

/** 2025-11-25, Utilities, Ping: nothing is asked of a server. What is no exact ping, a link refuses. */
function isPlainPing({ params }: RequestFrame): boolean {
  try {
    checkParams(params, []);
    return memberAt(params, ['_meta', META_VERSION]) === undefined;
  } catch {
    return false;
  }
}

/** Under the id of an open request, the host would take it for the answer to that one. */
function withoutId(channel: Channel): Channel {
  const answer = (bytes: Uint8Array) => {
    const id = locate(reread(bytes), 'id');
    return channel.answer(id === null ? bytes : splice(bytes, [replace(id, toUtf8('null'))]));
  };
  return { ...inScope(channel.scope, channel), answer };
}

function inScope(scope: string, channel: Channel): Channel {
  return {
    scope,
    write: (bytes) => channel.write(bytes),
    answer: (bytes) => channel.answer(bytes),
    close: () => channel.close(),
    get isGone() {
      return channel.isGone ?? false;
    },
  };
}
