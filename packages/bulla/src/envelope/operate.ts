import { randomUUID } from 'node:crypto';
import type { SealedCapsule } from '@bulla/core/capsule';
import { type Policy, parsePolicy } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import type { Act, Recorder } from '../record/index.ts';
import { createLedger, type HoldState, type Ledger, type Store } from '../store/index.ts';
import { unixTime } from './create.ts';

/** Who does it, and what records that. */
export interface Operator {
  readonly record: Recorder;
  readonly by: string;
}

/**
 * Publishes a version of a policy, which nothing changes any more, and seals that. Rejects with `EE_POLICY_INVALID`,
 * with `EE_POLICY_VERSION` unless the version is higher than all before it, and as appending to a chain does.
 */
export async function publishPolicy(
  store: Store,
  document: string,
  { record, by }: Operator,
): Promise<{ policy: Policy; capsule: SealedCapsule }> {
  const id = randomUUID();
  const { policy, effect } = createLedger(store).publish(document, id);
  const { policy_id, policy_version: version, policy_hash: hash } = policy;
  const capsule = await record.act({
    ...actOf(by, `envelope policy publish ${policy_id} ${version}`),
    evidence: { policy: { id: policy_id, version, hash } },
    ...{ id, effect },
  });
  return { policy, capsule };
}

/** The policy that is in effect, or null. Throws `EE_POLICY_INVALID` for one that was tampered with. */
export async function currentPolicy(
  store: Store,
  policyId: string,
  now: number = unixTime(),
): Promise<Policy | null> {
  const policy = await policyReader(createLedger(store))(policyId, now);
  if (typeof policy === 'string')
    throw new BullaError('EE_POLICY_INVALID', 'The stored text of the policy cannot be read.', { path: '' });
  return policy;
}

/**
 * Says what became of an execution that was interrupted before it was told: `committed` if it happened or nobody
 * knows, `released` if it surely did not. Its nonce stays consumed. Rejects with `EE_NOT_RESERVED` when its outcome is
 * told already or it never was.
 */
export async function settleExecution(
  store: Store,
  execHash: string,
  state: Exclude<HoldState, 'reserved'>,
  { record, by }: Operator,
): Promise<SealedCapsule> {
  const ledger = createLedger(store);
  const execution = await ledger.execution(execHash);
  const id = randomUUID();
  return record.act({
    ...actOf(by, `envelope settle ${state}`),
    parentId: execution?.intent_id ?? null,
    evidence: { facts: { exec_hash: execHash, state } },
    ...{ id, effect: ledger.settle(execHash, state, id) },
  });
}

function actOf(by: string, request: string): Act {
  return {
    ...{ type: 'auth', door: 'admin', trigger: 'user_request' },
    ...{ agentId: '', source: by, request, status: 'success' },
  };
}

/** Limit on the parsed policies in memory; parsing a long one is slow. */
const MAX_KNOWN = 16;

/** Reads the policy in effect, each version once: its text if it cannot be read, null if there is none. */
export function policyReader(ledger: Ledger) {
  const known = new Map<string, Policy>();
  return async (policyId: string, now: number): Promise<Policy | string | null> => {
    const version = await ledger.policyVersion(policyId, now);
    if (version === null) return null;
    const found = known.get(version.policy_hash);
    if (found !== undefined) return found;
    const document = await ledger.policyDocument(policyId, version.policy_version);
    if (document === null) return null;
    const policy = readPolicy(document);
    // A text that is not the one whose hash was published is looked at anew each time, and refused.
    if (typeof policy === 'string' || policy.policy_hash !== version.policy_hash) return policy;
    if (known.size === MAX_KNOWN) known.delete(known.keys().next().value!);
    known.set(policy.policy_hash, policy);
    return policy;
  };
}

function readPolicy(document: string): Policy | string {
  try {
    return parsePolicy(document);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return document;
  }
}
