import type { Code } from '../codes.ts';
import { keyId, type PublicKey, qpLabel, shortLabel, toUtf8, verify } from '../crypto/index.ts';
import { pointer } from '../json/index.ts';
import type { VerifyOptions } from './verify.ts';

export interface Warning {
  /**
   * `unauthenticated_field`, `hashed_as_null`, `typescript_profile`, `signed_by_mismatch`, `pq_missing`,
   * `pq_unchecked`, `non_finite`, `inexact_number`, `not_canonical`.
   */
  readonly code: Code;
  /** JSON Pointer of the place. */
  readonly path: string;
  readonly message: string;
}

/** The seal of a record, read strictly. */
export interface ReadSeal {
  readonly hash: string;
  readonly signature: Uint8Array;
  /** Null where there is none. */
  readonly signaturePq: Uint8Array | null;
  readonly signedBy: string;
  /** Null where there is none. */
  readonly signedAt: string | null;
}

/** A verdict's code and sentence. */
interface Fault {
  readonly code: Code;
  readonly message: string;
}

interface Names {
  readonly id: string;
  readonly labels: readonly string[];
}

const names = new WeakMap<PublicKey, Names>();

/** The full id of a key and the labels that may stand for it, worked out once a key. */
export function namesOf(key: PublicKey): Names {
  let found = names.get(key);
  if (found === undefined) {
    found = { id: keyId(key), labels: [shortLabel(key), qpLabel(key)] };
    names.set(key, found);
  }
  return found;
}

/**
 * Who signed, and whether the signature was checked or is covered by a checkpoint. Every key that the label fits is
 * tried, then all others, because the label is not authenticated and short ones collide.
 */
export function findSigner(
  { hash, signature, signedBy }: ReadSeal,
  { keys, signatures }: Pick<VerifyOptions, 'keys' | 'signatures'>,
): { key: PublicKey; named: boolean; checked: boolean } | Fault {
  const fitting = keys.filter((key) => key.algorithm === 'Ed25519');
  if (keys.length === 0) return fault('unknown_key', 'No key is given to verify with.');
  if (fitting.length === 0)
    return fault('unsupported_algorithm', 'A capsule is signed with Ed25519, and no such key is given.');
  const named = fitting.filter((key) => namesOf(key).labels.includes(signedBy));
  if (signatures === 'by checkpoint' && named.length === 1)
    return { key: named[0]!, named: true, checked: false };
  const others = fitting.filter((key) => !named.includes(key));
  const message = toUtf8(hash);
  const key = [...named, ...others].find((candidate) => verify(candidate, message, signature));
  if (key !== undefined) return { key, named: named.includes(key), checked: true };
  return named.length === 0 && signedBy !== ''
    ? fault(
        'unknown_key',
        `The key is not known (signed_by ${JSON.stringify(signedBy)}), so its signature was not checked.`,
      )
    : fault('invalid_signature', 'The signature is not one of the hash by this key.');
}

/**
 * Who made the post-quantum signature. `own` are the ids of the keys that always sign together with the key of the
 * record: without a signature by one of them, somebody took it away.
 */
export function findPqSigner(
  { hash, signaturePq }: ReadSeal,
  own: readonly string[],
  { pqKeys = [], requirePq, signatures }: Pick<VerifyOptions, 'pqKeys' | 'requirePq' | 'signatures'>,
): { key: PublicKey | null; warnings: readonly Warning[] } | Fault {
  const warn = (code: Code, message: string) => ({
    key: null,
    warnings: [warning(code, ['signature_pq'], message)],
  });
  if (signaturePq === null) {
    if (own.length > 0)
      return fault(
        'pq_missing',
        'The key signs together with a post-quantum key, whose signature is missing.',
      );
    if (requirePq === true) return fault('pq_missing', 'The record has no post-quantum signature.');
    // An empty field is what a stripped one looks like.
    return pqKeys.length > 0
      ? warn('pq_missing', 'There is no post-quantum signature.')
      : { key: null, warnings: [] };
  }
  if (signatures === 'by checkpoint') return { key: null, warnings: [] };
  const fitting = pqKeys.filter(
    (candidate) =>
      candidate.algorithm === 'ML-DSA-65' && (own.length === 0 || own.includes(namesOf(candidate).id)),
  );
  const message = toUtf8(hash);
  const key = fitting.find((candidate) => verify(candidate, message, signaturePq));
  if (key !== undefined) return { key, warnings: [] };
  if (fitting.length > 0)
    return fault(
      'pq_verification_failed',
      'The post-quantum signature is not one of the hash by a given key.',
    );
  if (requirePq === true) return fault('pq_unknown_key', 'No ML-DSA-65 key is given to verify with.');
  return warn('pq_unchecked', 'No ML-DSA-65 key is given, so this was not checked.');
}

function fault(code: Code, message: string): Fault {
  return { code, message };
}

export function warning(code: Code, path: readonly string[], message: string): Warning {
  return { code, path: pointer(path), message };
}
