import { type Policy, parsePolicy } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import type { Effect, Statements } from './driver.ts';

/** A policy as it was published. */
export interface PublishedPolicy {
  readonly policy_id: string;
  readonly policy_version: number;
  readonly policy_hash: string;
  readonly policy_effective_at: number;
  /** The capsule that says who published it. */
  readonly capsule_id: string;
}

type Reading = Pick<Statements, 'tenant' | 'all'>;

const COLUMNS = 'policy_id, policy_version, policy_hash, policy_effective_at, capsule_id';
const CURRENT = `SELECT policy_version, policy_hash FROM envelope_policy
  WHERE coalesce(tenant, '') = ? AND policy_id = ? AND policy_effective_at <= ?
  ORDER BY policy_version DESC LIMIT 1`;

/** Version and hash of the policy that is in effect at this time: the highest version that has begun. */
export async function currentVersion(
  { tenant, all }: Reading,
  policyId: string,
  now: number,
): Promise<Pick<PublishedPolicy, 'policy_version' | 'policy_hash'> | null> {
  const [row] = await all<Pick<PublishedPolicy, 'policy_version' | 'policy_hash'>>(
    CURRENT,
    tenant ?? '',
    policyId,
    now,
  );
  return row ?? null;
}

/** The text of a version, exactly as it was published; null if there is none. */
export async function policyDocument(
  { tenant, all }: Reading,
  policyId: string,
  version: number,
): Promise<string | null> {
  const [row] = await all<{ document: string }>(
    `SELECT document FROM envelope_policy
     WHERE coalesce(tenant, '') = ? AND policy_id = ? AND policy_version = ?`,
    tenant ?? '',
    policyId,
    version,
  );
  return row?.document ?? null;
}

/** Every version of every policy, by id, the newest version first. */
export async function listPolicies({ tenant, all }: Reading): Promise<PublishedPolicy[]> {
  const rows = await all<PublishedPolicy>(
    `SELECT ${COLUMNS} FROM envelope_policy WHERE coalesce(tenant, '') = ?`,
    tenant ?? '',
  );
  return rows.sort((a, b) =>
    a.policy_id === b.policy_id ? b.policy_version - a.policy_version : a.policy_id < b.policy_id ? -1 : 1,
  );
}

/**
 * Publishes a version of a policy, which nothing changes any more. Throws `EE_POLICY_INVALID`; the effect refuses with
 * `EE_POLICY_VERSION` unless the version is higher than all before it.
 */
export function publishing(document: string, capsuleId: string): { policy: Policy; effect: Effect } {
  const policy = parsePolicy(document);
  const { policy_id, policy_version, policy_hash, policy_effective_at } = policy;
  const effect: Effect = async ({ tenant, all, run }) => {
    const [newest] = await all<{ policy_version: number }>(
      `SELECT policy_version FROM envelope_policy WHERE coalesce(tenant, '') = ? AND policy_id = ?
       ORDER BY policy_version DESC LIMIT 1`,
      tenant ?? '',
      policy_id,
    );
    if (newest !== undefined && newest.policy_version >= policy_version)
      throw notNewer(policy_id, newest.policy_version);
    const added = await run(
      `INSERT INTO envelope_policy (tenant, ${COLUMNS}, document) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
      tenant,
      policy_id,
      policy_version,
      policy_hash,
      policy_effective_at,
      capsuleId,
      document,
    );
    if (added === 0) throw notNewer(policy_id, policy_version);
  };
  return { policy, effect };
}

function notNewer(policyId: string, version: number): BullaError {
  const sentence = `The policy ${policyId} has the version ${version} already; a new one has a higher version.`;
  return new BullaError('EE_POLICY_VERSION', sentence, { path: '/policy_version' });
}
