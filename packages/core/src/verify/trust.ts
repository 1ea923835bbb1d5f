import type { KeyFacts } from '../capsule/index.ts';
import { keyId, type NoteVerifier, type PublicKey } from '../crypto/index.ts';
import type { AnchorTrust, Policy } from '../log/index.ts';
import type { Kind } from './artifact.ts';
import { type Revocation, revokedSince } from './revocation.ts';

/** The keys that records are verified with, and what is known of them. */
export interface KeyTrust {
  readonly keys: readonly PublicKey[];
  readonly pqKeys: readonly PublicKey[];
  /** When the keys are valid, and which post-quantum key signs with them. */
  readonly facts: readonly KeyFacts[];
  readonly revoked: readonly Revocation[];
}

/** What artifacts are verified with. All of it is data; nothing is looked up, and there is no clock. */
export interface Trust extends KeyTrust {
  /** Verifier keys of signed notes. */
  readonly vkeys: readonly NoteVerifier[];
  /** The witnesses that checkpoints and proofs must have. */
  readonly policy?: Policy | undefined;
  readonly requirePq?: boolean;
  readonly allowNonFinite?: boolean;
  /**
   * Nobody chose these keys for these artifacts: they are what lies at hand. A signature that names nobody and that none
   * of them made is then undecided instead of bad.
   */
  readonly unasked?: boolean;
  /** What the artifacts must be; everything else is bad. Empty or absent: any kind. */
  readonly kinds?: readonly Kind[];
  /** Somebody must have signed: what nobody signs is then undecided. */
  readonly signed?: boolean;
}

/** Ed25519 keys that are not revoked: nothing shows that a lock was signed before the revocation. */
export function standingKeys({ keys, revoked }: Pick<KeyTrust, 'keys' | 'revoked'>): PublicKey[] {
  return keys.filter((key) => key.algorithm === 'Ed25519' && revokedSince(revoked, keyId(key)) === undefined);
}

/** Verifier keys that are not revoked: nothing shows that a note was signed before the revocation. */
export function standingVkeys({ vkeys, revoked }: Pick<Trust, 'vkeys' | 'revoked'>): NoteVerifier[] {
  return vkeys.filter(({ publicKey }) => revokedSince(revoked, keyId(publicKey)) === undefined);
}

/** The trust in checkpoints: a log signs with the keys of its records. */
export function anchorTrust({ keys, revoked }: KeyTrust, policy: Policy | undefined): AnchorTrust {
  return {
    keys: keys.filter((key) => key.algorithm === 'Ed25519'),
    policy,
    revokedAt: (key) => revokedSince(revoked, keyId(key)),
  };
}
