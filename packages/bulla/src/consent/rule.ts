import { isDeepStrictEqual } from 'node:util';
import {
  applyChanges,
  type CallEvent,
  type CallResult,
  type Change,
  type ConsentEvent,
  type ConsentState,
  consentAuthority,
  type Decision,
  decide,
  emptyState,
  type Identity,
  type Prompt,
  type Raise,
  type Refusal,
  type Rules,
  refusedFor,
  resultOf,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { type Evidence, type Failure, isCommitment, type ToolReference } from '@bulla/core/evidence';
import {
  denialPart,
  type Ended,
  frozenCopy,
  isOf,
  keeping,
  openedArguments,
  type Part,
  type Payload,
  type Call as RecordedCall,
  type Statement,
} from '../record/index.ts';
import { assertNotKilled, type Effect, type Store } from '../store/index.ts';
import { failureOf, manifestEvidence } from './acts.ts';
import type { CheckArguments } from './arguments.ts';
import { type Found, findSubject } from './found.ts';
import type { Pair, Sealed } from './rows.ts';
import type { Read, Runner } from './runner.ts';

// A ruling on one call: what it is allowed by becomes true with its intent, on the rows as they are then.

/** An agent wants to call a tool. */
export interface Call {
  /** As it is recorded. Without a server its tool has the name that the manifest gives it. */
  readonly call: RecordedCall & { readonly tool: ToolReference; readonly args: Payload };
  readonly identity: Identity;
  /** What the agent calls the call; it comes back in the result, beside our own id. */
  readonly call_id?: string | null | undefined;
  /** The arguments that `call.args` commits to; others are denied with `CONSENT_OTHER_CALL`. */
  readonly args: unknown;
  /** The digest of the lock that pins the tool; null or not given without a lock. */
  readonly lock?: string | null | undefined;
  readonly raises?: readonly Raise[] | undefined;
  readonly devices?: readonly string[] | null | undefined;
}

/** Exactly this call may be made: `record.intent(call, [pass])` begins it, once. */
export interface Pass {
  readonly pass: Part;
  readonly decision: Decision;
}

/** The call may not be made: `record.denied(call, deny, [part])` says so. */
export interface Deny {
  readonly deny: Failure;
  readonly part: Part;
  /** Null where it was not consent that was refused. */
  readonly decision: Decision | null;
  /** What the agent is told. */
  readonly result: CallResult;
}

/** A person is asked; the promise is kept when it is decided, by whomever. */
export interface Ask {
  readonly ask: Promise<Pass | Deny>;
  readonly prompt: Prompt;
}

export type Ruling = Pass | Deny | Ask;

/** A call as it is ruled on: copied, and without its arguments. */
type Asked = Omit<Call, 'args'>;

export interface RulingOptions {
  /** When it is aborted the question is withdrawn. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The question that was asked about the very same call before, with the same commitment: it is not asked again. A
   * question about another call is refused with `CONSENT_OTHER_CALL`.
   */
  readonly prompt?: string | undefined;
  /**
   * The call was begun, the server asked for input, and it goes on now: the decision counts while the call runs. That each
   * part goes on once is for the caller to make sure of.
   */
  readonly continues?: boolean | undefined;
}

interface RulerContext {
  readonly store: Store;
  readonly runner: Runner;
  readonly rules: Rules;
  readonly checkArguments: CheckArguments;
  readonly holder: string;
  newId(): string;
  now(): Promise<number>;
  wait(id: string, signal: AbortSignal | undefined): Promise<Found & { readonly decision: Decision }>;
}

export function createRuler(context: RulerContext) {
  const { store, runner, rules, checkArguments, holder, newId, now, wait } = context;

  /** What a decision adds to the records of its call. */
  const passing = (
    asked: Asked,
    pair: Pair,
    decision: Decision,
    sealed: Sealed | null,
    { state }: Read,
    begin: (read: Read, at: number, exec_hash: string | null) => readonly Change[],
  ): Pass => {
    const { id } = decision;
    const manifest = state.rows.manifests.get(pair.agent);
    const within = (step: (read: Read, at: number) => readonly Change[]): Effect => {
      return (transaction) => runner.within(transaction, pair, id, asked.call.door, step);
    };
    const about = aboutCall(asked, decision, sealed, state);
    const pass: Part = {
      ...about,
      // No other envelope than the one that carries the call can rest on the decision.
      onIntent: (_, sealing) => async (transaction) => {
        if (!isOf(sealing, asked.call, about) || !isDecided(sealing.evidence, decision)) throw otherCall();
        // Nothing begins beside a kill switch, however late it was thrown.
        await assertNotKilled(transaction, pair.agent);
        await within((read, at) => {
          const changes = begin(read, at, sealing.evidence.envelope?.exec_hash ?? null);
          // The evidence names the manifest that was in force.
          if (read.loaded.declared !== manifest?.rev)
            throw new BullaError(
              'CONSENT_CHANGED',
              'The agent has another manifest, or other bindings, by now.',
            );
          return changes;
        })(transaction);
      },
      // A call for which the server asked for more goes on.
      onOutcome: (outcome) =>
        outcome.status === 'partial'
          ? null
          : within(({ state: now }, at) => accepted(now, finishing(id, outcome, at), rules)),
    };
    return frozenCopy({ pass, decision });
  };

  const denying = (
    asked: Asked,
    pair: Pair | null,
    decision: Decision,
    sealed: Sealed | null,
    state: ConsentState,
  ): Deny =>
    frozenCopy({
      deny: failureOf(decision)!,
      part: denialPart({
        ...aboutCall(asked, decision, sealed, state),
        // What ended after a question is written with its answer.
        ...(sealed === null &&
          pair !== null && {
            onDenied: (): Effect => (transaction) =>
              runner.within(transaction, pair, decision.id, asked.call.door, () => [
                { table: 'decisions', key: decision.id, rev: null, row: decision },
              ]),
          }),
      }),
      decision,
      result: resultOf(decision)!,
    });

  /** The ruling on what was decided about a question. */
  const settled = async (
    asked: Asked,
    { decision, sealed, user, agent }: Found & { readonly decision: Decision },
  ): Promise<Pass | Deny> => {
    const pair = { user, agent };
    const read = await runner.read(pair, decision.id);
    if (failureOf(decision) !== null) return denying(asked, pair, decision, sealed, read.state);
    return passing(asked, pair, decision, sealed, read, ({ state }, at, exec_hash) =>
      accepted(state, starting(decision, at, exec_hash), rules),
    );
  };

  /** Decides the call again on the rows as they are, and begins it if it is still allowed unasked. */
  const beginSilently =
    (event: (at: number) => CallEvent) =>
    ({ state }: Read, at: number, exec_hash: string | null): readonly Change[] => {
      const { changes, decisions, refusal } = decide(state, event(at), rules);
      if (refusal !== null) throw refusing(refusal);
      const [decision] = decisions;
      if (decision?.stage !== 'allowed')
        throw refusing(
          decision?.detail == null
            ? { code: 'CONSENT_NOT_ALLOWED', message: 'The call is no longer allowed without asking.' }
            : refusedFor(decision.detail).refusal!,
        );
      const start = starting(decision, at, exec_hash);
      return [...changes, ...accepted(applyChanges(state, changes), start, rules)];
    };

  return async (
    { args: given, ...rest }: Call,
    { signal, prompt: before, continues = false }: RulingOptions = {},
  ): Promise<Ruling> => {
    const asked: Asked = frozenCopy(rest);
    const { call, identity, lock = null, raises, devices } = asked;
    const args = openedArguments(call.args, given);
    const { server = null, name, declared = null, locked = null } = call.tool;
    const id = newId();
    const { user, agent } = identity;
    const refuse = (deny: Failure, reason: string, evidence: Evidence = {}): Deny =>
      frozenCopy({
        deny,
        part: denialPart({ evidence }),
        decision: null,
        result: { id, call_id: asked.call_id ?? id, status: 'error', reason },
      });
    const invalid = ({ code }: Refusal) => refuse({ stage: 'consent', code }, 'invalid_call');
    try {
      if (agent !== null) await store.assertMayAct(agent);
    } catch (error) {
      if (!(error instanceof BullaError) || error.code !== 'KILLED') throw error;
      return refuse({ stage: 'kill', code: error.code }, 'killed');
    }
    if (!isCommitment(call.args.committed))
      return refuse({ stage: 'arguments', code: call.args.committed.uncommitted }, 'invalid_arguments');
    const committed = call.args.committed;
    // Who is asked for is who is recorded, and the arguments are those that are committed to.
    const isOther =
      (agent !== null && agent !== call.agentId) ||
      (call.userId ?? user) !== user ||
      // Who has no session, as hosts that share a link, is recorded under that of the link.
      (identity.session !== null && (call.sessionId ?? identity.session) !== identity.session) ||
      call.request !== `tools/call ${server === null ? name : `${server}/${name}`}`;
    if (isOther || args === undefined) return invalid(otherCall());
    const event = (at: number): CallEvent => ({
      type: 'call',
      id,
      at,
      identity,
      server,
      tool: name,
      declared,
      locked,
      lock,
      args: committed,
      holder,
      call_id: asked.call_id ?? null,
      ...(raises && { raises }),
      ...(devices !== undefined && { devices }),
    });
    const about = {
      door: call.door,
      source: call.source,
      correlationId: call.correlationId,
      payload: keeping(call.args, args),
    };
    if (user === null || agent === null) {
      const nobody = emptyState(user ?? '', agent ?? '');
      const { decisions, refusal } = decide(nobody, event(await now()), rules);
      return refusal !== null ? invalid(refusal) : denying(asked, null, decisions[0]!, null, nobody);
    }
    const pair = { user, agent };
    if (user.includes('\0') || agent.includes('\0'))
      return refuse({ stage: 'consent', code: 'CONSENT_ID' }, 'invalid_call');
    const asking = (prompt: Prompt): Ask => {
      const ask = wait(prompt.id, signal).then((found) => settled(asked, found));
      // A caller that does not wait must not fail with it.
      ask.catch(() => undefined);
      return Object.freeze({ ask, prompt: frozenCopy(prompt) });
    };
    if (before !== undefined) {
      const found = await findSubject(store.reading, before);
      if (found === null || !isAbout(found, event(0))) return invalid(otherCall());
      const { prompt, decision } = found;
      if (continues && decision?.stage === 'running') {
        const read = await runner.read(pair, decision.id);
        return passing(asked, pair, decision, found.sealed, read, goOn(decision));
      }
      return decision === null ? asking(prompt!) : settled(asked, { ...found, decision });
    }
    for (;;) {
      const read = await runner.read(pair, id);
      const unfit = await checkArguments(read.state, { server, tool: name }, declared, args);
      if (unfit !== null) {
        const evidence = { tool: { name, declared: unfit.declared }, ...manifestEvidence(unfit.manifest) };
        return refuse({ stage: 'arguments', code: 'ARGUMENTS_INVALID' }, 'invalid_arguments', evidence);
      }
      const { decisions, prompt, refusal } = decide(read.state, event(await now()), rules);
      if (refusal !== null) return invalid(refusal);
      if (prompt === null) {
        const [decision] = decisions;
        if (decision!.stage !== 'allowed') return denying(asked, pair, decision!, null, read.state);
        return passing(asked, pair, decision!, null, read, beginSilently(event));
      }
      const question = await runner.run(pair, event, about);
      if (question.refusal !== null) return invalid(question.refusal);
      // Something else was decided meanwhile, so that nobody need be asked.
      if (question.prompt === null) continue;
      return asking(question.prompt);
    }
  };
}

/** The evidence and the authority that a decision gives to a call. */
function aboutCall(
  { call }: Asked,
  decision: Decision,
  sealed: Sealed | null,
  state: ConsentState,
): Statement {
  const { id, sensitivity, declared, lock } = decision;
  const { asked = null, answered = null } = sealed ?? {};
  return {
    evidence: {
      consent: { id, ...(asked !== null && { asked }), ...(answered !== null && { answered }) },
      ...(lock !== null && { lock }),
      ...manifestEvidence(state.rows.manifests.get(state.agent)),
      ...(sensitivity !== null && declared !== null && { tool: { name: call.tool.name, declared } }),
    },
    authority: [consentAuthority(decision)],
  };
}

/** Whether the tool of an intent is the one that was decided about, under its lock. */
function isDecided({ lock, tool }: Evidence, decision: Decision): boolean {
  return (
    (lock ?? null) === decision.lock &&
    (tool?.locked ?? null) === decision.locked &&
    (tool?.declared ?? null) === decision.declared
  );
}

/** A call that was begun goes on only while it runs. */
function goOn({ id }: Decision) {
  return ({ state }: Read, at: number): readonly Change[] => {
    const { stage, started_at, timeout_ms } = state.rows.decisions.get(id) ?? {};
    if (stage !== 'running' || at >= started_at! + timeout_ms!)
      throw new BullaError('CONSENT_SPENT', 'The call that was allowed has ended.');
    return [];
  };
}

/** Whether a question was about this call: of the same caller, the same tool and the same arguments. */
function isAbout({ prompt, decision, user, agent }: Found, event: CallEvent): boolean {
  const subject = prompt ?? decision!;
  const { identity, server, tool, locked, lock, args } = event;
  return (
    subject.kind === 'call' &&
    isDeepStrictEqual(
      [user, agent, subject.device, subject.session],
      [identity.user, identity.agent, identity.device, identity.session],
    ) &&
    isDeepStrictEqual(
      [subject.server, subject.server_tool ?? subject.tool, subject.locked, subject.lock, subject.args],
      [server, tool, locked, lock, args],
    )
  );
}

function otherCall(): BullaError {
  return new BullaError('CONSENT_OTHER_CALL', 'Another call was allowed, or with other arguments.');
}

/** The changes of an event that must be accepted. */
function accepted(state: ConsentState, event: ConsentEvent, rules: Rules): readonly Change[] {
  const { changes, refusal } = decide(state, event, rules);
  if (refusal !== null) throw refusing(refusal);
  return changes;
}

function refusing({ code, message }: Refusal): BullaError {
  return new BullaError(code, message);
}

function starting(decision: Decision, at: number, exec_hash: string | null): ConsentEvent {
  const { id, declared, locked, args } = decision;
  return { type: 'start', at, id, declared: declared!, locked, args: args!, exec_hash };
}

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

function finishing(id: string, { status, failure }: Ended, at: number): ConsentEvent {
  if (status === 'success') return { type: 'finish', at, id, status: 'ok' };
  const reason = failure?.code.toLowerCase() ?? status;
  return { type: 'finish', at, id, status: 'error', reason: REASON.test(reason) ? reason : status };
}
