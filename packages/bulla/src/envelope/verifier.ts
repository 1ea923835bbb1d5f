import { CapsuleLintError } from '@bulla/core/capsule';
import {
  type ApproverKey,
  assessEnvelope,
  type CheckInput,
  checkEnvelope,
  consumed,
  type Envelope,
  type ExecProfile,
  execHash,
  type Limits,
  nonceKey,
  notConsumed,
  type Permit,
  parseEnvelope,
  reservationsOf,
  type Verdict,
} from '@bulla/core/envelope';
import { BullaError, isThrown } from '@bulla/core/error';
import { type Failure, failureAt } from '@bulla/core/evidence';
import { stringify } from '@bulla/core/json';
import { frozenCopy, type Ended as Outcome, type Part, type Recorder } from '../record/index.ts';
import { createLedger, type Store } from '../store/index.ts';
import { type About, approvedCall, callOf, otherCall } from './call.ts';
import { unixTime } from './create.ts';
import { type Blocked, type Decision, ExecutionNotStarted } from './decision.ts';
import { policyReader } from './operate.ts';
import { failureOfVerdict, type Presented, permittedPart, refusedPart } from './parts.ts';

export interface VerifierOptions {
  readonly store: Store;
  /** Records every decision, in a chain of the store. */
  readonly record: Recorder;
  /** The name of this ledger; an authorization for another one is refused. */
  readonly audience: string;
  /** The tenant whose envelopes are executed; no other's are. Default: that of the store. Needed where it has none. */
  readonly tenantId?: string;
  /** Whose signatures count; asked anew for each envelope if it is a function. */
  readonly keys: readonly ApproverKey[] | (() => readonly ApproverKey[] | Promise<readonly ApproverKey[]>);
  /**
   * Unix time in seconds. Default: the clock of the store's database, so that a window of time is the same one for
   * every process that takes up a limit, whatever their own clocks say.
   */
  readonly now?: () => number;
  /** By how many seconds clocks may differ. Default 0. */
  readonly skew?: number;
  /** Asked when all else permits it: a sentence to deny, null to let it pass. If it fails, that denies too. */
  readonly risk?: (permit: Permit) => string | null | Promise<string | null>;
  /** The form that is hashed. Default `envelope-v1`. */
  readonly profile?: ExecProfile;
  readonly limits?: Limits;
}

/** The envelope passed the steps 0 to 6. The intent that is recorded with this part consumes it. */
export interface EnvelopePassed {
  readonly pass: Part;
  readonly permit: Permit;
  /** Not yet `ok`: the permit is not consumed. */
  readonly verdict: Verdict;
  /** What it becomes when the intent could not be recorded because of this error: step 7 failed. */
  refused(error: unknown): EnvelopeDenied;
}

/** The envelope was refused. The record of the denial tells why. */
export interface EnvelopeDenied {
  readonly deny: Failure;
  readonly part: Part;
  readonly verdict: Verdict;
  /** What the store failed with, if that is why. */
  readonly cause: unknown;
}

export type EnvelopeRuling = EnvelopePassed | EnvelopeDenied;

/** An envelope, or its text. */
export type GivenEnvelope = string | Uint8Array | Envelope;

export interface Verifier {
  /** The steps 0 to 6 without the risk engine; consumes and records nothing. */
  check(envelope: GivenEnvelope, authorization: string | Uint8Array | null, about?: About): Promise<Verdict>;
  /**
   * The steps 0 to 6 with the risk engine; consumes and records nothing. Step 7 is `record.intent` with the part of a
   * pass, together with the parts of others, for exactly the call that `about` describes. Rejects only for what is no property of the envelope, such as keys that
   * cannot be read.
   */
  rule(
    envelope: GivenEnvelope,
    authorization: string | Uint8Array | null,
    about?: About,
  ): Promise<EnvelopeRuling>;
  /**
   * The whole checklist. When it passes, the nonce, the authorization and the reservations are consumed in one
   * transaction with the intent capsule; when that is durable, `execute` is called, once and never again for this
   * envelope, whatever happens then; an outcome capsule follows. What does not pass is sealed as `blocked`. Rejects
   * only for what is no property of the envelope, such as keys that cannot be read; nothing was executed then.
   */
  verifyAndConsume<T>(
    envelope: GivenEnvelope,
    authorization: string | Uint8Array | null,
    execute: (permit: Permit) => T | Promise<T>,
    about?: About,
  ): Promise<Decision<T>>;
}

/**
 * Throws `USAGE` when neither the options nor the store say whose envelopes are executed, and when they say
 * different things.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { store, record, audience, keys, now, profile = 'envelope-v1', risk, skew, limits } = options;
  const tenantId = options.tenantId ?? store.tenant;
  if (tenantId === null) throw new BullaError('USAGE', 'Name the tenant whose envelopes are executed here.');
  if (store.tenant !== null && store.tenant !== tenantId)
    throw new BullaError(
      'USAGE',
      `The store is of the tenant ${store.tenant}; envelopes of another are not executed in it.`,
    );
  const ledger = createLedger(store);
  const policyOf = policyReader(ledger);
  // What is read before the consumption only tells early what the ledger decides then, on its own reading.
  const readTime = sharedInTurn(async () => Math.floor((await store.time()) / 1000));
  const readPolicy = sharedInTurn((policyId, time) => policyOf(policyId, Number(time)));

  /** An envelope is copied before anything is checked: its owner could change it afterwards. */
  const read = (given: GivenEnvelope): { text: string | Uint8Array; envelope: Envelope | null } => {
    let text: string | Uint8Array = '';
    try {
      text = typeof given === 'string' || given instanceof Uint8Array ? frozenCopy(given) : stringify(given);
      return { text, envelope: parseEnvelope(text, limits) };
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      return { text, envelope: null };
    }
  };

  /** What the ledger knows of an envelope; that it cannot say when anything of it cannot be read. */
  const look = async (envelope: Envelope) => {
    const own = now?.();
    try {
      const time = own ?? (await readTime());
      const replay = await ledger.nonceState(nonceKey(envelope));
      const policy = await readPolicy(envelope.policy_binding.policy_id, `${time}`);
      return { now: time, replay, policy };
    } catch (cause) {
      return { ...unseen(own), cause };
    }
  };
  const unseen = (time = unixTime()) => ({ now: time, replay: 'failed' as const, policy: null });

  const prepare = async (
    given: GivenEnvelope,
    givenAuthorization: string | Uint8Array | null,
    { expected }: About,
  ): Promise<{ input: CheckInput; envelope: Envelope | null; cause: unknown }> => {
    const { text, envelope } = read(given);
    const authorization = frozenCopy(givenAuthorization);
    const { cause, ...seen } = {
      cause: undefined,
      ...(envelope === null ? unseen(now?.()) : await look(envelope)),
    };
    const input: CheckInput = {
      envelope: envelope ?? text,
      authorization,
      keys: typeof keys === 'function' ? await keys() : keys,
      audience,
      tenantId,
      profile,
      ...(skew !== undefined && { skew }),
      ...(limits !== undefined && { limits }),
      ...(expected !== undefined && { expected }),
      ...seen,
    };
    return { input, envelope, cause };
  };

  /** The end of step 6. What is left of limits is not asked here: the ledger decides that when it consumes. */
  const assess = async (about: About, permit: Permit) => {
    approvedCall(permit.envelope, callOf(permit.envelope, about));
    about.bind?.(permit.envelope);
    const denied = (await risk?.(permit)) ?? null;
    if (denied !== null) throw new BullaError('EE_RISK_DENIED', denied, { path: '' });
  };

  const denied = (
    presented: Presented,
    envelope: Envelope | null,
    verdict: Verdict,
    cause: unknown,
  ): EnvelopeDenied => {
    const exec_hash = verdict.exec_hash ?? hashOf(envelope, profile);
    const part = refusedPart(presented, envelope, verdict, exec_hash);
    const deny = failureOfVerdict(verdict);
    return Object.freeze({ ...frozenCopy({ deny, part }), verdict: frozenVerdict(verdict), cause });
  };

  const rule = async (
    given: GivenEnvelope,
    givenAuthorization: string | Uint8Array | null,
    givenAbout: About = {},
  ): Promise<EnvelopeRuling & { envelope: Envelope | null }> => {
    const about = frozenCopy(givenAbout);
    const { input, envelope, cause } = await prepare(given, givenAuthorization, about);
    const { authorization } = input;
    const presented: Presented = { ledger, audience, profile, authorization };
    let failure = cause;
    const assessed = await assessEnvelope(input, async (permit) => {
      try {
        await assess(about, permit);
      } catch (error) {
        failure = error;
        throw error;
      }
    });
    const verdict = frozenVerdict(assessed);
    const { permit } = verdict;
    if (permit === null) return Object.freeze({ ...denied(presented, envelope, verdict, failure), envelope });
    const pass = permittedPart(presented, permit, callOf(permit.envelope, about), now);
    const refused = (error: unknown) =>
      denied(presented, envelope, notConsumed(verdict, asOurs(error)), error);
    return Object.freeze({ pass, permit, verdict, refused, envelope });
  };

  return {
    async check(envelope, authorization, about = {}) {
      const { input } = await prepare(envelope, authorization, about);
      const verdict = checkEnvelope(input);
      if (verdict.permit === null) return verdict;
      const { policy, envelope: read } = verdict.permit;
      const usage = await ledger.usage(reservationsOf(policy, read, input.now)).catch(() => null);
      return checkEnvelope(usage === null ? { ...input, replay: 'failed' } : { ...input, usage });
    },
    rule,
    async verifyAndConsume(given, authorization, execute, givenAbout = {}) {
      const about = frozenCopy(givenAbout);
      const { parts = [] } = about;
      const ruling = await rule(given, authorization, about);
      const call = callOf(ruling.envelope, about);
      const block = async ({ deny, part, verdict, cause }: EnvelopeDenied): Promise<Blocked> => {
        try {
          const capsule = await record.denied(call, deny, [...parts, part]);
          return { status: 'blocked', verdict, capsule, cause };
        } catch (error) {
          return { status: 'blocked', verdict, capsule: null, cause: cause ?? error };
        }
      };
      if ('deny' in ruling) return block(ruling);
      const { permit } = ruling;
      const begun = await attempted(() => record.intent(call, [...parts, ruling.pass]));
      if (!begun.success) return block(ruling.refused(begun.error));
      const intent = begun.result;
      const verdict = consumed(ruling.verdict);
      const started = performance.now();
      let isStarted = false;
      const tried = await attempted(async () => {
        // A kill switch that came while the intent was written stands before the execution, and stops it.
        await store.assertMayAct(call.agentId);
        isStarted = true;
        return execute(permit);
      });
      const outcome = {
        ...endOf(tried, isStarted, performance.now() - started),
        ...(tried.success && tried.result !== undefined && { result: tried.result }),
      };
      const ended = await attempted(() => record.outcome(intent, outcome));
      const common = {
        verdict,
        permit,
        intent: intent.capsule,
        outcome: ended.success ? ended.result.capsule : null,
        cause: ended.success ? undefined : ended.error,
      };
      if (tried.success) return { status: 'success', result: tried.result, ...common };
      const released = !isStarted || isThrown(tried.error, ExecutionNotStarted);
      return { status: 'failure', error: tried.error, released, ...common };
    },
  };
}

/** What stops an execution before it starts is the kill switch, or a store that cannot say whether one stands. */
function endOf(tried: Attempted<unknown>, isStarted: boolean, durationMs: number): Outcome {
  if (tried.success) return { status: 'success', durationMs };
  if (!isStarted) return { status: 'blocked', failure: failureAt('kill', tried.error), durationMs };
  return { status: 'failure', failure: failureAt('action', tried.error), durationMs };
}

/** A permit is frozen where it is made. */
function frozenVerdict({ permit, ...rest }: Verdict): Verdict {
  return Object.freeze({ ...frozenCopy(rest), permit });
}

/** The hash of an envelope that was refused before it was hashed. */
function hashOf(envelope: Envelope | null, profile: ExecProfile): string | null {
  try {
    return envelope && execHash(envelope, profile);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return null;
  }
}

/** Equal questions in one turn of the event loop share one answer. */
function sharedInTurn<T>(read: (...asked: string[]) => Promise<T>): (...asked: string[]) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (...asked) => {
    if (answers.size === 0) setImmediate(() => answers.clear());
    const key = JSON.stringify(asked);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = read(...asked);
    answers.set(key, answer);
    return answer;
  };
}

type Attempted<T> =
  | { readonly success: true; readonly result: T }
  | { readonly success: false; readonly error: unknown };

async function attempted<T>(work: () => T | Promise<T>): Promise<Attempted<T>> {
  try {
    return { success: true, result: await work() };
  } catch (error) {
    return { success: false, error };
  }
}

/** The steps of an approval are a signer's own words, and the one thing of an intent that may not be sealable. */
function asOurs(error: unknown): unknown {
  if (error instanceof BullaError && error.code === 'EVIDENCE_CONFLICT') return otherCall();
  if (!(error instanceof CapsuleLintError)) return error;
  if (!error.findings.some(({ path }) => path.startsWith('/authority/chain'))) return error;
  return new BullaError('EE_AO_INVALID', 'The chain of an approval cannot stand in a capsule.', {
    path: '/signatures',
    cause: error,
  });
}
