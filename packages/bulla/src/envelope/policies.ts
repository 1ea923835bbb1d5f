import { type Policy, parsePolicy } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import type { Ledger } from '../store/index.ts';

/** Limit on the parsed policies in memory; parsing a long one is slow. */
const KEPT = 16;

/** The policies of a ledger, each read once. */
interface PolicySource {
  /** The policy in effect, its text if it cannot be read, or null if there is none. */
  current(policyId: string, now: number): Promise<Policy | string | null>;
}

export function createPolicySource(ledger: Ledger): PolicySource {
  const kept = new Map<string, Policy>();
  return {
    async current(policyId, now) {
      const version = await ledger.policyVersion(policyId, now);
      if (version === null) return null;
      const known = kept.get(version.policy_hash);
      if (known !== undefined) return known;
      const document = await ledger.policyDocument(policyId, version.policy_version);
      if (document === null) return null;
      const policy = readPolicy(document);
      // A text that is not the one whose hash was published is looked at anew each time, and refused.
      if (typeof policy === 'string' || policy.policy_hash !== version.policy_hash) return policy;
      if (kept.size === KEPT) kept.delete(kept.keys().next().value!);
      kept.set(policy.policy_hash, policy);
      return policy;
    },
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
