import { describe, expect, test } from 'vitest';
import { hasVectors, readText } from '#test-files';
import type { BullaError } from '../error.ts';
import { fromHex, toHex, toUtf8 } from './bytes.ts';
import type { CryptoProvider } from './provider.ts';
import { opensslEd25519, provider } from './provider-node.ts';
import { publicKey, verifyWith } from './signer.ts';
import { loadSodium } from './sodium.ts';

const sodium = loadSodium(opensslEd25519.publicKey);
if (sodium === null)
  console.log('skipped: libsodium is not here (sodium-native), so it is not held against OpenSSL');

const openssl: CryptoProvider = {
  ...provider,
  signatures: { ...provider.signatures, Ed25519: opensslEd25519 },
};
const libsodium: CryptoProvider = {
  ...provider,
  signatures: { ...provider.signatures, Ed25519: { ...opensslEd25519, ...sodium } },
};

describe.skipIf(sodium === null)('libsodium', () => {
  test('signs the same bytes as OpenSSL', () => {
    for (let i = 0; i < 200; i++) {
      const seed = new Uint8Array(32).fill(i);
      const message = new Uint8Array(i).fill(255 - i);
      expect(toHex(sodium!.signer(seed)(message))).toBe(toHex(opensslEd25519.signer(seed)(message)));
    }
  });

  test('takes over from OpenSSL after some signatures, and nobody notices', () => {
    const { Ed25519 } = provider.signatures;
    const seed = new Uint8Array(32).fill(7);
    const key = opensslEd25519.publicKey(seed);
    const sign = Ed25519.signer(seed);
    for (let i = 0; i < 300; i++) {
      const message = new Uint8Array(i).fill(i);
      const signature = opensslEd25519.signer(seed)(message);
      expect(toHex(sign(message))).toBe(toHex(signature));
      expect(Ed25519.verify(key, message, signature)).toBe(true);
      expect(Ed25519.verify(key, message, signature.fill(255, 63))).toBe(false);
    }
  });

  test.skipIf(!hasVectors)('gives the same verdict on every Wycheproof and CCTV case', async () => {
    const wycheproof = JSON.parse(await readText('crypto/wycheproof-ed25519.json')).testGroups.flatMap(
      (group: { publicKey: { pk: string }; tests: { msg: string; sig: string }[] }) =>
        group.tests.map(({ msg, sig }) => ({ key: group.publicKey.pk, message: fromHex(msg), sig })),
    );
    const cctv = JSON.parse(await readText('crypto/cctv-ed25519.json')).map(
      ({ key, msg, sig }: { key: string; msg: string; sig: string }) => ({ key, message: toUtf8(msg), sig }),
    );
    const verdicts = (by: CryptoProvider) =>
      [...wycheproof, ...cctv].map(({ key, message, sig }) => {
        try {
          return verifyWith(by, publicKey('Ed25519', fromHex(key)), message, fromHex(sig));
        } catch (error) {
          return (error as BullaError).code;
        }
      });
    const expected = verdicts(openssl);
    expect(expected.length).toBe(151 + 914);
    expect(new Set(expected)).toEqual(new Set([true, false, 'KEY_SMALL_ORDER', 'KEY_NOT_CANONICAL']));
    expect(verdicts(libsodium)).toEqual(expected);
  });
});
