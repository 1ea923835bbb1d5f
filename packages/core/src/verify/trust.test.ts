import { expect, test } from 'vitest';
import { keyId, localSigner, publicKey } from '../crypto/index.ts';
import { approverKey } from './trust.ts';

test('a key is known by all that keyrings say of it, and so is the post-quantum key that signs with it', () => {
  const seed = (n: number) => new Uint8Array(32).fill(n);
  const key = publicKey('Ed25519', localSigner('Ed25519', seed(1)).publicKey);
  const pqKey = publicKey('ML-DSA-65', localSigner('ML-DSA-65', seed(2)).publicKey);
  const other = publicKey('Ed25519', localSigner('Ed25519', seed(3)).publicKey);
  const pair = { key: keyId(key), pqKey: keyId(pqKey) };
  const limited = { ...pair, notBefore: '2026-01-01T00:00:00.500Z', notAfter: '2026-01-02T00:00:00.500Z' };
  const free = { ...pair, notBefore: null, notAfter: null };
  const revoked = [
    { key: pair.key, at: 9 },
    { key: pair.key, at: 7 },
  ];
  const trust = { facts: [limited, free], revoked };
  for (const each of [key, pqKey])
    expect(approverKey('alice', each, trust)).toEqual([
      {
        ...{ person: 'alice', key: each },
        validity: { notBefore: 1_767_225_601, notAfter: 1_767_312_000, revokedAt: 7 },
      },
      { person: 'alice', key: each, validity: { notBefore: null, notAfter: null, revokedAt: 7 } },
    ]);
  expect(approverKey('bob', other, trust)).toEqual([{ person: 'bob', key: other }]);
});
