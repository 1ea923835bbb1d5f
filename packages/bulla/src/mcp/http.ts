import { toBase64, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { textAt } from '@bulla/core/json';
import { type Call, createCall, type HttpOptions, mediaTypeOf, receive, statusError } from './call.ts';
import { readBody, readEvents } from './events.ts';
import {
  DEFAULT_MAX_FRAME_BYTES,
  type Frame,
  type FrameOptions,
  type Id,
  idKey,
  type RequestFrame,
} from './frame.ts';
import { deliver, HttpStatusError, type Receiver, type Transport } from './transport.ts';

export const META_VERSION = 'io.modelcontextprotocol/protocolVersion';
const JSON_TYPE = 'application/json';
export const EVENTS_TYPE = 'text/event-stream';
/** How long a stream may stay open after the answer, so that an orderly end leaves the connection for reuse. */
const LINGER_MS = 200;
const GOODBYE_MS = 2000;

/**
 * Streamable HTTP, of both eras. Nothing is sent until the first message. `send` rejects with the codes of
 * {@link createCall} and `parseFrame`, with `MCP_HTTP_STATUS`, `MCP_HTTP_SESSION_LOST`, and with `MCP_HTTP_RESPONSE`
 * also when the answer is missing or cut off.
 */
export async function connectHttp(url: URL, options: HttpOptions, receiver: Receiver): Promise<Transport> {
  return new HttpTransport(createCall(url, options), options, receiver);
}

class HttpTransport implements Transport {
  readonly isPerRequest = true;
  readonly #call: Call;
  readonly #frames: FrameOptions;
  readonly #headersOf: HttpOptions['headersOf'];
  readonly #maxBytes: number;
  readonly #receiver: Receiver;
  readonly #closed = new AbortController();
  #session: string | null = null;
  #version: string | null = null;

  constructor(call: Call, { frames = {}, headersOf }: HttpOptions, receiver: Receiver) {
    this.#call = call;
    this.#headersOf = headersOf;
    this.#frames = frames;
    this.#maxBytes = frames.maxBytes ?? DEFAULT_MAX_FRAME_BYTES;
    this.#receiver = receiver;
  }

  async send(frame: Frame, signal?: AbortSignal): Promise<void> {
    const done = new AbortController();
    const signals = AbortSignal.any([done.signal, this.#closed.signal, ...(signal ? [signal] : [])]);
    const session = this.#session;
    const response = await this.#call({
      method: 'POST',
      headers: {
        'content-type': JSON_TYPE,
        accept: `${JSON_TYPE}, ${EVENTS_TYPE}`,
        ...this.#sessionHeaders(),
        ...this.#requestHeaders(frame),
      },
      body: frame.bytes,
      signal: signals,
    });
    try {
      if (!response.ok) return await this.#refused(response, frame, session);
      if (frame.kind !== 'request') return await response.body?.cancel();
      if (frame.method === 'initialize') this.#session = response.headers.get('mcp-session-id');
      const type = mediaTypeOf(response.headers.get('content-type'));
      if (type === EVENTS_TYPE) return await this.#events(response, frame, done);
      if (type === JSON_TYPE) return await this.#body(response, frame);
      await response.body?.cancel();
      throw new BullaError(
        'MCP_HTTP_RESPONSE',
        `The server answered ${frame.method} with content of type ${JSON.stringify(type)}.`,
      );
    } catch (error) {
      signals.throwIfAborted();
      if (error instanceof BullaError) throw error;
      throw noAnswer(frame as RequestFrame, error);
    }
  }

  #requestHeaders(frame: Frame): Record<string, string> {
    const headers = requestHeaders(frame);
    if (headers['mcp-method'] === undefined) return headers;
    return { ...this.#headersOf?.(frame as RequestFrame), ...headers };
  }

  async #refused(response: Response, frame: Frame, session: string | null): Promise<void> {
    const { error, frame: answer } = await statusError(response, this.#frames);
    // 2025-11-25, Transports, Session Management, 4.
    if (response.status === 404 && session !== null) {
      throw new HttpStatusError('MCP_HTTP_SESSION_LOST', 'The server has ended the session.', 404, error.rpc);
    }
    if (answer === null || !isAnswer(answer, frame)) throw error;
    return deliver(this.#receiver, answer, frame.kind === 'request' ? frame.id : undefined);
  }

  async #body(response: Response, request: RequestFrame): Promise<void> {
    const frame = receive(await readBody(response, this.#maxBytes), this.#frames, this.#receiver);
    await deliver(this.#receiver, frame, request.id);
    if (!isAnswer(frame, request)) throw noAnswer(request);
  }

  async #events(response: Response, request: RequestFrame, done: AbortController): Promise<void> {
    let answered = false;
    let linger: NodeJS.Timeout | undefined;
    try {
      await this.#readEvents(response, request.id, (frame) => {
        if (!isAnswer(frame, request)) return;
        answered = true;
        linger ??= setTimeout(() => done.abort(), LINGER_MS);
      });
    } catch (error) {
      if (!answered) throw error;
    } finally {
      clearTimeout(linger);
    }
    if (!answered) throw noAnswer(request);
  }

  #readEvents(response: Response, on?: Id, look?: (frame: Frame) => void): Promise<void> {
    return readEvents(response.body!, this.#maxBytes, ({ event, data }) => {
      // Events of other types, and those that only carry an id to resume from, are no messages.
      if ((event !== undefined && event !== 'message') || data === '') return;
      const frame = receive(toUtf8(data), this.#frames, this.#receiver);
      look?.(frame);
      return deliver(this.#receiver, frame, on);
    });
  }

  established(protocolVersion: string, listen: boolean): void {
    this.#version = protocolVersion;
    // A server need not offer this stream, and may end it at any time.
    if (listen) this.#listen().catch(() => {});
  }

  async #listen(): Promise<void> {
    const headers = { accept: EVENTS_TYPE, ...this.#sessionHeaders() };
    const response = await this.#call({ method: 'GET', headers, signal: this.#closed.signal });
    if (response.ok && mediaTypeOf(response.headers.get('content-type')) === EVENTS_TYPE)
      await this.#readEvents(response);
    else await response.body?.cancel();
  }

  #sessionHeaders(): Record<string, string> {
    return {
      ...(this.#session === null ? {} : { 'mcp-session-id': this.#session }),
      ...(this.#version === null ? {} : { 'mcp-protocol-version': this.#version }),
    };
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort(new BullaError('MCP_CLOSED', 'The connection was closed.'));
    if (this.#session === null) return;
    try {
      const signal = AbortSignal.timeout(GOODBYE_MS);
      const response = await this.#call({ method: 'DELETE', headers: this.#sessionHeaders(), signal });
      await response.body?.cancel();
    } catch {} // the server may forget the session when it likes
  }
}

function isAnswer(frame: Frame, request: Frame): boolean {
  return (
    (frame.kind === 'result' || frame.kind === 'error') &&
    request.kind === 'request' &&
    frame.id !== null &&
    idKey(frame.id) === idKey(request.id)
  );
}

function noAnswer({ method }: RequestFrame, cause?: unknown): BullaError {
  return new BullaError('MCP_HTTP_RESPONSE', `The server's response ended without the answer to ${method}.`, {
    cause,
  });
}

/** Where the value of the `Mcp-Name` header stands in the params of a request. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** The headers that mirror a request of the stateless era (2026-07-28, Streamable HTTP, Request Metadata). */
export function requestHeaders(frame: Frame): Record<string, string> {
  if (frame.kind !== 'request') return {};
  const version = textAt(frame.params, ['_meta', META_VERSION]);
  if (version === null) return {};
  const name = textAt(frame.params, [NAMED[frame.method] ?? '']);
  return {
    'mcp-protocol-version': version,
    'mcp-method': frame.method,
    ...(name !== null && { 'mcp-name': headerValue(name) }),
  };
}

/** Writes a value so that a header can carry it (2026-07-28, Streamable HTTP, Value Encoding). */
export function headerValue(value: string): string {
  const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/.test(value);
  const encoded = value.startsWith('=?base64?') && value.endsWith('?=');
  return plain && !encoded ? value : `=?base64?${toBase64(toUtf8(value))}?=`;
}
