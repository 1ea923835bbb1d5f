import type { AlgorithmName } from './algorithms.ts';

/** One signature algorithm as a provider computes it. Sizes were checked by the caller. */
export interface SignatureScheme {
  /** Derives the public key of a seed. */
  publicKey(seed: Uint8Array): Uint8Array;
  /** Takes a seed in once, and signs with it; ML-DSA signatures may differ from call to call, because a provider may hedge them. */
  signer(seed: Uint8Array): (message: Uint8Array) => Uint8Array;
  /**
   * Checks a signature. Which keys and signatures are refused beforehand is not a provider's business: call
   * `verify` of the module, which applies the shared rules.
   */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
}

/**
 * The primitives, once on node:crypto and once in pure JavaScript. `package.json` maps `#provider` to the one
 * that fits the runtime. Both give the same bytes and the same verdicts. Hashing a string hashes its UTF-8 and
 * throws `CRYPTO_ENCODING` for a lone surrogate.
 */
export interface CryptoProvider {
  readonly name: string;
  /** SHA-256 (FIPS 180-4), 32 bytes. */
  sha256(bytes: Uint8Array): Uint8Array;
  sha256Hex(data: Uint8Array | string): string;
  /** SHA3-256 (FIPS 202). */
  sha3_256Hex(data: Uint8Array | string): string;
  /** HMAC-SHA256 (RFC 2104), 32 bytes. */
  hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array;
  readonly signatures: Readonly<Record<AlgorithmName, SignatureScheme>>;
}
