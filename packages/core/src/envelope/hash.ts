import { canonicalize, digest, lint } from '../canon/index.ts';
import { sha256Hex } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import type { Envelope } from './envelope.ts';

/** `envelope-v1` is the seed's form; `envelope-v1-nul` that of the later upstream draft, whose hashes begin with `0x`. */
export type ExecProfile = 'envelope-v1' | 'envelope-v1-nul';

/**
 * The exec_hash of an envelope: SHA-256 over the profile's domain separator and the canonical bytes of everything
 * but the metadata. Throws `EE_CANONICALIZATION_FAILED` with the path for what has no canonical form, which an
 * envelope that was parsed always has.
 */
export function execHash(envelope: Envelope, profile: ExecProfile = 'envelope-v1'): string {
  try {
    return digest(envelope, profile);
  } catch (cause) {
    const sentence = `The envelope has no canonical form: ${reason(cause)}`;
    const path = (cause as BullaError).path ?? '';
    throw new BullaError('EE_CANONICALIZATION_FAILED', sentence, { path, cause });
  }
}

const POLICY_DOMAIN = 'CryptoCardia.PolicyHash.v1\u0000';

/**
 * The policy_hash of a policy snapshot: `0x` and the SHA-256 of `CryptoCardia.PolicyHash.v1`, a zero byte and the
 * `jcs` bytes. Throws `EE_POLICY_HASH_DERIVATION_FAILED` with the path when the snapshot is no object, has no
 * canonical form, or holds a number that `jcs` would turn into another: two policies would share one hash.
 */
export function policyHash(snapshot: unknown): string {
  if (typeof snapshot !== 'object' || snapshot === null || Array.isArray(snapshot)) {
    throw underivable('The snapshot of a policy is an object.', '');
  }
  try {
    const inexact = lint(snapshot, ['jcs']).find(({ rule }) => rule === 'inexact');
    if (inexact !== undefined) throw underivable('The number cannot be hashed exactly.', inexact.path);
    return `0x${sha256Hex(POLICY_DOMAIN + canonicalize(snapshot, 'jcs'))}`;
  } catch (cause) {
    if ((cause as BullaError).code === 'EE_POLICY_HASH_DERIVATION_FAILED') throw cause;
    const at = (cause as BullaError).path ?? '';
    throw underivable(`The policy has no canonical form: ${reason(cause)}`, at, cause);
  }
}

function underivable(sentence: string, path: string, cause?: unknown): BullaError {
  return new BullaError('EE_POLICY_HASH_DERIVATION_FAILED', sentence, { path, cause });
}

function reason(cause: unknown): string {
  if (cause instanceof BullaError) return cause.message;
  throw cause;
}
