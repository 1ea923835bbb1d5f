import { randomBytes } from 'node:crypto';
import { type CommitmentKind, canonicalize, commit, exactText, SALT_BYTES } from '@bulla/core/canon';
import { failureOf } from '@bulla/core/error';
import { type Committed, isCommitment, uncommittedFor } from '@bulla/core/evidence';
import type { Opening } from '../store/index.ts';

/** A payload as the records of one call know it: the same commitment in the question, the intent and the outcome. */
export interface Payload {
  readonly kind: CommitmentKind;
  readonly committed: Committed;
  /** Null where there is nothing to open. */
  readonly opening: Opening | null;
}

/**
 * Commits to a value under a fresh salt. Never throws for what the value is: what JSON cannot carry is `uncommitted`,
 * with the code that says why. With `keep`, the value is kept beside the chain, where it can be erased.
 */
export function payloadOf(kind: CommitmentKind, value: unknown, keep = false): Payload {
  const salt = new Uint8Array(randomBytes(SALT_BYTES));
  try {
    const committed = commit(kind, value, salt);
    const payload = keep ? textOf(value, committed.of) : null;
    return { kind, committed, opening: { kind, salt, payload } };
  } catch (error) {
    return { kind, committed: uncommittedFor(error), opening: null };
  }
}

/** The same payload, kept for whoever is asked about it. */
export function keeping(payload: Payload, value: unknown): Payload {
  const { committed, opening } = payload;
  if (opening === null || !isCommitment(committed)) return payload;
  return { ...payload, opening: { ...opening, payload: textOf(value, committed.of) } };
}

function textOf(value: unknown, of: 'jcs' | 'exact'): string {
  return of === 'jcs' ? canonicalize(value, 'jcs') : exactText(value);
}

/** Null for a value that a capsule can hold, else the code or class of what keeps it from that. */
export function sealable(value: unknown): string | null {
  try {
    canonicalize(value, 'cps');
    return null;
  } catch (error) {
    return failureOf(error);
  }
}
