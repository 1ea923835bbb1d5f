import type { Verdict } from '../capsule/index.ts';

/** A key that is revoked, and since when. */
export interface Revocation {
  /** Its full id. */
  readonly key: string;
  /** In seconds since 1970. */
  readonly at: number;
}

/**
 * The verdict on a record once it is known which keys are revoked. What a revoked key signed does not count: whoever
 * stole it can sign with any date, and `signed_at` proves nothing. It counts only where witnesses saw the record
 * before the revocation.
 */
export function withRevocations(
  verdict: Verdict,
  revoked: readonly Revocation[],
  seenBefore: (seconds: number) => boolean,
): Verdict {
  if (!verdict.ok || verdict.key === null) return verdict;
  if (revoked.every(({ key, at }) => key !== verdict.key || seenBefore(at))) return verdict;
  return {
    ...verdict,
    ok: false,
    code: 'key_revoked',
    message: 'The key that signed the record is revoked, and no witness saw the record before that.',
  };
}

/** Since when a key is revoked, by the earliest revocation; undefined for one that is not. */
export function revokedSince(revoked: readonly Revocation[], id: string): number | undefined {
  return revoked
    .filter(({ key }) => key === id)
    .reduce<number | undefined>((least, { at }) => Math.min(least ?? at, at), undefined);
}
