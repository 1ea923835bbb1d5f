import { setTimeout as sleep } from 'node:timers/promises';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { memberAt, stringify } from '@bulla/core/json';
import {
  type Frame,
  idKey,
  LISTS,
  type NotificationFrame,
  parseFrame,
  type RequestFrame,
  type ResultFrame,
} from '../mcp/index.ts';
import { asDenial, Denial, denialBytes } from './denial.ts';
import type { Counts, Ending, Served } from './link.ts';
import type { Channel, Host } from './peer/channel.ts';
import { bytesOf, locate } from './wire/splice.ts';
import { idOf } from './wire/tokens.ts';

/** How long calls that are open may take before what they need is ended all the same. */
const RETIRE_MS = 30_000;
/** Limit on the requests that wait meanwhile. */
const MAX_WAITING = 1024;

/** Something of the host that waits until there is somebody to give it to. */
interface Waiting {
  readonly channel: Channel;
  readonly id: string | null;
  run(served: Served): void | Promise<void>;
  fail(denial: Denial): void | Promise<void>;
}

/**
 * What a host talks to, which can be replaced without its session: open calls end first, the next request opens the new
 * one, and the handshake of the initialize era is repeated with it.
 */
export class Reopening implements Served {
  readonly #host: Host;
  readonly #open: () => Promise<Served>;
  readonly #over = Promise.withResolvers<Ending>();
  readonly #waiting: Waiting[] = [];
  /** Null while nothing is open. */
  #served: Served | null = null;
  /** While it is pending, requests wait. */
  #change: Promise<void> | null = null;
  /** It was to be replaced while it was being opened. */
  #isStale = false;
  /** How often it is being changed while it stays. */
  #holding = 0;
  #isHurried = false;
  #isClosed = false;
  #failed: Denial | null = null;
  #counts: Counts = { calls: 0, blocked: 0 };
  #initialize: { readonly frame: RequestFrame; answer: ResultFrame | null } | null = null;
  #initialized: NotificationFrame | null = null;

  /** `open` is asked each time for what stands then. */
  constructor(host: Host, open: () => Promise<Served>) {
    this.#host = host;
    this.#open = open;
  }

  /** Opens it for the first time. Rejects as `open` does. */
  async begin(): Promise<this> {
    this.#use(await this.#open());
    return this;
  }

  get over(): Promise<Ending> {
    return this.#over.promise;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0 || (this.#served?.isWaiting ?? false);
  }

  /** It is replaced as soon as its open calls have ended. */
  renew(): void {
    if (this.#change !== null) this.#isStale = true;
    if (this.#served === null || this.#change !== null) return;
    this.#isStale = false;
    this.#change = this.#retire(this.#served).finally(() => {
      this.#change = null;
      if (this.#waiting.length > 0) this.#reopen();
    });
  }

  /** Requests wait until this is done, which changes what is open and never rejects. What is being replaced needs none. */
  hold(change: Promise<void>): void {
    if (this.#change !== null && this.#holding === 0) return;
    this.#holding++;
    this.#change = change.finally(() => {
      if (--this.#holding > 0) return;
      this.#change = null;
      if (this.#isStale) return this.renew();
      // All of them in their order, before anything that comes later.
      for (const one of this.#waiting.splice(0)) void this.#give(one);
    });
  }

  /** It cannot go on: nothing more is handed over. */
  fail(error: BullaError): void {
    this.#failed ??= new Denial('server', 'GATEWAY_SERVER_FAILED', 'The server cannot be used any more.', {
      cause: error,
    });
    this.#over.resolve({ ended: 'gateway', error });
  }

  fromHost(frame: Frame, given: Channel): void | Promise<void> {
    if (frame.kind !== 'request') {
      if (frame.kind === 'notification' && this.#noted(frame, given)) return;
      return this.#served?.fromHost(frame, given);
    }
    const channel = frame.method === 'initialize' ? this.#beginning(frame, given) : given;
    const idBytes = () => Uint8Array.from(bytesOf(frame, locate(frame, 'id')!));
    return this.#give({
      channel,
      id: idKey(frame.id),
      run: (served) => served.fromHost(frame, channel),
      fail: (denial) => channel.answer(denialBytes(idBytes(), denial)),
    });
  }

  refusedFromHost(error: BullaError, bytes: Uint8Array, channel: Channel): void | Promise<void> {
    return this.#give({
      channel,
      id: null,
      run: (served) => served.refusedFromHost(error, bytes, channel),
      fail: (denial) => channel.answer(denialBytes(null, denial)),
    });
  }

  gone(channel: Channel): void {
    this.#withdraw((one) => one.channel === channel);
    this.#served?.gone(channel);
  }

  async drain(hurry?: AbortSignal): Promise<void> {
    if (this.#holding > 0) await this.#change;
    await this.#served?.drain(hurry);
  }

  async close(code: string | null): Promise<Counts> {
    this.#isClosed = true;
    this.#isHurried = true;
    await this.#change;
    const denial = new Denial('server', 'GATEWAY_CLOSED', 'The session ended before the server answered.');
    for (const one of this.#waiting.splice(0)) await one.fail(denial);
    const served = this.#served;
    this.#served = null;
    if (served !== null) this.#count(await served.close(code));
    return this.#counts;
  }

  #use(served: Served): void {
    this.#served = served;
    void served.over.then((ending) => {
      if (this.#served === served && (this.#change === null || this.#holding > 0)) this.#over.resolve(ending);
    });
  }

  #count({ calls, blocked }: Counts): void {
    this.#counts = { calls: this.#counts.calls + calls, blocked: this.#counts.blocked + blocked };
  }

  /** Hands something over now, or when there is somebody to take it. */
  #give(one: Waiting): void | Promise<void> {
    if (this.#failed !== null) return one.fail(this.#failed);
    if (this.#served !== null && this.#change === null) return one.run(this.#served);
    if (this.#waiting.length >= MAX_WAITING) {
      return one.fail(new Denial('ids', 'GATEWAY_OVERLOADED', `More than ${MAX_WAITING} requests wait.`));
    }
    this.#waiting.push(one);
    if (this.#change === null) this.#reopen();
  }

  async #retire(served: Served): Promise<void> {
    const until = performance.now() + RETIRE_MS;
    while (served.isWaiting && performance.now() < until && !this.#isHurried) await sleep(5);
    if (this.#isClosed) return;
    try {
      this.#count(await served.close(null));
    } catch (error) {
      this.fail(asDenial(error));
    }
    this.#served = null;
  }

  #reopen(): void {
    if (this.#isClosed) return;
    this.#isStale = false;
    this.#change = this.#opened()
      .catch(async (error) => {
        const cause = error instanceof BullaError ? error : asDenial(error);
        this.fail(cause);
        const denial = new Denial('server', 'GATEWAY_SERVER_FAILED', 'The server cannot be started.', {
          cause,
        });
        for (const one of this.#waiting.splice(0)) await one.fail(denial);
      })
      .finally(() => {
        this.#change = null;
        if (this.#isStale) this.renew();
      });
  }

  async #opened(): Promise<void> {
    const served = await this.#open();
    try {
      await this.#greet(served);
    } catch (error) {
      this.#count(await served.close((error as BullaError).code));
      throw error;
    }
    this.#use(served);
    // All of them in their order, before anything that comes later.
    for (const one of this.#waiting.splice(0)) void one.run(served);
  }

  /** Repeats the handshake, whose answer the host has already: only its version must be the same. */
  async #greet(served: Served): Promise<void> {
    const { frame, answer: before = null } = this.#initialize ?? {};
    if (frame === undefined || before === null) return;
    const answer = Promise.withResolvers<Frame | null>();
    await served.fromHost(frame, {
      scope: 'bulla-reload',
      write() {},
      answer: (bytes) => answer.resolve(parseFrame(bytes, { maxBytes: bytes.length })),
      close: () => answer.resolve(null),
    });
    const again = await answer.promise;
    const version = ({ result }: ResultFrame) => result.get('protocolVersion');
    if (again?.kind !== 'result' || version(again) !== version(before)) {
      throw new BullaError(
        'GATEWAY_SERVER_FAILED',
        'The server that took the place of another one does not agree to its protocol version.',
      );
    }
    if (this.#initialized !== null) await served.fromHost(this.#initialized, SILENT);
    for (const capability of ['tools', 'prompts', 'resources'] as const) {
      if (memberAt(before.result, ['capabilities', capability, 'listChanged']) !== true) continue;
      void this.#host.write(toUtf8(`{"jsonrpc":"2.0","method":${stringify(LISTS[capability].changed)}}`));
    }
  }

  /** Keeps the handshake, to repeat it. */
  #beginning(frame: RequestFrame, channel: Channel): Channel {
    const kept = copied(frame) as RequestFrame;
    return {
      scope: channel.scope,
      write: (bytes) => channel.write(bytes),
      answer: (bytes) => {
        const answer = parseFrame(bytes, { maxBytes: bytes.length });
        if (answer.kind === 'result') this.#initialize = { frame: kept, answer };
        return channel.answer(bytes);
      },
      close: () => channel.close(),
    };
  }

  /** True for what concerns only a request that waits here. */
  #noted(frame: NotificationFrame, { scope }: Channel): boolean {
    if (frame.method === 'notifications/initialized') this.#initialized = copied(frame) as NotificationFrame;
    if (frame.method !== 'notifications/cancelled') return false;
    const id = idOf(frame.params ?? undefined, 'requestId');
    if (id === null) return false;
    const key = idKey(id);
    return this.#withdraw((one) => one.id === key && one.channel.scope === scope);
  }

  #withdraw(isMeant: (one: Waiting) => boolean): boolean {
    const at = this.#waiting.findIndex(isMeant);
    if (at < 0) return false;
    this.#waiting.splice(at, 1)[0]!.channel.close();
    return true;
  }
}

const SILENT: Channel = { scope: 'bulla-reload', write() {}, answer() {}, close() {} };

/** A copy that keeps nothing else of what was read in memory. */
function copied({ bytes }: Frame): Frame {
  return parseFrame(Uint8Array.from(bytes), { maxBytes: bytes.length });
}
