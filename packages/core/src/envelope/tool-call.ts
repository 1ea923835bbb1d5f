import { BullaError } from '../error.ts';
import {
  type Actor,
  type Constraints,
  createEnvelope,
  type Envelope,
  type EnvelopeFields,
  type PolicyBinding,
} from './envelope.ts';
import { MCP, railProblem, TOOL_CALL } from './rails.ts';

/** One call of a tool, by digests alone. */
export interface ToolCall {
  /** The digest by which capsules name the lock, `sha256:` and 64 hex digits. */
  readonly lockDigest: string;
  /** The digest of the tool's definition in that lock, of the same form. */
  readonly toolDigest: string;
  readonly toolName: string;
  /** The salted commitment to the arguments, 64 hex digits. */
  readonly argsCommitment: string;
}

/** A call, and who makes it under what. */
export interface ToolCallFields extends ToolCall, Constraints {
  readonly intent_id: string;
  readonly execution_id: string;
  readonly tenant_id: string;
  readonly actor: Actor;
  readonly policy: PolicyBinding;
  readonly metadata: EnvelopeFields['metadata'];
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const COMMITMENT = /^[0-9a-f]{64}$/;

/**
 * The envelope of any call of a tool: the lock is its network, the tool's definition its contract, the tool its
 * asset, the arguments its destination, and nothing is moved. Throws `EE_TOOL_CALL` with the path for a digest that
 * is none, and as `createEnvelope` does: a tool's name, for one, has at most 128 characters.
 */
export function toolCallEnvelope(fields: ToolCallFields): Envelope {
  const { lockDigest, toolDigest, toolName, argsCommitment, policy } = fields;
  const digest = 'This must be sha256: and 64 hex digits.';
  if (!DIGEST.test(lockDigest)) throw refused(digest, '/rail/network');
  if (!DIGEST.test(toolDigest)) throw refused(digest, '/rail/contract');
  if (!COMMITMENT.test(argsCommitment)) throw refused('A commitment is 64 hex digits.', '/target/to');
  const { intent_id, execution_id, tenant_id, actor, ttl, nonce, replay_scope, metadata } = fields;
  return createEnvelope({
    version: 1,
    intent_id,
    execution_id,
    tenant_id,
    action_type: TOOL_CALL,
    rail: { type: MCP, network: lockDigest, chain_id: null, contract: toolDigest },
    actor: { caller: actor.caller, role: actor.role },
    target: { to: argsCommitment, asset: toolName, asset_class: null, amount: '0', decimals: 0 },
    constraints: { ttl, nonce, replay_scope },
    policy_binding: {
      policy_id: policy.policy_id,
      policy_version: policy.policy_version,
      policy_hash: policy.policy_hash,
    },
    metadata,
  });
}

/**
 * Checks that an envelope approves exactly this call. Throws `EE_TOOL_CALL` with the path of the first field that
 * says another, or when the envelope is not one of a tool call.
 */
export function bindToolCall(envelope: Envelope, call: ToolCall): void {
  const { action_type, rail, target } = envelope;
  if (action_type !== TOOL_CALL) throw refused('The envelope does not approve a tool call.', '/action_type');
  const problem = railProblem(envelope);
  if (problem !== undefined) throw refused(problem.message, problem.path);
  if (rail.network !== call.lockDigest) throw refused('Another lock was approved.', '/rail/network');
  if (rail.contract !== call.toolDigest)
    throw refused('Another definition of the tool was approved.', '/rail/contract');
  if (target.asset !== call.toolName) throw refused('Another tool was approved.', '/target/asset');
  if (target.to !== call.argsCommitment) throw refused('Other arguments were approved.', '/target/to');
}

function refused(sentence: string, path: string): BullaError {
  return new BullaError('EE_TOOL_CALL', sentence, { path });
}
