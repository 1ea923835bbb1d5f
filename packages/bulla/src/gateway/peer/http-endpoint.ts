import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BullaError } from '@bulla/core/error';
import { EVENTS_TYPE, type Frame, type Id, parseFrame, quote, type RequestFrame } from '../../mcp/index.ts';
import { RPC } from '../denial.ts';
import { causeOf } from '../notices.ts';
import { idIn } from './host.ts';
import { type Door, isLoopbackAddress } from './http-door.ts';
import { checkLegacyVersion, type ExpectedHeaders, eraOf, isStatelessHeader } from './http-era.ts';
import { checkAccept, checkPost, Room } from './http-request.ts';
import { type Head, Refusal, refuse } from './http-response.ts';
import type { LegacySession } from './http-session.ts';
import { closing, type Sessions } from './http-sessions.ts';

/** A request that was refused before a session had it. The `failure` of the refusal quotes nothing of it. */
export interface Refused {
  readonly refusal: Refusal;
  /** Null for a sender that did not prove to be an agent. */
  readonly agentId: string | null;
  /** Whether it came from this machine. */
  readonly isLoopback: boolean;
}

export interface EndpointOptions {
  readonly door: Door;
  readonly sessions: Sessions;
  readonly maxBytes: number;
  expectedHeaders(frame: RequestFrame, agentId: string): ExpectedHeaders;
  refused(refused: Refused): void;
  /** Lines with the same key may be counted instead. */
  log(key: string, line: string): void;
}

/** One HTTP request of an agent. */
interface Visit {
  readonly agentId: string;
  readonly request: IncomingMessage;
  readonly headers: IncomingMessage['headersDistinct'];
  readonly response: ServerResponse;
  /** The id of the message, as far as it is known. */
  id: Id | null;
}

/** The one endpoint: takes requests apart, and hands their messages to the sessions that they belong to. */
export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #rooms = new Map<string, Room>();
  /** Who may come in; another one may take its place. */
  door: Door;
  /** Takes no further request. */
  isClosing = false;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.door = options.door;
  }

  /** Answers one HTTP request. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {}); // the host went away
    let visit: Visit | null = null;
    try {
      if (this.isClosing) throw closing();
      if (response.socket === null) {
        // RFC 9112 §9.3.2; a host that leaves could not be noticed before the response has the connection.
        const message = 'On one connection a request comes after the response to the one before it.';
        throw new Refusal(400, 'session', 'GATEWAY_HTTP', message, { headers: { connection: 'close' } });
      }
      const agentId = this.door.admit(request);
      visit = { agentId, request, headers: request.headersDistinct, response, id: null };
      if (request.method === 'POST') await this.#post(visit);
      else if (request.method === 'GET') this.#get(visit);
      else if (request.method === 'DELETE') await this.#delete(visit);
      else throw notAllowed('GET, POST, DELETE');
    } catch (error) {
      if (request.destroyed && !request.complete) return;
      this.#refuse(request, response, asRefusal(error), visit);
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal, visit: Visit | null): void {
    const { code, failure } = refusal;
    const who = visit === null ? '' : ` of ${quote(visit.agentId)}`;
    const why = refusal.cause === undefined ? '' : ` (${quote(causeOf(refusal))})`;
    this.#options.log(code, `refused a request${who}: ${failure.sentence}${why} [${code}]`);
    const isLoopback = isLoopbackAddress(request.socket.remoteAddress);
    this.#options.refused({ refusal, agentId: visit?.agentId ?? null, isLoopback });
    if (response.headersSent || response.destroyed) response.destroy();
    else refuse(response, refusal, visit?.id ?? null);
  }

  async #post(visit: Visit): Promise<void> {
    checkPost(visit.headers);
    const { maxBytes } = this.#options;
    const room = this.#rooms.get(visit.agentId) ?? new Room();
    this.#rooms.set(visit.agentId, room);
    const { door } = this;
    await room.read(visit.request, maxBytes, async (body) => {
      // A token that was taken back while the body came in counts no longer.
      if (door !== this.door && this.door.admit(visit.request) !== visit.agentId) throw notAdmitted();
      let frame: Frame;
      try {
        frame = parseFrame(body, { maxBytes });
      } catch (error) {
        return this.#invalid(error as BullaError, body, visit);
      }
      if (frame.kind === 'request') visit.id = frame.id;
      const { expectedHeaders } = this.#options;
      const era = eraOf(frame, visit.headers, (call) => expectedHeaders(call, visit.agentId));
      return era === 'stateless' ? this.#stateless(frame, visit) : this.#legacy(frame, visit);
    });
  }

  /** What is no message: its session records and answers it, if it is clear which one that is. */
  async #invalid(error: BullaError, body: Uint8Array, visit: Visit): Promise<void> {
    const isLegacy = visit.headers['mcp-session-id'] !== undefined && !isStatelessHeader(visit.headers);
    const session = isLegacy ? this.#session(visit) : this.#options.sessions.stateless(visit.agentId);
    if (session !== null && (isLegacy || isStatelessHeader(visit.headers))) {
      return session.refuse(error, body, visit.response);
    }
    const isJson = error.code !== 'MCP_FRAME_JSON';
    if (isJson) visit.id = idIn(body);
    throw new Refusal(400, 'frame', error.code, error.message, {
      rpc: isJson ? RPC.invalid : RPC.parse,
      // The parser's message quotes the host, which is not for a record.
      failure: { stage: 'frame', code: error.code, sentence: 'The host sent an invalid message.' },
    });
  }

  async #legacy(frame: Frame, visit: Visit): Promise<void> {
    const isFirst = visit.headers['mcp-session-id'] === undefined;
    if (frame.kind === 'request' && frame.method === 'initialize' && isFirst)
      return this.#begin(frame, visit);
    const session = this.#session(visit);
    session.checkRoom();
    if (frame.kind === 'request') return session.request(frame, visit.response);
    await session.tell(frame, session.scope);
    visit.response.writeHead(202).end();
  }

  /** The session has an id when the server has agreed to it. */
  async #begin(frame: RequestFrame, { agentId, response }: Visit): Promise<void> {
    const { sessions } = this.#options;
    const session = await sessions.openLegacy(agentId);
    let isBegun = false;
    await session.begin(frame, response, {
      head: (answer) => {
        isBegun = isResult(answer);
        return { status: 200, ...(isBegun && { headers: { 'mcp-session-id': sessions.name(session) } }) };
      },
      over: () => {
        if (!isBegun) void sessions.end(session, null);
      },
    });
  }

  async #stateless(frame: Frame, { agentId, response }: Visit): Promise<void> {
    const { sessions } = this.#options;
    if (frame.kind === 'request') {
      const session = await sessions.openStateless(agentId);
      session.checkRoom();
      return session.request(frame, response, statelessHead);
    }
    // Without open requests there is nothing that it could be about.
    const session = sessions.stateless(agentId);
    await session?.tell(frame, session.newScope());
    response.writeHead(202).end();
  }

  #get(visit: Visit): void {
    checkLegacy(visit);
    checkAccept(visit.headers, [EVENTS_TYPE]);
    if (this.#session(visit).listen(visit.response)) return;
    throw new Refusal(409, 'session', 'GATEWAY_SESSION', 'The session has a stream open already.');
  }

  async #delete(visit: Visit): Promise<void> {
    checkLegacy(visit);
    await this.#options.sessions.end(this.#session(visit), null);
    visit.response.writeHead(200, { 'content-length': 0 }).end();
  }

  /** The session that a request names. Throws a refusal. */
  #session({ headers, agentId }: Visit): LegacySession {
    const [id, ...more] = headers['mcp-session-id'] ?? [];
    if (id === undefined || more.length > 0) {
      const message = 'A request after initialize names its session in the header Mcp-Session-Id, once.';
      throw new Refusal(400, 'session', 'GATEWAY_SESSION', message);
    }
    const session = this.#options.sessions.legacy(id, agentId);
    if (session !== null) return session;
    throw new Refusal(404, 'session', 'GATEWAY_SESSION_UNKNOWN', 'There is no such session.');
  }
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal(500, 'bulla', 'GATEWAY_FAILED', 'The gateway failed.', { cause: error });
}

/** Only sessions have a stream of their own, and an end. */
function checkLegacy({ headers }: Visit): void {
  if (headers['mcp-session-id'] === undefined || isStatelessHeader(headers)) throw notAllowed('POST');
  checkLegacyVersion(headers);
}

function notAdmitted(): Refusal {
  return new Refusal(401, 'session', 'GATEWAY_UNAUTHORIZED', 'The token is of another agent now.');
}

function notAllowed(allow: string): Refusal {
  return new Refusal(405, 'session', 'GATEWAY_HTTP', 'This method is not allowed here.', {
    headers: { allow },
  });
}

function isResult(answer: Uint8Array): boolean {
  return parseFrame(answer, { maxBytes: answer.length }).kind === 'result';
}

/** Codes of errors whose status the stateless era prescribes (2026-07-28, Streamable HTTP; Basic, `_meta`). */
const STATUS: Readonly<Record<number, number>> = {
  [-32601]: 404,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

function statelessHead(answer: Uint8Array): Head {
  // Most answers are results, and long: they are not parsed again.
  if (!Buffer.from(answer.buffer, answer.byteOffset, answer.length).includes('"error"'))
    return { status: 200 };
  const frame = parseFrame(answer, { maxBytes: answer.length });
  return { status: (frame.kind === 'error' && STATUS[frame.error.code]) || 200 };
}
