import type { Code } from '@bulla/core/codes';
import { JsonNumber, JsonObject, type JsonValue } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import { type ErrorFrame, idKey, quote, type RequestFrame, type ResultFrame } from '../mcp/index.ts';
import { asDenial, Denial, denialBytes } from './denial.ts';
import type { Gate } from './gate.ts';
import { causeOf, shown, tellFailure, tellOffer, tellSelf } from './notices.ts';
import { Slots, weightOf } from './slots.ts';
import type { Edit } from './splice.ts';
import { decide, type Granted, type Grounds, type Subject, subjectOf } from './stages/calls.ts';
import { checkContents } from './stages/contents.ts';
import { checkPage } from './stages/lists.ts';
import { type HostRequest, hostRequest } from './stages/methods.ts';
import { badParams, checkLevel, checkParams } from './stages/params.ts';
import type { Entry, Intent } from './stages/record.ts';
import { checkResult, type Verdict } from './stages/results.ts';
import { checkNamed, checkSelf } from './stages/self.ts';
import { ownMeta, withholdCapabilities } from './stages/session.ts';
import type { Request } from './wire.ts';

type Answer = ResultFrame | ErrorFrame;

/** So many requests may be open; a host that has more of them is not waiting for answers. */
const MAX_OPEN = 1024;
/** Limits on concurrent decisions and recordings: how many, and how much their messages weigh together. */
const MAX_BUSY = 64;
const MAX_BUSY_WEIGHT = 32 * 1024 * 1024;

const failure = (code: Code, message: string): Verdict => ({
  status: 'failure',
  error: String(new Denial('calls', code, message)),
});
const CANCELLED = {
  host: failure('GATEWAY_CANCELLED', 'The host took the call back.'),
  server: failure('GATEWAY_CANCELLED', 'The server ended the subscription.'),
};
const NOT_SENT = failure('GATEWAY_NOT_SENT', 'The call was over before it was forwarded.');

type CallRow = Extract<HostRequest, { kind: 'call' }>;

/** What happens to a request of the host, from its arrival to its answer. */
export class Flows {
  readonly #gate: Gate;
  /** Apart, because a call that is decided may wait for the answer to a list, behind answers that are recorded. */
  readonly #deciding = new Slots(MAX_BUSY, MAX_BUSY_WEIGHT);
  readonly #recording = new Slots(MAX_BUSY, MAX_BUSY_WEIGHT);

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** Resolves when everything that was begun is recorded and told. */
  async idle(): Promise<void> {
    await this.#deciding.idle();
    await this.#recording.idle();
  }

  start(frame: RequestFrame): void | Promise<void> {
    const request = this.#gate.wire.take(frame);
    if (request === null) return this.#refuseId(frame);
    const entry = this.#entry(frame);
    request.failed = (denial) =>
      this.#run(this.#recording, request, () => this.#deny(request, entry, denial));
    try {
      return this.#begin(request, frame, entry);
    } catch (error) {
      return request.failed(asDenial(error));
    }
  }

  #begin(request: Request, frame: RequestFrame, entry: Entry): void | Promise<void> {
    const { wire, session, features } = this.#gate;
    const weight = weightOf(frame.bytes);
    let row: HostRequest;
    try {
      if (wire.ended !== null) throw wire.ended;
      if (wire.size > MAX_OPEN) throw overloaded();
      hostRequest(frame.method);
      row = hostRequest(frame.method, session.read(frame));
    } catch (denial) {
      return this.#run(this.#deciding, request, () => this.#deny(request, entry, denial), weight);
    }
    if (row.kind === 'call') {
      return this.#run(this.#deciding, request, () => this.#call(request, frame, row), weight);
    }
    if (row.kind === 'list') this.#list(request, frame, row.list);
    else if (row.kind === 'open') this.#open(request, frame);
    else request.answered = (answer) => this.#pass(request, answer);
    checkParams(frame.params, row.params);
    if (frame.method === 'logging/setLevel') checkLevel(frame.params?.get('level'));
    return wire.forward(request, frame, withholdCapabilities(frame, features));
  }

  /** Runs work on a request beside the reading. Whatever it fails at, the host has its answer. */
  #run(slots: Slots, request: Request, work: () => Promise<void>, weight = 0): void | Promise<void> {
    return slots.run(() => work().catch((error) => this.#broke(request, error)), weight);
  }

  /** We failed when a request was already recorded, or when it was denied: what is left is to tell. */
  async #broke(request: Request, error: unknown): Promise<void> {
    const { wire, host } = this.#gate;
    tellFailure(this.#gate, request.method, error);
    wire.drop(request);
    wire.free(request);
    await host.write(denialBytes(request.idBytes, asDenial(error)));
  }

  /** Under its id the host would take the refusal for the answer to the other request. */
  #refuseId({ id, method }: RequestFrame): void | Promise<void> {
    const message = `The id ${quote(idKey(id))} belongs to a request that is still open.`;
    const denial = new Denial('ids', 'GATEWAY_ID_IN_USE', message);
    this.#gate.recorder.incident(denial, { method: shown(method), tool: null }, '');
    return this.#gate.host.write(denialBytes(null, denial));
  }

  /** Answers the host with what the server sent. Throws a denial for what must not reach it. */
  #pass(
    request: Request,
    answer: Answer,
    edits: readonly Edit[] = this.#named(request, answer),
    own: readonly string[] = [],
  ): void | Promise<void> {
    const { wire, features, pins } = this.#gate;
    checkResult(request.method, answer, features);
    checkContents(answer, null, own, pins);
    return this.#write(request, wire.restored(request, answer, edits));
  }

  #write(request: Request, bytes: Uint8Array): void | Promise<void> {
    this.#gate.wire.free(request);
    return this.#gate.host.write(bytes);
  }

  /** What an answer must lose of how the server names itself in it. */
  #named({ method }: Request, answer: Answer): readonly Edit[] {
    if (answer.kind === 'error') return [];
    const check = checkNamed(answer, this.#gate.pins);
    tellSelf(this.#gate, method, check);
    return this.#gate.enforce.lists ? check.edits : [];
  }

  /** `initialize` and `server/discover`: the server describes itself. */
  #open(request: Request, frame: RequestFrame): void {
    const { session, pins, enforce } = this.#gate;
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
      const check = checkSelf(answer, pins);
      if (isInitialize) session.initialized(answer.result.get('protocolVersion'));
      tellSelf(this.#gate, frame.method, check);
      return this.#pass(request, answer, enforce.lists ? check.edits : []);
    };
  }

  #list(request: Request, { method, params }: RequestFrame, kind: ListKind): void {
    const { offers, pins, enforce } = this.#gate;
    const cursor = params?.get('cursor');
    if (cursor !== undefined && (typeof cursor !== 'string' || !offers.hasGiven(kind, cursor))) {
      throw badParams('The server gave no such cursor in this session.');
    }
    const generation = offers.generation(kind);
    request.answered = (answer) => {
      if (answer.kind === 'error') return this.#pass(request, answer);
      const { offers: found, edits, nextCursor } = checkPage(kind, answer, pins);
      offers.saw(kind, found, generation);
      for (const offer of found) if (offer.status !== 'same') tellOffer(this.#gate, method, offer);
      if (nextCursor !== null) offers.gave(kind, nextCursor);
      const cut = enforce.lists ? edits : [];
      return this.#pass(request, answer, [...cut, ...this.#named(request, answer)], [kind]);
    };
  }

  /** Decides, seals, decides again with what has come meanwhile, and forwards. */
  async #call(request: Request, frame: RequestFrame, row: CallRow): Promise<void> {
    const { wire, recorder, features, offers } = this.#gate;
    const horizon = offers.horizon();
    let entry = this.#entry(frame);
    let intent: Intent | null = null;
    let edits: readonly Edit[];
    try {
      edits = withholdCapabilities(frame, features);
      const { subject, waived } = this.#subject(frame, row);
      const named = { name: shown(subject.name ?? frame.method), digest: null };
      const { args, rest } = subject;
      entry = { ...entry, tool: subject.name === null ? null : named, args, rest, waived };
      const granted = await this.#decide(subject, frame, horizon);
      entry = { ...entry, ...granted };
      await recorder.assertMayAct();
      if (wire.isOpen(request)) {
        intent = await recorder.intent(entry);
        await recorder.assertMayAct();
        await this.#decide(subject, frame, horizon);
      }
    } catch (error) {
      const denial = asDenial(error);
      const isOpen = wire.isOpen(request);
      wire.drop(request);
      if (intent !== null) await this.#outcome(intent, { status: 'blocked', error: String(denial) }, 0);
      if (!isOpen) return;
      if (intent === null) return this.#deny(request, entry, denial);
      return this.#answer(request, entry, denial, intent.capsule.id);
    }
    if (intent === null) return;
    if (!wire.isOpen(request)) {
      await this.#outcome(intent, NOT_SENT, 0);
      return;
    }
    const uri = frame.method === 'resources/read' ? frame.params?.get('uri') : undefined;
    this.#expect(request, intent, typeof uri === 'string' ? uri : null);
    await wire.forward(request, frame, edits);
  }

  /** In the modes that only watch, what is not locked is called all the same. */
  #subject(frame: RequestFrame, { names, params }: CallRow): { subject: Subject; waived: Denial | null } {
    try {
      return { subject: subjectOf(frame, names, params, this.#gate.pins), waived: null };
    } catch (error) {
      const denial = asDenial(error);
      if (this.#gate.enforce.calls || denial.code !== 'GATEWAY_NOT_LOCKED') throw denial;
      return { subject: { name: null, args: frame.params!, rest: null, needs: [] }, waived: denial };
    }
  }

  async #decide(
    subject: Subject,
    frame: RequestFrame,
    horizon: number,
  ): Promise<Pick<Entry, 'tool' | 'waived'> | null> {
    const { pins, offers, wire, features, enforce } = this.#gate;
    const meta = ownMeta(frame, features);
    const grounds: Grounds = {
      pins,
      offers,
      horizon,
      meta,
      ask: (method, params) => wire.ask(method, params),
    };
    let granted: Granted | null;
    try {
      granted = await decide(subject, grounds);
    } catch (error) {
      const denial = asDenial(error);
      if (enforce.calls || (denial.stage !== 'calls' && denial.stage !== 'lists')) throw denial;
      return { tool: { name: shown(subject.name!), digest: null }, waived: denial };
    }
    return granted === null ? null : { tool: { name: granted.key, digest: granted.digest } };
  }

  /** What is done with the answer to a call: it is recorded, then it reaches the host. */
  #expect(request: Request, intent: Intent, requested: string | null): void {
    const { entry } = intent;
    const { pins, features } = this.#gate;
    const startedAt = performance.now();
    const elapsed = (): number => performance.now() - startedAt;
    request.cancelled = (by) => {
      const work = async (): Promise<void> => void (await this.#outcome(intent, CANCELLED[by], elapsed()));
      void this.#run(this.#recording, request, work);
    };
    request.failed = (denial) =>
      this.#run(this.#recording, request, async () => {
        await this.#outcome(intent, { status: 'failure', error: String(denial) }, elapsed());
        return this.#answer(request, entry, denial, intent.capsule.id);
      });
    request.answered = (answer) => {
      let verdict: Verdict;
      let bytes: Uint8Array | null = null;
      let denial: Denial | null = null;
      try {
        verdict = checkResult(request.method, answer, features);
        // What a tool gives as data of its own is no message of the protocol.
        checkContents(answer, requested, ['structuredContent'], pins);
        // Before the outcome is recorded: what is recorded as done must not fail afterwards.
        bytes = this.#gate.wire.restored(request, answer, this.#named(request, answer));
      } catch (error) {
        denial = asDenial(error);
        verdict = { status: 'failure', error: String(denial) };
      }
      const duration = elapsed();
      const work = async (): Promise<void> => {
        const result = answer.kind === 'result' ? answer.result : undefined;
        const lost = await this.#outcome(intent, verdict, duration, result);
        const refusal = denial ?? lost;
        if (refusal === null) await this.#write(request, bytes!);
        else await this.#answer(request, entry, refusal, intent.capsule.id);
      };
      return this.#run(this.#recording, request, work, weightOf(answer.bytes));
    };
  }

  /** Records what came of a call. Gives the denial that stands in the way of the answer if that cannot be done. */
  async #outcome(
    intent: Intent,
    verdict: Verdict | { readonly status: 'blocked'; readonly error: string },
    durationMs: number,
    result?: JsonValue,
  ): Promise<Denial | null> {
    try {
      await this.#gate.recorder.outcome(intent, verdict, durationMs, result);
      return null;
    } catch (error) {
      const denial = asDenial(error);
      this.#gate.log(`the outcome of ${intent.capsule.id} is not recorded: ${causeOf(denial)}`);
      return denial;
    }
  }

  /** Records that something was denied, and tells the host. */
  async #deny(request: Request, entry: Entry, error: unknown): Promise<void> {
    const denial = asDenial(error);
    this.#gate.wire.drop(request);
    const capsule = await this.#gate.recorder.blocked(entry, denial);
    await this.#answer(request, entry, denial, capsule);
  }

  async #answer(request: Request, { tool }: Entry, denial: Denial, capsule: string | null): Promise<void> {
    const isInternal = denial.stage === 'record' || denial.code === 'GATEWAY_FAILED';
    const why = isInternal ? ` (${causeOf(denial)})` : '';
    this.#gate.log(`${shown(request.method)}: ${denial.message}${why} [${denial.code}]`);
    this.#gate.wire.free(request);
    await this.#gate.host.write(denialBytes(request.idBytes, denial, { tool: tool?.name ?? null, capsule }));
  }

  #entry({ id, method, params }: RequestFrame): Entry {
    const meta = params?.get('_meta');
    const trace = meta instanceof JsonObject ? meta.get('traceparent') : undefined;
    const traceId = typeof trace === 'string' ? TRACEPARENT.exec(trace)?.[1] : undefined;
    const correlationId = traceId ?? shown(id instanceof JsonNumber ? id.lexeme : id);
    return { method: shown(method), tool: null, host: this.#gate.session.host, correlationId };
  }
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

function overloaded(): Denial {
  return new Denial('ids', 'GATEWAY_OVERLOADED', `More than ${MAX_OPEN} requests are open.`);
}
