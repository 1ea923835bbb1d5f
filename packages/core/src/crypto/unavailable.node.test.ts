import { expect, it, vi } from 'vitest';
import { localSigner, publicKey, verify } from './signer.ts';

// A Node.js whose OpenSSL knows no ML-DSA fails to parse such keys; older ones are not at hand in the test run.
vi.mock('node:crypto', async (original) => {
  const real = await original<typeof import('node:crypto')>();
  const mlDsa = Buffer.from('6086480165030403', 'hex');
  const without =
    <Args extends [{ key: Buffer }], Key>(parse: (...args: Args) => Key) =>
    (...args: Args): Key => {
      if (args[0].key.includes(mlDsa)) throw new Error('error:1E08010C:DECODER routines::unsupported');
      return parse(...args);
    };
  const createPublicKey = (input: { key?: Buffer }) =>
    (input.key ? without(real.createPublicKey as never) : real.createPublicKey)(input as never);
  return { ...real, createPrivateKey: without(real.createPrivateKey as never), createPublicKey };
});

const unavailable = expect.objectContaining({
  code: 'CRYPTO_ALGORITHM_UNAVAILABLE',
  message: expect.stringContaining('Node.js 24.15'),
});

it('refuses ML-DSA where the runtime has none, rather than call a good signature bad', () => {
  const key = publicKey('ML-DSA-65', new Uint8Array(1952));
  expect(() => localSigner('ML-DSA-65', new Uint8Array(32))).toThrow(unavailable);
  expect(() => verify(key, new Uint8Array(), new Uint8Array(3309))).toThrow(unavailable);
});

it('goes on signing with Ed25519', () => {
  const signer = localSigner('Ed25519', new Uint8Array(32));
  const signature = signer.sign(new Uint8Array());
  expect(verify(publicKey('Ed25519', signer.publicKey), new Uint8Array(), signature)).toBe(true);
});
