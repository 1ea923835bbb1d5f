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
export type { NoteSignature, NoteSigner, NoteVerifier, VerifiedSignature } from './note.ts';
export { formatNote, formatVkey, noteVerifier, openNote, parseNote, parseVkey, signNote } from './note.ts';

export type { LocalSigner, PublicKey, Signer } from './signer.ts';
export {
  derivePublicKey,
  keyId,
  localSigner,
  publicKey,
  qpLabel,
  shortLabel,
  shownKeyId,
  verify,
} from './signer.ts';

/** The hashes, as `CryptoProvider` describes them. */
export const { sha256, sha256Hex, sha3_256Hex, hmacSha256 } = provider;
