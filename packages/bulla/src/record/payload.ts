import { randomBytes } from 'node:crypto';
import { type CommitmentKind, canonicalize, commit, exactText, opens, SALT_BYTES } from '@bulla/core/canon';
import { type Committed, isCommitment, uncommittedFor } from '@bulla/core/evidence';
import type { JsonValue } from '@bulla/core/json';
import type { Opening } from '../store/index.ts';
import { exactCopy } from './copy.ts';

/** A payload as the records of one call know it: the same commitment in the question, the intent and the outcome. */
export interface Payload {
  readonly kind: CommitmentKind;
  readonly committed: Committed;
  /** Null where there is nothing to open. */
  readonly opening: Opening | null;
}

/**
 * Commits to a value, by default under a fresh salt. Never throws for what the value is: what JSON cannot carry is
 * `uncommitted`, with the code that says why. With `keep`, the value is kept beside the chain, where it can be erased.
 */
export function payloadOf(
  kind: CommitmentKind,
  value: unknown,
  keep = false,
  salt: Uint8Array = new Uint8Array(randomBytes(SALT_BYTES)),
): Payload {
  try {
    // What is kept must open the commitment, also where the value reads differently each time.
    const read = keep ? exactCopy(value) : value;
    const committed = commit(kind, read, salt);
    const payload = keep ? textOf(read, committed.of) : null;
    return { kind, committed, opening: { kind, salt, payload } };
  } catch (error) {
    return { kind, committed: uncommittedFor(error), opening: null };
  }
}

/** A copy of the arguments that a payload commits to; undefined for others, and for what cannot be read. */
export function openedArguments({ committed, opening }: Payload, args: unknown): JsonValue | undefined {
  if (opening === null || !isCommitment(committed)) return undefined;
  try {
    const copy = exactCopy(args);
    return opens(committed, 'args', copy, opening.salt) ? copy : undefined;
  } catch {
    return undefined;
  }
}

/** The same payload, with its text for the person who is asked to approve it. */
export function keeping(payload: Payload, value: unknown): Payload {
  const { committed, opening } = payload;
  if (opening === null || !isCommitment(committed)) return payload;
  return { ...payload, opening: { ...opening, payload: textOf(value, committed.of) } };
}

function textOf(value: unknown, of: 'jcs' | 'exact'): string {
  return of === 'jcs' ? canonicalize(value, 'jcs') : exactText(value);
}
