import { provider } from '#provider';
import { BullaError } from '../error.ts';
import { type AlgorithmName, algorithm } from './algorithms.ts';
import { toHex } from './bytes.ts';
import type { CryptoProvider } from './provider.ts';

declare const checked: unique symbol;

/** A public key that passed the checks of {@link publicKey}; there is no other way to get one. */
export interface PublicKey {
  readonly algorithm: AlgorithmName;
  readonly bytes: Uint8Array;
  readonly [checked]: true;
}

/** Something that signs with one key. The key itself may live elsewhere, such as in a hardware token. */
export interface Signer {
  readonly algorithm: AlgorithmName;
  readonly publicKey: Uint8Array;
  /** Signs a message. Throws or rejects when the key cannot be used; never returns a partial signature. */
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** A signer whose key is in memory, so that it answers at once. */
export interface LocalSigner extends Signer {
  sign(message: Uint8Array): Uint8Array;
}

const keyProblems = {
  KEY_NOT_CANONICAL: 'The public key is not in the one encoding that its point has.',
  KEY_SMALL_ORDER: 'The public key has small order: it would verify signatures that nobody made.',
};

/**
 * Loads the raw bytes of a public key. Throws `KEY_ALGORITHM`, `KEY_SIZE`, and for Ed25519
 * `KEY_NOT_CANONICAL` (y ≥ p, or x = 0 with the sign bit) or `KEY_SMALL_ORDER`. The bytes are copied.
 */
export function publicKey(name: AlgorithmName, bytes: Uint8Array): PublicKey {
  const entry = algorithm(name);
  if (bytes.length !== entry.publicKeyBytes) {
    throw new BullaError(
      'KEY_SIZE',
      `A public key of ${name} has ${entry.publicKeyBytes} bytes, not ${bytes.length}.`,
    );
  }
  const problem = entry.keyProblem(bytes);
  if (problem !== null) throw new BullaError(problem, keyProblems[problem]);
  return Object.freeze({ algorithm: entry.name, bytes: new Uint8Array(bytes) }) as PublicKey;
}

/** Throws `KEY_SIZE` unless the seed has the size that the algorithm wants. */
export function checkSeed(name: AlgorithmName, seed: Uint8Array): void {
  const { seedBytes } = algorithm(name);
  if (seed.length === seedBytes) return;
  throw new BullaError('KEY_SIZE', `A seed of ${name} has ${seedBytes} bytes, not ${seed.length}.`);
}

/** Derives the public key of a seed. Throws `KEY_ALGORITHM` or `KEY_SIZE`. */
export function derivePublicKey(name: AlgorithmName, seed: Uint8Array): PublicKey {
  checkSeed(name, seed);
  return publicKey(name, provider.signatures[name].publicKey(seed));
}

/**
 * Makes a signer from a seed in memory. The seed is copied and cannot be read back from the signer. Throws
 * `KEY_ALGORITHM`, `KEY_SIZE`, or `CRYPTO_ALGORITHM_UNAVAILABLE` where the runtime lacks the
 * algorithm. Ed25519 signatures are deterministic; those of ML-DSA are hedged on Node.js.
 */
export function localSigner(name: AlgorithmName, seed: Uint8Array): LocalSigner {
  const own = new Uint8Array(seed);
  const derived = derivePublicKey(name, own);
  return {
    algorithm: derived.algorithm,
    publicKey: derived.bytes,
    sign: provider.signatures[derived.algorithm].signer(own),
  };
}

/**
 * Checks a signature. Returns false for a wrong or malformed signature, of whatever size; for Ed25519 also when R
 * has small order or S is not below the group order. Throws only `CRYPTO_ALGORITHM_UNAVAILABLE`, where the
 * runtime cannot check the algorithm at all.
 */
export function verify(key: PublicKey, message: Uint8Array, signature: Uint8Array): boolean {
  return verifyWith(provider, key, message, signature);
}

/** The same as {@link verify}, by a given provider. */
export function verifyWith(
  by: CryptoProvider,
  key: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const entry = algorithm(key.algorithm);
  if (signature.length !== entry.signatureBytes || !entry.acceptsSignature(signature)) return false;
  return by.signatures[entry.name].verify(key.bytes, message, signature);
}

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
