import { provider } from '#provider';
import { toHex } from './bytes.ts';
import type { PublicKey } from './signer.ts';

/** The identity of a key: SHA3-256 of its raw public key, 64 hex digits. Compare keys by this alone. */
export function keyId(key: PublicKey): string {
  return provider.sha3_256Hex(key.bytes);
}

/** A key id as reports for people show it: its first 16 digits. */
export function shownKeyId(id: string): string {
  return id.slice(0, 16);
}

/**
 * The first 16 hex digits of the public key, which capsule references write as `signed_by`. A label only: anyone
 * can make another key with the same one, so never choose or trust a key by it.
 */
export function shortLabel(key: PublicKey): string {
  return toHex(key.bytes.subarray(0, 8));
}

/**
 * `qp_key_` and the first 4 hex digits of the public key, which the Python keyring writes. A label only: two
 * keys in 65,536 share it by chance.
 */
export function qpLabel(key: PublicKey): string {
  return `qp_key_${toHex(key.bytes.subarray(0, 2))}`;
}
