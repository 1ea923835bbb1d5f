/**
 * Hashes, keys and signatures. Nothing here does I/O or reads a clock, and keys are made from bytes that the caller
 * drew; only Node.js itself adds randomness to its ML-DSA signatures. The same calls give the same verdicts on
 * Node.js and in browsers. Errors are `BullaError` with a code that starts with `KEY_`, `NOTE_` or `CRYPTO_`, and
 * with `LOG_CHECKPOINT` for the text of checkpoints.
 */
import { provider } from '#provider';

export type { Algorithm, AlgorithmName } from './algorithms.ts';
export { algorithm } from './algorithms.ts';
export {
  concat,
  equalBytes,
  fromBase64,
  fromBase64url,
  fromHex,
  fromHexAnyCase,
  fromUtf8,
  toBase64,
  toBase64url,
  toHex,
  toUtf8,
} from './bytes.ts';
export type { Checkpoint } from './checkpoint.ts';
export { EMPTY_ROOT, formatCheckpointBody, parseCheckpointBody } from './checkpoint.ts';
export type { KeyFormat, PrivateKey } from './formats.ts';
export {
  detectKey,
  privateKey,
  readPrivateKey,
  readPublicKey,
  signerOf,
  writePrivateKey,
  writePublicKey,
} from './formats.ts';
export { keyId, qpLabel, shortLabel, shownKeyId } from './keyid.ts';
export type { NoteSignature, NoteSigner, NoteVerifier, VerifiedSignature } from './note.ts';
export { formatNote, formatVkey, noteVerifier, openNote, parseNote, parseVkey, signNote } from './note.ts';

export type { LocalSigner, PublicKey, Signer } from './signer.ts';
export { derivePublicKey, localSigner, publicKey, verify } from './signer.ts';

/** SHA-256 (FIPS 180-4), 32 bytes. Never throws for bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return provider.sha256(bytes);
}

/** SHA-256 in lower-case hex; a string is hashed as UTF-8 and throws `CRYPTO_ENCODING` if it has none. */
export function sha256Hex(data: Uint8Array | string): string {
  return provider.sha256Hex(data);
}

/** SHA3-256 (FIPS 202) in lower-case hex; a string is hashed as UTF-8 and throws `CRYPTO_ENCODING` if it has none. */
export function sha3_256Hex(data: Uint8Array | string): string {
  return provider.sha3_256Hex(data);
}

/** HMAC-SHA256 (RFC 2104), 32 bytes. Never throws for bytes. */
export function hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  return provider.hmacSha256(key, bytes);
}
