import { createRequire } from 'node:module';
import { concat } from './bytes.ts';
import type { SignatureScheme } from './provider.ts';

/** The part of the optional package `sodium-native` that is used. */
interface Sodium {
  crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void;
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean;
}

/**
 * Ed25519 on libsodium, or null where `sodium-native` is not installed. It signs and verifies about twice as fast as
 * OpenSSL, gives the same signatures, and the same verdict on every Wycheproof and CCTV case, which a test shows.
 */
export function loadSodium(publicKeyOf: (seed: Uint8Array) => Uint8Array): Fast | null {
  let sodium: Sodium;
  try {
    sodium = createRequire(import.meta.url)('sodium-native') as Sodium;
  } catch {
    return null;
  }
  const signer = (seed: Uint8Array) => {
    const secretKey = concat(seed, publicKeyOf(seed));
    return (message: Uint8Array) => {
      const signature = new Uint8Array(64);
      sodium.crypto_sign_detached(signature, message, secretKey);
      return signature;
    };
  };
  return {
    signer,
    verify: (publicKey, message, signature) =>
      sodium.crypto_sign_verify_detached(signature, message, publicKey),
  };
}

type Fast = Pick<SignatureScheme, 'signer' | 'verify'>;
