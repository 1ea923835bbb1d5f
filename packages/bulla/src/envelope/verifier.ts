import { randomUUID } from 'node:crypto';
import { type CapsuleInput, CapsuleLintError, type SealedCapsule } from '@bulla/core/capsule';
import {
  type ApproverKey,
  type CheckInput,
  checkAndConsume,
  checkEnvelope,
  type Envelope,
  type ExecProfile,
  execHash,
  type Limits,
  nonceKey,
  type Permit,
  parseEnvelope,
  reservationsOf,
  type Verdict,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { createLedger, type Store } from '../store/index.ts';
import { type About, type Attempt, blockedCapsule, intentCapsule, outcomeCapsule } from './capsules.ts';
import { unixTime } from './create.ts';
import { type Blocked, type Decision, type Ended, ExecutionNotStarted } from './decision.ts';
import { createPolicySource } from './policies.ts';

export interface VerifierOptions {
  readonly store: Store;
  /** The name of the chain of the store into which every decision is sealed. */
  readonly chain: string;
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

export interface Verifier {
  /** The steps 0 to 6 without the risk engine; consumes and records nothing. */
  check(
    envelope: string | Uint8Array | Envelope,
    authorization: string | Uint8Array | null,
    about?: About,
  ): Promise<Verdict>;
  /**
   * The whole checklist. When it passes, the nonce, the authorization and the reservations are consumed in one
   * transaction with an intent capsule; when that is durable, `execute` is called, once and never again for this
   * envelope, whatever happens then; an outcome capsule follows. What does not pass is sealed as `blocked`. Rejects
   * only for what is no property of the envelope, such as keys that cannot be read; nothing was executed then.
   */
  verifyAndConsume<T>(
    envelope: string | Uint8Array | Envelope,
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
  const { store, audience, keys, now, profile = 'envelope-v1', risk, skew, limits } = options;
  const tenantId = options.tenantId ?? store.tenant;
  if (tenantId === null) throw new BullaError('USAGE', 'Name the tenant whose envelopes are executed here.');
  if (store.tenant !== null && store.tenant !== tenantId)
    throw new BullaError(
      'USAGE',
      `The store is of the tenant ${store.tenant}; envelopes of another are not executed in it.`,
    );
  const chain = store.chain(options.chain);
  const ledger = createLedger(store);
  const policies = createPolicySource(ledger);

  const read = (given: string | Uint8Array | Envelope): Envelope | null => {
    if (typeof given !== 'string' && !(given instanceof Uint8Array)) return given;
    try {
      return parseEnvelope(given, limits);
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      return null;
    }
  };

  /** What the ledger knows of an envelope; that it cannot say when anything of it cannot be read. */
  const look = async (envelope: Envelope) => {
    const own = now?.();
    try {
      const time = own ?? Math.floor((await store.time()) / 1000);
      const replay = await ledger.nonceState(nonceKey(envelope));
      const policy = await policies.current(envelope.policy_binding.policy_id, time);
      return { now: time, replay, policy };
    } catch (cause) {
      return { ...unseen(own), cause };
    }
  };
  const unseen = (time = unixTime()) => ({ now: time, replay: 'failed' as const, policy: null });

  const prepare = async (
    given: string | Uint8Array | Envelope,
    authorization: string | Uint8Array | null,
    about: About,
  ): Promise<{ input: CheckInput; attempt: Attempt; cause: unknown }> => {
    const envelope = read(given);
    const { cause, ...seen } = {
      cause: undefined,
      ...(envelope === null ? unseen(now?.()) : await look(envelope)),
    };
    const input: CheckInput = {
      envelope: envelope ?? given,
      authorization,
      keys: typeof keys === 'function' ? await keys() : keys,
      audience,
      tenantId,
      profile,
      ...(skew !== undefined && { skew }),
      ...(limits !== undefined && { limits }),
      ...(about.expected !== undefined && { expected: about.expected }),
      ...seen,
    };
    return { input, attempt: { envelope, authorization, about, audience, profile }, cause };
  };

  /** The end of step 6. What is left of limits is not asked here: the ledger decides that when it consumes. */
  const assess = async (about: About, permit: Permit) => {
    about.bind?.(permit.envelope);
    const denied = (await risk?.(permit)) ?? null;
    if (denied !== null) throw new BullaError('EE_RISK_DENIED', denied, { path: '' });
  };

  /** Step 7: everything that must be durable before the execution, in one transaction. */
  const consume = async (about: About, permit: Permit, content: CapsuleInput): Promise<SealedCapsule> => {
    const intentId = randomUUID();
    const agentIds = agentIdsOf(about, permit);
    try {
      return await chain.append(content, {
        id: intentId,
        openings: about.openings?.(intentId) ?? [],
        effect: ledger.consume({ permit, intentId, now, agentIds }),
      });
    } catch (error) {
      throw isChainOfApproval(error)
        ? new BullaError('EE_AO_INVALID', 'The chain of an approval cannot stand in a capsule.', {
            path: '/signatures',
            cause: error,
          })
        : error;
    }
  };

  const block = async (attempt: Attempt, verdict: Verdict, cause: unknown): Promise<Blocked> => {
    const exec_hash = verdict.exec_hash ?? hashOf(attempt.envelope, profile);
    const id = randomUUID();
    try {
      const capsule = await chain.append(blockedCapsule(attempt, verdict, exec_hash), {
        id,
        ...(exec_hash !== null && {
          effect: ledger.refuse({ exec_hash, code: verdict.code!, capsule_id: id }),
        }),
      });
      return { status: 'blocked', verdict, capsule, cause };
    } catch (error) {
      return { status: 'blocked', verdict, capsule: null, cause: cause ?? error };
    }
  };

  /** Records how an execution ended, and settles what it held. */
  const end = async (
    content: CapsuleInput,
    { exec_hash }: Permit,
    released: boolean,
  ): Promise<Pick<Ended, 'outcome' | 'cause'>> => {
    const id = randomUUID();
    const effect = ledger.settle(exec_hash, released ? 'released' : 'committed', id);
    try {
      return { outcome: await chain.append(content, { id, effect }), cause: undefined };
    } catch (cause) {
      if (!isSettled(cause)) return { outcome: null, cause };
    }
    // Somebody settled it by hand meanwhile; what happened is still told.
    try {
      return { outcome: await chain.append(content, { id }), cause: undefined };
    } catch (cause) {
      return { outcome: null, cause };
    }
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
    async verifyAndConsume(envelope, authorization, execute, about = {}) {
      const { input, attempt, cause } = await prepare(envelope, authorization, about);
      let failure = cause;
      const noted = async <T>(work: Promise<T>): Promise<T> => {
        try {
          return await work;
        } catch (error) {
          failure = error;
          throw error;
        }
      };
      let begun: { content: CapsuleInput; intent: SealedCapsule } | undefined;
      const verdict = await checkAndConsume(
        input,
        async (permit) => {
          const content = intentCapsule(attempt, permit);
          begun = { content, intent: await noted(consume(about, permit, content)) };
        },
        (permit) => noted(assess(about, permit)),
      );
      const { permit } = verdict;
      if (!verdict.ok || permit === null || begun === undefined) return block(attempt, verdict, failure);
      const { content, intent } = begun;
      const started = performance.now();
      let isStarted = false;
      const attempted = await attemptOnce(async () => {
        // A kill switch that came while the intent was written stands before the execution, and stops it.
        for (const agentId of agentIdsOf(about, permit)) await store.assertMayAct(agentId);
        isStarted = true;
        return execute(permit);
      });
      const durationMs = performance.now() - started;
      const released = !attempted.success && (!isStarted || attempted.error instanceof ExecutionNotStarted);
      const outcome = outcomeCapsule(content, permit, intent.id, { ...attempted, durationMs });
      const common = { verdict, permit, intent, ...(await end(outcome, permit, released)) };
      if (attempted.success) return { status: 'success', result: attempted.result, ...common };
      return { status: 'failure', error: attempted.error, released, ...common };
    },
  };
}

/** For whom a kill switch is heeded. */
function agentIdsOf({ agentId }: About, { envelope }: Permit): string[] {
  const { caller } = envelope.actor;
  return [...new Set([caller, agentId ?? caller])];
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

type Attempted<T> =
  | { readonly success: true; readonly result: T }
  | { readonly success: false; readonly error: unknown };

async function attemptOnce<T>(execute: () => T | Promise<T>): Promise<Attempted<T>> {
  try {
    return { success: true, result: await execute() };
  } catch (error) {
    return { success: false, error };
  }
}

function isChainOfApproval(error: unknown): boolean {
  return (
    error instanceof CapsuleLintError &&
    error.findings.some(({ path }) => path.startsWith('/authority/chain'))
  );
}

function isSettled(error: unknown): boolean {
  return error instanceof BullaError && error.code === 'EE_NOT_RESERVED';
}
