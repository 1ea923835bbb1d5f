import { BullaError } from '@bulla/core/error';
import { type JsonObject, stringify } from '@bulla/core/json';
import { Exchange, type Waiting } from './exchange.ts';
import {
  type ErrorFrame,
  errorFrame,
  type Frame,
  idKey,
  type NotificationFrame,
  notificationFrame,
  type RequestFrame,
  type ResultFrame,
  requestFrame,
  resultFrame,
} from './frame.ts';
import { type Connect, quote, RpcError, type Transport } from './transport.ts';

/** How this side answers a request of the server: with a result, or with an error of the protocol. */
export type Reply = { readonly result: object } | { readonly code: number; readonly message: string };

export interface ConnectionOptions {
  /** How long to wait for an answer, whatever progress is told meanwhile. Default 30,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Answers a request of the server; null when the server may send none, which ends the connection. */
  reply(request: RequestFrame): Reply | null;
  onNotification?(notification: NotificationFrame): void;
  /** How much the server may send in all. Default: no limit. */
  readonly maxReceivedBytes?: number | undefined;
  /** Ends the connection; its reason is what every request rejects with. */
  readonly signal?: AbortSignal | undefined;
}

/** `signal` stops waiting; an answer that comes later is ignored. */
type RequestOptions = Pick<ConnectionOptions, 'timeoutMs' | 'signal'>;

interface Pending extends Waiting {
  readonly method: string;
  resolve(answer: ResultFrame): void;
  reject(error: Error): void;
}

export const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * Requests and their answers over a transport. Nothing that the server sends is believed beyond what was asked: an
 * answer that nobody waits for, or one that is no message, ends the connection, and every request that is open or
 * made later rejects with the same error.
 */
export class Connection {
  #transport!: Transport;
  readonly #options: ConnectionOptions;
  readonly #exchange = new Exchange<Pending>();
  #received = 0;
  #failure: BullaError | null = null;
  readonly #failed = new AbortController();
  /** What every request carries beside its own params, from when it is known. */
  meta: object | null = null;

  private constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Connects. Rejects with what the transport rejects with. */
  static async open(connect: Connect, options: ConnectionOptions): Promise<Connection> {
    const connection = new Connection(options);
    options.signal?.throwIfAborted();
    connection.#transport = await connect({
      frame: (frame) => connection.#receive(frame),
      refused: (error) => connection.#fail(error),
      ended: (error) => connection.#fail(error),
    });
    const onAbort = (): void => connection.#fail(options.signal!.reason);
    options.signal?.addEventListener('abort', onAbort);
    if (options.signal?.aborted) onAbort();
    return connection;
  }

  /** Why the connection is of no more use, or null. */
  get failure(): BullaError | null {
    return this.#failure;
  }

  /**
   * Asks the server. Rejects with `MCP_ERROR_ANSWER` (an `RpcError`), `MCP_TIMEOUT`, `MCP_INPUT_REQUIRED`,
   * `MCP_RESULT_TYPE`, the code of the connection's failure, and the codes of the transport.
   */
  async request(method: string, params?: object, options?: RequestOptions): Promise<JsonObject> {
    return (await this.ask(method, params, options)).result;
  }

  /** As {@link request}, with the whole answer. */
  async ask(method: string, params?: object, options: RequestOptions = {}): Promise<ResultFrame> {
    if (this.#failure !== null) throw this.#failure;
    const all = this.meta === null ? params : { ...params, _meta: this.meta };
    const { promise: answer, resolve, reject } = Promise.withResolvers<ResultFrame>();
    const pending: Pending = { id: null, method, resolve, reject };
    this.#exchange.take(pending);
    const id = this.#exchange.assign(pending);
    const stop = new AbortController();
    const giveUp = (reason: Error): void => {
      if (!this.#exchange.isOpen(pending)) return;
      this.#exchange.abandon(pending);
      reject(reason);
      stop.abort(reason);
    };
    const ms = options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timer = setTimeout(() => {
      giveUp(new BullaError('MCP_TIMEOUT', `The server did not answer ${method} in ${ms} ms.`));
      // 2025-11-25, Utilities, Cancellation: `initialize` is never cancelled.
      if (method !== 'initialize') this.notify('notifications/cancelled', { requestId: id }).catch(() => {});
    }, ms);
    const onAbort = (): void => giveUp(options.signal!.reason);
    options.signal?.addEventListener('abort', onAbort);
    if (options.signal?.aborted) onAbort();
    const send = async () => this.#transport.send(requestFrame(id, method, all), stop.signal);
    send().catch(giveUp);
    try {
      return complete(method, await answer);
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Tells the server something. Rejects with `MCP_TIMEOUT`, the connection's failure and the transport's codes. */
  async notify(method: string, params?: object): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    const ms = this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const late = new BullaError('MCP_TIMEOUT', `The server did not take ${method} in ${ms} ms.`);
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(late), ms);
    const signal = AbortSignal.any([stop.signal, this.#failed.signal]);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    try {
      await Promise.race([this.#transport.send(notificationFrame(method, params), signal), aborted]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** See {@link Transport.established}. */
  established(protocolVersion: string, listen: boolean): void {
    this.#transport.established(protocolVersion, listen);
  }

  /** Ends the conversation; requests that are open reject with `MCP_CLOSED`. Never rejects. */
  async close(): Promise<void> {
    this.#fail(new BullaError('MCP_CLOSED', 'The connection was closed.'));
    await this.#transport.close();
  }

  #fail(error: BullaError): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.#failed.abort(error);
    for (const pending of this.#exchange.open()) {
      this.#exchange.abandon(pending);
      pending.reject(error);
    }
  }

  #receive(frame: Frame): void | Promise<void> {
    if (this.#failure !== null) return;
    this.#received += frame.bytes.length;
    const max = this.#options.maxReceivedBytes;
    if (max !== undefined && this.#received > max) {
      return this.#fail(new BullaError('MCP_TOO_MUCH', `The server sent more than ${max} bytes.`));
    }
    if (frame.kind === 'notification') return this.#options.onNotification?.(frame);
    if (frame.kind === 'request') return this.#answer(frame);
    return this.#settle(frame);
  }

  #settle(frame: ResultFrame | ErrorFrame): void {
    const match = this.#exchange.settle(frame.id);
    // Nobody waits for it any more, which is no offence of the server.
    if (match === 'late') return;
    if (typeof match !== 'string') {
      if (frame.kind === 'result') match.resolve(frame);
      else match.reject(new RpcError(match.method, frame.error));
    } else if (frame.id === null) {
      this.#fail(unknownAnswer('sent an error without an id', frame));
    } else if (match === 'duplicate') {
      const message = `The server answered request ${idKey(frame.id)} twice.`;
      this.#fail(new BullaError('MCP_ANSWER_UNKNOWN', message));
    } else {
      const what = `answered a request with the id ${quote(idKey(frame.id))}, which was never made`;
      this.#fail(unknownAnswer(what, frame));
    }
  }

  /** The answer is sent before anything more is read, so that a flood of requests cannot pile up here. */
  async #answer(request: RequestFrame): Promise<void> {
    const reply = this.#options.reply(request);
    if (reply === null) {
      const message = `The server sent a request (${quote(request.method)}), which it may not do under this protocol version.`;
      return this.#fail(new BullaError('MCP_UNEXPECTED_REQUEST', message));
    }
    const frame =
      'result' in reply
        ? resultFrame(request.id, reply.result)
        : errorFrame(request.id, reply.code, reply.message);
    // A server that went away shows elsewhere.
    await this.#transport.send(frame).catch(() => {});
  }
}

function unknownAnswer(what: string, frame: ResultFrame | ErrorFrame): BullaError {
  const said = frame.kind === 'error' ? `: error ${frame.error.code}, ${quote(frame.error.message)}` : '';
  return new BullaError('MCP_ANSWER_UNKNOWN', `The server ${what}${said}.`);
}

/** 2026-07-28, Basic, ResultType: what is absent is complete, what is unknown is invalid. */
function complete(method: string, answer: ResultFrame): ResultFrame {
  const type = answer.result.get('resultType');
  if (type === undefined || type === 'complete') return answer;
  if (type === 'input_required') {
    const message = `The server wants input before it answers ${method}; there is none.`;
    throw new BullaError('MCP_INPUT_REQUIRED', message);
  }
  const what = quote(typeof type === 'string' ? type : stringify(type));
  const message = `The server answered ${method} with a result of unknown type ${what}.`;
  throw new BullaError('MCP_RESULT_TYPE', message);
}
