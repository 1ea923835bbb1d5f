import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  verify as nodeVerify,
  sign,
} from 'node:crypto';
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js';
import { describe, expect, it } from 'vitest';
import type { AlgorithmName } from './algorithms.ts';
import { fromHex, toBase64url, toHex, toUtf8 } from './bytes.ts';
import {
  privateKey,
  readPrivateKey,
  readPublicKey,
  signerOf,
  writePrivateKey,
  writePublicKey,
} from './formats.ts';
import { writePem } from './pem.ts';
import { verify } from './signer.ts';

const names: [AlgorithmName, 'ed25519' | 'ml-dsa-44' | 'ml-dsa-65'][] = [
  ['Ed25519', 'ed25519'],
  ['ML-DSA-44', 'ml-dsa-44'],
  ['ML-DSA-65', 'ml-dsa-65'],
];
const seed = Uint8Array.from({ length: 32 }, (_, i) => i);
const message = toUtf8('message');
const code = (code: string) => expect.objectContaining({ code });

function generate(type: (typeof names)[number][1]): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync(type as 'ed25519');
}

describe.each(names)('%s and node:crypto', (name, type) => {
  it('read each other: we what it exports', () => {
    for (let round = 0; round < 5; round++) {
      const native = generate(type);
      const jwk = native.privateKey.export({ format: 'jwk' });
      const { d, x, priv: secret = d, pub: open = x } = jwk;
      const pem = native.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
      const ours = [readPrivateKey(pem), readPrivateKey(JSON.stringify(jwk))];
      const publics = [
        readPublicKey(native.publicKey.export({ format: 'pem', type: 'spki' }) as string),
        readPublicKey(JSON.stringify(native.publicKey.export({ format: 'jwk' }))),
      ];
      const expected = [name, toBase64url(ours[0]!.seed), toBase64url(publics[0]!.bytes)];
      expect(expected).toEqual([name, secret, open]);
      for (const key of ours)
        expect([key.algorithm, toBase64url(key.seed), toBase64url(key.publicKey.bytes)]).toEqual(expected);
      for (const key of publics) expect(key).toEqual(ours[0]!.publicKey);
      expect(verify(publics[0]!, message, sign(null, message, native.privateKey))).toBe(true);
      expect(nodeVerify(null, message, native.publicKey, signerOf(ours[0]!).sign(message))).toBe(true);
    }
  });

  it('read each other: it what we write', () => {
    const key = privateKey(name, seed);
    const secrets = [
      createPrivateKey(writePrivateKey(key, 'pem')),
      createPrivateKey({ key: JSON.parse(writePrivateKey(key, 'jwk')), format: 'jwk' }),
    ];
    const publics = [
      createPublicKey(writePublicKey(key.publicKey, 'pem')),
      createPublicKey({ key: JSON.parse(writePublicKey(key.publicKey, 'jwk')), format: 'jwk' }),
    ];
    for (const secret of secrets) {
      expect(secret.asymmetricKeyType).toBe(type);
      expect(createPublicKey(secret).equals(publics[0]!)).toBe(true);
    }
    for (const open of publics)
      expect(open.export({ format: 'pem', type: 'spki' })).toBe(writePublicKey(key.publicKey, 'pem'));
  });
});

describe.each([
  ['ML-DSA-44', ml_dsa44, '30820a18020100300b060960864801650304031104820a0404820a00'],
  ['ML-DSA-65', ml_dsa65, '30820fd8020100300b060960864801650304031204820fc404820fc0'],
] as const)('an expanded private key of %s', (name, library, prefix) => {
  const { secretKey } = library.keygen(seed.slice());

  it('without its seed is refused by name, though node:crypto reads it', () => {
    const pem = writePem('PRIVATE KEY', fromHex(prefix + toHex(secretKey)));
    expect(createPrivateKey(pem).asymmetricKeyType).toBe(name.toLowerCase());
    expect(() => readPrivateKey(pem)).toThrow(code('KEY_MALFORMED'));
  });

  it('with another seed is refused', () => {
    const both = createPrivateKey(writePrivateKey(privateKey(name, seed), 'pem')).export({
      format: 'der',
      type: 'pkcs8',
    });
    const at = both.indexOf(seed);
    expect(toHex(readPrivateKey(writePem('PRIVATE KEY', both)).seed)).toBe(toHex(seed));
    both[at]! ^= 1;
    expect(() => readPrivateKey(writePem('PRIVATE KEY', both))).toThrow(code('KEY_PAIR_MISMATCH'));
  });
});
