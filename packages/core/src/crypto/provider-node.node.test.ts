import { describe, expect, it } from 'vitest';
import type { AlgorithmName } from './algorithms.ts';
import { provider as noble } from './provider-noble.ts';
import { provider as node } from './provider-node.ts';
import { localSigner, publicKey, verifyWith } from './signer.ts';

// A Buffer is a Uint8Array whose slice() shares memory: what copies by slice() would write into the caller's bytes.
describe.each([node, noble])('$name, given Buffers', (by) => {
  it.each(['Ed25519', 'ML-DSA-44', 'ML-DSA-65'] as AlgorithmName[])(
    'verifies %s and leaves them alone',
    (name) => {
      for (let n = 0; n < 8; n++) {
        const seed = Buffer.alloc(32, n);
        const message = Buffer.from(`message ${n}`);
        const signature = Buffer.from(by.signatures[name].signer(seed)(message));
        const raw = Buffer.from(localSigner(name, seed).publicKey);
        const before = [seed, message, signature, raw].map((bytes) => bytes.toString('hex'));
        const key = publicKey(name, raw);
        for (let again = 0; again < 2; again++) expect(verifyWith(by, key, message, signature)).toBe(true);
        expect([seed, message, signature, raw].map((bytes) => bytes.toString('hex'))).toEqual(before);
        raw.fill(0);
        expect(verifyWith(by, key, message, signature)).toBe(true);
      }
    },
  );
});

it('works on when more keys are in use than it keeps parsed', () => {
  const { Ed25519 } = node.signatures;
  const message = Buffer.from('m');
  const seeds = Array.from({ length: 600 }, (_, i) => Uint8Array.of(i >> 8, i & 0xff, ...new Uint8Array(30)));
  const signatures = seeds.map((seed) => Ed25519.signer(seed)(message));
  for (const [i, seed] of seeds.entries()) {
    expect(Ed25519.verify(Ed25519.publicKey(seed), message, signatures[i]!)).toBe(true);
    expect(Ed25519.verify(Ed25519.publicKey(seed), message, signatures[(i + 1) % 600]!)).toBe(false);
  }
});
