import type { ServerResponse } from 'node:http';
import type { Code } from '@bulla/core/codes';
import { toUtf8 } from '@bulla/core/crypto';
import type { Failure, Stage } from '@bulla/core/evidence';
import { EVENTS_TYPE, type Id, idKey } from '../../mcp/index.ts';
import { unbroken } from '../../os/index.ts';
import { Denial, denialBytes } from '../denial.ts';
import type { Channel } from './channel.ts';

export interface HttpTimes {
  /** A request without an answer for so long gets a stream of events, which can be kept alive. Default 5,000 ms. */
  readonly streamAfterMs?: number | undefined;
  /** How often a silent stream gets a comment, so that nobody on the way takes it for dead. Default 15,000 ms. */
  readonly beatMs?: number | undefined;
  /** A host that takes nothing of what is written for so long is cut off. Default 30,000 ms. */
  readonly stallMs?: number | undefined;
}

export type Times = { readonly [Name in keyof HttpTimes]-?: number };

export function timesOf({ streamAfterMs = 5000, beatMs = 15_000, stallMs = 30_000 }: HttpTimes): Times {
  return { streamAfterMs, beatMs, stallMs };
}

/** A request that is refused before a session has it, with the status of the response. */
export class Refusal extends Denial {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    stage: Stage,
    code: Code,
    message: string,
    options: {
      failure?: Failure;
      rpc?: number;
      data?: object;
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(stage, code, message, options);
    this.status = status;
    this.headers = options.headers ?? {};
  }
}

/** Limit on the rest of a refused request that is read and discarded on a connection that is used again. */
const MAX_REST_BYTES = 64 * 1024;
/** The same for a connection that is closed then, so that its sender gets to see the answer (RFC 9112 §9.6). */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
const LINGER_MS = 2000;

/** Answers with a refusal. What is left of the body is never taken for a request. */
export function refuse(response: ServerResponse, refusal: Refusal, id: Id | null): void {
  const body = denialBytes(id === null ? null : toUtf8(idKey(id)), refusal);
  const { req: request } = response;
  const { 'content-length': length = 0, 'transfer-encoding': chunked } = request.headers;
  const isShort = request.complete || (chunked === undefined && Number(length) <= MAX_REST_BYTES);
  // Whoever is not let in keeps no connection.
  const isKept = isShort && refusal.status !== 401 && refusal.status !== 403;
  response.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': body.length,
    ...refusal.headers,
    ...(!isKept && { connection: 'close' }),
  });
  if (isKept || request.readableEnded) {
    response.end(body);
    return;
  }
  response.write(body);
  let rest = MAX_DISCARDED_BYTES;
  const late = setTimeout(() => response.end(), LINGER_MS);
  response.on('close', () => clearTimeout(late));
  request.on('end', () => response.end());
  request.on('error', () => {}); // it went away
  request.on('data', (chunk: Buffer) => {
    rest -= chunk.length;
    if (rest < 0) request.pause();
  });
}

/** Messages to a host as server-sent events, one each. */
export class Events {
  readonly #response: ServerResponse;
  readonly #times: Times;
  readonly #beat: NodeJS.Timeout;

  /** Sends the header at once. */
  constructor(response: ServerResponse, times: Times) {
    this.#response = response;
    this.#times = times;
    response.writeHead(200, {
      'content-type': EVENTS_TYPE,
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    this.#beat = setInterval(() => {
      // One that does not read gets no more of them: they would hide that it is stalled.
      if (!response.writableNeedDrain) response.write(':\n\n');
    }, times.beatMs);
    response.on('close', () => clearInterval(this.#beat));
  }

  /** A promise to wait for when the way is full. */
  write(message: Uint8Array): void | Promise<void> {
    if (!this.#response.write(eventOf(message))) return taken(this.#response, 'drain', this.#times.stallMs);
  }

  /** Sends the last message, if there is one. */
  end(message?: Uint8Array): void | Promise<void> {
    clearInterval(this.#beat);
    return finish(this.#response, message && eventOf(message), this.#times.stallMs);
  }
}

const BEFORE = toUtf8('event: message\ndata: ');
const AFTER = toUtf8('\n\n');

/** In an event a line end would begin another field, so the message has none. */
function eventOf(message: Uint8Array): Uint8Array {
  return Buffer.concat([BEFORE, unbroken(message), AFTER]);
}

function finish(
  response: ServerResponse,
  bytes: Uint8Array | undefined,
  stallMs: number,
): void | Promise<void> {
  response.end(bytes);
  if (response.writableNeedDrain) return taken(response, 'finish', stallMs);
}

/** Waits until the host has taken what was written, or is gone. One that takes nothing is cut off. */
function taken(response: ServerResponse, event: 'drain' | 'finish', stallMs: number): Promise<void> {
  const { socket } = response;
  if (socket === null || response.destroyed) return Promise.resolve();
  // Node restarts this clock whenever some of it was taken, and destroys the connection when it runs out.
  socket.setTimeout(stallMs);
  return new Promise((resolve) => {
    const done = (): void => {
      response.off(event, done).off('close', done);
      if (event === 'drain') socket.setTimeout(0);
      resolve();
    };
    response.on(event, done).on('close', done);
  });
}

/** The head of a response whose body is one answer. */
export interface Head {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ChannelOptions {
  readonly scope: string;
  /** The id of the request; null for what is none. */
  readonly id: Id | null;
  readonly times: Times;
  /** Whether messages may precede the answer. Default true. */
  readonly streams?: boolean;
  /** The head of the response that is only this answer. */
  head(answer: Uint8Array): Head;
  /** Takes a message that the response can not, or no longer, carry. */
  elsewhere(message: Uint8Array): void | Promise<void>;
  /** The host closed the response before it was complete. */
  gone(channel: HttpChannel): void;
  /** Nothing more will be sent: the request was answered, or will not be. */
  over(channel: HttpChannel): void;
}

/** The response to one request: the answer as JSON, or a stream of events that ends with the answer. */
export class HttpChannel implements Channel {
  readonly scope: string;
  readonly #response: ServerResponse;
  readonly #options: ChannelOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #events: Events | null = null;
  #isOver = false;
  #isGone = false;

  constructor(response: ServerResponse, options: ChannelOptions) {
    this.scope = options.scope;
    this.#response = response;
    this.#options = options;
    const { streams = true, times } = options;
    // It may have gone while its session was opened.
    this.#isGone = response.destroyed;
    if (this.#isGone) return;
    if (streams) this.#timer = setTimeout(() => this.#stream(), times.streamAfterMs);
    response.on('close', () => {
      clearTimeout(this.#timer);
      this.#isGone = true;
      if (!this.#isOver) options.gone(this);
    });
  }

  /** Whether messages can be sent that precede the answer. */
  get canStream(): boolean {
    return !this.#isGone && !this.#isOver && (this.#options.streams ?? true);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the host has closed the response. */
  get isGone(): boolean {
    return this.#isGone;
  }

  write(message: Uint8Array): void | Promise<void> {
    return this.canStream ? this.#stream().write(message) : this.#options.elsewhere(message);
  }

  answer(message: Uint8Array): void | Promise<void> {
    if (!this.#end()) return;
    const written = this.#isGone ? undefined : this.#write(message);
    this.#options.over(this);
    return written;
  }

  #write(message: Uint8Array): void | Promise<void> {
    if (this.#events !== null) return this.#events.end(message);
    const { status, headers } = this.#options.head(message);
    const body = unbroken(message);
    this.#response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': body.length,
      ...headers,
    });
    return finish(this.#response, body, this.#options.times.stallMs);
  }

  close(): void {
    if (!this.#end()) return;
    if (!this.#isGone) void this.#stream().end();
    this.#options.over(this);
  }

  /** Answers with an error, if nothing has answered yet. */
  fail(denial: Denial): void {
    const { id } = this.#options;
    void this.answer(denialBytes(id === null ? null : toUtf8(idKey(id)), denial));
  }

  #stream(): Events {
    clearTimeout(this.#timer);
    this.#events ??= new Events(this.#response, this.#options.times);
    return this.#events;
  }

  /** False when it had ended before. */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    return true;
  }
}
