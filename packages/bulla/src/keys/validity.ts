import type { KeyValidity } from '@bulla/core/envelope';
import type { KeyTrust } from './trust.ts';

/** From when to when each key counts for an approval, and whether it is revoked, by its full id. */
export function validities({
  facts,
  revoked,
}: Pick<KeyTrust, 'facts' | 'revoked'>): Map<string, KeyValidity> {
  return new Map(
    facts.flatMap(({ key, pqKey, notBefore, notAfter }): [string, KeyValidity][] => {
      const times = revoked.filter((each) => each.key === key).map(({ at }) => at);
      const validity = {
        notBefore: seconds(notBefore, Math.ceil),
        notAfter: seconds(notAfter, Math.floor),
        revokedAt: times.length === 0 ? null : Math.min(...times),
      };
      // What is said of a key holds for the one that signs with it.
      return pqKey === null
        ? [[key, validity]]
        : [
            [key, validity],
            [pqKey, validity],
          ];
    }),
  );
}

function seconds(time: string | null, whole: (value: number) => number): number | null {
  return time === null ? null : whole(Date.parse(time) / 1000);
}
