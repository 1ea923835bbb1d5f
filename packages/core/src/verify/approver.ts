import { keyId, type PublicKey } from '../crypto/index.ts';
import type { ApproverKey } from '../envelope/index.ts';
import { revokedSince } from './revocation.ts';
import type { KeyTrust } from './trust.ts';

type Known = Pick<KeyTrust, 'facts' | 'revoked'>;

/**
 * A person's key with all that keyrings say of it: once for each that knows it, and then the strictest word counts.
 * What is said of a key holds for the post-quantum key that signs with it.
 */
export function approverKey(person: string, key: PublicKey, { facts, revoked }: Known): ApproverKey[] {
  const id = keyId(key);
  const known = facts.filter((each) => each.key === id || each.pqKey === id);
  if (known.length === 0) {
    const revokedAt = revokedSince(revoked, id);
    if (revokedAt === undefined) return [{ person, key }];
    return [{ person, key, validity: { notBefore: null, notAfter: null, revokedAt } }];
  }
  return known.map((each) => {
    const validity = {
      notBefore: seconds(each.notBefore, Math.ceil),
      notAfter: seconds(each.notAfter, Math.floor),
      revokedAt: revokedSince(revoked, each.key) ?? null,
    };
    return { person, key, validity };
  });
}

function seconds(time: string | null, whole: (value: number) => number): number | null {
  return time === null ? null : whole(Date.parse(time) / 1000);
}
