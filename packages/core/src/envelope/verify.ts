import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import type { Limits } from '../json/index.ts';
import { type ApproverKey, openAuthorization, type VerifiedAuthorization } from './authorization.ts';
import { evaluateConstraints } from './constraints.ts';
import { type Envelope, type Problem, parseEnvelope } from './envelope.ts';
import { type ExecProfile, execHash } from './hash.ts';
import { type NonceKey, nonceKey, nonceReplayed, nonceStoreFailed } from './nonce.ts';
import { type Policy, parsePolicy } from './policy.ts';

// The verification algorithm of the specification, steps 0 to 7. Two things are done at another place than it says,
// with the same result: the nonce is read at step 2 and consumed at step 7, so that a request that is refused burns
// no nonce, and EE_NOT_YET_VALID comes from the verified authorization, because nothing hashed says when an envelope
// begins to hold. Between the reading and the consuming another may take the nonce; then step 7 tells of the replay.

/** What a ledger knows of a nonce: never used, used, or that it cannot say. */
export type Replay = 'fresh' | 'seen' | 'failed';

export interface CheckInput {
  /** The text, or an envelope that was parsed from it. */
  readonly envelope: string | Uint8Array | Envelope;
  /** The authorization as it was received; null if there is none. */
  readonly authorization: string | Uint8Array | null;
  /** The keys whose signatures count, and who holds them. */
  readonly keys: readonly ApproverKey[];
  /** The name of the ledger that will consume the nonce. */
  readonly audience: string;
  /** The tenant whose envelopes that ledger executes; no other's are. */
  readonly tenantId: string;
  /** Unix time in seconds. */
  readonly now: number;
  /** By how many seconds clocks may differ. Default 0. */
  readonly skew?: number;
  /** What the ledger says of the nonce, or how to ask it; a question that throws counts as `failed`. */
  readonly replay: Replay | ((nonce: NonceKey) => Replay);
  /** The text of the policy as it is now, or what `parsePolicy` made of it; null if there is none. */
  readonly policy: string | Uint8Array | Policy | null;
  /** As in `Circumstances`. */
  readonly usage?: ReadonlyMap<string, bigint>;
  /**
   * What a risk engine or a rule of one's own, which the caller asked, said of this envelope: a sentence if it
   * denies, null if it does not. A rule engine that is added later answers here.
   */
  readonly risk?: string | null;
  /** The exec_hash that the caller expects, such as the one that a person was shown. */
  readonly expected?: string;
  /** Default `envelope-v1`. */
  readonly profile?: ExecProfile;
  readonly limits?: Limits;
}

export const STEPS = [
  'schema',
  'time',
  'replay',
  'exec_hash',
  'authorization',
  'policy',
  'constraints',
  'permit',
] as const;
export type StepName = (typeof STEPS)[number];

/** How one step went. */
export interface Step {
  /** From 0 to 7. */
  readonly step: number;
  readonly name: StepName;
  readonly status: 'passed' | 'failed' | 'not reached';
  /** Of a step that failed: what is wrong, and where in what the step reads (the authorization in step 4 but for the tenant, else the envelope). */
  readonly problem: Problem | null;
}

declare const proof: unique symbol;

/**
 * What passed the steps 0 to 6 and may be consumed, once. It permits nothing by itself: a caller executes only after
 * the ledger consumed it.
 */
export interface Permit {
  readonly envelope: Envelope;
  readonly exec_hash: string;
  readonly nonce: NonceKey;
  readonly authorization: VerifiedAuthorization;
  /** The policy that it was held against. What it takes up of limits depends on when it is consumed: `reservationsOf`. */
  readonly policy: Policy;
  /** The last second at which it may be consumed: neither the ttl, the authorization nor a key of it is over. */
  readonly until: number;
  readonly [proof]: true;
}

/** The result of the checklist. */
export interface Verdict {
  /** Whether the action may be executed now: every step passed, and the ledger consumed the permit. */
  readonly ok: boolean;
  readonly steps: readonly Step[];
  /** Of the step that failed. */
  readonly code: Code | null;
  readonly path: string | null;
  readonly message: string | null;
  /** As soon as step 3 has computed it. */
  readonly exec_hash: string | null;
  /** All violations that step 6 found; the first is the step's problem. */
  readonly violations: readonly Problem[];
  /** When the steps 0 to 6 passed: what is to be consumed, or was; null again when the ledger refused it. */
  readonly permit: Permit | null;
}

/** What the steps so far have established. */
interface Progress {
  envelope?: Envelope;
  exec_hash?: string;
  authorization?: VerifiedAuthorization;
  policy?: Policy;
  violations?: readonly Problem[];
}

type Run = (input: CheckInput, so: Progress) => void;

/** Unix seconds as people read them; beyond what a date can hold, the seconds themselves. */
export function moment(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString().replace('.000Z', 'Z');
}

/** The steps 0 to 6 in the order of `STEPS`. Each throws a `BullaError` when it fails. */
const CHECKLIST: readonly Run[] = [
  (input, so) => {
    const { envelope } = input;
    const isText = typeof envelope === 'string' || envelope instanceof Uint8Array;
    so.envelope = isText ? parseEnvelope(envelope, input.limits) : envelope;
  },

  ({ now, skew = 0 }, so) => {
    const { ttl } = so.envelope!.constraints;
    if (!isSeconds(now) || !isSeconds(skew))
      throw new BullaError('EE_CLOCK', 'The time is not known in whole seconds, so nothing is in time.');
    if (now > ttl + skew)
      throw new BullaError(
        'EE_TTL_EXPIRED',
        `The envelope was valid until ${moment(ttl)}, and now it is ${moment(now)}.`,
        {
          path: '/constraints/ttl',
        },
      );
  },

  ({ replay }, so) => {
    const nonce = nonceKey(so.envelope!);
    const known = typeof replay === 'function' ? ask(() => replay(nonce)) : replay;
    if (known === 'seen') throw nonceReplayed(nonce);
    if (known !== 'fresh') throw nonceStoreFailed();
  },

  ({ profile, expected }, so) => {
    so.exec_hash = execHash(so.envelope!, profile);
    if (expected !== undefined && expected !== so.exec_hash)
      throw new BullaError('EE_HASH_MISMATCH', 'The envelope is not the one that was expected.', {
        path: '',
      });
  },

  (input, so) => {
    const { authorization, keys, limits, tenantId } = input;
    if (so.envelope!.tenant_id !== tenantId)
      throw new BullaError('EE_TENANT_MISMATCH', 'This ledger executes no envelopes of this tenant.', {
        path: '/tenant_id',
      });
    if (authorization === null)
      throw new BullaError('EE_AO_INVALID', 'There is no authorization.', { path: '' });
    const opened = openAuthorization(authorization, { keys, now: input.now, ...(limits && { limits }) });
    checkClaims(opened, input, so.envelope!, so.exec_hash!);
    so.authorization = opened;
  },

  ({ policy, now }, so) => {
    so.policy = currentPolicy(policy);
    checkBinding(so.policy, so.envelope!, now);
  },

  ({ now, usage, risk }, so) => {
    const { people } = so.authorization!;
    const circumstances = { now, people: people.length, ...(usage && { usage }) };
    const { violations } = evaluateConstraints(so.policy!, so.envelope!, circumstances);
    so.violations = violations;
    const [first] = violations;
    if (first !== undefined)
      throw new BullaError(first.code, first.message, { ...(first.path !== null && { path: first.path }) });
    if (risk !== undefined && risk !== null) throw new BullaError('EE_RISK_DENIED', risk, { path: '' });
  },
];

function isSeconds(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function ask(question: () => Replay): Replay {
  try {
    return question();
  } catch (cause) {
    throw nonceStoreFailed(cause);
  }
}

/**
 * Step 4 behind the signatures: no approval is left unverified; then, in the order of the specification, subject,
 * tenant, audience, time, exec_hash.
 */
function checkClaims(
  { claims, unknown }: VerifiedAuthorization,
  { audience, now, skew = 0 }: CheckInput,
  envelope: Envelope,
  hash: string,
): void {
  const refuse = (code: Code, claim: string, message: string) => {
    throw new BullaError(code, message, { path: `/payload/${claim}` });
  };
  if (unknown.length > 0)
    throw new BullaError('EE_AO_SIGNER_UNKNOWN', 'A key that is not known here signed too.', {
      path: '/signatures',
    });
  if (claims.sub !== envelope.actor.caller)
    refuse('EE_AO_SUBJECT_MISMATCH', 'sub', 'The authorization is for another caller.');
  if (claims.tenant_id !== envelope.tenant_id)
    refuse('EE_AO_TENANT_MISMATCH', 'tenant_id', 'The authorization is for another tenant.');
  if (claims.aud !== audience)
    refuse('EE_AO_AUDIENCE_MISMATCH', 'aud', 'The authorization is for another ledger.');
  if (now >= claims.exp + skew)
    refuse(
      'EE_AO_EXPIRED',
      'exp',
      `The authorization expired at ${moment(claims.exp)}, and now it is ${moment(now)}.`,
    );
  if (now < claims.nbf - skew)
    refuse(
      'EE_NOT_YET_VALID',
      'nbf',
      `The authorization holds from ${moment(claims.nbf)} on, and now it is ${moment(now)}.`,
    );
  if (claims.exec_hash !== hash)
    refuse('EE_HASH_MISMATCH', 'exec_hash', 'The authorization is for another envelope.');
}

function currentPolicy(policy: CheckInput['policy']): Policy {
  const path = '/policy_binding/policy_hash';
  if (policy === null) throw new BullaError('EE_POLICY_DRIFT', 'There is no such policy now.', { path });
  if (typeof policy !== 'string' && !(policy instanceof Uint8Array)) return policy;
  try {
    return parsePolicy(policy);
  } catch (cause) {
    const { message, path: where } = problemOf(cause);
    const sentence = `The hash of the current policy cannot be derived: ${message}`;
    const place = where === null ? '' : ` It stands at ${JSON.stringify(where)}.`;
    throw new BullaError('EE_POLICY_HASH_DERIVATION_FAILED', sentence + place, { path, cause });
  }
}

function checkBinding(policy: Policy, { policy_binding: bound }: Envelope, now: number): void {
  const drift = (field: string, message: string) => {
    throw new BullaError('EE_POLICY_DRIFT', message, { path: `/policy_binding/${field}` });
  };
  if (bound.policy_id !== policy.policy_id)
    drift('policy_id', 'The envelope is bound to a policy of another id.');
  if (bound.policy_version !== policy.policy_version)
    drift('policy_version', `The policy now has the version ${policy.policy_version}.`);
  if (bound.policy_hash !== policy.policy_hash)
    drift('policy_hash', 'The policy is no longer the one that was bound.');
  if (policy.policy_effective_at > now)
    drift('policy_version', `The policy is in effect only from ${policy.policy_effective_at} on.`);
}

/**
 * Runs the steps 0 to 6 over what is passed in, and stops at the first that fails. When all pass, `permit` is what
 * the ledger must consume, step 7 is not reached yet, and `ok` is still false. Never throws for anything in the
 * envelope, the authorization or the policy.
 */
export function checkEnvelope(input: CheckInput): Verdict {
  const so: Progress = {};
  let failed = -1;
  let problem: Problem | null = null;
  for (const [i, run] of CHECKLIST.entries()) {
    try {
      run(input, so);
    } catch (error) {
      problem = problemOf(error);
      failed = i;
      break;
    }
  }
  const reached = failed < 0 ? CHECKLIST.length : failed;
  const steps = STEPS.map((name, step): Step => {
    const status = step < reached ? 'passed' : step === failed ? 'failed' : 'not reached';
    return { step, name, status, problem: step === failed ? problem : null };
  });
  return {
    ok: false,
    steps,
    code: problem?.code ?? null,
    path: problem?.path ?? null,
    message: problem?.message ?? null,
    exec_hash: so.exec_hash ?? null,
    violations: so.violations ?? [],
    permit: problem === null ? permitOf(so as Required<Progress>, input.skew ?? 0) : null,
  };
}

/** What a refusal says; anything but a `BullaError` is thrown on. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof BullaError)) throw error;
  return { code: error.code, path: error.path ?? null, message: error.message };
}

function permitOf(so: Required<Progress>, skew: number): Permit {
  const { envelope, exec_hash, authorization, policy } = so;
  // An envelope still holds in the second of its ttl, an authorization no longer in that of its exp.
  const times = Math.min(envelope.constraints.ttl, authorization.claims.exp - 1) + skew;
  const until = Math.min(times, authorization.until ?? times);
  const permit = { envelope, exec_hash, nonce: nonceKey(envelope), authorization, policy, until };
  return Object.freeze(permit) as Permit;
}
