import { performance } from 'node:perf_hooks';
import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import type { Evidence, Stage } from '@bulla/core/evidence';
import { JsonObject, memberAt } from '@bulla/core/json';
import type { SessionFacts } from '@bulla/core/policy';
import type { ErrorFrame, RequestFrame, ResultFrame } from '../mcp/index.ts';
import { type Call, keptAs, type Outcome, type Part, type Payload } from '../record/index.ts';
import { checkContents } from './answers/contents.ts';
import { checkResult, type Result } from './answers/result.ts';
import type { CheckRules } from './answers/rules.ts';
import type { Kept } from './approvals/repeats.ts';
import type { Context } from './context.ts';
import { asDenial, Denial, denialBytes, isOwnDenial } from './denial.ts';
import type { Flows } from './flows.ts';
import type { AskedHost, Gate, GatedCall, Recalled, Reply, Ruling } from './gates/gate.ts';
import type { HostRequest } from './gates/methods.ts';
import { badParams } from './gates/params.ts';
import { type Subject, subjectOf } from './gates/pinned.ts';
import { saltFor, takeEnvelope } from './gates/presented.ts';
import { META_CAPABILITIES, withholdCapabilities } from './gates/session.ts';
import { keepOf } from './keep.ts';
import { aboutOf, boundedName, causeOf } from './notices.ts';
import { type Begun, waivedStep } from './record.ts';
import { isLazy, type RecordRules } from './tools.ts';
import { weightOf } from './wire/slots.ts';
import { type Edit, raw } from './wire/splice.ts';
import { Stop } from './wire/stop.ts';
import type { Request } from './wire/wire.ts';

type CallRow = Extract<HostRequest, { kind: 'call' }>;

interface Passing extends GatedCall {
  readonly request: Request;
  readonly edits: readonly Edit[];
  readonly stop: Stop;
  readonly weight: number;
  /** As they stood when the call came. */
  readonly gates: readonly Gate[];
  /** Whether it was decided what of its arguments is kept. */
  isKept: boolean;
  /** What was done in the session before its intent was sealed; null until then. */
  before: SessionFacts | null;
  parts: Part[];
  call: Call;
  evidence: Evidence;
  /** Whether it may be answered before its outcome is durable. */
  lazy: boolean;
}

const failure = (code: Code, sentence: string) =>
  ({ status: 'failure', failure: { stage: 'server', code, sentence } }) as const satisfies Result;
const CANCELLED = {
  host: failure('GATEWAY_CANCELLED', 'The host cancelled the call.'),
  server: failure('GATEWAY_CANCELLED', 'The server ended the subscription.'),
};
/** What a call says whose answer may come before its outcome is durable. */
const LAZY: Part = { evidence: { outcome: 'lazy' } };
const NOT_SENT = failure('GATEWAY_NOT_SENT', 'The call ended before it was forwarded.');

/** How often the server may be started again while a call is decided. */
const MAX_LIVES = 3;

/** Limit on the weight of the messages of all parked calls. */
const MAX_PARKED_WEIGHT = 64 * 1024 * 1024;

/** A call passes the gates, its intent is sealed, the gates are asked again, it is forwarded, its outcome is sealed. */
export class Calls {
  readonly #context: Context;
  readonly #flows: Flows;
  readonly #parked = new Map<Passing, Promise<void>>();
  #parkedWeight = 0;

  constructor(context: Context, flows: Flows) {
    this.#context = context;
    this.#flows = flows;
  }

  /** Resolves when no call waits for a person any more. */
  async idle(): Promise<void> {
    while (this.#parked.size > 0) await Promise.all(this.#parked.values());
  }

  start(request: Request, frame: RequestFrame, row: CallRow, weight: number): void | Promise<void> {
    const { gates } = this.#context;
    return this.#flows.decide(request, () => this.#begin(request, frame, row, weight, gates), weight);
  }

  async #begin(
    request: Request,
    given: RequestFrame,
    row: CallRow,
    weight: number,
    gates: readonly Gate[],
  ): Promise<void> {
    const { record, session, features, offers, history, shown } = this.#context;
    const about = aboutOf(given, session.host);
    const horizon = offers.horizon();
    let passing: Passing;
    try {
      const { frame: plain, presented } = takeEnvelope(given);
      if (presented !== null && this.#context.enforce.calls && !gates.some(({ name }) => name === 'envelope'))
        throw badParams('Nothing here takes envelopes; call without one.');
      const recalled = this.#recall(plain, row, gates);
      const frame = recalled?.frame ?? plain;
      const edits = withholdCapabilities(frame, features);
      const { subject, waived } = this.#subject(frame, row);
      const link = await shown.link();
      const fingerprint = frame.method === 'tools/call' && link?.fingerprints.get(subject.name ?? '');
      const tool =
        subject.name === null
          ? null
          : { name: boundedName(subject.name), ...(fingerprint && { fingerprint }) };
      const call: Call = {
        ...record.call({ ...about, tool }),
        args:
          (await this.#committed(recalled, subject, gates)) ??
          record.payload('args', subject.args, saltFor(presented, subject.args)),
        ...(subject.rest !== null && { rest: record.payload('rest', subject.rest) }),
      };
      const parts: Part[] = waived === null ? [] : [{ authority: [waivedStep(waived)] }];
      if (link !== null) parts.push({ evidence: { capability: link.capability } });
      const stop = new Stop();
      const evidence = record.base.evidence ?? {};
      passing = {
        ...{ request, frame, edits, subject, horizon, stop, weight, gates, call, parts, evidence },
        ...{ before: null, isKept: false, demands: new Set(), lazy: false, presented, recalled },
        host: this.#host(request, frame),
        get session() {
          return this.before ?? history.facts;
        },
        get signal() {
          return stop.signal;
        },
      };
    } catch (error) {
      return this.#flows.deny(request, record.call(about), error);
    }
    const { failed } = request;
    request.cancelled = () => passing.stop.abort();
    request.failed = (denial) => {
      passing.stop.abort();
      return failed(denial);
    };
    // It may have been cancelled while it was looked for.
    if (!this.#context.wire.isOpen(request)) passing.stop.abort();
    return this.#pass(passing, 0);
  }

  /** A call that comes again is what it was: it has the commitment that was made then. */
  #recall(frame: RequestFrame, row: CallRow, gates: readonly Gate[]): Recalled | null {
    const remembering = gates.filter(({ recall }) => recall !== undefined);
    if (remembering.length === 0) return null;
    const { subject } = this.#subject(frame, row);
    const { server } = this.#context.record.origin;
    for (const gate of remembering) {
      const recalled = gate.recall!(frame, subject, server);
      if (recalled !== null) return recalled;
    }
    return null;
  }

  async #committed(
    recalled: Recalled | null,
    { args }: Subject,
    gates: readonly Gate[],
  ): Promise<Payload | undefined> {
    if (recalled === null) return undefined;
    for (const gate of gates) {
      const payload = await gate.committed?.(recalled, args);
      if (payload) return payload;
    }
    return recalled.args;
  }

  #host({ channel, isStateless }: Request, frame: RequestFrame): AskedHost {
    const { askHost, session } = this.#context;
    const said = isStateless ? memberAt(frame.params, ['_meta', META_CAPABILITIES]) : session.capabilities;
    return {
      isStateless,
      capabilities: said instanceof JsonObject ? said : null,
      ask: (method, params, signal) => askHost(channel, method, params, signal),
    };
  }

  /** In the modes that only watch, what is not locked is called too. */
  #subject(frame: RequestFrame, { names, params }: CallRow): { subject: Subject; waived: Denial | null } {
    try {
      return { subject: subjectOf(frame, names, params, this.#context.pins), waived: null };
    } catch (error) {
      const denial = asDenial(error);
      if (this.#context.enforce.calls || denial.code !== 'GATEWAY_NOT_LOCKED') throw denial;
      return { subject: { name: null, args: frame.params!, rest: null, needs: [] }, waived: denial };
    }
  }

  /** Passes the gates from this one on, then seals and forwards. */
  async #pass(passing: Passing, from: number, first?: Ruling): Promise<void> {
    const { gates, request } = passing;
    request.trace.phase('gates');
    for (let at = from; at < gates.length; at++) {
      let ruling: Ruling;
      try {
        ruling = at === from && first !== undefined ? first : await gates[at]!.rule(passing);
      } catch (error) {
        return this.#refused(passing, asDenial(error), []);
      }
      if ('deny' in ruling) return this.#refused(passing, ruling.deny, ruling.part ? [ruling.part] : []);
      if ('ask' in ruling) return this.#park(passing, at, ruling.ask);
      if ('reply' in ruling) return this.#reply(passing, ruling.reply);
      passing.parts = [...passing.parts, stamped(passing, ruling, gates[at]!.name)];
      passing.evidence = { ...passing.evidence, ...ruling.pass.evidence };
      const { tool } = ruling.pass.evidence ?? {};
      if (tool !== undefined) passing.call = { ...passing.call, tool: { ...passing.call.tool, ...tool } };
    }
    return this.#seal(passing);
  }

  async #reply({ request, call }: Passing, reply: Reply): Promise<void> {
    if (!this.#context.wire.isOpen(request)) {
      reply.written?.(true);
      return request.trace.end({ denial: NOT_SENT.failure });
    }
    if (reply.repeats !== undefined) {
      const { repeats } = reply;
      const denial = new Denial(
        'repeat',
        'GATEWAY_REPEATED',
        'The call was made before; its outcome is told again.',
      );
      const about = { method: request.method, tool: call.tool ? { name: call.tool.name } : null };
      this.#context.record.incident({ ...about, denial, key: repeats, facts: { repeats } });
    }
    return this.#flows.reply(request, reply);
  }

  /** Waits for an answer of a person without holding a slot: the host is read on. */
  #park(passing: Passing, at: number, ask: Promise<Ruling>): void | Promise<void> {
    const { weight, request } = passing;
    if (this.#parkedWeight + weight > MAX_PARKED_WEIGHT) {
      passing.stop.abort();
      void ask.catch(() => undefined);
      const message = 'Too many calls wait for an answer of a person.';
      return this.#refused(passing, new Denial('ids', 'GATEWAY_OVERLOADED', message), []);
    }
    this.#parkedWeight += weight;
    request.trace.phase('person');
    const beats = heartbeats(request);
    const resume = (work: () => Promise<void>) => void this.#flows.decide(request, work, weight);
    const waiting = ask
      .then(
        (ruling) => resume(() => this.#pass(passing, at, ruling)),
        (error) => resume(() => this.#refused(passing, asDenial(error), [])),
      )
      .finally(() => {
        clearInterval(beats);
        this.#parked.delete(passing);
        this.#parkedWeight -= weight;
      });
    this.#parked.set(passing, waiting);
  }

  async #refused(passing: Passing, denial: Denial, parts: readonly Part[]): Promise<void> {
    await this.#keep(passing);
    const { request, call } = passing;
    passing.recalled?.over();
    // A call that is over has its answer, or wants none; the denial is recorded too.
    if (!this.#context.wire.isOpen(request)) {
      this.#context.history.denied();
      request.trace.phase('outcome');
      const capsule = await this.#context.record.blocked(call, denial, [...passing.parts, ...parts]);
      request.trace.end({ denial: { stage: denial.stage, code: denial.code }, capsule });
      return;
    }
    return this.#flows.deny(request, call, denial, [...passing.parts, ...parts]);
  }

  /** What the operator wants to be kept of the calls of this tool. */
  #recordOf({ frame, subject }: Passing): RecordRules {
    if (frame.method !== 'tools/call' || subject.name === null) return {};
    return this.#context.tools.get(subject.name)?.record ?? {};
  }

  /** Adds to a call, once, what of its arguments is kept with its record. */
  async #keep(passing: Passing): Promise<void> {
    const { call, subject } = passing;
    const { arguments: isKept = false, redact = [] } = this.#recordOf(passing);
    if (!isKept || call.args === undefined || passing.isKept) return;
    passing.isKept = true;
    passing.call = { ...call, args: keptAs(call.args, subject.args, await keepOf(subject.args, redact)) };
  }

  /** Seals the intent, asks the gates again, and forwards. */
  async #seal(passing: Passing): Promise<void> {
    const { wire, record, history } = this.#context;
    const { request, frame, edits } = passing;
    const { trace } = request;
    await this.#keep(passing);
    if (!wire.isOpen(request)) return trace.end({ denial: NOT_SENT.failure });
    if (passing.gates !== this.#context.gates) return this.#refused(passing, reloaded(), []);
    if (passing.parts.some(isWaived)) trace.wouldBlock();
    trace.phase('intent');
    const rules = frame.method === 'tools/call' ? this.#context.tools.get(passing.subject.name ?? '') : null;
    passing.lazy = isLazy(rules ?? {}, passing.evidence);
    const kept = keptOf(passing);
    const more = [...(passing.lazy ? [LAZY] : []), ...(kept === null ? [] : [kept.part])];
    let begun: Begun;
    try {
      begun = await record.intent(passing.call, [...passing.parts, ...more]);
      passing.before = history.began(passing.call);
    } catch (error) {
      return this.#refused(passing, asDenial(error), []);
    }
    try {
      await this.#askAgain(passing);
    } catch (error) {
      const denial = asDenial(error);
      const isOpen = wire.isOpen(request);
      wire.drop(request);
      trace.phase('outcome');
      await this.#outcome(begun, { status: 'blocked', failure: denial.failure, durationMs: 0 });
      if (isOpen) return this.#flows.answer(request, begun.call, denial, begun.capsule);
      return trace.end({ denial: { stage: denial.stage, code: denial.code }, capsule: begun.capsule });
    }
    if (!wire.isOpen(request)) {
      trace.phase('outcome');
      await this.#outcome(begun, { ...NOT_SENT, durationMs: 0 });
      return trace.end({ denial: NOT_SENT.failure, capsule: begun.capsule });
    }
    const uri = frame.method === 'resources/read' ? frame.params?.get('uri') : undefined;
    this.#expect(passing, begun, typeof uri === 'string' ? uri : null, kept);
    trace.phase('server');
    await wire.forward(request, frame, [...edits, ...trace.handOn(frame)]);
  }

  /** Asks the gates again, until the server is still the one that they asked. Rejects with a denial. */
  async #askAgain(passing: Passing): Promise<void> {
    const { offers } = this.#context;
    for (let i = 0; i < MAX_LIVES; i++) {
      const { lives } = offers;
      for (const gate of passing.gates) await gate.again?.(passing);
      if (passing.gates !== this.#context.gates) throw reloaded();
      if (offers.lives === lives) return;
    }
    throw new Denial('server', 'GATEWAY_SERVER_ENDED', 'The server ends again and again.');
  }

  /** Sets the handlers of the answer: the outcome is recorded, then the host gets the answer. */
  #expect(passing: Passing, begun: Begun, requested: string | null, kept: Kept | null): void {
    const { request } = passing;
    const { pins, features, wire } = this.#context;
    const checkRules = this.#context.rulesFor(passing);
    const flows = this.#flows;
    const { trace } = request;
    const { result: isKept = false, redact = [] } = this.#recordOf(passing);
    const startedAt = performance.now();
    const ended = (result: Result): Outcome => ({ ...result, durationMs: performance.now() - startedAt });
    request.left = kept && (() => kept.left());
    /** Gives the host the answer, unless it left; then it is kept until the call comes again. */
    const deliver = async (give: () => void | Promise<void>): Promise<void> => {
      if (kept?.isLeft) return trace.end({ denial: CANCELLED.host.failure, capsule: begun.capsule });
      await give();
      kept?.written(request.channel.isGone ?? false);
    };
    const keepDenial = (denial: Denial): void => {
      const about = { tool: begun.call.tool?.name ?? null, capsule: begun.capsule };
      if (kept !== null) kept.answer = denialBytes(request.idBytes, denial, about);
    };
    request.cancelled = (by) => {
      const outcome = ended(CANCELLED[by]);
      trace.phase('outcome', 'GATEWAY_CANCELLED');
      void flows.record(request, async () => {
        await this.#outcome(begun, outcome);
        trace.end({ denial: CANCELLED[by].failure, capsule: begun.capsule });
      });
    };
    request.failed = (denial) =>
      flows.record(request, async () => {
        trace.phase('outcome', denial.code);
        keepDenial(denial);
        await this.#outcome(begun, ended({ status: 'failure', failure: denial.failure }));
        return deliver(() => flows.answer(request, begun.call, denial, begun.capsule));
      });
    request.answered = (answer) => {
      const error = errorOf(answer);
      trace.phase('outcome', error);
      let result: Result;
      let bytes: Uint8Array | null = null;
      let denial: Denial | null = null;
      try {
        result = checkResult(request.method, answer, features);
        // Data in a tool's result is not a message of the protocol.
        checkContents(answer, requested, ['structuredContent'], pins);
        this.#checkOutput(request, begun, answer, checkRules);
        // Before the outcome is recorded, so that a recorded success cannot fail afterwards.
        const edits = [...flows.named(request, answer), ...this.#goesOn(passing, begun, answer, result)];
        bytes = wire.restored(request, answer, edits);
      } catch (error) {
        denial = asDenial(error);
        result = { status: 'failure', failure: denial.failure };
      }
      if (denial !== null) keepDenial(denial);
      else if (kept !== null) kept.answer = bytes;
      const outcome = { ...ended(result), ...(answer.kind === 'result' && { result: answer.result }) };
      const work = async (): Promise<void> => {
        const isToKeep = isKept && begun.capsule !== null && answer.kind === 'result';
        const keep = isToKeep ? await keepOf(answer.result, redact) : undefined;
        // The slot is kept until a lazy outcome is durable, so that a slow store holds up the host.
        const isLazy = passing.lazy && denial === null;
        const recorded = this.#outcome(begun, { ...outcome, keep }, isLazy);
        const lost = isLazy ? null : await recorded;
        const refusal = denial ?? lost;
        if (refusal !== null) return deliver(() => flows.answer(request, begun.call, refusal, begun.capsule));
        await deliver(() => {
          trace.end({ error, capsule: begun.capsule });
          return flows.write(request, bytes!);
        });
        await recorded;
      };
      return flows.record(request, work, weightOf(answer.bytes));
    };
  }

  /** A call for which the server asks for input goes on under its approval. */
  #goesOn(
    passing: Passing,
    { capsule }: Begun,
    answer: ResultFrame | ErrorFrame,
    { status }: Result,
  ): readonly Edit[] {
    if (status !== 'partial' || answer.kind === 'error' || capsule === null) return [];
    return passing.gates.flatMap((gate) => gate.goesOn?.(answer, passing, capsule) ?? []);
  }

  /** In the modes that only watch, the result passes, and it is recorded that it would not have. */
  #checkOutput(
    { method }: Request,
    { call }: Begun,
    answer: ResultFrame | ErrorFrame,
    checkRules: CheckRules | null,
  ): void {
    const { checkOutput, enforce, record } = this.#context;
    const name = call.tool?.name ?? null;
    if (isOwnDenial(answer.bytes)) return;
    try {
      checkOutput(method, name, answer);
      checkRules?.(answer);
    } catch (error) {
      if (enforce.calls) throw error;
      record.incident({ denial: asDenial(error), method, waived: true, key: `${method} ${name}` });
    }
  }

  /** Records the outcome of a call. Returns the denial that replaces the answer if that fails, else null. */
  async #outcome(begun: Begun, outcome: Outcome, lazy = false): Promise<Denial | null> {
    if (outcome.status === 'blocked') this.#context.history.denied();
    const lost = await begun.ended(outcome, lazy);
    if (lost !== null) this.#context.log(`the outcome of ${begun.capsule} is not recorded: ${causeOf(lost)}`);
    return lost;
  }
}

/** What is kept of a call under an approval. */
function keptOf(passing: Passing): Kept | null {
  for (const gate of passing.gates) {
    const kept = gate.keep?.(passing);
    if (kept) return kept;
  }
  return null;
}

const HEARTBEAT_MS = 10_000;

/** While a person thinks, progress keeps the timer of a host alive that asked to be told. */
function heartbeats({ tokenBytes, channel }: Request): NodeJS.Timeout | undefined {
  if (tokenBytes === null) return undefined;
  let beats = 0;
  return setInterval(() => {
    beats++;
    // 2025-11-25, Progress: it must grow; what the server tells later begins higher.
    const progress = `"progress":${beats / 1_000_000},"message":"Waiting for a person to decide."`;
    void channel.write(
      raw(
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":',
        tokenBytes,
        `,${progress}}}`,
      ),
    );
  }, HEARTBEAT_MS).unref();
}

/** What an answer says that went wrong, for telemetry. */
function errorOf(answer: ResultFrame | ErrorFrame): number | 'tool_error' | null {
  if (answer.kind === 'error') return answer.error.code;
  return answer.result.get('isError') === true ? 'tool_error' : null;
}

function isWaived({ authority = [] }: Part): boolean {
  return authority.some(({ step }) => step?.decision === 'would-block');
}

/** What was decided by other rules than those that hold now decides nothing. */
function reloaded(): Denial {
  const message = 'The rules changed while the call was decided. Call again.';
  return new Denial('session', 'GATEWAY_RELOADED', message);
}

/** A part that refuses in the transaction of the intent denies as its gate does. */
function stamped(passing: Passing, { pass, refused }: Extract<Ruling, { pass: Part }>, stage: Stage): Part {
  const { onIntent } = pass;
  if (onIntent === undefined) return pass;
  const part: Part = {
    ...pass,
    onIntent: (intentId, sealing) => async (transaction) => {
      try {
        await onIntent(intentId, sealing)(transaction);
      } catch (error) {
        if (error instanceof Denial) throw error;
        if (!(error instanceof BullaError) || error.code.startsWith('STORE_')) throw error;
        const denied = refused?.(error);
        if (denied === undefined) throw new Denial(stage, error.code, error.message, { cause: error });
        // The record of the denial says what was refused, and names nobody as its approver.
        passing.parts = passing.parts.map((one) => (one === part ? (denied.part ?? {}) : one));
        throw denied.deny;
      }
    },
  };
  return part;
}
