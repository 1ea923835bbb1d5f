import { keyId, type PublicKey } from '@bulla/core/crypto';
import type { ApproverKey } from '@bulla/core/envelope';
import type { KeyTrust } from './trust.ts';

type Known = Pick<KeyTrust, 'facts' | 'revoked'>;

/**
 * A person's key with all that keyrings say of it: once for each that knows it, and then the strictest word counts.
 * What is said of a key holds for the post-quantum key that signs with it.
 */
export function approverKey(person: string, key: PublicKey, { facts, revoked }: Known): ApproverKey[] {
  const id = keyId(key);
  const known = facts.filter((each) => each.key === id || each.pqKey === id);
  if (known.length === 0) return [{ person, key }];
  return known.map((each) => {
    const revokedAt = revoked
      .filter((revocation) => revocation.key === each.key)
      .reduce<number | null>((least, { at }) => Math.min(least ?? at, at), null);
    const validity = {
      notBefore: seconds(each.notBefore, Math.ceil),
      notAfter: seconds(each.notAfter, Math.floor),
      revokedAt,
    };
    return { person, key, validity };
  });
}

function seconds(time: string | null, whole: (value: number) => number): number | null {
  return time === null ? null : whole(Date.parse(time) / 1000);
}
