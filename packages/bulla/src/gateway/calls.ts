import { performance } from 'node:perf_hooks';
import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import type { Evidence, Stage } from '@bulla/core/evidence';
import type { RequestFrame } from '../mcp/index.ts';
import type { Call, Intent, Outcome, Part } from '../record/index.ts';
import { checkContents } from './answers/contents.ts';
import { checkResult, type Result } from './answers/result.ts';
import type { Context } from './context.ts';
import { asDenial, Denial } from './denial.ts';
import type { Flows } from './flows.ts';
import type { GatedCall, Ruling } from './gates/gate.ts';
import type { HostRequest } from './gates/methods.ts';
import { type Subject, subjectOf } from './gates/pinned.ts';
import { withholdCapabilities } from './gates/session.ts';
import { aboutOf, boundedName, causeOf } from './notices.ts';
import { waivedStep } from './record.ts';
import { weightOf } from './wire/slots.ts';
import type { Edit } from './wire/splice.ts';
import type { Request } from './wire/wire.ts';

type CallRow = Extract<HostRequest, { kind: 'call' }>;

interface Passing extends GatedCall {
  readonly request: Request;
  readonly edits: readonly Edit[];
  readonly stop: AbortController;
  readonly weight: number;
  parts: Part[];
  call: Call;
  evidence: Evidence;
}

const failure = (code: Code, sentence: string): Result => ({
  status: 'failure',
  failure: { stage: 'server', code, sentence },
});
const CANCELLED = {
  host: failure('GATEWAY_CANCELLED', 'The host cancelled the call.'),
  server: failure('GATEWAY_CANCELLED', 'The server ended the subscription.'),
};
const NOT_SENT = failure('GATEWAY_NOT_SENT', 'The call ended before it was forwarded.');

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
    return this.#flows.decide(request, () => this.#begin(request, frame, row, weight), weight);
  }

  async #begin(request: Request, frame: RequestFrame, row: CallRow, weight: number): Promise<void> {
    const { record, session, features, offers } = this.#context;
    const about = aboutOf(frame, session.host);
    const horizon = offers.horizon();
    let passing: Passing;
    try {
      const edits = withholdCapabilities(frame, features);
      const { subject, waived } = this.#subject(frame, row);
      const tool = subject.name === null ? null : { name: boundedName(subject.name) };
      const call: Call = {
        ...record.call({ ...about, tool }),
        args: record.payload('args', subject.args),
        ...(subject.rest !== null && { rest: record.payload('rest', subject.rest) }),
      };
      const parts: Part[] = waived === null ? [] : [{ authority: [waivedStep(waived)] }];
      const stop = new AbortController();
      const { signal } = stop;
      const evidence = record.base.evidence ?? {};
      passing = { request, frame, edits, subject, horizon, stop, signal, weight, call, parts, evidence };
    } catch (error) {
      return this.#flows.deny(request, record.call(about), error);
    }
    const { failed } = request;
    request.cancelled = () => passing.stop.abort();
    request.failed = (denial) => {
      passing.stop.abort();
      return failed(denial);
    };
    return this.#pass(passing, 0);
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
    const { gates } = this.#context;
    for (let at = from; at < gates.length; at++) {
      let ruling: Ruling;
      try {
        ruling = at === from && first !== undefined ? first : await gates[at]!.rule(passing);
      } catch (error) {
        return this.#refused(passing, asDenial(error), []);
      }
      if ('deny' in ruling) return this.#refused(passing, ruling.deny, ruling.part ? [ruling.part] : []);
      if ('ask' in ruling) return this.#park(passing, at, ruling.ask);
      passing.parts = [...passing.parts, stamped(ruling.pass, gates[at]!.name)];
      passing.evidence = { ...passing.evidence, ...ruling.pass.evidence };
      const { tool } = ruling.pass.evidence ?? {};
      if (tool !== undefined) passing.call = { ...passing.call, tool: { ...passing.call.tool, ...tool } };
    }
    return this.#seal(passing);
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
    const resume = (work: () => Promise<void>) => void this.#flows.decide(request, work, weight);
    const waiting = ask
      .then(
        (ruling) => resume(() => this.#pass(passing, at, ruling)),
        (error) => resume(() => this.#refused(passing, asDenial(error), [])),
      )
      .finally(() => {
        this.#parked.delete(passing);
        this.#parkedWeight -= weight;
      });
    this.#parked.set(passing, waiting);
  }

  async #refused(passing: Passing, denial: Denial, parts: readonly Part[]): Promise<void> {
    const { request, call } = passing;
    // A call that is over has its answer, or wants none; the denial is recorded too.
    if (!this.#context.wire.isOpen(request)) {
      await this.#context.record.blocked(call, denial, [...passing.parts, ...parts]);
      return;
    }
    return this.#flows.deny(request, call, denial, [...passing.parts, ...parts]);
  }

  /** Seals the intent, asks the gates again, and forwards. */
  async #seal(passing: Passing): Promise<void> {
    const { wire, record, gates } = this.#context;
    const { request, frame, edits } = passing;
    if (!wire.isOpen(request)) return;
    let intent: Intent;
    try {
      intent = await record.intent(passing.call, passing.parts);
    } catch (error) {
      return this.#refused(passing, asDenial(error), []);
    }
    try {
      for (const gate of gates) await gate.again?.(passing);
    } catch (error) {
      const denial = asDenial(error);
      const isOpen = wire.isOpen(request);
      wire.drop(request);
      await this.#outcome(intent, { status: 'blocked', failure: denial.failure, durationMs: 0 });
      if (isOpen) await this.#flows.answer(request, intent.call, denial, intent.capsule.id);
      return;
    }
    if (!wire.isOpen(request)) {
      await this.#outcome(intent, { ...NOT_SENT, durationMs: 0 });
      return;
    }
    const uri = frame.method === 'resources/read' ? frame.params?.get('uri') : undefined;
    this.#expect(request, intent, typeof uri === 'string' ? uri : null);
    await wire.forward(request, frame, edits);
  }

  /** Sets the handlers of the answer: the outcome is recorded, then the host gets the answer. */
  #expect(request: Request, intent: Intent, requested: string | null): void {
    const { pins, features, wire } = this.#context;
    const flows = this.#flows;
    const startedAt = performance.now();
    const ended = (result: Result): Outcome => ({ ...result, durationMs: performance.now() - startedAt });
    request.cancelled = (by) => {
      const outcome = ended(CANCELLED[by]);
      void flows.record(request, async () => void (await this.#outcome(intent, outcome)));
    };
    request.failed = (denial) =>
      flows.record(request, async () => {
        await this.#outcome(intent, ended({ status: 'failure', failure: denial.failure }));
        return flows.answer(request, intent.call, denial, intent.capsule.id);
      });
    request.answered = (answer) => {
      let result: Result;
      let bytes: Uint8Array | null = null;
      let denial: Denial | null = null;
      try {
        result = checkResult(request.method, answer, features);
        // Data in a tool's result is not a message of the protocol.
        checkContents(answer, requested, ['structuredContent'], pins);
        // Before the outcome is recorded, so that a recorded success cannot fail afterwards.
        bytes = wire.restored(request, answer, flows.named(request, answer));
      } catch (error) {
        denial = asDenial(error);
        result = { status: 'failure', failure: denial.failure };
      }
      const outcome = { ...ended(result), ...(answer.kind === 'result' && { result: answer.result }) };
      const work = async (): Promise<void> => {
        const lost = await this.#outcome(intent, outcome);
        const refusal = denial ?? lost;
        if (refusal === null) await flows.write(request, bytes!);
        else await flows.answer(request, intent.call, refusal, intent.capsule.id);
      };
      return flows.record(request, work, weightOf(answer.bytes));
    };
  }

  /** Records the outcome of a call. Returns the denial that replaces the answer if that fails, else null. */
  async #outcome(intent: Intent, outcome: Outcome): Promise<Denial | null> {
    const lost = await this.#context.record.outcome(intent, outcome);
    if (lost !== null)
      this.#context.log(`the outcome of ${intent.capsule.id} is not recorded: ${causeOf(lost)}`);
    return lost;
  }
}

/** A part that refuses in the transaction of the intent denies as its gate does. */
function stamped(part: Part, stage: Stage): Part {
  const { onIntent } = part;
  if (onIntent === undefined) return part;
  return {
    ...part,
    onIntent: (intentId, sealing) => async (transaction) => {
      try {
        await onIntent(intentId, sealing)(transaction);
      } catch (error) {
        if (!(error instanceof BullaError) || error.code.startsWith('STORE_')) throw error;
        throw new Denial(stage, error.code, error.message, { cause: error });
      }
    },
  };
}
