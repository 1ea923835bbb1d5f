import { expect, test } from 'vitest';
import { validities } from './validity.ts';

test('what is said of a key holds for the post-quantum key that signs with it, by the strictest word', () => {
  const [key, pqKey] = ['a1'.repeat(32), 'b2'.repeat(32)];
  const free = { key: 'c3'.repeat(32), pqKey: null, notBefore: null, notAfter: null };
  const limited = {
    ...{ key, pqKey, notBefore: '2026-01-01T00:00:00.500Z', notAfter: '2026-01-02T00:00:00.500Z' },
  };
  const revoked = [
    { key, at: 9 },
    { key, at: 7 },
  ];
  const validity = { notBefore: 1_767_225_601, notAfter: 1_767_312_000, revokedAt: 7 };
  expect([...validities({ facts: [limited, free], revoked })]).toEqual([
    [key, validity],
    [pqKey, validity],
    [free.key, { notBefore: null, notAfter: null, revokedAt: null }],
  ]);
});
