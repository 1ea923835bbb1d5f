import { isDeepStrictEqual } from 'node:util';
import type { BullaError } from '@bulla/core/error';
import type { RequestFrame } from '../mcp/index.ts';
import { History } from './history.ts';
import { type Hub, openHub } from './hub/hub.ts';
import { type Routes, routesOf } from './hub/routes.ts';
import { checkRecorded, type Link, type LinkOptions, openLink, type Served } from './link.ts';
import { calledTool, type Mirrored, mirroredOf } from './lists/mirrored.ts';
import type { Host } from './peer/channel.ts';
import type { ExpectedHeaders } from './peer/http-era.ts';
import { Reopening } from './reopening.ts';

/** A server as the operator names it, with everything that is the same in each of its sessions. */
export interface GuardedServer extends Omit<LinkOptions, 'agentId' | 'sessionId' | 'isShared' | 'history'> {
  readonly key: string;
  /** Stands before its names where there are several servers. */
  readonly prefix: string;
  /** Differs where the server must be started or connected anew, such as a digest of credentials. */
  readonly reach?: string | undefined;
}

/** The servers that an agent may use, as one. */
export interface Servers {
  /** `isShared`: several hosts of the agent use it. */
  open(agentId: string, host: Host, sessionId: string, isShared?: boolean): Promise<Served>;
  /** What the `Mcp-Param-*` headers of a call must say. */
  expectedHeaders(frame: RequestFrame): ExpectedHeaders;
  /**
   * Checks other servers for the place of these; what it returns puts them there, in open sessions too: rules at once,
   * and servers that are reached otherwise after their open calls. Throws as `serversOf`.
   */
  replacement(servers: readonly GuardedServer[]): () => void;
}

/** Servers, and how requests are routed among them. */
interface Plan {
  readonly servers: readonly GuardedServer[];
  /** Null for one server, which keeps its names. */
  readonly routes: Routes | null;
  readonly mirrored: readonly Mirrored[];
}

function planOf(servers: readonly GuardedServer[]): Plan {
  for (const server of servers) checkRecorded(server);
  return {
    servers,
    routes: servers.length === 1 ? null : routesOf(servers),
    mirrored: servers.map(({ lock }) => mirroredOf(lock)),
  };
}

/**
 * One server keeps its names; those of several have a prefix. Throws `GATEWAY_COLLISION` and `GATEWAY_PREFIX` as
 * `routesOf` does, and `USAGE` for options that are nothing without a record.
 */
export function serversOf(given: readonly GuardedServer[], log: (line: string) => void = () => {}): Servers {
  let plan = planOf(given);
  const sessions = new Set<LiveSession>();
  return {
    async open(agentId, host, sessionId, isShared = false) {
      const session = new LiveSession({ agentId, sessionId, isShared, host, log, plan: () => plan });
      sessions.add(session);
      const forget = () => void sessions.delete(session);
      try {
        const served = await session.begin();
        void served.over.then(forget);
        return ending(served, forget);
      } catch (error) {
        forget();
        throw error;
      }
    },
    expectedHeaders(frame) {
      const { routes, mirrored } = plan;
      const called = calledTool(frame);
      const place =
        called === null
          ? null
          : routes === null
            ? { member: 0, name: called.name }
            : routes.named('tools', called.name);
      return place === null ? {} : mirrored[place.member]!.valuesOf(place.name, called!.args);
    },
    replacement(servers) {
      const next = planOf(servers);
      return () => {
        plan = next;
        for (const session of sessions) session.replaced();
      };
    },
  };
}

/** The same, and `forget` is called when it is closed. */
function ending(served: Served, forget: () => void): Served {
  return {
    fromHost: (frame, channel) => served.fromHost(frame, channel),
    refusedFromHost: (error, bytes, channel) => served.refusedFromHost(error, bytes, channel),
    gone: (channel) => served.gone(channel),
    over: served.over,
    get isWaiting() {
      return served.isWaiting;
    },
    drain: (hurry) => served.drain(hurry),
    close(code) {
      forget();
      return served.close(code);
    },
  };
}

interface SessionOptions {
  readonly agentId: string;
  readonly sessionId: string;
  readonly isShared: boolean;
  readonly host: Host;
  readonly log: (line: string) => void;
  plan(): Plan;
}

/** One session of a host with the servers, whatever these are at a time. */
class LiveSession {
  readonly #options: SessionOptions;
  readonly #served: Reopening;
  /** What was done with each server, by its key: a new connection does not make it undone. */
  readonly #histories = new Map<string, History>();
  #links: LiveLink[] = [];
  #hub: Hub | null = null;
  #plan: Plan;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#plan = options.plan();
    this.#served = new Reopening(options.host, () => this.#open());
  }

  begin(): Promise<Served> {
    return this.#served.begin();
  }

  async #open(): Promise<Served> {
    for (;;) {
      const plan = this.#options.plan();
      this.#plan = plan;
      const served = await this.#openAll(plan);
      if (plan === this.#options.plan()) return served;
      await served.close(null);
    }
  }

  async #openAll({ servers, routes }: Plan): Promise<Served> {
    const { host, log } = this.#options;
    const links = servers.map((server) => new LiveLink(server, this.#options, this.#historyOf(server)));
    this.#links = links;
    this.#hub = null;
    if (routes === null) return links[0]!.open(host);
    const members = servers.map((server, i) => ({ ...server, open: (own: Host) => links[i]!.open(own) }));
    this.#hub = await openHub(members, host, { log });
    return this.#hub;
  }

  #historyOf({ key }: GuardedServer): History {
    const history = this.#histories.get(key) ?? new History(this.#options.sessionId);
    this.#histories.set(key, history);
    return history;
  }

  /** Other servers stand in the plan. */
  replaced(): void {
    const before = this.#plan;
    const next = this.#options.plan();
    this.#plan = next;
    if (!isDeepStrictEqual(shapeOf(before), shapeOf(next))) {
      this.#served.renew();
      return;
    }
    for (const [i, server] of next.servers.entries()) this.#links[i]?.replace(server);
    if (next.routes !== null) this.#hub?.reroute(next.routes);
  }
}

/** What the names that a host sees are made of, beside the locks. */
function shapeOf({ servers }: Plan): object {
  return servers.map(({ key, prefix }) => [key, servers.length === 1 ? '' : prefix]);
}

/** The link to one server, whatever its options are at a time. */
class LiveLink {
  readonly #session: SessionOptions;
  readonly #history: History;
  #server: GuardedServer;
  #link: Link | null = null;
  #served: Reopening | null = null;

  constructor(server: GuardedServer, session: SessionOptions, history: History) {
    this.#server = server;
    this.#session = session;
    this.#history = history;
  }

  open(host: Host): Promise<Served> {
    this.#served = new Reopening(host, () => this.#connect(host));
    return this.#served.begin();
  }

  async #connect(host: Host): Promise<Served> {
    for (;;) {
      const server = this.#server;
      const link = await openLink(this.#optionsFor(server), host);
      this.#link = link;
      if (server === this.#server) return link;
      await link.close(null);
    }
  }

  #optionsFor(server: GuardedServer): LinkOptions {
    const { agentId, sessionId, isShared } = this.#session;
    return { ...server, agentId, sessionId, isShared, history: this.#history };
  }

  replace(next: GuardedServer): void {
    const before = this.#server;
    this.#server = next;
    if (!isDeepStrictEqual(reachOf(before), reachOf(next))) {
      this.#served?.renew();
      return;
    }
    if (this.#link === null) return;
    const updated = this.#link.update(this.#optionsFor(next)).catch((error: BullaError) => {
      this.#session.log(`the server ${JSON.stringify(next.key)} is ended: ${error.message} [${error.code}]`);
      this.#served?.fail(error);
    });
    this.#served?.hold(updated);
  }
}

/** What can only be changed with a new connection. */
function reachOf(guarded: GuardedServer): object {
  const { server, start, confine, cwd, features = [], reach, name, chain, record, restart, lock } = guarded;
  const era = lock.native?.era;
  return { server, start, confine, cwd, features, reach, name, chain, record, restart, era };
}
