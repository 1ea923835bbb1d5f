import type { DataObject } from '@bulla/core/capsule';
import { sha256Hex } from '@bulla/core/crypto';
import type { Envelope, ExecProfile, Permit, Verdict, VerifiedApproval } from '@bulla/core/envelope';
import type { AuthorityStep, Evidence, Failure } from '@bulla/core/evidence';
import { DEFAULT_MAX_DEPTH } from '@bulla/core/json';
import {
  type Call,
  denialPart,
  type Ended,
  frozenCopy,
  isOf,
  type Part,
  type Statement,
} from '../record/index.ts';
import type { Ledger } from '../store/index.ts';
import { approvedCall, otherCall } from './call.ts';

// What the records of a call say of its envelope: ids and digests. Destinations and amounts stay outside.

/** An envelope as it was presented. */
export interface Presented {
  readonly ledger: Ledger;
  readonly audience: string;
  readonly profile: ExecProfile;
  readonly authorization: string | Uint8Array | null;
}

/**
 * An envelope that passed the steps 0 to 6. Its nonce, authorization and reservations are consumed with the intent of
 * the call that it was ruled on for, and settled with the outcome.
 */
export function permittedPart(
  presented: Presented,
  permit: Permit,
  ruled: Call,
  now: (() => number) | undefined,
): Part {
  const { ledger } = presented;
  const { exec_hash, envelope, authorization } = permit;
  const policy = policyOf(envelope);
  const reference = `policy:${policy.hash}`;
  const { call, evidence: approved } = approvedCall(envelope, ruled);
  const stated: Statement = {
    evidence: { ...evidenceOf(presented, exec_hash, policy), ...approved },
    authority: [
      ...authorization.approvals.map((approval) => approvalStep(approval, reference)),
      { type: 'policy', reference, step: envelopeStep(presented, exec_hash) },
    ],
  };
  const agentIds = [envelope.actor.caller];
  const part: Part = {
    ...stated,
    onIntent(intentId, sealing) {
      const consume = ledger.consume({ permit, intentId, now, agentIds });
      return async (transaction) => {
        if (!isOf(sealing, call, stated)) throw otherCall();
        await consume(transaction);
      };
    },
    onOutcome: (ended, outcomeId) =>
      ledger.settle(exec_hash, isUndone(ended) ? 'released' : 'committed', outcomeId),
    onDenied: (capsuleId, { code }) => ledger.refuse({ exec_hash, code, capsule_id: capsuleId }),
  };
  // As deep as a statement of a signer may be; whether it can stand in a capsule is decided with the intent.
  return frozenCopy(part, 2 * DEFAULT_MAX_DEPTH);
}

/**
 * An envelope that was refused; null where it cannot be read. Nobody approved what was not permitted, and its policy is
 * told only where it was the one in effect.
 */
export function refusedPart(
  presented: Presented,
  envelope: Envelope | null,
  { steps }: Verdict,
  exec_hash: string | null,
): Part {
  const { ledger, audience } = presented;
  const isBound = steps.some(({ name, status }) => name === 'policy' && status === 'passed');
  const step = exec_hash === null ? undefined : envelopeStep(presented, exec_hash);
  return denialPart({
    evidence: evidenceOf(presented, exec_hash, envelope !== null && isBound ? policyOf(envelope) : null),
    authority: [{ type: 'policy', reference: `envelope:${audience}`, ...(step && { step }) }],
    onDenied: (capsuleId, { code }) =>
      exec_hash === null ? null : ledger.refuse({ exec_hash, code, capsule_id: capsuleId }),
  });
}

/** Why an envelope was refused, as its record tells it. The words of a refusal may quote it. */
export function failureOfVerdict({ code }: Verdict): Failure {
  return { stage: code === 'KILLED' ? 'kill' : 'envelope', code: code! };
}

/** The action surely had no effect: it was stopped behind its intent, or says so itself. */
function isUndone({ status, failure }: Ended): boolean {
  return status === 'blocked' || (failure?.stage === 'action' && failure.code === 'EE_NOT_STARTED');
}

function evidenceOf(
  { profile, audience }: Presented,
  exec_hash: string | null,
  policy: ReturnType<typeof policyOf> | null,
): Evidence {
  return {
    envelope: { ...(exec_hash !== null && { exec_hash }), profile, audience, ...(policy && { policy }) },
  };
}

function policyOf({ policy_binding }: Envelope) {
  const { policy_id: id, policy_version: version, policy_hash: hash } = policy_binding;
  return { id, version, hash };
}

/** Who approved, by a verified key. The steps are that person's own statement, so they stand inside of theirs. */
function approvalStep(
  { person, keyId, how, when, chain }: VerifiedApproval,
  reference: string,
): AuthorityStep {
  const step: DataObject = { step: 'approval', approver: person, key_id: keyId, how, when, steps: chain };
  switch (how) {
    case 'human':
      return { type: 'human_approved', approver: person, step };
    case 'escalated': {
      const reason = `The authorization was escalated to ${person}.`;
      return { type: 'escalated', approver: person, reason, step };
    }
    case 'policy':
      return { type: 'policy', reference, step };
  }
}

function envelopeStep({ authorization }: Presented, exec_hash: string): DataObject {
  const digest = authorization === null ? null : `sha256:${sha256Hex(authorization)}`;
  return { step: 'envelope', exec_hash, authorization: digest };
}
