import { type Policy, parsePolicy } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import type { Effect, Reading } from './driver.ts';

/** A policy as it was published. */
export interface PublishedPolicy {
  readonly policy_id: string;
  readonly policy_version: number;
  readonly policy_hash: string;
  readonly policy_effective_at: number;
  /** The capsule that says who published it. */
  readonly capsule_id: string;
}

/** Version and hash of a policy. */
type PolicyVersion = Pick<PublishedPolicy, 'policy_version' | 'policy_hash'>;

/** The policies of one tenant. */
export interface Policies {
  /**
   * Publishes a version of a policy, which nothing changes any more. Throws `EE_POLICY_INVALID`; the effect refuses with
   * `EE_POLICY_VERSION` unless the version is higher than all before it.
   */
  publish(document: string, capsuleId: string): { policy: Policy; effect: Effect };
  /** The policy that is in effect at this time: the highest version that has begun; null if there is none. */
  policyVersion(policyId: string, now: number): Promise<PolicyVersion | null>;
  /** The text of a version, exactly as it was published; null if there is none. */
  policyDocument(policyId: string, version: number): Promise<string | null>;
  /** Every version of every policy, by id, the newest version first. */
  policies(): Promise<PublishedPolicy[]>;
}

export function createPolicies(reading: Reading): Policies {
  const tenant = reading.tenant ?? '';
  return {
    publish,
    policyVersion: (policyId, now) => currentVersion(reading, policyId, now),
    async policyDocument(policyId, version) {
      const [row] = await reading.all<{ document: string }>(DOCUMENT, tenant, policyId, version);
      return row?.document ?? null;
    },
    async policies() {
      const rows = await reading.all<PublishedPolicy>(LIST, tenant);
      return rows.sort((a, b) =>
        a.policy_id === b.policy_id
          ? b.policy_version - a.policy_version
          : a.policy_id < b.policy_id
            ? -1
            : 1,
      );
    },
  };
}

const COLUMNS = 'policy_id, policy_version, policy_hash, policy_effective_at, capsule_id';
const CURRENT = `SELECT policy_version, policy_hash FROM envelope_policy
  WHERE coalesce(tenant, '') = ? AND policy_id = ? AND policy_effective_at <= ?
  ORDER BY policy_version DESC LIMIT 1`;

const DOCUMENT = `SELECT document FROM envelope_policy
  WHERE coalesce(tenant, '') = ? AND policy_id = ? AND policy_version = ?`;
const LIST = `SELECT ${COLUMNS} FROM envelope_policy WHERE coalesce(tenant, '') = ?`;
const NEWEST = `SELECT policy_version FROM envelope_policy WHERE coalesce(tenant, '') = ? AND policy_id = ?
  ORDER BY policy_version DESC LIMIT 1`;
const PUBLISH = `INSERT INTO envelope_policy (tenant, ${COLUMNS}, document) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;

export async function currentVersion(
  { tenant, all }: Reading,
  policyId: string,
  now: number,
): Promise<PolicyVersion | null> {
  return (await all<PolicyVersion>(CURRENT, tenant ?? '', policyId, now))[0] ?? null;
}

function publish(document: string, capsuleId: string): { policy: Policy; effect: Effect } {
  const policy = parsePolicy(document);
  const { policy_id: id, policy_version: version, policy_hash, policy_effective_at } = policy;
  const effect: Effect = async ({ tenant, all, run }) => {
    const [newest] = await all<{ policy_version: number }>(NEWEST, tenant ?? '', id);
    if (newest !== undefined && newest.policy_version >= version) throw notNewer(id, newest.policy_version);
    const row = [tenant, id, version, policy_hash, policy_effective_at, capsuleId, document];
    if ((await run(PUBLISH, ...row)) === 0) throw notNewer(id, version);
  };
  return { policy, effect };
}

function notNewer(policyId: string, version: number): BullaError {
  const sentence = `The policy ${policyId} has the version ${version} already; a new one has a higher version.`;
  return new BullaError('EE_POLICY_VERSION', sentence, { path: '/policy_version' });
}
