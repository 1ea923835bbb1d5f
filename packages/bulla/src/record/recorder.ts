import { randomUUID } from 'node:crypto';
import type {
  CapsuleInput,
  CapsuleType,
  DataObject,
  OutcomeStatus,
  Reasoning,
  SealedCapsule,
  TriggerType,
} from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import {
  type AuthorityStep,
  authorityOf,
  type Evidence,
  environmentOf,
  type Failure,
  failureText,
  type ToolReference,
} from '@bulla/core/evidence';
import { type Chain, type Effect, MarkedError } from '../store/index.ts';
import { frozenCopy } from './copy.ts';
import { OutcomeLostError } from './loss.ts';
import { isTool, type OutcomeContent, outcomeOf } from './outcome.ts';
import { type Ended, evidenceOf, inOrder, type Part, type Sealing } from './part.ts';
import { type Keep, keptAs, type Payload, payloadOf } from './payload.ts';

/** The way on which a call came, or where an act was done. */
export type Door = 'gateway' | 'agents' | 'session' | 'relay' | 'hook' | 'admin';

/** Who acts, and what for, in every record about it. */
export interface Subject {
  readonly door: Door;
  readonly agentId: string;
  readonly sessionId?: string | null;
  /** Who asks: for a call the host as it names itself. */
  readonly source: string;
  /** What is asked, such as `tools/call files/write_file`. */
  readonly request: string;
  readonly correlationId?: string | null;
  /** Only an authenticated person. */
  readonly userId?: string | null;
  readonly parentId?: string | null;
}

/** An action that is recorded: as an intent before it and an outcome after it, or as one denial. */
export interface Call extends Subject {
  /** `tool` for calls of tools; `agent` for what an agent does otherwise. Default `tool`. */
  readonly type?: 'tool' | 'agent';
  readonly tool?: ToolReference | undefined;
  readonly args?: Payload | undefined;
  /** What else is forwarded with the arguments. */
  readonly rest?: Payload | undefined;
  /** What the host said before the call; never invented. */
  readonly reasoning?: Partial<Reasoning> | undefined;
  /** More of `context.environment` beside the evidence. */
  readonly environment?: DataObject | undefined;
}

/** A call whose intent is durable. */
export interface Intent {
  readonly capsule: SealedCapsule;
  /** As it was sealed, whatever became of the caller's object. */
  readonly call: Call;
}

/** A call and what was decided about it, read once. */
interface Decided extends Sealing {
  readonly parts: readonly Part[];
}

/** What an application adds to an outcome. */
export interface Notes {
  readonly summary?: string;
  readonly sideEffects?: readonly string[];
  readonly metrics?: DataObject;
}

/** What came of a call. */
export interface Outcome extends Ended, Notes {
  /** What the action returned; not given where there is none. Only results of tools are committed to. */
  readonly result?: unknown;
  /** What of the result is kept beside the chain. Default: as the recorder is set up. */
  readonly keep?: Keep | undefined;
}

/** An outcome that is durable. */
export interface Recorded {
  readonly capsule: SealedCapsule;
  /** What parts refused to do together with it. */
  readonly refused: readonly unknown[];
  /** The capsule that marked the intent before its outcome came; null where nobody did. */
  readonly mark: string | null;
}

/** A record that is not of a call: a question, an answer, an administrative act, the beginning of a session. */
export interface Act extends Subject {
  readonly type: Exclude<CapsuleType, 'tool'>;
  readonly trigger: TriggerType;
  readonly evidence?: Evidence;
  readonly authority?: readonly AuthorityStep[];
  readonly payloads?: readonly Payload[];
  readonly status: OutcomeStatus;
  readonly failure?: Failure | null;
  readonly summary?: string;
  readonly durationMs?: number;
  readonly metrics?: DataObject;
  readonly effect?: Effect | undefined;
  /** The id of the capsule. Default: a fresh UUID. */
  readonly id?: string;
}

/**
 * The one recorder. Every record of a call is written here: one append for the intent with everything that becomes true
 * with it, one for the outcome. Only digests and commitments are recorded, never a payload.
 */
export interface Recorder {
  readonly chain: Chain;
  /** Commits to a payload of a call: under a fresh salt, or under that of the envelope which approves exactly it. */
  payload(kind: 'args' | 'rest', value: unknown, salt?: Uint8Array): Payload;
  /**
   * Records what is about to be done, and makes true what the parts say, in one transaction; resolves when that is
   * durable. No record, no call: rejects as `Chain.append` does, with what a part refuses with, and with
   * `EVIDENCE_CONFLICT` where parts contradict each other or the call.
   */
  intent(call: Call, parts?: readonly Part[]): Promise<Intent>;
  /**
   * Records what came of a call, whatever it returned or noted; of the call it repeats what the intent sealed. Rejects
   * with `OutcomeLostError` (`RECORD_OUTCOME_LOST`) only where the store takes no record at all, and with `RECORD_ENDED`
   * unless this recorder recorded the intent and not yet its outcome. Where somebody marked the intent meanwhile as one
   * whose process ended, the outcome names that mark. A lazy one may wait up to 20 ms to share the commit of others.
   */
  outcome(intent: Intent, outcome: Outcome, options?: { readonly lazy?: boolean }): Promise<Recorded>;
  /** Records that a call was not made. Rejects as `intent` does; it stays denied. */
  denied(call: Call, failure: Failure, parts?: readonly Part[]): Promise<SealedCapsule>;
  /** Records an act. Rejects as `Chain.append` does. */
  act(act: Act): Promise<SealedCapsule>;
}

export interface RecorderOptions {
  /**
   * Keep arguments and results beside the chain, where they can be erased. Default false: only the salts are kept, so
   * that whoever has the values can prove them.
   */
  readonly recordPayloads?: boolean;
}

export function createRecorder(chain: Chain, options: RecorderOptions = {}): Recorder {
  const { recordPayloads = false } = options;
  const ours: Part = { evidence: { instance: chain.instance } };
  /** The intents without an outcome, by their ids. */
  const open = new Map<string, Decided>();

  const decided = (givenCall: Call, givenParts: readonly Part[]): Decided => {
    const [call, parts] = [frozenCopy(givenCall), frozenCopy(givenParts)];
    const { tool, args, rest } = call;
    const redacted = args?.redacted && { args: args.redacted.committed };
    const itself = { tool, args: args?.committed, rest: rest?.committed, redacted };
    return {
      call,
      parts,
      evidence: frozenCopy(evidenceOf([ours, ...parts, { evidence: itself as Evidence }])),
      authority: Object.freeze(parts.flatMap(({ authority = [] }) => authority)),
    };
  };
  const input = ({ call, evidence, authority }: Decided, more: Evidence = {}): CapsuleInput => ({
    ...frameOf(call, 'agent'),
    type: call.type ?? 'tool',
    context: contextOf(call, { ...evidence, ...more }, call.environment),
    ...(call.reasoning && { reasoning: call.reasoning }),
    authority: authorityOf(authority),
  });

  return {
    chain,
    payload: (kind, value, salt) => payloadOf(kind, value, recordPayloads, salt),
    async intent(givenCall, givenParts = []) {
      const id = randomUUID();
      const sealing = decided(givenCall, givenParts);
      const { parts, ...sealed } = sealing;
      const { call } = sealed;
      const effect = inOrder(parts.map((part) => part.onIntent?.(id, sealed)));
      const capsule = await chain.append(
        { ...input(sealing), outcome: { status: 'pending', summary: call.request } },
        { id, openings: openingsOf(call.args, call.rest), ...(effect && { effect }), opens: true },
      );
      open.set(id, sealing);
      return { capsule, call };
    },
    async outcome(intent, { failure, ...given }, { lazy = false } = {}) {
      const { id: parentId, sequence } = intent.capsule;
      const sealing = open.get(parentId);
      if (sealing === undefined)
        throw new BullaError(
          'RECORD_ENDED',
          'The outcome of this intent is recorded already, or another recorder recorded the intent.',
        );
      open.delete(parentId);
      const { call, parts, evidence } = sealing;
      const refused: unknown[] = [];
      try {
        const id = randomUUID();
        const outcome: Outcome = { ...given, failure: frozenCopy(failure ?? null) };
        const result =
          outcome.result === undefined || !isTool(call)
            ? undefined
            : keptAs(payloadOf('result', outcome.result, recordPayloads), outcome.result, outcome.keep);
        const more: Evidence = {
          intent: parentId,
          ...(result?.redacted && {
            redacted: { ...evidence.redacted, result: result.redacted.committed },
          }),
        };
        const effect = tolerant(
          parts.map((part) => part.onOutcome?.(outcome, id)),
          refused,
        );
        const appendOnce = ({ uncommitted, ...sections }: OutcomeContent, late?: string) =>
          chain.append(
            {
              ...input(sealing, { ...uncommitted, ...more, ...(late && { late }) }),
              parent_id: parentId,
              ...sections,
            },
            {
              ...{ id, openings: openingsOf(result), ...(effect && { effect }), lazy },
              ...(late === undefined && { closes: sequence }),
            },
          );
        let mark: string | null = null;
        const append = (content: OutcomeContent) =>
          appendOnce(content).catch((error) => {
            if (!(error instanceof MarkedError)) throw error;
            // What happened is known after all, and says so.
            mark = error.mark;
            return appendOnce(content, error.mark);
          });
        const sealed = await append(outcomeOf(sealing, outcome, result)).catch((error) => {
          // Notes that fit no capsule, such as too deep ones, must not lose what happened.
          if (!isUnsealable(error)) throw error;
          return append(outcomeOf(sealing, outcome, result, false));
        });
        return { capsule: sealed, refused, mark };
      } catch (cause) {
        open.set(parentId, sealing);
        throw new OutcomeLostError(parentId, given.result, cause);
      }
    },
    async denied(givenCall, givenFailure, givenParts = []) {
      const id = randomUUID();
      const failure = frozenCopy(givenFailure);
      const denial = decided(givenCall, givenParts);
      const { call, parts } = denial;
      const effect = inOrder(parts.map((part) => part.onDenied?.(id, failure)));
      return chain.append(
        {
          ...input(denial),
          outcome: { status: 'blocked', summary: call.request, error: failureText(failure) },
        },
        { id, openings: openingsOf(call.args, call.rest), ...(effect && { effect }) },
      );
    },
    async act(given) {
      const act = frozenCopy(given);
      const { id = randomUUID(), authority = [], payloads = [], effect } = act;
      return chain.append(
        {
          ...frameOf(act, act.trigger),
          type: act.type,
          context: contextOf(act, evidenceOf([ours, act])),
          authority: authorityOf(authority),
          execution: { duration_ms: Math.round(act.durationMs ?? 0) },
          outcome: {
            status: act.status,
            summary: act.summary ?? act.request,
            error: act.failure ? failureText(act.failure) : null,
            metrics: act.metrics ?? {},
          },
        },
        { id, openings: openingsOf(...payloads), ...(effect && { effect }) },
      );
    },
  };
}

function isUnsealable(error: unknown): boolean {
  return error instanceof BullaError && error.code === 'CAPSULE_LINT';
}

function frameOf(subject: Subject, trigger: TriggerType): CapsuleInput {
  const { door, source, request, correlationId = null, userId = null, parentId = null } = subject;
  return {
    domain: door,
    parent_id: parentId,
    trigger: { type: trigger, source, request, correlation_id: correlationId, user_id: userId },
  };
}

function contextOf({ agentId, sessionId = null }: Subject, evidence: Evidence, more: DataObject = {}) {
  return {
    agent_id: agentId,
    session_id: sessionId,
    environment: { ...more, ...environmentOf(evidence) },
  };
}

function openingsOf(...payloads: readonly (Payload | undefined)[]) {
  return payloads.flatMap((payload) => [payload?.opening ?? [], payload?.redacted?.opening ?? []].flat());
}

/** Each effect by itself: one that refuses is undone and reported, and stops neither the others nor the record. */
function tolerant(effects: readonly (Effect | null | undefined)[], refused: unknown[]): Effect | null {
  const all = effects.filter((effect) => effect != null);
  if (all.length === 0) return null;
  return async (transaction) => {
    refused.length = 0;
    for (const effect of all) {
      try {
        await transaction.attempt(() => effect(transaction));
      } catch (error) {
        if (!(error instanceof BullaError) || error.code.startsWith('STORE_')) throw error;
        refused.push(error);
      }
    }
  };
}
