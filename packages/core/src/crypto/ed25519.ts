import { fromHex, toHex } from './bytes.ts';

// The rules that both providers share, so that a signature is good everywhere or nowhere. They work on encodings
// alone: RFC 8032 §5.1.3 makes y canonical when it is below p, and the small-order points are few enough to list.

/** The group order L, little-endian (RFC 8032 §5.1). */
const groupOrder = fromHex('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010');

const yOne = `01${'00'.repeat(31)}`;
const yMinusOne = `ec${'ff'.repeat(30)}7f`;

/** The y coordinates of the eight points of small order, with their non-canonical twins; the sign bit is clear. */
const smallOrderY: ReadonlySet<string> = new Set([
  yOne, // order 1
  yMinusOne, // order 2
  '00'.repeat(32), // order 4, both signs
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', // order 8, both signs
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', // order 8, both signs
  `ed${'ff'.repeat(30)}7f`, // p, that is 0
  `ee${'ff'.repeat(30)}7f`, // p + 1, that is 1
]);

/**
 * Says what is wrong with the encoding of an Ed25519 public key, or returns null. A small-order key verifies one
 * signature for many messages; a second encoding of a point gives one key two names. An encoding that is no
 * point of the curve passes here and verifies nothing.
 */
export function ed25519KeyProblem(encoded: Uint8Array): 'KEY_NOT_CANONICAL' | 'KEY_SMALL_ORDER' | null {
  const y = withoutSign(encoded);
  const xIsZero = y === yOne || y === yMinusOne;
  if (!isBelowP(encoded) || (xIsZero && signBit(encoded))) return 'KEY_NOT_CANONICAL';
  return smallOrderY.has(y) ? 'KEY_SMALL_ORDER' : null;
}

/**
 * Tells whether a 64-byte signature may be checked at all: its R has no small order in any encoding and its S is
 * below L (RFC 8032 §5.1.7, against malleability).
 */
export function ed25519AcceptsSignature(signature: Uint8Array): boolean {
  return !smallOrderY.has(withoutSign(signature.subarray(0, 32))) && isBelowOrder(signature.subarray(32));
}

function signBit(encoded: Uint8Array): boolean {
  return (encoded[31]! & 0x80) !== 0;
}

function withoutSign(encoded: Uint8Array): string {
  const y = new Uint8Array(encoded); // not slice(), which on a Buffer of Node.js does not copy
  y[31]! &= 0x7f;
  return toHex(y);
}

/** y < p = 2^255 − 19. */
function isBelowP(encoded: Uint8Array): boolean {
  if ((encoded[31]! & 0x7f) !== 0x7f) return true;
  for (let i = 30; i > 0; i--) if (encoded[i] !== 0xff) return true;
  return encoded[0]! < 0xed;
}

function isBelowOrder(scalar: Uint8Array): boolean {
  for (let i = 31; i >= 0; i--) {
    if (scalar[i] !== groupOrder[i]) return scalar[i]! < groupOrder[i]!;
  }
  return false;
}
