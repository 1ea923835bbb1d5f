import { randomBytes } from 'node:crypto';
import { type CommitmentKind, canonicalize, commit, exactText, SALT_BYTES } from '@bulla/core/canon';
import { type Committed, isCommitment, uncommittedFor } from '@bulla/core/evidence';
import { JsonNumber, JsonObject, type JsonValue, parse } from '@bulla/core/json';
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
    // What is kept must open the commitment, also where the value reads differently each time.
    const read = keep ? parse(exactText(value), LENIENT) : value;
    const committed = commit(kind, read, salt);
    const payload = keep ? textOf(read, committed.of) : null;
    return { kind, committed, opening: { kind, salt, payload } };
  } catch (error) {
    return { kind, committed: uncommittedFor(error), opening: null };
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

const LENIENT = { allow: ['lone-surrogates'] } as const;

/**
 * A value as a capsule will hold it, in a copy that nobody can change. Throws `VALUE_…` or `CANON_…` for what no capsule
 * can hold, and what the value itself throws when it is read.
 */
export function sealedCopy<T>(value: T): T {
  // In a list, because the profile treats some members of a whole capsule specially.
  const [copy] = parse(canonicalize([value], 'cps'), LENIENT) as readonly JsonValue[];
  return plain(copy!) as T;
}

/** Numbers whose digits a double does not print stay as they were written. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    const double = value.toNumber();
    return `${double}` === value.lexeme ? double : value;
  }
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof JsonObject)) return value;
  return Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]));
}
