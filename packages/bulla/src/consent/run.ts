import type { SealedCapsule } from '@bulla/core/capsule';
import type { CallResult, Decision, Identity, Raise } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { type Failure, failureAt, uncommittedFor } from '@bulla/core/evidence';
import {
  type Door,
  exactCopy,
  frozenCopy,
  type Intent,
  type Notes,
  type Part,
  type Payload,
  plainCopy,
  type Call as RecordedCall,
  type Recorder,
} from '../record/index.ts';
import type { Store } from '../store/index.ts';
import type { Call, Deny, Pass, Ruling, RulingOptions } from './rule.ts';

// A whole call of a program that makes its own calls: ruled on, recorded, done, recorded.

/** A call that a program wants to make. */
export interface LibraryCall<A = unknown> {
  readonly identity: Identity;
  /** The name of the tool: on its server, or without one in the manifest. */
  readonly tool: string;
  readonly server?: string | undefined;
  readonly args: A;
  /** What the agent calls the call; it comes back in the result, beside our own id. */
  readonly call_id?: string | null | undefined;
  /** The digest of the definition that would run, as `declaredDigest` gives it; it must be the declared one. */
  readonly declared?: string | undefined;
  /** The digests of the tool as the lock pins it, and of that lock. */
  readonly locked?: string | undefined;
  readonly lock?: string | undefined;
  readonly raises?: readonly Raise[] | undefined;
  readonly devices?: readonly string[] | null | undefined;
  /** Default `agents`. */
  readonly door?: Door | undefined;
  /** The host as it names itself. Default: the agent. */
  readonly source?: string | undefined;
  readonly correlationId?: string | null | undefined;
  readonly reasoning?: RecordedCall['reasoning'];
}

/**
 * Does what was allowed, with the arguments that were checked, shown and committed to: a frozen copy, in which numbers
 * that no double holds are `JsonNumber`s. `note` adds to the record of its outcome.
 */
export type Action<T, A = unknown> = (args: A, note: (notes: Notes) => void) => Promise<T> | T;

/** What came of a call. */
export type Outcome<T> =
  | {
      readonly id: string;
      readonly call_id: string;
      readonly status: 'ok';
      readonly result: T;
      readonly decision: Decision;
      readonly intent: SealedCapsule;
      readonly outcome: SealedCapsule;
    }
  | (Exclude<CallResult, { status: 'ok' }> & {
      readonly decision: Decision | null;
      /** The record that it was not done. */
      readonly capsule: SealedCapsule;
    });

interface RunContext {
  readonly store: Store;
  readonly record: Recorder;
  rule(call: Call, options?: RulingOptions): Promise<Ruling>;
}

/** So often a call is ruled on anew when what it rested on changed before its intent was durable. */
const ATTEMPTS = 3;

export async function runCall<T, A>(
  { store, record, rule }: RunContext,
  { args: given, ...rest }: LibraryCall<A>,
  action: Action<T, A>,
  options: RulingOptions = {},
): Promise<Outcome<T>> {
  const { args, payload } = readArguments(given, record);
  const wanted = callOf(frozenCopy(rest), args, payload);
  for (let attempt = 1; ; attempt++) {
    const first = await rule(wanted, options);
    const ruling = 'ask' in first ? await first.ask : first;
    if ('deny' in ruling) return denied(record, wanted.call, ruling);
    let intent: Intent;
    try {
      intent = await record.intent(wanted.call, [ruling.pass]);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === null) throw error;
      if (refusal.stage === 'consent' && attempt < ATTEMPTS) continue;
      return denied(record, wanted.call, refused(ruling, refusal));
    }
    return made(store, record, intent, ruling, (note) => action(args as A, note));
  }
}

/** Arguments are read once; those that JSON cannot carry are denied. */
function readArguments(given: unknown, record: Recorder): { args: unknown; payload: Payload } {
  try {
    const args = plainCopy(exactCopy(given));
    return { args, payload: record.payload('args', args) };
  } catch (error) {
    return { args: null, payload: { kind: 'args', committed: uncommittedFor(error), opening: null } };
  }
}

function callOf(given: Omit<LibraryCall, 'args'>, args: unknown, payload: Payload): Call {
  const { identity, tool, server, declared, locked, lock, raises, devices } = given;
  const name = server === undefined ? tool : `${server}/${tool}`;
  return {
    call: {
      door: given.door ?? 'agents',
      agentId: identity.agent ?? '',
      sessionId: identity.session,
      source: given.source ?? identity.agent ?? '',
      request: `tools/call ${name}`,
      correlationId: given.correlationId ?? null,
      tool: {
        ...(server !== undefined && { server }),
        name: tool,
        ...(locked !== undefined && { locked }),
        ...(declared !== undefined && { declared }),
      },
      args: payload,
      reasoning: given.reasoning,
    },
    identity,
    call_id: given.call_id,
    args,
    lock: lock ?? null,
    raises,
    devices,
  };
}

/** Does what is allowed, and records what came of it. */
async function made<T>(
  store: Store,
  record: Recorder,
  intent: Intent,
  { decision }: Pass,
  action: (note: (notes: Notes) => void) => Promise<T> | T,
): Promise<Outcome<T>> {
  const named = namesOf(decision);
  try {
    // A kill switch that came while the intent was written stands before the call, and stops it.
    await store.assertMayAct(intent.call.agentId);
  } catch (error) {
    const failure = failureAt('kill', error);
    const { capsule } = await record.outcome(intent, { status: 'blocked', failure, durationMs: 0 });
    return { ...named, status: 'error', reason: 'killed', decision, capsule };
  }
  let notes: Notes = {};
  const started = performance.now();
  const durationMs = () => performance.now() - started;
  let result: T;
  try {
    result = await action((more) => {
      notes = { ...notes, ...more };
    });
  } catch (error) {
    const failure = failureAt('action', error);
    await record.outcome(intent, { ...notes, status: 'failure', failure, durationMs: durationMs() });
    throw error;
  }
  const { capsule: outcome } = await record.outcome(intent, {
    ...notes,
    status: 'success',
    result,
    durationMs: durationMs(),
  });
  return { ...named, status: 'ok', result, decision, intent: intent.capsule, outcome };
}

async function denied<T>(record: Recorder, call: RecordedCall, ruling: Deny): Promise<Outcome<T>> {
  const { deny, part, decision, result } = ruling;
  // An agent could say anything in the name of a tool that it does not declare.
  const unknown = decision !== null && decision.sensitivity === null;
  const { tool: _, ...unnamed } = call;
  const capsule = await record.denied(unknown ? { ...unnamed, request: 'tools/call' } : call, deny, [part]);
  return { ...(result as Exclude<CallResult, { status: 'ok' }>), decision, capsule };
}

/** What refused the intent: a kill switch, or what changed since the ruling. */
function refusalOf(error: unknown): Failure | null {
  if (!(error instanceof BullaError)) return null;
  if (error.code === 'KILLED') return failureAt('kill', error);
  return error.code.startsWith('CONSENT_') ? failureAt('consent', error) : null;
}

/** The denial of a call that was allowed, and is so no longer. */
function refused({ pass, decision }: Pass, deny: Failure): Deny {
  const part: Part = { ...(pass.evidence && { evidence: pass.evidence }) };
  const reason = deny.code.toLowerCase();
  return { deny, part, decision, result: { ...namesOf(decision), status: 'error', reason } };
}

function namesOf({ id, call_id }: Decision) {
  return { id, call_id: call_id ?? id };
}
