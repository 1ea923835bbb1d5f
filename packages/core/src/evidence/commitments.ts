import type { Commitment, CommitmentKind } from '../canon/index.ts';
import { BullaError, isThrown } from '../error.ts';
import { memberAt } from '../json/index.ts';
import { type Committed, readEvidence } from './evidence.ts';

/** The commitments in a capsule, by what they are of. Throws `EVIDENCE_INVALID`. */
export function commitmentsOf(capsule: unknown): Partial<Record<CommitmentKind, Commitment>> {
  const { args, rest, redacted = {} } = readEvidence(capsule) ?? {};
  const result = resultOf(capsule);
  return {
    ...(isCommitment(args) && { args }),
    ...(isCommitment(rest) && { rest }),
    ...(isCommitment(result) && { result }),
    ...(isCommitment(redacted.args) && { 'redacted-args': redacted.args }),
    ...(isCommitment(redacted.result) && { 'redacted-result': redacted.result }),
  };
}

/** What the outcome of a call says of its result; null where it says nothing that we wrote. */
export function resultOf(capsule: unknown): Committed | null {
  const calls = memberAt(capsule, ['execution', 'tool_calls']);
  const result = memberAt(Array.isArray(calls) ? calls[0] : undefined, ['result']);
  const [commitment, of, why] = ['commitment', 'of', 'uncommitted'].map((key) => memberAt(result, [key]));
  if (typeof why === 'string') return { uncommitted: why };
  if (typeof commitment !== 'string' || (of !== 'jcs' && of !== 'exact')) return null;
  return { commitment, of };
}

export function isCommitment(committed: Committed | null | undefined): committed is Commitment {
  return committed != null && 'commitment' in committed;
}

/** The code of what keeps a value from being committed to; `VALUE_UNREADABLE` for one that throws when it is read. */
export function uncommittedFor(error: unknown): { readonly uncommitted: string } {
  return { uncommitted: isThrown(error, BullaError) ? error.code : 'VALUE_UNREADABLE' };
}
