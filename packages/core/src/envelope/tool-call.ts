import { type Commitment, opens } from '../canon/index.ts';
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

/** A tool as a lock pins it. Two servers may offer the same definition, so the server belongs to it. */
export interface LockedTool {
  /** The digest by which capsules name the lock, `sha256:` and 64 hex digits. */
  readonly lock: string;
  /** The server, as the operator calls it; without a slash. */
  readonly server: string;
  readonly name: string;
  /** The digest of the tool's definition in that lock, of the same form. Never the manifest's digest of the tool. */
  readonly locked: string;
}

/** One call of a tool, with the arguments and the salt of the commitment to them. */
export interface ToolCall extends LockedTool {
  readonly args: unknown;
  readonly salt: Uint8Array;
}

/** A call by digests alone, and who makes it under what. */
export interface ToolCallFields extends LockedTool, Constraints {
  /** The salted commitment to the arguments. */
  readonly args: Commitment;
  readonly intent_id: string;
  readonly execution_id: string;
  readonly tenant_id: string;
  readonly actor: Actor;
  readonly policy: PolicyBinding;
  readonly metadata: EnvelopeFields['metadata'];
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const COMMITMENT = /^(jcs|exact):([0-9a-f]{64})$/;

/**
 * The envelope of any call of a tool: the lock is its network, the tool's definition its contract, `SERVER/TOOL` its
 * asset, the commitment to the arguments with its form its destination, and nothing is moved. Throws `EE_TOOL_CALL`
 * with the path for a digest that is none, and as `createEnvelope` does: server and name, for one, have at most 128
 * characters together.
 */
export function toolCallEnvelope(fields: ToolCallFields): Envelope {
  const { lock, locked, args, policy } = fields;
  const digest = 'This must be sha256: and 64 hex digits.';
  if (!DIGEST.test(lock)) throw refused(digest, '/rail/network');
  if (!DIGEST.test(locked)) throw refused(digest, '/rail/contract');
  const to = `${args.of}:${args.commitment}`;
  if (!COMMITMENT.test(to)) throw refused('A commitment is 64 hex digits, with its form.', '/target/to');
  const { intent_id, execution_id, tenant_id, actor, ttl, nonce, replay_scope, metadata } = fields;
  return createEnvelope({
    version: 1,
    intent_id,
    execution_id,
    tenant_id,
    action_type: TOOL_CALL,
    rail: { type: MCP, network: lock, chain_id: null, contract: locked },
    actor: { caller: actor.caller, role: actor.role },
    target: { to, asset: assetOf(fields), asset_class: null, amount: '0', decimals: 0 },
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
 * Checks that an envelope approves exactly this call. Its commitment is opened with the arguments and the salt, never
 * compared with another one. Throws `EE_TOOL_CALL` with the path of the first field that says another, or when the
 * envelope is not one of a tool call, and `COMMIT_SALT`.
 */
export function bindToolCall(envelope: Envelope, call: ToolCall): void {
  const { action_type, rail, target } = envelope;
  if (action_type !== TOOL_CALL) throw refused('The envelope does not approve a tool call.', '/action_type');
  const problem = railProblem(envelope);
  if (problem !== undefined) throw refused(problem.message, problem.path);
  if (rail.network !== call.lock) throw refused('Another lock was approved.', '/rail/network');
  if (rail.contract !== call.locked)
    throw refused('Another definition of the tool was approved.', '/rail/contract');
  if (target.asset !== assetOf(call)) throw refused('Another tool was approved.', '/target/asset');
  const committed = commitmentIn(target.to);
  if (committed === null) throw refused('The envelope has no commitment to arguments.', '/target/to');
  if (!opens(committed, 'args', call.args, call.salt))
    throw refused('Other arguments were approved.', '/target/to');
}

/** What an envelope of a tool call approves, by digests. */
interface ApprovedCall extends LockedTool {
  /** Null where the destination is no commitment. */
  readonly args: Commitment | null;
}

/** The call that an envelope of a tool call names; null for any other envelope, and for one that names no tool. */
export function toolOf({ action_type, rail, target }: Envelope): ApprovedCall | null {
  const slash = target.asset.indexOf('/');
  if (action_type !== TOOL_CALL || rail.contract === null || slash < 1) return null;
  const [server, name] = [target.asset.slice(0, slash), target.asset.slice(slash + 1)];
  return { lock: rail.network, server, name, locked: rail.contract, args: commitmentIn(target.to) };
}

function commitmentIn(to: string): Commitment | null {
  const [, of, commitment] = COMMITMENT.exec(to) ?? [];
  return commitment === undefined ? null : { commitment, of: of as Commitment['of'] };
}

/** The first slash ends the server. */
function assetOf({ server, name }: LockedTool): string {
  if (server === '' || server.includes('/'))
    throw refused('The name of a server is not empty and has no slash.', '/target/asset');
  return `${server}/${name}`;
}

function refused(sentence: string, path: string): BullaError {
  return new BullaError('EE_TOOL_CALL', sentence, { path });
}
