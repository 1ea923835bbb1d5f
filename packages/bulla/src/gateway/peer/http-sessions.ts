import { randomBytes, randomUUID } from 'node:crypto';
import { quote } from '../../mcp/index.ts';
import { asDenial } from '../denial.ts';
import type { Counts, Served } from '../link.ts';
import { causeOf } from '../notices.ts';
import type { Host } from './channel.ts';
import { overloaded } from './http-request.ts';
import { Refusal, type Times } from './http-response.ts';
import { LegacySession, type SessionOptions, StatelessSession } from './http-session.ts';

type Session = LegacySession | StatelessSession;

export interface SessionsOptions {
  readonly times: Times;
  readonly maxSessions: number;
  readonly idleMs: number;
  open(agentId: string, host: Host, sessionId: string, isShared: boolean): Promise<Served>;
  log(line: string): void;
}

/** What is open: the sessions of the initialize era by their ids, and one for each agent in the stateless era. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #legacy = new Map<string, LegacySession>();
  readonly #stateless = new Map<string, StatelessSession>();
  /** Those that are being opened or closed too. */
  readonly #all = new Set<Session>();
  #isClosing = false;
  #calls = 0;
  #blocked = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Null for an id that is unknown, or that of another agent's session. */
  legacy(id: string, agentId: string): LegacySession | null {
    const session = this.#legacy.get(id);
    return session?.agentId === agentId ? session : null;
  }

  /** Null if the agent has none open. */
  stateless(agentId: string): StatelessSession | null {
    return this.#stateless.get(agentId) ?? null;
  }

  /** Opens a session, which has no id yet. Throws a refusal. */
  async openLegacy(agentId: string): Promise<LegacySession> {
    const session = this.#add((options) => new LegacySession(options), agentId, false);
    await this.#opened(session);
    return session;
  }

  /** Opens it at its first use. Throws a refusal. */
  async openStateless(agentId: string): Promise<StatelessSession> {
    let session = this.#stateless.get(agentId);
    if (session === undefined) {
      session = this.#add((options) => new StatelessSession(options), agentId, true);
      this.#stateless.set(agentId, session);
    }
    await this.#opened(session);
    return session;
  }

  /** Gives a session an id that nobody can guess. */
  name(session: LegacySession): string {
    const id = randomBytes(32).toString('base64url');
    this.#legacy.set(id, session);
    return id;
  }

  #add<Added extends Session>(
    create: (options: SessionOptions) => Added,
    agentId: string,
    isShared: boolean,
  ): Added {
    const { times, maxSessions, idleMs, open, log } = this.#options;
    if (this.#isClosing) throw closing();
    if (this.#all.size >= maxSessions) throw overloaded('Too many sessions are open.');
    // The id of the session lets in whoever has it and the token, so records have another one.
    const sessionId = randomUUID();
    const session: Added = create({
      agentId,
      sessionId,
      idleMs,
      times,
      open: (host) => open(agentId, host, sessionId, isShared),
      ended: (code) => void this.end(session, code),
      log,
    });
    this.#all.add(session);
    return session;
  }

  async #opened(session: Session): Promise<void> {
    try {
      await session.opened();
    } catch (cause) {
      await this.end(session, null);
      const message = 'The server cannot be started.';
      throw new Refusal(503, 'server', 'GATEWAY_SERVER_FAILED', message, { cause });
    }
  }

  /** Forgets a session at once, and ends it. Never rejects. */
  async end(session: Session, code: string | null): Promise<void> {
    for (const [id, one] of this.#legacy) if (one === session) this.#legacy.delete(id);
    if (this.#stateless.get(session.agentId) === session) this.#stateless.delete(session.agentId);
    try {
      const { calls, blocked } = await session.close(code);
      if (!this.#all.delete(session)) return;
      this.#calls += calls;
      this.#blocked += blocked;
    } catch (error) {
      if (!this.#all.delete(session)) return;
      this.#options.log(`the end of a session is not recorded: ${quote(causeOf(asDenial(error)))}`);
    }
  }

  /** Ends the sessions of some agents at once, with this code. */
  endOf(isMeant: (agentId: string) => boolean, code: string): void {
    for (const session of this.#all) if (isMeant(session.agentId)) void this.end(session, code);
  }

  /** Opens nothing further, and waits for the answers that are on their way. */
  async drain(hurry?: AbortSignal): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#all].map((session) => session.drain(hurry)));
  }

  /** Ends all of them, and tells what passed in these and those before. */
  async close(): Promise<Counts> {
    await Promise.all([...this.#all].map((session) => this.end(session, null)));
    return { calls: this.#calls, blocked: this.#blocked };
  }
}

export function closing(): Refusal {
  return new Refusal(503, 'server', 'GATEWAY_CLOSED', 'The gateway is about to end.', {
    headers: { connection: 'close' },
  });
}
