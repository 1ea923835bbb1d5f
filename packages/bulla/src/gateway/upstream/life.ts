import { randomInt } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import { JsonNumber, stringify } from '@bulla/core/json';
import {
  type ErrorFrame,
  type Frame,
  type Id,
  idKey,
  parseFrame,
  type RequestFrame,
  type ResultFrame,
  RpcError,
  type Transport,
} from '../../mcp/index.ts';
import { raw } from '../wire/splice.ts';

export type Answer = ResultFrame | ErrorFrame;

/** Takes the answer to a request that does not simply pass. */
interface Expected {
  answered(frame: Answer, on?: Id): void | Promise<void>;
  /** No answer will come. */
  failed(error: BullaError): void;
}

/** What a server of the initialize era answered to `initialize`. */
export interface Session {
  readonly frame: ResultFrame;
  readonly protocolVersion: string;
  /** Whether the gateway asked, for requests of the stateless era. */
  readonly isOwn: boolean;
}

/** How long an answer is waited for. */
interface Limits {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

const ID_RANGE = 2 ** 48 - 1;
const ASK_TIMEOUT_MS = 30_000;
/** Limits on what is remembered of requests that are over. */
const MAX_OVER = 10_000;
const MAX_ALIASES = 1024;

/** A server from its start to its end, and the requests that the gateway itself follows there. */
export class Life {
  readonly #transport: Transport;
  readonly #expected = new Map<string, Expected>();
  readonly #over = new Set<string>();
  readonly #aliases = new Map<string, Id | null>();
  /** The server's answer to `initialize`, if it knows that era and was asked. */
  session: Session | null = null;
  /** The server's answer to `server/discover`, if the gateway asked for a host of the initialize era. */
  discovered: ResultFrame | null = null;
  /** Whether the server knows the stateless era. */
  isStateless = false;
  ended: BullaError | null = null;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get isPerRequest(): boolean {
    return this.#transport.isPerRequest;
  }

  send(frame: Frame, signal?: AbortSignal): Promise<void> {
    return this.ended === null ? this.#transport.send(frame, signal) : Promise.reject(this.ended);
  }

  /** Sends a message; that the server is gone is noticed elsewhere. */
  async tell(bytes: Uint8Array): Promise<void> {
    await this.send(read(bytes)).catch(() => {});
  }

  /** See {@link Transport.established}. */
  established(protocolVersion: string, listen: boolean): void {
    this.#transport.established(protocolVersion, listen);
  }

  /** An id for a request of the gateway. */
  freshId(): JsonNumber {
    let lexeme: string;
    do lexeme = String(randomInt(1, ID_RANGE));
    while (this.#expected.has(lexeme) || this.#over.has(lexeme));
    return new JsonNumber(lexeme);
  }

  /** The answer to the request of this id goes to `expected` and nowhere else. */
  expect(id: Id, expected: Expected): void {
    this.#expected.set(idKey(id), expected);
  }

  /** Whether an answer to this id is expected here. */
  expects(id: Id): boolean {
    return this.#expected.has(idKey(id));
  }

  /** Nobody waits for this answer any more: one that still comes is dropped. */
  forget(id: Id): void {
    const key = idKey(id);
    if (!this.#expected.delete(key)) return;
    this.#over.add(key);
    if (this.#over.size > MAX_OVER) this.#over.delete(this.#over.keys().next().value!);
  }

  /** Gives an answer to whoever expects it. False if nobody does, and none was waited for. */
  settle(frame: Answer, on?: Id): false | void | Promise<void> {
    if (frame.id === null) return false;
    const key = idKey(frame.id);
    const expected = this.#expected.get(key);
    if (expected === undefined) return this.#over.delete(key) ? undefined : false;
    this.#expected.delete(key);
    return expected.answered(frame, on);
  }

  /** The answer to this id cannot be read. */
  spoil(id: Id, error: BullaError): void {
    const expected = this.#expected.get(idKey(id));
    this.#expected.delete(idKey(id));
    expected?.failed(error);
  }

  /** Under which id the server knows a request; null where it knows none of it now. */
  alias(id: Id, is: Id | null): void {
    this.#aliases.delete(idKey(id));
    this.#aliases.set(idKey(id), is);
    if (this.#aliases.size > MAX_ALIASES) this.#aliases.delete(this.#aliases.keys().next().value!);
  }

  /** The same; the id itself where nothing else is known. */
  aliasOf(id: Id): Id | null {
    const alias = this.#aliases.get(idKey(id));
    return alias === undefined ? id : alias;
  }

  /** Asks the server something of the gateway's own. Rejects as `question` does, and with `MCP_ERROR_ANSWER`. */
  async ask(method: string, params: Uint8Array, limits?: Limits): Promise<ResultFrame> {
    const frame = read(requestBytes(this.freshId(), method, params)) as RequestFrame;
    const answer = await this.question(frame, limits);
    if (answer.kind === 'error') throw new RpcError(method, answer.error);
    return answer;
  }

  /**
   * Sends a request and gives the answer. Rejects as the transport does, with what ended the server, with `MCP_TIMEOUT`
   * and with the signal's reason; an answer that comes later is dropped.
   */
  async question(frame: RequestFrame, { signal, timeoutMs = ASK_TIMEOUT_MS }: Limits = {}): Promise<Answer> {
    const { id, method } = frame;
    const stop = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const giveUp = (reason: unknown): void => {
      if (!this.expects(id)) return;
      this.forget(id);
      reject(reason);
      stop.abort(reason);
      // 2025-11-25, Utilities, Cancellation: `initialize` is never cancelled.
      if (method !== 'initialize' && !this.isPerRequest) void this.tell(cancelledBytes(id));
    };
    const late = new BullaError('MCP_TIMEOUT', `The server did not answer ${method} in ${timeoutMs} ms.`);
    const timer = setTimeout(() => giveUp(late), timeoutMs);
    const onAbort = (): void => giveUp(signal!.reason);
    signal?.addEventListener('abort', onAbort);
    try {
      signal?.throwIfAborted();
      this.expect(id, { answered: resolve, failed: reject });
      this.send(frame, stop.signal).catch((error) => {
        this.forget(id);
        reject(error);
      });
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** The server is gone; nothing is answered any more. */
  end(error: BullaError): void {
    if (this.ended !== null) return;
    this.ended = error;
    const expected = [...this.#expected.values()];
    this.#expected.clear();
    for (const { failed } of expected) failed(error);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** Reads a message of ours, with its spans. */
export function read(bytes: Uint8Array): Frame {
  return parseFrame(bytes, { maxBytes: bytes.length });
}

export function requestBytes(id: Id, method: string, params: Uint8Array | null): Uint8Array {
  const rest = params === null ? [] : [',"params":', params];
  return raw(`{"jsonrpc":"2.0","id":${idKey(id)},"method":${stringify(method)}`, rest, '}');
}

export function resultBytes(id: Id, result: Uint8Array): Uint8Array {
  return raw(`{"jsonrpc":"2.0","id":${idKey(id)},"result":`, result, '}');
}

export function cancelledBytes(id: Id): Uint8Array {
  return raw(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idKey(id)}}}`);
}
