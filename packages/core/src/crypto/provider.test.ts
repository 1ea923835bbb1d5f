import { describe, expect, it } from 'vitest';
import { provider as active } from '#provider';
import type { AlgorithmName } from './algorithms.ts';
import { fromHex, toHex, toUtf8 } from './bytes.ts';
import { provider as noble } from './provider-noble.ts';
import { publicKey, verifyWith } from './signer.ts';

const providers = [...new Set([active, noble])];
const abc = toUtf8('abc');
const seed = Uint8Array.from({ length: 32 }, (_, i) => i);

describe.each(providers)('the primitives of $name', (by) => {
  it('hash as FIPS 180-4 and FIPS 202 say', () => {
    const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    const sha3 = '3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532';
    expect(by.sha256Hex(abc)).toBe(sha256);
    expect(by.sha256Hex('abc')).toBe(sha256);
    expect(by.sha256(abc)).toEqual(fromHex(sha256));
    expect(by.sha3_256Hex(abc)).toBe(sha3);
    expect(by.sha3_256Hex('abc')).toBe(sha3);
    expect(by.sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('hash a string as its UTF-8, and no string that has none', () => {
    expect(by.sha256Hex('é€𝄞')).toBe(by.sha256Hex(fromHex('c3a9e282acf09d849e')));
    expect(by.sha3_256Hex('é€𝄞')).toBe(by.sha3_256Hex(fromHex('c3a9e282acf09d849e')));
    for (const hash of [by.sha256Hex, by.sha3_256Hex]) {
      expect(() => hash('\udc00')).toThrow(expect.objectContaining({ code: 'CRYPTO_ENCODING' }));
    }
  });

  it('authenticate as RFC 4231 says (test case 2)', () => {
    const tag = by.hmacSha256(toUtf8('Jefe'), toUtf8('what do ya want for nothing?'));
    expect(toHex(tag)).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843');
  });

  it('authenticate alike at the lengths where the way to do it changes', () => {
    const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 7) & 255);
    for (const key of [0, 1, 32, 63, 64, 65, 200].map(bytes))
      for (const message of [0, 1, 63, 64, 65, 4095, 4096, 4097, 10_000].map(bytes))
        expect(toHex(by.hmacSha256(key, message))).toBe(toHex(noble.hmacSha256(key, message)));
  });

  it('return plain byte arrays that share no memory', () => {
    const scheme = by.signatures.Ed25519;
    const results = [
      by.sha256(abc),
      by.hmacSha256(abc, abc),
      scheme.publicKey(seed),
      scheme.signer(seed)(abc),
    ];
    for (const bytes of results) {
      expect(bytes.constructor).toBe(Uint8Array);
      expect(bytes.buffer.byteLength).toBe(bytes.length);
    }
  });

  it('leave the seed as it was', () => {
    for (const scheme of Object.values(by.signatures)) {
      const given = seed.slice();
      scheme.publicKey(given);
      scheme.signer(given)(abc);
      expect(given).toEqual(seed);
    }
  });
});

describe.each(['Ed25519', 'ML-DSA-44', 'ML-DSA-65'] as AlgorithmName[])('%s', (name) => {
  it('has the same public key in every provider, and each verifies what the other signs', () => {
    for (const signing of providers) {
      const signature = signing.signatures[name].signer(seed)(abc);
      for (const verifying of providers) {
        const key = publicKey(name, verifying.signatures[name].publicKey(seed));
        expect(verifyWith(verifying, key, abc, signature)).toBe(true);
        expect(verifyWith(verifying, key, toUtf8('abd'), signature)).toBe(false);
        for (const at of [0, 31, 32, signature.length - 1]) {
          const broken = signature.slice();
          broken[at]! ^= 1;
          expect(verifyWith(verifying, key, abc, broken)).toBe(false);
        }
      }
    }
  });
});
