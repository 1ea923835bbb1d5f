import { randomUUID } from 'node:crypto';
import type { SealedCapsule } from '@bulla/core/capsule';
import type { Policy } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import type { Act, Recorder } from '../record/index.ts';
import { createLedger, type HoldState, type Store } from '../store/index.ts';
import { unixTime } from './create.ts';
import { createPolicySource } from './policies.ts';

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
  const policy = await createPolicySource(createLedger(store)).current(policyId, now);
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
