import { randomBytes } from 'node:crypto';
import { type CommitmentKind, canonicalize, commit, exactText, opens, SALT_BYTES } from '@bulla/core/canon';
import { type Committed, isCommitment, uncommittedFor } from '@bulla/core/evidence';
import { JsonObject, type JsonValue, memberAt } from '@bulla/core/json';
import type { Opening } from '../store/index.ts';
import { exactCopy } from './copy.ts';

/** A payload as the records of one call know it: the same commitment in the question, the intent and the outcome. */
export interface Payload {
  readonly kind: CommitmentKind;
  readonly committed: Committed;
  /** Null where there is nothing to open. */
  readonly opening: Opening | null;
  /**
   * The copy that is kept in the place of the value, which opens a commitment of its own and never this one; without an
   * opening where nothing could be kept.
   */
  readonly redacted?: Pick<Payload, 'committed' | 'opening'> | undefined;
}

/** What is kept of a payload: all of it, a copy from which something was removed, or nothing, with the code that says why. */
export type Keep = 'whole' | RedactedCopy | { readonly unkept: string };

/** A value from which something was removed, and what that was. It is committed to and kept as this document. */
export interface RedactedCopy {
  readonly removed: readonly Removed[];
  readonly value: JsonValue;
}

/** Where something was removed: by a rule of the operator, or because it looked like a secret of this kind. */
export interface Removed {
  /** A JSON Pointer. */
  readonly pointer: string;
  readonly by: 'rule' | 'secret';
  readonly kind?: string | undefined;
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

/** The same payload, with what of its value is kept. */
export function keptAs(payload: Payload, value: unknown, keep: Keep | undefined): Payload {
  if (keep === undefined || !isCommitment(payload.committed)) return payload;
  if (keep === 'whole') return keeping(payload, value);
  if ('unkept' in keep)
    return { ...payload, redacted: { committed: { uncommitted: keep.unkept }, opening: null } };
  const kind = payload.kind === 'result' ? 'redacted-result' : 'redacted-args';
  const { committed, opening } = payloadOf(kind, keep, true);
  return { ...payload, redacted: { committed, opening } };
}

/** A kept copy, read back; null for what is none. */
export function readRedacted(document: JsonValue): RedactedCopy | null {
  if (!(document instanceof JsonObject) || !document.has('value')) return null;
  const removed = document.get('removed');
  const rows = Array.isArray(removed) ? removed.map(readRemoved) : [null];
  return rows.includes(null) ? null : { removed: rows as Removed[], value: document.get('value')! };
}

function readRemoved(row: JsonValue): Removed | null {
  const [pointer, by, kind] = ['pointer', 'by', 'kind'].map((name) => memberAt(row, [name]));
  if (typeof pointer !== 'string' || (by !== 'rule' && by !== 'secret')) return null;
  return { pointer, by, ...(typeof kind === 'string' && { kind }) };
}

function textOf(value: unknown, of: 'jcs' | 'exact'): string {
  return of === 'jcs' ? canonicalize(value, 'jcs') : exactText(value);
}
