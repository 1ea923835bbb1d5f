import { ED25519_TORSION_SUBGROUP, ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { provider as active } from '#provider';
import { concat, fromHex, toHex } from './bytes.ts';
import { ed25519AcceptsSignature, ed25519KeyProblem } from './ed25519.ts';
import { provider as noble } from './provider-noble.ts';
import { publicKey, verifyWith } from './signer.ts';

const p = 2n ** 255n - 19n;
const order = ed25519.Point.Fn.ORDER;

function encode(y: bigint, sign = 0): Uint8Array {
  const bytes = fromHex(y.toString(16).padStart(64, '0')).reverse();
  bytes[31]! |= sign << 7;
  return bytes;
}

/** Every 32-byte string that some decoder takes for a point of small order, found by decoding, not from the list. */
const smallOrder = new Set<string>();
for (const hex of ED25519_TORSION_SUBGROUP) {
  const { y } = ed25519.Point.fromHex(hex).toAffine();
  for (const twin of y + p < 2n ** 255n ? [y, y + p] : [y]) {
    for (const sign of [0, 1]) smallOrder.add(toHex(encode(twin, sign)));
  }
}

const base = ed25519.Point.BASE.toBytes();
const half = (bytes: Uint8Array) => concat(base, bytes);

describe('an Ed25519 public key', () => {
  it('is refused in each of the 14 encodings of small order', () => {
    expect(smallOrder.size).toBe(14);
    const counts: Record<string, number> = {};
    for (const hex of smallOrder) {
      const problem = String(ed25519KeyProblem(fromHex(hex)));
      counts[problem] = (counts[problem] ?? 0) + 1;
      expect(() => publicKey('Ed25519', fromHex(hex))).toThrow(expect.objectContaining({ code: problem }));
    }
    expect(counts).toEqual({ KEY_SMALL_ORDER: 8, KEY_NOT_CANONICAL: 6 });
  });

  it('is refused when y is not below p', () => {
    for (let y = p; y < 2n ** 255n; y++) {
      expect(ed25519KeyProblem(encode(y))).toBe('KEY_NOT_CANONICAL');
      expect(ed25519KeyProblem(encode(y, 1))).toBe('KEY_NOT_CANONICAL');
    }
    expect(ed25519KeyProblem(encode(p - 2n))).toBe(null);
    expect(ed25519KeyProblem(encode(p - 2n, 1))).toBe(null);
  });

  it('is refused when x is 0 and has a sign', () => {
    expect(ed25519KeyProblem(encode(1n, 1))).toBe('KEY_NOT_CANONICAL');
    expect(ed25519KeyProblem(encode(p - 1n, 1))).toBe('KEY_NOT_CANONICAL');
  });

  it('is accepted otherwise, also with a component of small order', () => {
    const mixed = ed25519.Point.BASE.add(ed25519.Point.fromHex(ED25519_TORSION_SUBGROUP[1]!));
    expect(ed25519KeyProblem(base)).toBe(null);
    expect(ed25519KeyProblem(mixed.toBytes())).toBe(null);
    expect(ed25519KeyProblem(encode(2n))).toBe(null);
  });
});

describe('an Ed25519 signature', () => {
  it('is refused when R has small order, in every encoding', () => {
    for (const hex of smallOrder)
      expect(ed25519AcceptsSignature(concat(fromHex(hex), new Uint8Array(32)))).toBe(false);
    expect(ed25519AcceptsSignature(half(new Uint8Array(32)))).toBe(true);
  });

  it('is refused when S is not below the group order', () => {
    expect(ed25519AcceptsSignature(half(encode(order - 1n)))).toBe(true);
    expect(ed25519AcceptsSignature(half(encode(order)))).toBe(false);
    expect(ed25519AcceptsSignature(half(encode(order + 1n)))).toBe(false);
    expect(ed25519AcceptsSignature(half(encode(2n ** 252n)))).toBe(true);
    expect(ed25519AcceptsSignature(half(encode(2n ** 253n)))).toBe(false);
    expect(ed25519AcceptsSignature(half(new Uint8Array(32).fill(255)))).toBe(false);
  });

  it('is false, not an error, when a provider is asked about such an S itself', () => {
    for (const by of new Set([active, noble])) {
      expect(by.signatures.Ed25519.verify(base, new Uint8Array(), half(encode(order)))).toBe(false);
    }
  });

  it('of an encoding that is no point of the curve is false, not an error', () => {
    expect(() => ed25519.Point.fromBytes(encode(2n))).toThrow();
    const key = publicKey('Ed25519', encode(2n));
    for (const by of new Set([active, noble])) {
      expect(verifyWith(by, key, new Uint8Array(), half(encode(1n)))).toBe(false);
    }
  });
});
