import { opens } from '../canon/index.ts';
import { isoTimestamp } from '../capsule/index.ts';
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
export type ConsentLink = {
  readonly step: 'consent';
  /** How it was allowed, or why it was not. */
  readonly decision: string;
  /** The channel of the answer; `window` or `grant` where a standing answer decided, `none` where nobody was asked. */
  readonly channel: string;
  /** The digest of what a person saw; null where nobody saw anything. */
  readonly shown: string | null;
  readonly at: string;
};

/** What a decision makes of the authority of a call, as the evidence map takes it. */
export type ConsentAuthority =
  | { readonly type: 'policy'; readonly reference: string; readonly step: ConsentLink }
  | { readonly type: 'human_approved'; readonly approver: string; readonly step: ConsentLink }
  | {
      readonly type: 'escalated';
      readonly approver: string;
      readonly reason: string;
      readonly step: ConsentLink;
    };

/**
 * The authority that a decision gives a call. `human_approved` needs a person who was authenticated outside the host,
 * `escalated` one who was asked in the user's place; any other answer is only reported, and a standing answer is the
 * grant's. A call that was not allowed has no approver.
 */
export function consentAuthority(decision: Decision): ConsentAuthority {
  const { answer, grant, by, reason, shown, rests_on, decided_at } = decision;
  const silent = rests_on !== null ? 'window' : by !== null ? 'grant' : 'none';
  const step: ConsentLink = {
    step: 'consent',
    decision: by ?? reason ?? 'granted',
    channel: answer?.channel ?? silent,
    shown,
    at: isoTimestamp(new Date(answer?.at ?? decided_at)),
  };
  if (by === null && !(decision.kind === 'grant' && decision.stage === 'ok'))
    return { type: 'policy', reference: `consent:${reason}`, step };
  if (answer === null) return { type: 'policy', reference: grant!, step };
  if (!provesPerson(answer.channel))
    return { type: 'policy', reference: `consent:${answer.channel}-reported`, step };
  const { who: approver, escalation } = answer;
  return escalation === null
    ? { type: 'human_approved', approver, step }
    : { type: 'escalated', approver, reason: escalation, step };
}

/** What opens the commitment to the arguments, and what ties the envelope to the call: the lock, or a mapping. */
export type EnvelopeBinding = { readonly salt: Uint8Array } & (
  | { readonly lock: string; readonly args: unknown }
  | { readonly mapping: ArgumentMapping; readonly args: JsonValue }
);

export interface MintOptions {
  /** Who issues it: us. */
  readonly iss: string;
  /** The ledger that will consume the nonce. */
  readonly aud: string;
  readonly binding: EnvelopeBinding;
  /** Default `envelope-v1`. */
  readonly profile?: ExecProfile;
}

/** What is signed: the claims, and what the key that signs states of the approval. */
interface Minted {
  readonly claims: Authorization;
  readonly approval: ApprovalFields;
}

/**
 * The authorization that a decision mints, to be signed with `authorize`: the call was approved once, and nobody is
 * asked again. Its approver is whoever holds the key that signs; which person answered is that signer's statement. The
 * decision is allowed and not begun, so that one intent can begin the call and consume the envelope, or was begun for
 * exactly this envelope. The authorization has the id of the decision: a ledger takes one envelope for it. It holds no
 * longer than the decision. Throws `CONSENT_MINT` for any other decision or envelope, and `EE_TOOL_CALL` or `EE_ARGS_…`
 * with the path when the envelope is of another call.
 */
export function mintAuthorization(
  decision: Decision,
  envelope: Envelope,
  { iss, aud, binding, profile = 'envelope-v1' }: MintOptions,
): Minted {
  const { by, stage, tool, server, server_tool, locked, lock, args: committed } = decision;
  const { agent, start_before, decided_at } = decision;
  if ((stage !== 'allowed' && stage !== 'running') || by === null || start_before === null)
    throw refusal('Only a call that is allowed and has not ended has an authorization.');
  if (envelope.actor.caller !== agent) throw refusal('The envelope names another agent.');
  const exec_hash = execHash(envelope, profile);
  if (stage === 'running' && decision.exec_hash !== exec_hash)
    throw refusal('The call was started for another envelope.');
  const { args, salt } = binding;
  if (committed === null || !opens(committed, 'args', args, salt))
    throw refusal('These are not the arguments that were committed to.');
  if ('mapping' in binding) bindArguments(binding.mapping, binding.args, envelope);
  else if (server === null || locked === null || lock !== binding.lock)
    throw refusal('The call was allowed under another lock, or under none, or without a server.');
  else bindToolCall(envelope, { lock, server, name: server_tool ?? tool!, locked, args, salt });
  const nbf = Math.floor(decided_at / 1000);
  const exp = Math.floor(start_before / 1000);
  if (nbf >= exp) throw refusal('The decision holds for no time at all.');
  const authority = consentAuthority(decision);
  const approver = authority.type === 'policy' ? null : authority.approver;
  const policy_reference = authority.type === 'policy' ? authority.reference : null;
  const { tenant_id } = envelope;
  return {
    claims: { iss, sub: envelope.actor.caller, aud, tenant_id, exec_hash, nbf, exp, jti: decision.id },
    approval: {
      when: nbf,
      how: HOW[authority.type],
      chain: [{ ...authority.step, approver, policy_reference }],
    },
  };
}

const HOW: Readonly<Record<ConsentAuthority['type'], ApprovalHow>> = {
  human_approved: 'human',
  escalated: 'escalated',
  policy: 'policy',
};

function refusal(sentence: string): BullaError {
  return new BullaError('CONSENT_MINT', sentence);
}
