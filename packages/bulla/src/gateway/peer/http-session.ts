import type { ServerResponse } from 'node:http';
import type { BullaError } from '@bulla/core/error';
import { type Frame, quote, type RequestFrame } from '../../mcp/index.ts';
import { Denial } from '../denial.ts';
import type { Counts, Served } from '../link.ts';
import type { Channel, Host } from './channel.ts';
import { overloaded } from './http-request.ts';
import { type ChannelOptions, Events, HttpChannel, type Times } from './http-response.ts';

/** Limits on the messages that wait for a stream on which they can be sent. */
const MAX_QUEUED = 64;
const MAX_QUEUED_BYTES = 1024 * 1024;

/** Limits on the messages of the host that wait for those before them. */
const MAX_WAITING = 1024;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

export interface SessionOptions {
  readonly agentId: string;
  /** The session in records. It is no secret. */
  readonly sessionId: string;
  readonly times: Times;
  readonly idleMs: number;
  open(host: Host): Promise<Served>;
  /** Nothing was open for `idleMs`, or the other side is over. */
  ended(code: string | null): void;
  log(line: string): void;
}

type Way = Pick<ChannelOptions, 'scope' | 'head'> & Partial<ChannelOptions>;

/** What a host of either era talks to over HTTP: its requests in order, its streams, and what waits for one. */
abstract class HttpSession {
  readonly agentId: string;
  protected readonly options: SessionOptions;
  protected readonly channels = new Set<HttpChannel>();
  readonly #served: Promise<Served>;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #waitingBytes = 0;
  #idle: NodeJS.Timeout | undefined;
  #closed: Promise<Counts> | null = null;

  constructor(options: SessionOptions) {
    this.agentId = options.agentId;
    this.options = options;
    this.#served = options.open({ write: (message) => this.write(message) });
    this.#served.then(
      (served) => {
        this.rest();
        void served.over.then(({ error }) => options.ended(error.code));
      },
      () => {},
    );
  }

  /** Resolves when requests can be made. Rejects as `open` does. */
  async opened(): Promise<void> {
    await this.#served;
  }

  /** Sends a message that belongs to no request. */
  protected abstract write(message: Uint8Array): void | Promise<void>;
  /** Whether a stream is open that belongs to no request. */
  protected abstract readonly isListening: boolean;

  /** The way back for a request. */
  protected channel(response: ServerResponse, { id }: Pick<ChannelOptions, 'id'>, way: Way): HttpChannel {
    const channel = new HttpChannel(response, {
      id,
      times: this.options.times,
      elsewhere: () => {},
      gone: () => {},
      ...way,
      over: (ended) => {
        this.channels.delete(ended);
        way.over?.(ended);
        this.rest();
      },
    });
    this.channels.add(channel);
    clearTimeout(this.#idle);
    return channel;
  }

  /** Hands a request over, after those that came before it. Resolves when the next one may come. */
  protected ask(frame: RequestFrame, channel: HttpChannel): Promise<void> {
    return this.#next(
      frame.bytes.length,
      (served) => (channel.isOver ? undefined : served.fromHost(frame, channel)),
      () => channel.fail(new Denial('server', 'GATEWAY_CLOSED', 'The session has ended.')),
    );
  }

  /** Hands over a message that gets no answer. */
  tell(frame: Frame, scope: string): Promise<void> {
    const nowhere: Channel = { scope, write: () => {}, answer: () => {}, close: () => {} };
    return this.#next(frame.bytes.length, (served) => served.fromHost(frame, nowhere));
  }

  /** Hands over what is no message; `channel` gets the answer. */
  protected refused(error: BullaError, bytes: Uint8Array, channel: HttpChannel): Promise<void> {
    return this.#next(
      bytes.length,
      (served) => served.refusedFromHost(error, bytes, channel),
      () => channel.fail(new Denial('server', 'GATEWAY_CLOSED', 'The session has ended.')),
    );
  }

  /** The host closed the response to a request, which cancels it. */
  protected cancel(channel: HttpChannel): void {
    void this.#served
      .then((served) => served.gone(channel))
      .catch((error) => this.options.log(`a request could not be cancelled: ${quote(String(error))}`))
      .then(() => channel.close());
  }

  /** Throws a refusal when the other side does not take what waits for it already. */
  checkRoom(): void {
    if (this.#waiting < MAX_WAITING && this.#waitingBytes < MAX_WAITING_BYTES) return;
    throw overloaded('The server does not take the messages that wait for it.');
  }

  #next(
    bytes: number,
    work: (served: Served) => void | Promise<void>,
    late: () => void = () => {},
  ): Promise<void> {
    this.#waiting++;
    this.#waitingBytes += bytes;
    const next = this.#turn.then(async () => {
      try {
        const served = await this.#served;
        if (this.#closed !== null) late();
        else await work(served);
      } finally {
        this.#waiting--;
        this.#waitingBytes -= bytes;
      }
      this.rest();
    });
    this.#turn = next.catch(() => {});
    return next;
  }

  /** Starts to wait for the end of a session that nobody uses. */
  protected rest(): void {
    clearTimeout(this.#idle);
    if (this.channels.size > 0 || this.isListening || this.#closed !== null) return;
    this.#idle = setTimeout(() => this.options.ended(null), this.options.idleMs);
  }

  /** Waits for the answers that are on their way. */
  async drain(hurry?: AbortSignal): Promise<void> {
    await this.#served.then((served) => served.drain(hurry)).catch(() => {});
  }

  /** Ends the other side; what is still open then gets an error. Rejects if that cannot be recorded. */
  close(code: string | null): Promise<Counts> {
    this.#closed ??= this.#close(code);
    return this.#closed;
  }

  async #close(code: string | null): Promise<Counts> {
    clearTimeout(this.#idle);
    let served: Served;
    try {
      served = await this.#served;
    } catch {
      return { calls: 0, blocked: 0 };
    }
    try {
      return await served.close(code);
    } finally {
      for (const channel of this.channels) {
        channel.fail(new Denial('server', 'GATEWAY_CLOSED', 'The session ended before the server answered.'));
      }
      this.endStreams();
    }
  }

  protected endStreams(): void {}
}

/** A session of the initialize era (2025-11-25, Transports, Session Management). */
export class LegacySession extends HttpSession {
  #events: Events | null = null;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;

  protected get isListening(): boolean {
    return this.#events !== null;
  }

  get scope(): string {
    return this.options.sessionId;
  }

  /** Begins the session: `head` gets the answer before it is sent. */
  begin(
    frame: RequestFrame,
    response: ServerResponse,
    { head, over }: Required<Pick<ChannelOptions, 'head' | 'over'>>,
  ): Promise<void> {
    // Whether there is a session is known with the answer, and told in the header of the response.
    const way = { scope: this.scope, streams: false, head, over };
    return this.ask(
      frame,
      this.channel(response, frame, { ...way, elsewhere: (bytes) => this.write(bytes) }),
    );
  }

  /** 2025-11-25, Transports: a host that closes a response does not cancel its request by that. */
  request(frame: RequestFrame, response: ServerResponse): Promise<void> {
    const way: Way = {
      scope: this.scope,
      head: () => ({ status: 200 }),
      elsewhere: (bytes) => this.write(bytes),
    };
    return this.ask(frame, this.channel(response, frame, way));
  }

  refuse(error: BullaError, bytes: Uint8Array, response: ServerResponse): Promise<void> {
    return this.refused(
      error,
      bytes,
      this.channel(response, { id: null }, { ...REFUSED, scope: this.scope }),
    );
  }

  /** Opens the stream for what belongs to no request; false if there is one. */
  listen(response: ServerResponse): boolean {
    if (this.#events !== null) return false;
    this.#events = new Events(response, this.options.times);
    response.on('close', () => {
      this.#events = null;
      this.rest();
    });
    const queue = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    for (const message of queue) void this.#events.write(message);
    this.rest();
    return true;
  }

  protected write(message: Uint8Array): void | Promise<void> {
    if (this.#events !== null) return this.#events.write(message);
    for (const channel of this.channels) if (channel.canStream) return channel.write(message);
    if (this.#queue.length >= MAX_QUEUED || this.#queuedBytes + message.length > MAX_QUEUED_BYTES) {
      return this.options.log('dropped a message of the server: the host has no stream open to get it on');
    }
    this.#queue.push(Uint8Array.from(message));
    this.#queuedBytes += message.length;
  }

  protected override endStreams(): void {
    void this.#events?.end();
    this.#queue = [];
  }
}

/** All requests of one agent in the stateless era, each of which stands alone. */
export class StatelessSession extends HttpSession {
  protected readonly isListening = false;
  #count = 0;

  /** 2026-07-28, Streamable HTTP, Cancellation: a host that closes a response cancels its request. */
  request(frame: RequestFrame, response: ServerResponse, head: ChannelOptions['head']): Promise<void> {
    const channel = this.channel(response, frame, {
      scope: this.newScope(),
      head,
      gone: (closed) => this.cancel(closed),
    });
    if (channel.isGone) channel.close();
    return this.ask(frame, channel);
  }

  refuse(error: BullaError, bytes: Uint8Array, response: ServerResponse): Promise<void> {
    return this.refused(
      error,
      bytes,
      this.channel(response, { id: null }, { ...REFUSED, scope: this.newScope() }),
    );
  }

  /** Ends with what begins no id, so that scope and id together are clear. */
  newScope(): string {
    return `${++this.#count}/`;
  }

  /** This era has no stream for what belongs to no request. */
  protected write(): void {
    this.options.log('dropped a message of the server: it belongs to no request of the host');
  }
}

const REFUSED = { streams: false, head: () => ({ status: 400 }) };
