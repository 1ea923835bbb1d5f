import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { JsonObject } from '@bulla/core/json';
import {
  type ErrorFrame,
  Exchange,
  type Id,
  notificationFrame,
  quote,
  type RequestFrame,
  type ResultFrame,
  requestFrame,
  type Transport,
  type Waiting,
} from '../../mcp/index.ts';
import { asDenial, Denial } from '../denial.ts';
import { bytesOf, type Edit, locate, replace, splice } from './splice.ts';
import { SUBSCRIPTION_ID, tokenOf } from './tokens.ts';

/** A request to the server, with its handlers. */
export interface Request extends Waiting {
  readonly method: string;
  /** The host's id, byte for byte; empty for a request of our own. */
  readonly idBytes: Uint8Array;
  /** The progress token that the host gave with it. */
  readonly token: string | null;
  /**
   * Handles the answer. While its promise is pending, nothing more is read. If it throws, which it may only do before it
   * has answered or recorded anything, the request fails with that error.
   */
  answered(frame: ResultFrame | ErrorFrame): void | Promise<void>;
  /** No answer will come; the waiting caller gets the error. */
  failed(denial: Denial): void | Promise<void>;
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
  readonly #server: Pick<Transport, 'send'>;
  readonly #timeoutMs: number;
  readonly #exchange = new Exchange<Request>();
  readonly #timers = new Map<Request, NodeJS.Timeout>();
  readonly #tokens = new Map<string, Request>();
  #ended: Denial | null = null;

  constructor(server: Pick<Transport, 'send'>, timeoutMs: number) {
    this.#server = server;
    this.#timeoutMs = timeoutMs;
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
  take(frame: RequestFrame): Request | null {
    const request: Request = {
      id: frame.id,
      method: frame.method,
      idBytes: Uint8Array.from(bytesOf(frame, locate(frame, 'id')!)),
      token: tokenOf(frame.params?.get('_meta'), 'progressToken'),
      answered: () => {},
      failed: () => {},
      cancelled: () => {},
    };
    if (!this.#exchange.take(request)) return null;
    if (request.token !== null) this.#tokens.set(request.token, request);
    return request;
  }

  /** Whether the host has a request under this id that is not answered yet. */
  isTaken(id: Id): boolean {
    return this.#exchange.isTaken(id);
  }

  isOpen(request: Request): boolean {
    return this.#exchange.isOpen(request);
  }

  /** Ends a request without an answer of the server. */
  drop(request: Request): void {
    this.#exchange.abandon(request);
    this.#close(request);
  }

  /** The host has its answer, and may use the id again. */
  free(request: Request): void {
    this.#exchange.free(request);
  }

  /** Sends a request. Never rejects: if that fails, the request fails. */
  async forward(request: Request, frame: RequestFrame, edits: readonly Edit[] = []): Promise<void> {
    try {
      const id = this.#exchange.assign(request);
      this.#wait(request);
      const all = [replace(locate(frame, 'id')!, toUtf8(id.lexeme)), ...edits];
      await this.#server.send({ ...frame, id, bytes: splice(frame.bytes, all) });
    } catch (error) {
      await this.#fail(request, error instanceof BullaError ? serverEnded(error) : asDenial(error));
    }
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
      token: null,
      answered: (frame) => (frame.kind === 'result' ? resolve(frame) : reject(refusedList(method, frame))),
      failed: reject,
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

  /** The host cancels a request. Returns the id under which the server knows it, or null. */
  cancel(id: Id): Id | null {
    const request = this.#exchange.find('asker', id);
    // 2025-11-25, Utilities, Cancellation: `initialize` is never cancelled.
    if (request === undefined || request.method === 'initialize') return null;
    const ours = this.#exchange.idOf(request);
    this.drop(request);
    this.free(request);
    request.cancelled('host');
    return ours;
  }

  /** Progress restarts the time limit of its request. False if no open request has this token. */
  progress(token: string): boolean {
    const request = this.#tokens.get(token);
    if (request === undefined || this.#exchange.idOf(request) === null) return false;
    this.#wait(request);
    return true;
  }

  /** The host's id of an open subscription, byte for byte, or null; with `ends` it is open no longer. */
  subscription(id: Id, ends: boolean): Uint8Array | null {
    const request = this.#exchange.find('other', id);
    if (request?.method !== 'subscriptions/listen') return null;
    if (ends) {
      this.drop(request);
      this.free(request);
      request.cancelled('server');
    }
    return request.idBytes;
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
    const ms = request.id === null ? Math.min(this.#timeoutMs, OWN_TIMEOUT_MS) : this.#timeoutMs;
    const timer = setTimeout(() => {
      const requestId = this.#exchange.idOf(request);
      const message = `The server did not answer ${quote(request.method)} in ${ms} ms.`;
      void this.#fail(request, new Denial('server', 'GATEWAY_TIMEOUT', message));
      if (requestId === null || request.method === 'initialize') return;
      this.#server.send(notificationFrame('notifications/cancelled', { requestId })).catch(() => {});
    }, ms);
    this.#timers.set(request, timer);
  }

  #close(request: Request): void {
    clearTimeout(this.#timers.get(request));
    this.#timers.delete(request);
    const { token } = request;
    if (token !== null && this.#tokens.get(token) === request) this.#tokens.delete(token);
  }
}

/** The denial for a server that ended. Its last output is for the operator, not for a model. */
export function serverEnded(error: unknown): Denial {
  const [how] = /^The server [a-zA-Z0-9 ]+\./.exec(error instanceof Error ? error.message : '') ?? [];
  return new Denial('server', 'GATEWAY_SERVER_ENDED', how ?? 'The server ended.', {
    cause: error,
  });
}

function refusedList(method: string, { error }: ErrorFrame): Denial {
  return new Denial('lists', 'GATEWAY_BAD_ANSWER', `The server answered ${method} with error ${error.code}.`);
}
