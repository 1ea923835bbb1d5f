import type { Code } from '@bulla/core/codes';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject } from '@bulla/core/json';
import {
  type ErrorFrame,
  Exchange,
  type Id,
  META_VERSION,
  notificationFrame,
  quote,
  type RequestFrame,
  type ResultFrame,
  RpcError,
  requestFrame,
  type Transport,
  type Waiting,
} from '../../mcp/index.ts';
import { asDenial, Denial } from '../denial.ts';
import type { Channel } from '../peer/channel.ts';
import { type CallTrace, NO_TRACE } from '../telemetry.ts';
import { bytesOf, type Edit, locate, replace, splice } from './splice.ts';
import { Stop } from './stop.ts';
import { isToken, SUBSCRIPTION_ID } from './tokens.ts';

/** A request to the server, with its handlers. */
export interface Request extends Waiting {
  readonly method: string;
  /** The host's id, byte for byte; empty for a request of our own. */
  readonly idBytes: Uint8Array;
  /** The progress token that the host gave with it, byte for byte. */
  readonly tokenBytes: Uint8Array | null;
  /** The way back to the host. */
  readonly channel: Channel;
  /** Aborted when nobody waits for the answer any more. */
  readonly stop: Stop;
  readonly isStateless: boolean;
  /** What it listens to, if it is a subscription (2026-07-28, Subscriptions). */
  readonly listensTo: readonly string[];
  trace: CallTrace;
  /**
   * Handles the answer. While its promise is pending, nothing more is read. If it throws, which it may only do before it
   * has answered or recorded anything, the request fails with that error.
   */
  answered(frame: ResultFrame | ErrorFrame): void | Promise<void>;
  /** No answer will come; the waiting caller gets the error. */
  failed(denial: Denial): void | Promise<void>;
  /**
   * The host cancelled the request or went away, and it goes on all the same: nobody waits for the answer. Null: it is
   * cancelled.
   */
  left: (() => void) | null;
  /** The host cancelled the request, or the server ended the subscription. */
  cancelled(by: 'host' | 'server'): void;
}

/** The gateway's own requests read lists, and calls wait for them. */
const OWN_TIMEOUT_MS = 30_000;

/**
 * The open requests to the server, under the gateway's own ids and with a time limit. Each ends exactly once: it is
 * answered, fails, or is cancelled.
 */
export class Wire {
  readonly #server: Pick<Transport, 'send' | 'isPerRequest'>;
  /** How long an answer may take, since the last progress. */
  timeoutMs: number;
  readonly #exchange = new Exchange<Request>();
  readonly #timers = new Map<Request, NodeJS.Timeout>();
  #ended: Denial | null = null;

  constructor(server: Pick<Transport, 'send' | 'isPerRequest'>, timeoutMs: number) {
    this.#server = server;
    this.timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#exchange.size;
  }

  /** Whether an answer is pending, other than the end of a subscription. */
  get isWaiting(): boolean {
    return this.#exchange.open().some(({ method }) => method !== 'subscriptions/listen');
  }

  /** Why no more requests can be sent, or null. */
  get ended(): Denial | null {
    return this.#ended;
  }

  /** Takes a request of the host in; null when it has another one open under the same id. */
  take(frame: RequestFrame, channel: Channel): Request | null {
    const token = locate(frame, 'params', '_meta', 'progressToken');
    const request: Request = {
      id: frame.id,
      scope: channel.scope,
      method: frame.method,
      idBytes: new Uint8Array(bytesOf(frame, locate(frame, 'id')!)),
      tokenBytes: token !== null && isToken(token.value) ? new Uint8Array(bytesOf(frame, token)) : null,
      channel,
      stop: new Stop(),
      isStateless: locate(frame, 'params', '_meta', META_VERSION) !== null,
      listensTo: listened(frame),
      trace: NO_TRACE,
      answered: () => {},
      failed: () => {},
      left: null,
      cancelled: () => {},
    };
    return this.#exchange.take(request) ? request : null;
  }

  /** Whether the host has a request under this id that is not answered yet. */
  isTaken(id: Id, scope: string): boolean {
    return this.#exchange.isTaken(id, scope);
  }

  isOpen(request: Request): boolean {
    return this.#exchange.isOpen(request);
  }

  /** The open request that the server knows by this id. */
  find(id: Id): Request | undefined {
    return this.#exchange.find('other', id);
  }

  /** Ends a request without an answer of the server. */
  drop(request: Request): void {
    this.#exchange.abandon(request);
    this.#close(request);
    request.stop.abort();
  }

  /** The host has its answer, and may use the id again. */
  free(request: Request): void {
    this.#exchange.free(request);
  }

  /**
   * Sends a request, under an id that is also its progress token. Where all requests share a stream, resolves when it is
   * written. Never rejects: if that fails, the request fails.
   */
  async forward(request: Request, frame: RequestFrame, edits: readonly Edit[] = []): Promise<void> {
    const sent = this.#send(request, frame, edits).catch((error) => this.#fail(request, asFailure(error)));
    if (!this.#server.isPerRequest) await sent;
  }

  async #send(request: Request, frame: RequestFrame, edits: readonly Edit[]): Promise<void> {
    const id = this.#exchange.assign(request);
    this.#wait(request);
    const all = [replace(locate(frame, 'id')!, toUtf8(id.lexeme)), ...edits];
    if (request.tokenBytes !== null) {
      all.push(replace(locate(frame, 'params', '_meta', 'progressToken')!, toUtf8(id.lexeme)));
    }
    await this.#server.send({ ...frame, id, bytes: splice(frame.bytes, all) }, request.stop.signal);
  }

  /** The bytes of the answer with the host's own id and the edits; nothing else is changed. */
  restored(request: Request, frame: ResultFrame | ErrorFrame, edits: readonly Edit[] = []): Uint8Array {
    const all = [replace(locate(frame, 'id')!, request.idBytes), ...edits];
    const subscription = locate(frame, 'result', '_meta', SUBSCRIPTION_ID);
    if (subscription !== null) all.push(replace(subscription, request.idBytes));
    return splice(frame.bytes, all);
  }

  /** Sends a request of the gateway itself. Rejects with a denial. */
  ask(method: string, params: JsonObject): Promise<ResultFrame> {
    const { promise, resolve, reject } = Promise.withResolvers<ResultFrame>();
    const request: Request = {
      id: null,
      method,
      idBytes: new Uint8Array(),
      tokenBytes: null,
      channel: NOWHERE,
      stop: new Stop(),
      isStateless: params.get('_meta') !== undefined,
      listensTo: [],
      trace: NO_TRACE,
      answered: (frame) => (frame.kind === 'result' ? resolve(frame) : reject(refusedList(method, frame))),
      failed: reject,
      left: null,
      cancelled: () => {},
    };
    const frame = requestFrame(0, method, params);
    this.#exchange.take(request);
    if (this.#ended !== null) void this.#fail(request, this.#ended);
    else void this.forward(request, frame);
    return promise;
  }

  /** Handles an answer of the server; `duplicate` or `unknown` if it answers no open request. */
  settle(frame: ResultFrame | ErrorFrame): 'duplicate' | 'unknown' | void | Promise<void> {
    const match = this.#exchange.settle(frame.id);
    if (match === 'late') return;
    if (match === 'duplicate' || match === 'unknown') return match;
    this.#close(match);
    try {
      return match.answered(frame);
    } catch (error) {
      return match.failed(asDenial(error));
    }
  }

  /**
   * Invalid frame from the server. It fails the request whose id it bears, or the only one that waits; otherwise none.
   */
  settleUnread(id: Id | null, denial: Denial): void | Promise<void> {
    const waiting = this.#exchange.open().filter((request) => this.#exchange.idOf(request) !== null);
    const only = waiting.length === 1 ? waiting[0] : undefined;
    const meant = id === null ? only : this.#exchange.find('other', id);
    if (meant !== undefined) return this.#fail(meant, denial);
  }

  /** Fails every open request, and every later one. */
  end(denial: Denial): void {
    this.#ended = denial;
    for (const request of this.#exchange.open()) void this.#fail(request, denial);
  }

  /** Fails every request that was sent; later ones are for a server that is started again. */
  reset(denial: Denial): void {
    for (const request of this.#exchange.open()) {
      if (this.#exchange.idOf(request) !== null) void this.#fail(request, denial);
    }
  }

  /** The host cancels a request. Returns the id by which the server must be told; null if it need not be. */
  cancel(id: Id, scope: string): Id | null {
    const request = this.#exchange.find('asker', id, scope);
    return request === undefined ? null : this.#withdraw(request);
  }

  /** The host closed the way back: that cancels its requests (2026-07-28, Streamable HTTP, Cancellation). */
  gone(channel: Channel): void {
    for (const request of this.#exchange.open()) {
      if (request.channel !== channel) continue;
      const requestId = this.#withdraw(request);
      if (requestId !== null) this.#tellCancelled(requestId);
    }
  }

  #withdraw(request: Request): Id | null {
    // 2025-11-25, Utilities, Cancellation: `initialize` is never cancelled.
    if (request.method === 'initialize') return null;
    const ours = this.#exchange.idOf(request);
    if (request.left !== null && ours !== null) {
      this.#exchange.release(request);
      request.left();
      request.channel.close();
      return null;
    }
    this.drop(request);
    this.free(request);
    request.cancelled('host');
    request.channel.close();
    return this.#isClosed(request) ? null : ours;
  }

  /** Whether a request that ends has a stream of its own, which tells the server by being closed. */
  #isClosed({ isStateless }: Request): boolean {
    return isStateless && this.#server.isPerRequest;
  }

  #tellCancelled(requestId: Id): void {
    this.#server.send(notificationFrame('notifications/cancelled', { requestId })).catch(() => {});
  }

  /** Progress restarts the time limit of its request. Null if no open request has this token. */
  progress(token: Id): Request | null {
    const request = this.#exchange.find('other', token);
    if (request === undefined || request.tokenBytes === null) return null;
    this.#wait(request);
    return request;
  }

  /** The open subscriptions to one kind of change. */
  listening(to: string): Request[] {
    const isForwarded = (request: Request) => this.#exchange.idOf(request) !== null;
    return this.#exchange.open().filter((one) => one.listensTo.includes(to) && isForwarded(one));
  }

  /** The open subscription that the server knows by this id, or null; with `ends` it is open no longer. */
  subscription(id: Id, ends: boolean): Request | null {
    const request = this.#exchange.find('other', id);
    if (request?.method !== 'subscriptions/listen') return null;
    if (ends) {
      this.drop(request);
      this.free(request);
      request.cancelled('server');
    }
    return request;
  }

  #fail(request: Request, denial: Denial): void | Promise<void> {
    if (!this.#exchange.isOpen(request)) return;
    this.drop(request);
    return request.failed(denial);
  }

  /** A subscription is answered when it ends, whenever that is. */
  #wait(request: Request): void {
    if (request.method === 'subscriptions/listen') return;
    clearTimeout(this.#timers.get(request));
    const ms = request.id === null ? Math.min(this.timeoutMs, OWN_TIMEOUT_MS) : this.timeoutMs;
    const timer = setTimeout(() => {
      const requestId = this.#exchange.idOf(request);
      const message = `The server did not answer ${quote(request.method)} in ${ms} ms.`;
      void this.#fail(request, new Denial('server', 'GATEWAY_TIMEOUT', message));
      if (requestId === null || request.method === 'initialize' || this.#isClosed(request)) return;
      this.#tellCancelled(requestId);
    }, ms);
    this.#timers.set(request, timer);
  }

  #close(request: Request): void {
    clearTimeout(this.#timers.get(request));
    this.#timers.delete(request);
  }
}

function listened({ method, params }: RequestFrame): readonly string[] {
  const wanted = method === 'subscriptions/listen' ? params?.get('notifications') : undefined;
  return wanted instanceof JsonObject ? wanted.keys.filter((key) => wanted.get(key) === true) : [];
}

/** The way back of the gateway's own requests. */
const NOWHERE: Channel = { scope: '', write() {}, answer() {}, close() {} };

/** The denial for a server that ended. Its last output is for the operator, not for a model. */
export function serverEnded(error: unknown): Denial {
  const [how] = /^The server [a-zA-Z0-9 ]+\./.exec(error instanceof Error ? error.message : '') ?? [];
  return new Denial('server', 'GATEWAY_SERVER_ENDED', how ?? 'The server ended.', {
    cause: error,
  });
}

function asFailure(error: unknown): Denial {
  if (error instanceof Denial || !(error instanceof BullaError)) return asDenial(error);
  return serverFailed(error);
}

/** The denial for a server that could not be given a request, or ended; what it said is for the operator. */
export function serverFailed(error: BullaError): Denial {
  const message = UNAUTHORIZED.includes(error.code) ? error.message : FAILED[error.code];
  if (message === undefined) return serverEnded(error);
  return new Denial('server', 'GATEWAY_SERVER_FAILED', message, {
    cause: error,
    data: { reason: error.code },
  });
}

/** Their messages say what to do, and quote nobody. */
const UNAUTHORIZED: readonly Code[] = ['MCP_HTTP_UNAUTHORIZED', 'MCP_HTTP_SCOPE'];

const FAILED: Readonly<Partial<Record<Code, string>>> = {
  MCP_HTTP_UNREACHABLE: 'The server cannot be reached.',
  MCP_HTTP_REDIRECT: 'The server redirects to another address, which is not followed.',
  MCP_HTTP_STATUS: 'The server refused the request.',
  MCP_HTTP_RESPONSE: "The server's response ended without the answer.",
  MCP_HTTP_SESSION_LOST: 'The server has ended the session.',
};

function refusedList(method: string, { error }: ErrorFrame): Denial {
  const message = `The server answered ${method} with error ${error.code}.`;
  return new Denial('lists', 'GATEWAY_BAD_ANSWER', message, { cause: new RpcError(method, error) });
}
