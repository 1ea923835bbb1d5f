import type { KeyFacts, Verdict } from '../capsule/index.ts';
import { keyId, type NoteVerifier, type PublicKey, shownKeyId } from '../crypto/index.ts';
import type { ApproverKey } from '../envelope/index.ts';
import type { AnchorTrust, Policy } from '../log/index.ts';
import type { Kind } from './artifact.ts';

/** A key that is revoked, and since when. */
export interface Revocation {
  /** Its full id. */
  readonly key: string;
  /** In seconds since 1970. */
  readonly at: number;
}

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
  /**
   * The people who may approve envelopes. Their keys count for nothing else, and no other key counts for an
   * authorization. Absent: every key above may approve, as a person of its own.
   */
  readonly approvers?: readonly ApproverKey[] | undefined;
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
function revokedSince(revoked: readonly Revocation[], id: string): number | undefined {
  return revoked
    .filter(({ key }) => key === id)
    .reduce<number | undefined>((least, { at }) => Math.min(least ?? at, at), undefined);
}

/**
 * A person's key with all that keyrings say of it: once for each that knows it, and then the strictest word counts.
 * What is said of a key holds for the post-quantum key that signs with it.
 */
export function approverKey(
  person: string,
  key: PublicKey,
  { facts, revoked }: Pick<KeyTrust, 'facts' | 'revoked'>,
): ApproverKey[] {
  const id = keyId(key);
  const known = facts.filter((each) => each.key === id || each.pqKey === id);
  if (known.length === 0) {
    const revokedAt = revokedSince(revoked, id);
    if (revokedAt === undefined) return [{ person, key }];
    return [{ person, key, validity: { notBefore: null, notAfter: null, revokedAt } }];
  }
  return known.map((each) => {
    const validity = {
      notBefore: seconds(each.notBefore, Math.ceil),
      notAfter: seconds(each.notAfter, Math.floor),
      revokedAt: revokedSince(revoked, each.key) ?? null,
    };
    return { person, key, validity };
  });
}

function seconds(time: string | null, whole: (value: number) => number): number | null {
  return time === null ? null : whole(Date.parse(time) / 1000);
}

/** Whose signatures count for authorizations; where nobody is named, every key as a person of its own. */
export function approversOf(trust: Trust): readonly ApproverKey[] {
  const keys = [...trust.keys, ...trust.pqKeys];
  return trust.approvers ?? keys.flatMap((key) => approverKey(shownKeyId(keyId(key)), key, trust));
}
