import { ed25519 } from '@noble/curves/ed25519.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js';
import { concat, equalBytes, toHex, toUtf8 } from './bytes.ts';
import type { CryptoProvider, SignatureScheme } from './provider.ts';

const { Point } = ed25519;

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(new Uint8Array(bytes).reverse())}`);
}

/**
 * Cofactorless verification that compares encodings (RFC 8032 §5.1.7 as node:crypto does it). The library's own
 * `verify` multiplies by the cofactor even with `zip215: false` and so accepts more.
 */
function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const r = signature.subarray(0, 32);
  const s = littleEndian(signature.subarray(32));
  if (s >= Point.Fn.ORDER) return false;
  let a: InstanceType<typeof Point>;
  try {
    a = Point.fromBytes(publicKey);
  } catch {
    return false; // no point of the curve
  }
  const k = littleEndian(sha512(concat(r, publicKey, message))) % Point.Fn.ORDER;
  const expected = Point.BASE.multiplyUnsafe(s).subtract(a.multiplyUnsafe(k));
  return equalBytes(expected.toBytes(), r);
}

// Deterministic signing (FIPS 204 §3.4), because this provider draws no randomness of its own.
function mlDsa(library: typeof ml_dsa65): SignatureScheme {
  return {
    publicKey: (seed) => library.keygen(new Uint8Array(seed)).publicKey,
    signer: (seed) => (message) => {
      const { secretKey } = library.keygen(new Uint8Array(seed));
      const signature = library.sign(message, secretKey, { extraEntropy: false });
      secretKey.fill(0);
      return signature;
    },
    verify: (publicKey, message, signature) => library.verify(signature, message, publicKey),
  };
}

function bytesOf(data: Uint8Array | string): Uint8Array {
  return typeof data === 'string' ? toUtf8(data) : data;
}

/** The primitives in pure JavaScript, for browsers and edge runtimes. Its ML-DSA signatures are deterministic. */
export const provider: CryptoProvider = {
  name: 'noble',
  sha256: (bytes) => sha256(bytes),
  sha256Hex: (data) => toHex(sha256(bytesOf(data))),
  sha3_256Hex: (data) => toHex(sha3_256(bytesOf(data))),
  hmacSha256: (key, bytes) => hmac(sha256, key, bytes),
  signatures: {
    Ed25519: {
      publicKey: (seed) => ed25519.getPublicKey(seed),
      signer: (seed) => (message) => ed25519.sign(message, seed),
      verify: verifyEd25519,
    },
    'ML-DSA-44': mlDsa(ml_dsa44),
    'ML-DSA-65': mlDsa(ml_dsa65),
  },
};
