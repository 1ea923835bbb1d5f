import { setTimeout as sleep } from 'node:timers/promises';
import { BullaError } from '@bulla/core/error';
import { JsonNumber, JsonObject, textAt } from '@bulla/core/json';
import type { Era } from '@bulla/core/lock';
import {
  afterRefusal,
  type Connect,
  discoveredEra,
  type Frame,
  HttpStatusError,
  type Id,
  INITIALIZE_VERSIONS,
  idKey,
  META_VERSION,
  type NotificationFrame,
  type Receiver,
  type RequestFrame,
  type ResultFrame,
  RpcError,
  receiverFailed,
  type Transport,
} from '../../mcp/index.ts';
import type { ClientFeature } from '../gates/methods.ts';
import { idIn } from '../peer/host.ts';
import { bytesOf, locate, raw, replace, splice } from '../wire/splice.ts';
import { Deaths } from './deaths.ts';
import { type Ends, HostSession, MAX_URIS, objectBytes } from './ends.ts';
import { initializeResult, LegacyHost } from './legacy-host.ts';
import { type Answer, Life, read } from './life.ts';
import { ModernHost } from './modern-host.ts';
import { discoverOf, openSession } from './session.ts';

/** Takes what the server sends, in the era of the host. */
export interface UpstreamReceiver extends Receiver {
  /** The server ended and will be started again: nothing that was asked is answered, nothing that it told counts. */
  reset(error: BullaError): void;
  /** A list changed, as this notification tells; the host did not ask to be told. */
  changed(method: string): void;
}

export interface UpstreamOptions {
  /** What was agreed with the server when it was locked, if that is known. */
  readonly era: Era | null;
  /** Whether a server that ended is started again when it is needed. */
  readonly restart: boolean;
  /** Whether hosts with different capabilities share the server. */
  readonly isShared: boolean;
  /** What the operator lets the server ask of a host. */
  readonly features: ReadonlySet<ClientFeature>;
  /** The time limit of a call. */
  readonly timeoutMs: number;
  /** How long a server may stay silent to `server/discover` before `initialize` is tried too. Default 3,000 ms. */
  readonly probeMs?: number | undefined;
  /** Compares what the server says of itself, in an answer to the gateway, with the lock. Throws a denial. */
  described(frame: ResultFrame, method: string): void;
}

const PROBE_MS = 3000;

/** A server as it runs, and the translators that it needs. */
interface Running {
  readonly life: Life;
  readonly ends: Ends;
  /** There once a host of the initialize era talks to a server that knows only the other one. */
  legacy: LegacyHost | null;
  /** There once a host of the stateless era talks to a server that knows only the other one. */
  modern: ModernHost | null;
  /** While the server is asked for its era, which some do not survive. */
  learning: Promise<Answer | null> | null;
}

/**
 * Connects to a server that may know only the other era than the host. What is of the server's era passes byte for byte;
 * everything else is translated, and reaches the receiver like any message of the server. Rejects with what the transport
 * rejects with.
 */
export async function openUpstream(
  connect: Connect,
  receiver: UpstreamReceiver,
  options: UpstreamOptions,
): Promise<Transport> {
  const upstream = new Upstream(connect, receiver, options);
  await upstream.start();
  return upstream;
}

class Upstream implements Transport {
  isPerRequest = false;
  readonly #connect: Connect;
  readonly #receiver: UpstreamReceiver;
  readonly #options: UpstreamOptions;
  readonly #host = new HostSession();
  readonly #deaths = new Deaths(() => performance.now());
  readonly #closed = new AbortController();
  #running: Running | null = null;
  #starting: Promise<Running> | null = null;
  /** Which era a host of the initialize era last found at the server. */
  #lastEra: Era = 'initialize';
  #over: BullaError | null = null;

  constructor(connect: Connect, receiver: UpstreamReceiver, options: UpstreamOptions) {
    this.#connect = connect;
    this.#receiver = receiver;
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#running = await this.#begin();
    this.isPerRequest = this.#running.life.isPerRequest;
  }

  established(): void {}

  async close(): Promise<void> {
    const closed = new BullaError('MCP_CLOSED', 'The connection was closed.');
    this.#closed.abort(closed);
    const starting = await this.#starting?.catch(() => null);
    const running = this.#running ?? starting;
    running?.modern?.end();
    running?.life.end(closed);
    await running?.life.close();
  }

  send(frame: Frame, signal?: AbortSignal): Promise<void> {
    const running = this.#running;
    if (frame.kind === 'request') {
      if (running !== null) return this.#request(running, frame, signal);
      return this.#again().then((next) => this.#request(next, frame, signal));
    }
    // What was meant for a server that ended is not for its successor.
    if (running === null) return Promise.resolve();
    return frame.kind === 'notification' ? this.#notify(running, frame) : this.#answer(running, frame);
  }

  async #request(running: Running, frame: RequestFrame, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (isStateless(frame)) return this.#stateless(running, frame, signal);
    if (frame.method === 'initialize') return this.#initialize(running, frame, signal);
    if (running.legacy !== null) return running.legacy.request(frame, signal);
    this.#remember(frame);
    return running.life.send(frame, signal);
  }

  /** What a server that is started again must be told. */
  #remember({ method, params }: RequestFrame): void {
    const { uris } = this.#host;
    const uri = textAt(params, ['uri']);
    if (method === 'logging/setLevel') this.#host.level = textAt(params, ['level']);
    if (method === 'resources/subscribe' && uri !== null && uris.size < MAX_URIS) uris.add(uri);
    if (method === 'resources/unsubscribe' && uri !== null) uris.delete(uri);
  }

  /** The host's `initialize`. A server that refuses it may know only the stateless era. */
  async #initialize(running: Running, frame: RequestFrame, signal?: AbortSignal): Promise<void> {
    const { life, ends } = running;
    const asked = read(frame.bytes) as RequestFrame;
    if (life.discovered !== null) return this.#describe(running, asked);
    if (life.session !== null) return this.#repeat(running, asked);
    life.expect(frame.id, {
      answered: (answer, on) => this.#initialized(running, asked, answer, on),
      failed: () => {},
    });
    try {
      await life.send(frame, signal);
    } catch (error) {
      life.forget(frame.id);
      if (!isRefusal(error) || !(await this.#discover(running, asked))) throw error;
      ends.follow(this.#describe(running, asked));
    }
  }

  #initialized(running: Running, asked: RequestFrame, answer: Answer, on?: Id): void | Promise<void> {
    const { life, ends } = running;
    if (answer.kind === 'error') {
      return ends.follow(
        this.#discover(running, asked).then((found) =>
          found ? this.#describe(running, asked) : ends.pass(answer, on),
        ),
      );
    }
    const protocolVersion = answer.result.get('protocolVersion');
    if (typeof protocolVersion === 'string' && INITIALIZE_VERSIONS.includes(protocolVersion)) {
      life.session = { frame: answer, protocolVersion, isOwn: false };
      life.established(protocolVersion, false);
      this.#began(asked, protocolVersion, 'initialize');
    }
    return ends.pass(answer, on);
  }

  #began(asked: RequestFrame, protocolVersion: string, era: Era): void {
    this.#host.initialize = asked;
    this.#host.protocolVersion = protocolVersion;
    this.#lastEra = era;
  }

  /** Whether the server knows the stateless era, for a host of the other one. */
  async #discover({ life }: Running, asked: RequestFrame): Promise<boolean> {
    const host = new HostSession();
    host.initialize = asked;
    try {
      const found = await life.ask('server/discover', raw('{"_meta":', objectBytes(host.meta()), '}'));
      if (discoveredEra(found.result) !== 'stateless') return false;
      if (!(found.result.get('capabilities') instanceof JsonObject)) return false;
      life.discovered = found;
      life.isStateless = true;
      return true;
    } catch {
      // The host is told how its own question was refused.
      return false;
    }
  }

  /** Answers the host's `initialize` with what the server says of itself in the stateless era. */
  async #describe(running: Running, asked: RequestFrame): Promise<void> {
    const { life, ends } = running;
    const result = read(initializeResult(asked, life.discovered!)) as ResultFrame;
    this.#began(asked, result.result.get('protocolVersion') as string, 'stateless');
    running.legacy ??= new LegacyHost(ends);
    await ends.pass(result, asked.id);
  }

  /** Answers the host's `initialize` with what the server said to the gateway's. */
  async #repeat({ life, ends }: Running, asked: RequestFrame): Promise<void> {
    const { frame, protocolVersion } = life.session!;
    this.#began(asked, protocolVersion, 'initialize');
    await ends.deliver(splice(frame.bytes, [replace(locate(frame, 'id')!, raw(idKey(asked.id)))]), asked.id);
  }

  /** A request of the stateless era. */
  async #stateless(running: Running, frame: RequestFrame, signal?: AbortSignal): Promise<void> {
    if (running.life.isStateless) return running.life.send(frame, signal);
    if (running.modern !== null) return running.modern.request(frame, signal);
    if (running.learning === null) {
      const answer = await this.#learned(running, read(frame.bytes) as RequestFrame);
      // The question of the host was the one by which the gateway learnt.
      if (answer !== null) return running.ends.pass(answer, frame.id);
    } else {
      await running.learning;
    }
    signal?.throwIfAborted();
    if (this.#running === null) throw running.life.ended;
    return this.#stateless(this.#running, frame, signal);
  }

  /** Finds out which era the server knows, once for all who ask meanwhile. */
  async #learned(running: Running, asked: RequestFrame): Promise<Answer | null> {
    const { life } = running;
    running.learning = this.#learn(running, asked);
    running.learning.catch(() => {});
    try {
      return await running.learning;
    } catch (error) {
      if (life.ended === null || this.#running !== running) throw error;
      // Some servers end on whatever comes before `initialize`. What the host had open there cannot be begun anew.
      if (life.session !== null) throw error;
      return await this.#withoutQuestion(running, asked, life.ended);
    } finally {
      running.learning = null;
      // It may end with the same breath in which it told its era.
      if (life.ended !== null) this.#lost(running, life.ended);
    }
  }

  async #withoutQuestion(running: Running, asked: RequestFrame, error: BullaError): Promise<null> {
    let next: Running;
    try {
      await running.life.close();
      next = await this.#begin();
    } catch {
      throw error;
    }
    this.#running = next;
    await this.#open(next, asked);
    return null;
  }

  /** Resolves with the answer to the host's own question, if it shows that the server is of the stateless era. */
  async #learn(running: Running, asked: RequestFrame): Promise<Answer | null> {
    const { life } = running;
    const { era, probeMs = PROBE_MS, timeoutMs } = this.#options;
    if (life.session !== null && era !== 'stateless') return this.#translate(running);
    if (era === 'initialize') {
      try {
        return await this.#open(running, asked);
      } catch (error) {
        if (life.ended !== null || !isRefused(error)) throw error;
      }
    }
    const isOwn = asked.method !== 'server/discover';
    const stop = new AbortController();
    const { signal } = stop;
    const question = isOwn ? discoverOf(life, asked) : asked;
    const probe = life.question(question, { signal, timeoutMs }).then(
      (answer) => this.#eraOf(running, answer, isOwn),
      (error) => afterRefusal(error, life.ended !== null || signal.aborted),
    );
    const open = (): Promise<null> =>
      life.session === null ? this.#open(running, asked, signal) : Promise.resolve(this.#translate(running));
    try {
      const silence = sleep(probeMs, 'silent' as const, { signal });
      const early = await Promise.race([probe, silence]);
      if (early === 'initialize') return await open();
      if (early !== 'silent') return early;
      // The server does not know the question, or is slow to start. What it answers first with a result tells.
      const opened = open();
      const either = probe.then((found) => (found === 'initialize' ? opened : found));
      return await Promise.any([either, opened]);
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[1] : error;
    } finally {
      stop.abort(new BullaError('MCP_CLOSED', 'The era of the server is known.'));
    }
  }

  /** What an answer to `server/discover` tells; that to the host's own is given to it. */
  #eraOf({ life }: Running, answer: Answer, isOwn: boolean): 'initialize' | Answer | null {
    if (answer.kind === 'error') {
      try {
        return afterRefusal(new RpcError('server/discover', answer.error), false);
      } catch {
        // A refusal of a server of the stateless era is for the host.
        life.isStateless = true;
        return isOwn ? null : answer;
      }
    }
    if (discoveredEra(answer.result) === 'initialize') return 'initialize';
    if (isOwn) this.#options.described(answer, 'server/discover');
    life.isStateless = true;
    return isOwn ? null : answer;
  }

  /** Begins a session of the initialize era for a host of the other one. */
  async #open(running: Running, asked: RequestFrame, signal?: AbortSignal): Promise<null> {
    await openSession(running.life, asked, this.#options, signal);
    return this.#translate(running);
  }

  #translate(running: Running): null {
    running.modern ??= new ModernHost(running.ends);
    return null;
  }

  async #notify(running: Running, frame: NotificationFrame): Promise<void> {
    const { life, legacy } = running;
    if (frame.method === 'notifications/cancelled') return this.#cancel(running, frame);
    if (legacy !== null) return legacy.notify(frame);
    if (frame.method === 'notifications/initialized') this.#host.isInitialized = true;
    if (frame.method === 'notifications/initialized' && life.session?.isOwn) return;
    await life.send(frame);
    if (frame.method !== 'notifications/initialized' || life.session === null) return;
    life.established(life.session.protocolVersion, true);
  }

  /** The server may know the request by another id. In the stateless era, over HTTP, closing the stream tells it. */
  async #cancel({ life, legacy }: Running, given: NotificationFrame): Promise<void> {
    const frame = read(given.bytes);
    const place = locate(frame, 'params', 'requestId');
    const id = place?.value;
    if (typeof id !== 'string' && !(id instanceof JsonNumber)) return;
    const alias = life.aliasOf(id);
    if (alias === null || (legacy !== null && life.isPerRequest)) return;
    await life.send({ ...given, bytes: splice(frame.bytes, [replace(place!, raw(idKey(alias)))]) });
  }

  async #answer({ life, legacy }: Running, frame: Answer): Promise<void> {
    if (legacy === null) return life.send(frame);
    legacy.answer(read(frame.bytes) as Answer);
  }

  #fromServer(running: Running, frame: Frame, on?: Id): void | Promise<void> {
    const { life, ends, legacy, modern } = running;
    if (life.ended !== null) return;
    if (frame.kind === 'result' || frame.kind === 'error') {
      const settled = life.settle(frame, on);
      return settled === false ? ends.pass(frame, on) : settled;
    }
    // A session is open before its translator is there, and the server may tell something already.
    const untranslated = () => (life.session?.isOwn ? new ModernHost(ends) : { fromServer: ends.pass });
    return (legacy ?? modern ?? untranslated()).fromServer(frame, on);
  }

  async #begin(): Promise<Running> {
    let running!: Running;
    const transport = await this.#connect({
      frame: (frame, on) => this.#fromServer(running, frame, on),
      refused: (error, bytes) => {
        this.#receiver.refused(error, bytes);
        const id = bytes === null ? null : idIn(bytes);
        if (id !== null) running.life.spoil(id, unreadable(error));
      },
      ended: (error) => this.#ended(running, error),
    });
    const life = new Life({
      isPerRequest: transport.isPerRequest,
      established: (version, listen) => transport.established(version, listen),
      close: () => transport.close(),
      send: (frame, signal) =>
        transport.send(frame, signal).catch((error) => {
          if (error instanceof BullaError && error.code === 'MCP_HTTP_SESSION_LOST')
            this.#ended(running, error);
          throw error;
        }),
    });
    running = { life, ends: this.#endsOf(life), legacy: null, modern: null, learning: null };
    return running;
  }

  #endsOf(life: Life): Ends {
    const pass = (frame: Frame, on?: Id) =>
      life.ended === null && !this.#closed.signal.aborted ? this.#receiver.frame(frame, on) : undefined;
    return {
      life,
      host: this.#host,
      timeoutMs: this.#options.timeoutMs,
      features: this.#options.features,
      pass,
      deliver: (bytes, on) => pass(read(bytes), on),
      changed: (method) => this.#receiver.changed(method),
      follow: (work) => void work?.catch((error) => this.#failed(error)),
    };
  }

  /** An error of the gateway itself ends everything. */
  #failed(error: unknown): void {
    if (this.#closed.signal.aborted || this.#over !== null) return;
    this.#over = receiverFailed(error);
    this.#running?.life.end(this.#over);
    this.#receiver.ended(this.#over);
  }

  #ended(running: Running, error: BullaError): void {
    if (running.life.ended !== null || this.#closed.signal.aborted) return;
    running.modern?.end();
    running.life.end(error);
    if (running.learning === null) this.#lost(running, error);
  }

  /** The server is gone, and is started again when it is needed, or not at all. */
  #lost(running: Running, error: BullaError): void {
    if (this.#running !== running || this.#over !== null || this.#closed.signal.aborted) return;
    const isOver = error.code === 'MCP_RECEIVER_FAILED' || !this.#options.restart || !this.#deaths.add();
    if (isOver) {
      this.#over = error;
      this.#receiver.ended(error);
      return;
    }
    this.#running = null;
    this.#receiver.reset(error);
    void running.life.close();
  }

  /** The server, started again if it ended. Rejects with why it cannot be. */
  #again(): Promise<Running> {
    if (this.#over !== null) return Promise.reject(this.#over);
    this.#starting ??= this.#restart().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #restart(): Promise<Running> {
    const { signal } = this.#closed;
    await sleep(this.#deaths.delayMs(), undefined, { signal }).catch(() => signal.throwIfAborted());
    let running: Running | null = null;
    try {
      running = await this.#begin();
      await this.#resume(running);
      signal.throwIfAborted();
      if (running.life.ended !== null) throw running.life.ended;
      this.#running = running;
      return running;
    } catch (error) {
      await running?.life.close();
      if (!signal.aborted && !this.#deaths.add()) {
        this.#over = error as BullaError;
        this.#receiver.ended(this.#over);
      }
      throw error;
    }
  }

  /** Tells a server that was started again what a host of the initialize era has told its predecessor. */
  async #resume(running: Running): Promise<void> {
    const { initialize } = this.#host;
    if (initialize === null) return;
    if (this.#lastEra === 'stateless' && (await this.#discover(running, initialize))) {
      return this.#resumeStateless(running);
    }
    try {
      await this.#resumeInitialized(running, initialize);
    } catch (error) {
      if (!isRefused(error) || !(await this.#discover(running, initialize))) throw error;
      this.#resumeStateless(running);
    }
  }

  #resumeStateless(running: Running): void {
    this.#options.described(running.life.discovered!, 'server/discover');
    this.#lastEra = 'stateless';
    running.legacy = new LegacyHost(running.ends);
    running.legacy.resume();
  }

  async #resumeInitialized({ life }: Running, initialize: RequestFrame): Promise<void> {
    const { protocolVersion, isInitialized, level, uris } = this.#host;
    const frame = await life.ask('initialize', bytesOf(initialize, locate(initialize, 'params')!));
    if (frame.result.get('protocolVersion') !== protocolVersion) {
      throw new BullaError('MCP_VERSION', 'The server was started again and speaks another version.');
    }
    this.#options.described(frame, 'initialize');
    life.session = { frame, protocolVersion: protocolVersion!, isOwn: false };
    this.#lastEra = 'initialize';
    life.established(protocolVersion!, false);
    if (!isInitialized) return;
    await life.tell(raw('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
    life.established(protocolVersion!, true);
    const again = (method: string, params: object): Promise<unknown> =>
      life.ask(method, raw(JSON.stringify(params))).catch(() => {});
    if (level !== null) await again('logging/setLevel', { level });
    await Promise.all([...uris].map((uri) => again('resources/subscribe', { uri })));
  }
}

function unreadable(cause: BullaError): BullaError {
  return new BullaError('MCP_HTTP_RESPONSE', "The server's answer cannot be read.", { cause });
}

/** Whether a request is of the stateless era. */
function isStateless({ params }: RequestFrame): boolean {
  const meta = params?.get('_meta');
  return meta instanceof JsonObject && meta.has(META_VERSION);
}

/** Whether a server refused a message over HTTP because of what it is. */
function isRefusal(error: unknown): boolean {
  return error instanceof HttpStatusError && error.code === 'MCP_HTTP_STATUS' && error.status < 500;
}

/** Whether a server refused a message, as one that does not know it would. */
function isRefused(error: unknown): boolean {
  return error instanceof RpcError || isRefusal(error);
}
