import { describe, expect, it } from 'vitest';
import type { AlgorithmName } from './algorithms.ts';
import { toHex, toUtf8 } from './bytes.ts';
import {
  derivePublicKey,
  keyId,
  localSigner,
  publicKey,
  qpLabel,
  sha3_256Hex,
  shortLabel,
  verify,
} from './index.ts';

const seed = Uint8Array.from({ length: 32 }, (_, i) => i);
const message = toUtf8('who did what');
const sizes: [AlgorithmName, number, number][] = [
  ['Ed25519', 32, 64],
  ['ML-DSA-44', 1312, 2420],
  ['ML-DSA-65', 1952, 3309],
];
const code = (code: string) => expect.objectContaining({ code });

describe.each(sizes)('a signer of %s', (name, publicSize, signatureSize) => {
  const signer = localSigner(name, seed);
  const key = publicKey(name, signer.publicKey);

  it('makes signatures of the right size that verify', () => {
    const signature = signer.sign(message);
    expect([signer.algorithm, signer.publicKey.length, signature.length]).toEqual([
      name,
      publicSize,
      signatureSize,
    ]);
    expect(verify(key, message, signature)).toBe(true);
    expect(verify(key, toUtf8('who did that'), signature)).toBe(false);
  });

  it('never makes verify throw, whatever the signature', () => {
    const good = signer.sign(message);
    const bad = [
      new Uint8Array(),
      good.subarray(1),
      new Uint8Array(signatureSize),
      new Uint8Array(signatureSize).fill(255),
    ];
    const longer = new Uint8Array(signatureSize + 1);
    longer.set(good);
    for (const signature of [...bad, longer]) expect(verify(key, message, signature)).toBe(false);
  });

  it('does not give its seed away', () => {
    const own = seed.slice();
    const guarded = localSigner(name, own);
    expect(Object.keys(guarded)).toEqual(['algorithm', 'publicKey', 'sign']);
    own.fill(9);
    expect(verify(key, message, guarded.sign(message))).toBe(true);
  });

  it('refuses seeds and public keys of another size', () => {
    for (const size of [0, 31, 33, 64]) {
      expect(() => localSigner(name, new Uint8Array(size))).toThrow(code('KEY_SIZE'));
    }
    for (const size of [0, publicSize - 1, publicSize + 1]) {
      expect(() => publicKey(name, new Uint8Array(size))).toThrow(code('KEY_SIZE'));
    }
  });
});

it('knows no algorithm outside the table', () => {
  for (const name of ['RSA', 'ed25519', '__proto__', 'constructor']) {
    expect(() => publicKey(name as AlgorithmName, seed)).toThrow(code('KEY_ALGORITHM'));
    expect(() => localSigner(name as AlgorithmName, seed)).toThrow(code('KEY_ALGORITHM'));
  }
});

it('copies the bytes of a public key', () => {
  const bytes = localSigner('Ed25519', seed).publicKey.slice();
  const key = publicKey('Ed25519', bytes);
  bytes.fill(0);
  expect(toHex(key.bytes)).toBe('03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8');
});

it('names keys', () => {
  const key = derivePublicKey('Ed25519', seed);
  expect(keyId(key)).toBe(sha3_256Hex(key.bytes));
  expect(keyId(key)).toHaveLength(64);
  expect(shortLabel(key)).toBe('03a107bff3ce10be');
  expect(qpLabel(key)).toBe('qp_key_03a1');
});
