import type { CapsuleInput, DataObject } from '@bulla/core/capsule';
import { sha256Hex } from '@bulla/core/crypto';
import type {
  ApprovalHow,
  Envelope,
  ExecProfile,
  Permit,
  Verdict,
  VerifiedApproval,
} from '@bulla/core/envelope';
import { failureOf } from '@bulla/core/error';
import type { Opening } from '../store/index.ts';

// What the chain says of an envelope: ids and digests. Destinations, amounts and the words of a refusal stay outside.

/** What a caller adds to the capsules of one execution. */
export interface About {
  /** The agent for which the caller acts; also a kill switch for it is heeded. Default: the caller. */
  readonly agentId?: string;
  readonly sessionId?: string | null;
  /** The host as it names itself. Default: the caller. */
  readonly source?: string;
  /** Default: the envelope's `intent_id`. */
  readonly correlationId?: string | null;
  /** More members of `context.environment.bulla`: digests and ids, no payloads. */
  readonly bulla?: DataObject;
  /** What opens the commitments in them. */
  readonly openings?: (capsuleId: string) => readonly Opening[];
  /** The exec_hash that the caller expects, such as the one that a person was shown. */
  readonly expected?: string;
  /** Throws a `BullaError` with an `EE_` code unless what is about to be called is what the envelope approves. */
  readonly bind?: (envelope: Envelope) => void;
}

/** What is the same for every envelope that a verifier looks at. */
export interface Frame {
  readonly audience: string;
  readonly profile: ExecProfile;
}

/** An attempt: the envelope if it could be read, and the authorization as it was received. */
export interface Attempt extends Frame {
  readonly envelope: Envelope | null;
  readonly authorization: string | Uint8Array | null;
  readonly about: About;
}

/** The record of what is about to be executed. */
export function intentCapsule(attempt: Attempt, permit: Permit): CapsuleInput {
  return {
    ...frameOf(attempt),
    authority: authorityOf(attempt, permit),
    outcome: { status: 'pending', summary: requestOf(attempt) },
  };
}

/** How an execution ended. */
export interface Ending {
  readonly success: boolean;
  readonly error?: unknown;
  readonly durationMs: number;
}

/** The record of what came of it, behind the one of the intent. */
export function outcomeCapsule(
  intent: CapsuleInput,
  permit: Permit,
  intentId: string,
  { success, error, durationMs }: Ending,
): CapsuleInput {
  const { action_type, target } = permit.envelope;
  const duration_ms = Math.round(durationMs);
  const said = success ? null : `execution: ${failureOf(error)}`;
  const tool = action_type === 'TOOL_CALL' ? target.asset : action_type;
  return {
    ...intent,
    parent_id: intentId,
    execution: { duration_ms, tool_calls: [{ tool, success, duration_ms, error: said }] },
    outcome: { ...intent.outcome, status: success ? 'success' : 'failure', error: said },
  };
}

/** The record of a refusal: at which step, with which code. */
export function blockedCapsule(
  attempt: Attempt,
  { code, steps }: Verdict,
  exec_hash: string | null,
): CapsuleInput {
  const failed = steps.find(({ status }) => status === 'failed')!.name;
  return {
    ...frameOf(attempt),
    authority: {
      type: 'policy',
      policy_reference: `envelope:${attempt.audience}`,
      chain: exec_hash === null ? [] : [envelopeStep(attempt, exec_hash)],
    },
    outcome: { status: 'blocked', summary: requestOf(attempt), error: `${failed}: ${code}` },
  };
}

/** Its hashes stand in the authority. */
function frameOf(attempt: Attempt): CapsuleInput {
  const { envelope, about, audience, profile } = attempt;
  const caller = envelope?.actor.caller ?? '';
  const bound = envelope && {
    intent_id: envelope.intent_id,
    execution_id: envelope.execution_id,
    tenant_id: envelope.tenant_id,
    policy_id: envelope.policy_binding.policy_id,
    policy_version: envelope.policy_binding.policy_version,
  };
  const bulla = { v: 1, ...about.bulla, envelope: { profile, audience, ...bound } };
  return {
    type: 'tool',
    domain: 'envelope',
    trigger: {
      type: 'agent',
      source: about.source ?? caller,
      request: requestOf(attempt),
      correlation_id: about.correlationId ?? envelope?.intent_id ?? null,
    },
    context: {
      agent_id: about.agentId ?? caller,
      session_id: about.sessionId ?? null,
      environment: { bulla },
    },
  };
}

function requestOf({ envelope }: Attempt): string {
  return envelope === null ? 'execute' : `execute ${envelope.action_type}`;
}

/** The strongest approval first: who was asked beyond the usual, who approved, else the rule. */
const AUTHORITY: readonly (readonly [ApprovalHow, 'escalated' | 'human_approved' | 'policy'])[] = [
  ['escalated', 'escalated'],
  ['human', 'human_approved'],
  ['policy', 'policy'],
];

function authorityOf(attempt: Attempt, { exec_hash, envelope, authorization }: Permit) {
  const { approvals } = authorization;
  const has = (how: ApprovalHow) => approvals.some((approval) => approval.how === how);
  const [how, type] = AUTHORITY.find(([each]) => has(each))!;
  const who = namesOf(approvals.filter((approval) => approval.how === how));
  return {
    type,
    approver: type === 'policy' ? null : who,
    policy_reference: type === 'policy' ? `policy:${envelope.policy_binding.policy_hash}` : null,
    escalation_reason: type === 'escalated' ? `The authorization was escalated to ${who}.` : null,
    chain: [...approvals.map(approvalStep), envelopeStep(attempt, exec_hash)],
  };
}

function namesOf(approvals: readonly VerifiedApproval[]): string {
  return [...new Set(approvals.map(({ person }) => person))].join(', ');
}

/** Who approved, by a verified key. The steps are that person's own statement, so they stand inside of theirs. */
function approvalStep({ person, keyId, how, when, chain }: VerifiedApproval): DataObject {
  return { step: 'approval', approver: person, key_id: keyId, how, when, steps: chain };
}

function envelopeStep({ authorization }: Attempt, exec_hash: string): DataObject {
  const digest = authorization === null ? null : `sha256:${sha256Hex(authorization)}`;
  return { step: 'envelope', exec_hash, authorization: digest };
}
