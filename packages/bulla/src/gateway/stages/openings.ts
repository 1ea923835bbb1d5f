import { randomBytes } from 'node:crypto';
import { type CommitmentKind, canonicalize, commit, SALT_BYTES } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import type { JsonValue } from '@bulla/core/json';
import type { Opening } from '../../store/index.ts';

/** A commitment as it stands in a capsule. */
export interface Commitment {
  readonly commitment: string;
  /**
   * There where the payload has a number that RFC 8785 would turn into another: committed to is then the text of the
   * payload under this profile, which keeps every digit, as one string.
   */
  readonly of?: 'mcptrust-v1';
}

/** A commitment to a payload in a capsule, and what opens it: the two are stored together. */
export function commitTo(
  kind: CommitmentKind,
  payload: JsonValue,
  capsuleId: string,
): { readonly committed: Commitment; readonly opening: Opening } {
  const salt = new Uint8Array(randomBytes(SALT_BYTES));
  const committed = commitmentOf(kind, payload, salt);
  const opening = { commitment: committed.commitment, capsuleId, kind, salt, payload: null };
  return { committed, opening };
}

function commitmentOf(kind: CommitmentKind, payload: JsonValue, salt: Uint8Array): Commitment {
  try {
    return { commitment: commit(kind, payload, salt) };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const of = 'mcptrust-v1';
    return { commitment: commit(kind, canonicalize(payload, of), salt), of };
  }
}
