import type { Verdict } from '@bulla/core/capsule';

/**
 * What a verdict is worth once it is known which keys are revoked. What a revoked key signed does not count: whoever
 * stole it can sign with any date, and `signed_at` proves nothing.
 */
export function judged(verdict: Verdict, revoked: readonly string[]): Verdict {
  if (!verdict.ok || verdict.key === null || !revoked.includes(verdict.key)) return verdict;
  return {
    ...verdict,
    ok: false,
    code: 'key_revoked',
    message: 'The key that signed the record is revoked.',
  };
}
