import { type Commitment, opens } from '../canon/index.ts';
import { type Authority, type AuthorityType, isoTimestamp } from '../capsule/index.ts';
import {
  type ApprovalFields,
  type ApprovalHow,
  type ArgumentMapping,
  type Authorization,
  bindArguments,
  bindToolCall,
  type Envelope,
  type ExecProfile,
  execHash,
} from '../envelope/index.ts';
import { BullaError } from '../error.ts';
import type { JsonValue } from '../json/index.ts';
import { provesPerson } from './channel.ts';
import type { Decision } from './rows.ts';

/** The step that consent adds to `authority.chain`. */
export interface ConsentLink {
  readonly step: 'consent';
  /** How it was allowed, or why it was not. */
  readonly decision: string;
  /** The channel of the answer; `window` or `grant` where a standing answer decided, `none` where nobody was asked. */
  readonly channel: string;
  /** The digest of what a person saw; null where nobody saw anything. */
  readonly shown: string | null;
  readonly at: string;
}

export interface ConsentAuthority extends Authority {
  readonly chain: readonly (ConsentLink & { readonly [key: string]: string | null })[];
}

/**
 * The `authority` of the capsule of a call. `human_approved` needs a person who was authenticated outside the host,
 * `escalated` one who was asked in the user's place; any other answer is only reported, and a standing answer is the
 * grant's. A call that was not allowed has no approver.
 */
export function authorityOf(decision: Omit<Decision, 'commitment'>): ConsentAuthority {
  const { answer, grant, by, reason, shown, rests_on, decided_at } = decision;
  const silent = rests_on !== null ? 'window' : by !== null ? 'grant' : 'none';
  const at = isoTimestamp(new Date(answer?.at ?? decided_at));
  const link = {
    step: 'consent' as const,
    decision: by ?? reason ?? 'granted',
    channel: answer?.channel ?? silent,
    shown,
    at,
  };
  const policy = (policy_reference: string) => ({
    type: 'policy' as const,
    approver: null,
    policy_reference,
    chain: [link],
    escalation_reason: null,
  });
  if (by === null && !(decision.kind === 'grant' && decision.stage === 'ok'))
    return policy(`consent:${reason}`);
  if (answer === null) return policy(grant!);
  if (!provesPerson(answer.channel)) return policy(`consent:${answer.channel}-reported`);
  return {
    type: answer.escalation === null ? 'human_approved' : 'escalated',
    approver: answer.who,
    policy_reference: null,
    chain: [link],
    escalation_reason: answer.escalation,
  };
}

/** What opens the commitment to the arguments, and what ties the envelope to the call: the lock, or a mapping. */
export type EnvelopeBinding = { readonly args: JsonValue; readonly salt: Uint8Array } & (
  | { readonly lock: string }
  | { readonly mapping: ArgumentMapping }
);

/** A decision about a call of a tool that a lock pins. */
export type PinnedDecision = Omit<Decision, 'commitment'> & {
  readonly server: string | null;
  /** The digest of the tool as the lock pins it. */
  readonly locked: string | null;
  readonly commitment: Commitment | null;
};

export interface MintOptions {
  /** Who issues it: us. */
  readonly iss: string;
  /** The ledger that will consume the nonce. */
  readonly aud: string;
  readonly jti: string;
  readonly binding: EnvelopeBinding;
  /** Default `envelope-v1`. */
  readonly profile?: ExecProfile;
}

/** What is signed: the claims, and what the key that signs states of the approval. */
export interface Minted {
  readonly claims: Authorization;
  readonly approval: ApprovalFields;
}

/**
 * The authorization that a decision mints, to be signed with `authorize`: the call was approved once, and nobody is
 * asked again. Its approver is whoever holds the key that signs; which person answered is that signer's statement. The decision must have been started for exactly this envelope (`exec_hash` of the
 * event `start`), so that no second envelope can rest on it, and it holds no longer than the decision. Throws
 * `CONSENT_MINT` for any other decision or envelope, and `EE_TOOL_CALL` or `EE_ARGS_…` with the path when the
 * envelope is of another call.
 */
export function mintAuthorization(
  decision: PinnedDecision,
  envelope: Envelope,
  { iss, aud, jti, binding, profile = 'envelope-v1' }: MintOptions,
): Minted {
  const { by, stage, tool, server, locked, commitment, agent, start_before, decided_at } = decision;
  if (stage !== 'running' || by === null || start_before === null)
    throw refusal('Only a call that was allowed and started has an authorization.');
  if (envelope.actor.caller !== agent) throw refusal('The envelope names another agent.');
  const exec_hash = execHash(envelope, profile);
  if (decision.exec_hash !== exec_hash) throw refusal('The call was started for another envelope.');
  const { args, salt } = binding;
  if (commitment === null || !opens(commitment, 'args', args, salt))
    throw refusal('These are not the arguments that were committed to.');
  if ('mapping' in binding) bindArguments(binding.mapping, args, envelope);
  else if (tool === null || server === null || locked === null)
    throw refusal('Only the call of a tool that a lock pins has an envelope of a tool call.');
  else bindToolCall(envelope, { lock: binding.lock, server, name: tool, locked, args, salt });
  const nbf = Math.floor(decided_at / 1000);
  const exp = Math.floor(start_before / 1000);
  if (nbf >= exp) throw refusal('The decision holds for no time at all.');
  const { type, approver, policy_reference, chain } = authorityOf(decision);
  const { tenant_id } = envelope;
  return {
    claims: { iss, sub: envelope.actor.caller, aud, tenant_id, exec_hash, nbf, exp, jti },
    approval: {
      when: nbf,
      how: HOW[type],
      chain: chain.map((link) => ({ ...link, approver, policy_reference })),
    },
  };
}

const HOW: Readonly<Record<AuthorityType, ApprovalHow>> = {
  autonomous: 'policy',
  human_approved: 'human',
  escalated: 'escalated',
  policy: 'policy',
};

function refusal(sentence: string): BullaError {
  return new BullaError('CONSENT_MINT', sentence);
}
