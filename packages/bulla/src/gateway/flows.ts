import type { JsonObject } from '@bulla/core/json';
import type { Era, ListKind } from '@bulla/core/lock';
import type { ShownTool } from '../capability/index.ts';
import { type ErrorFrame, idKey, quote, type RequestFrame, type ResultFrame } from '../mcp/index.ts';
import type { Call, Part } from '../record/index.ts';
import { checkContents } from './answers/contents.ts';
import { checkResult } from './answers/result.ts';
import { Calls } from './calls.ts';
import type { Context } from './context.ts';
import { asDenial, Denial, denialBytes } from './denial.ts';
import type { Reply } from './gates/gate.ts';
import { type HostRequest, hostRequest } from './gates/methods.ts';
import { badParams, checkLevel, checkParams } from './gates/params.ts';
import { ownMeta, withholdCapabilities } from './gates/session.ts';
import { checkPage } from './lists/page.ts';
import { checkNamed, checkSelf } from './lists/self.ts';
import { aboutOf, boundedName, causeOf, tellFailure, tellPage, tellSelf } from './notices.ts';
import type { Channel } from './peer/channel.ts';
import { releasedDenial } from './released.ts';
import { type CallOrigin, NO_TRACE } from './telemetry.ts';
import { Slots, weightOf } from './wire/slots.ts';
import type { Edit } from './wire/splice.ts';
import type { Request } from './wire/wire.ts';

type Answer = ResultFrame | ErrorFrame;

/** Limit on open requests; a host that has more of them is not waiting for answers. */
const MAX_OPEN = 1024;
/** Limits on concurrent decisions and recordings: how many, and how much their messages weigh together. */
const MAX_BUSY = 64;
const MAX_BUSY_WEIGHT = 32 * 1024 * 1024;

/** What happens to a request of the host, from its arrival to its answer. */
export class Flows {
  readonly #context: Context;
  readonly #calls: Calls;
  /** Separate slots: a decision may wait for the answer to a list, which comes after answers that are recorded. */
  readonly #deciding = new Slots(MAX_BUSY, MAX_BUSY_WEIGHT);
  readonly #recording = new Slots(MAX_BUSY, MAX_BUSY_WEIGHT);
  /** Requests that wait for the preflight: it needs no answer of the host, but a server may while its lists are read. */
  readonly #waiting = new Slots(MAX_OPEN, MAX_BUSY_WEIGHT);

  constructor(context: Context) {
    this.#context = context;
    this.#calls = new Calls(context, this);
  }

  /** Resolves when everything that was begun is recorded and answered. */
  async idle(): Promise<void> {
    await this.#waiting.idle();
    await this.#calls.idle();
    await this.#deciding.idle();
    await this.#recording.idle();
    await this.#context.shown.link().catch(() => undefined);
  }

  start(frame: RequestFrame, channel: Channel): void | Promise<void> {
    const { wire, record, session } = this.#context;
    const request = wire.take(frame, channel);
    if (request === null) return this.#refuseId(frame, channel);
    const call = record.call(aboutOf(frame, session.host));
    request.failed = (denial) => this.record(request, () => this.deny(request, call, denial));
    try {
      return this.#begin(request, frame, call);
    } catch (error) {
      return request.failed(asDenial(error));
    }
  }

  #begin(request: Request, frame: RequestFrame, call: Call): void | Promise<void> {
    const { wire, session, features } = this.#context;
    const weight = weightOf(frame.bytes);
    let row: HostRequest;
    let era: Era;
    try {
      if (wire.ended !== null) throw wire.ended;
      if (wire.size > MAX_OPEN) {
        throw new Denial('ids', 'GATEWAY_OVERLOADED', `More than ${MAX_OPEN} requests are open.`);
      }
      hostRequest(frame.method);
      era = session.read(frame);
      row = hostRequest(frame.method, era);
    } catch (denial) {
      return this.decide(request, () => this.deny(request, call, denial), weight);
    }
    const isAbout = row.kind === 'call' || row.kind === 'list';
    // A reload may put another preflight in the place of one that decides: then that one is asked too.
    const before = () => (isAbout ? this.#context.preflight?.before(era, ownMeta(frame, features)) : null);
    const first = before();
    if (!first) return this.#go(request, frame, row, weight);
    const go = async (): Promise<void> => {
      for (let deciding: typeof first | null = first; deciding; deciding = before() ?? null) {
        await deciding;
        if (!wire.isOpen(request)) return;
      }
      await this.#go(request, frame, row, weight);
    };
    return this.#waiting.run(() => go().catch((error) => request.failed(asDenial(error))), weight);
  }

  /** Checks a request and forwards it. Throws a denial. */
  #go(request: Request, frame: RequestFrame, row: HostRequest, weight: number): void | Promise<void> {
    const { wire, features } = this.#context;
    if (row.kind === 'call') {
      request.trace = this.#context.telemetry.call(frame, this.#origin);
      return this.#calls.start(request, frame, row, weight);
    }
    if (row.kind === 'list') this.#list(request, frame, row.list);
    else if (row.kind === 'open') this.#open(request, frame);
    else request.answered = (answer) => this.#pass(request, answer);
    checkParams(frame.params, row.params);
    if (frame.method === 'logging/setLevel') checkLevel(frame.params?.get('level'));
    return wire.forward(request, frame, withholdCapabilities(frame, features));
  }

  get #origin(): CallOrigin {
    const { record, session, transport } = this.#context;
    return { ...record.origin, transport, version: session.version };
  }

  /** Runs work in a slot for decisions while messages are read on. If it fails, the host gets an error. */
  decide(request: Request, work: () => Promise<void>, weight?: number): void | Promise<void> {
    return this.#deciding.run(() => work().catch((error) => this.#broke(request, error)), weight);
  }

  /** The same in a slot for recordings. */
  record(request: Request, work: () => Promise<void>, weight?: number): void | Promise<void> {
    return this.#recording.run(() => work().catch((error) => this.#broke(request, error)), weight);
  }

  /** An internal error after a request was recorded or denied: answer it and end it. */
  async #broke(request: Request, error: unknown): Promise<void> {
    const { wire } = this.#context;
    tellFailure(this.#context, request.method, error);
    wire.drop(request);
    wire.free(request);
    request.trace.end({ denial: asDenial(error) });
    await request.channel.answer(denialBytes(request.idBytes, asDenial(error)));
  }

  /** Under its id the host would take the refusal for the answer to the other request. */
  #refuseId({ id, method }: RequestFrame, channel: Channel): void | Promise<void> {
    const message = `The id ${quote(idKey(id))} belongs to a request that is still open.`;
    const denial = new Denial('ids', 'GATEWAY_ID_IN_USE', message);
    this.#context.record.incident({ denial, method: boundedName(method), key: '' });
    return channel.answer(denialBytes(null, denial));
  }

  /** Answers the host with what the server sent. Throws a denial for what must not reach it. */
  #pass(
    request: Request,
    answer: Answer,
    edits: readonly Edit[] = this.named(request, answer),
    own: readonly string[] = [],
  ): void | Promise<void> {
    const { wire, features, pins } = this.#context;
    checkResult(request.method, answer, features);
    checkContents(answer, null, own, pins);
    return this.write(request, wire.restored(request, answer, edits));
  }

  /** Ends a request with an answer of our own. */
  async reply(request: Request, { bytes, written }: Reply): Promise<void> {
    this.#context.wire.drop(request);
    request.trace.end({});
    await this.write(request, bytes(request.idBytes));
    written?.(request.channel.isGone ?? false);
  }

  write(request: Request, bytes: Uint8Array): void | Promise<void> {
    this.#context.wire.free(request);
    return request.channel.answer(bytes);
  }

  /** The edits that remove from an answer how the server describes itself otherwise than locked. */
  named({ method }: Request, answer: Answer): readonly Edit[] {
    if (answer.kind === 'error') return [];
    const check = checkNamed(answer, this.#context.pins);
    tellSelf(this.#context, method, check);
    return this.#context.enforce.lists ? check.edits : [];
  }

  /** `initialize` and `server/discover`: the server describes itself. */
  #open(request: Request, frame: RequestFrame): void {
    const { session } = this.#context;
    const isInitialize = frame.method === 'initialize';
    const { failed } = request;
    request.failed = (denial) => {
      if (isInitialize) session.notInitialized();
      return failed(denial);
    };
    request.answered = (answer) => {
      if (answer.kind === 'error') {
        if (isInitialize) session.notInitialized();
        return this.#pass(request, answer);
      }
      const { pins, enforce } = this.#context;
      const check = checkSelf(answer, pins);
      if (isInitialize) {
        session.initialized(answer.result);
      }
      tellSelf(this.#context, frame.method, check);
      return this.#pass(request, answer, enforce.lists ? check.edits : []);
    };
  }

  #list(request: Request, { method, params }: RequestFrame, kind: ListKind): void {
    const { offers } = this.#context;
    const cursor = params?.get('cursor');
    if (cursor !== undefined && (typeof cursor !== 'string' || !offers.hasGiven(kind, cursor))) {
      throw badParams('The server gave no such cursor in this session.');
    }
    const generation = offers.generation(kind);
    request.answered = (answer) => {
      if (answer.kind === 'error') return this.#pass(request, answer);
      const { pins, enforce, shown } = this.#context;
      const { offers: found, items, edits, nextCursor } = checkPage(kind, answer, pins);
      offers.saw(kind, found, generation);
      tellPage(this.#context, method, found);
      if (nextCursor !== null) offers.gave(kind, nextCursor);
      const cut = enforce.lists ? edits : [];
      const passed = this.#pass(request, answer, [...cut, ...this.named(request, answer)], [kind]);
      if (kind === 'tools') {
        const tools = items.flatMap((item, i): ShownTool[] => {
          const { key, status, digest } = found[i]!;
          const isShown = key !== null && (status === 'same' || !enforce.lists);
          return isShown ? [{ definition: item as JsonObject, digest }] : [];
        });
        shown.gave(cursor ?? null, tools, answer.bytes.length, nextCursor);
      }
      return passed;
    };
  }

  /** Records a denial and answers the host with it. */
  async deny(request: Request, call: Call, error: unknown, parts: readonly Part[] = []): Promise<void> {
    const denial = asDenial(error);
    if (request.trace === NO_TRACE) this.#context.telemetry.denied(denial);
    this.#context.wire.drop(request);
    this.#context.history.denied();
    request.trace.phase('outcome');
    const capsule = await this.#context.record.blocked(call, denial, parts);
    await this.answer(request, call, denial, capsule);
  }

  /** Answers the host with a denial that this capsule records. */
  async answer(request: Request, call: Call, denial: Denial, capsule: string | null): Promise<void> {
    const isInternal = denial.stage === 'record' || denial.code === 'GATEWAY_FAILED';
    const why = isInternal ? ` (${causeOf(denial)})` : '';
    const { log, wire, released } = this.#context;
    log(`${boundedName(request.method)}: ${denial.message}${why} [${denial.code}]`);
    wire.free(request);
    request.trace.end({ denial, capsule });
    const tool = call.tool?.name ?? null;
    const words = released ? releasedDenial(request.method, tool, denial) : null;
    await request.channel.answer(denialBytes(request.idBytes, denial, { tool, capsule, words }));
  }
}
