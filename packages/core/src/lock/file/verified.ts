import type { ProfileId } from '../../canon/index.ts';
import { keyId, type PublicKey } from '../../crypto/index.ts';
import type { Lock } from './lock.ts';

declare const proof: unique symbol;

/**
 * A lock that a trusted key signed, read from the very bytes that were verified. Only `openSigned`,
 * `openNoted` and `openAttested` make one.
 */
export interface VerifiedLock extends Lock {
  readonly verified: Verification;
  readonly [proof]: true;
}

/**
 * What a verifier found. It says nothing of when the lock was signed, nor whether the server still is as
 * locked.
 */
interface Verification {
  /** What carried the signature: the released program's `.sig`, a signed note, a DSSE envelope. */
  readonly by: 'sig' | 'note' | 'dsse';
  /** Those of the trusted keys that signed. */
  readonly keys: readonly PublicKey[];
  /** Their full ids, in the same order. */
  readonly keyIds: readonly string[];
  /** The canonical form that a `.sig` is over; null for the others. */
  readonly profile: ProfileId | null;
}

/** For the verifiers of this folder alone. */
export function asVerified(
  lock: Lock,
  by: Verification['by'],
  keys: readonly PublicKey[],
  profile: ProfileId | null = null,
): VerifiedLock {
  const verified: Verification = { by, keys, keyIds: keys.map(keyId), profile };
  return { ...lock, verified } as VerifiedLock;
}
