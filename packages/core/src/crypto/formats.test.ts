import { describe, expect, it } from 'vitest';
import { hasVectors, readText } from '#test-files';
import type { AlgorithmName } from './algorithms.ts';
import { fromBase64, fromHex, toBase64, toBase64url, toHex, toUtf8 } from './bytes.ts';
import type { KeyFormat } from './formats.ts';
import {
  detectKey,
  privateKey,
  readPrivateKey,
  readPublicKey,
  signerOf,
  writePrivateKey,
  writePublicKey,
} from './formats.ts';
import { writePem } from './pem.ts';
import { verify } from './signer.ts';

const seed = Uint8Array.from({ length: 32 }, (_, i) => i);
const names: AlgorithmName[] = ['Ed25519', 'ML-DSA-44', 'ML-DSA-65'];
const formats: KeyFormat[] = ['hex', 'pem', 'jwk', 'lock-pem'];
const pairs = names.flatMap((name) => formats.map((format) => [name, format] as const));
const code = (code: string) => expect.objectContaining({ code });
const ed25519 = privateKey('Ed25519', seed);

describe.each(pairs.filter(([name, format]) => name === 'Ed25519' || format !== 'lock-pem'))(
  '%s as %s',
  (name, format) => {
    const key = privateKey(name, seed);
    const secret = writePrivateKey(key, format);
    const open = writePublicKey(key.publicKey, format);

    it('is read back, with LF, CRLF or no last line end', () => {
      for (const vary of [
        (t: string) => t,
        (t: string) => t.slice(0, -1),
        (t: string) => t.replaceAll('\n', '\r\n'),
      ]) {
        const read = readPrivateKey(vary(secret), name);
        expect([read.algorithm, toHex(read.seed), toHex(read.publicKey.bytes)]).toEqual([
          name,
          toHex(seed),
          toHex(key.publicKey.bytes),
        ]);
        expect(readPublicKey(vary(open))).toEqual(key.publicKey);
      }
    });

    it('is recognised', () => {
      const either = { format, kind: 'either', algorithm: null };
      expect(detectKey(secret)).toEqual(
        format === 'hex' ? either : { format, kind: 'private', algorithm: name },
      );
      expect(detectKey(open)).toEqual(
        format === 'hex' && name === 'Ed25519' ? either : { format, kind: 'public', algorithm: name },
      );
    });

    it('is refused with anything before or after it', () => {
      const codes = /^KEY_(MALFORMED|SIZE)$/;
      const refused = expect.objectContaining({ code: expect.stringMatching(codes) });
      for (const text of [secret, open]) {
        const others = [`${text}x`, `${text}${text}`, ` ${text}`, `\ufeff${text}`, `#\n${text}`];
        // JSON may end with white space; the other formats may not.
        if (format !== 'jwk') others.push(`${text}\n`, `${text} `);
        for (const other of others) expect(() => detectKey(other)).toThrow(refused);
      }
    });

    it('is not taken for its other half or another algorithm', () => {
      if (format !== 'hex') {
        expect(() => readPublicKey(secret)).toThrow(code('KEY_IS_PRIVATE'));
        expect(() => readPrivateKey(open)).toThrow(code('KEY_IS_PUBLIC'));
        for (const other of names.filter((n) => n !== name)) {
          expect(() => readPrivateKey(secret, other)).toThrow(code('KEY_ALGORITHM'));
        }
      }
      for (const other of names.filter((n) => n !== name)) {
        expect(() => readPublicKey(open, other)).toThrow(code('KEY_ALGORITHM'));
      }
    });
  },
);

describe('the written texts', () => {
  it('are these for Ed25519', () => {
    expect(writePrivateKey(ed25519, 'hex')).toBe(
      '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n',
    );
    expect(writePrivateKey(ed25519, 'pem')).toBe(
      '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n',
    );
    expect(writePublicKey(ed25519.publicKey, 'pem')).toBe(
      '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n-----END PUBLIC KEY-----\n',
    );
    expect(writePrivateKey(ed25519, 'jwk')).toBe(
      '{"kty":"OKP","crv":"Ed25519","x":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg","d":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}\n',
    );
    expect(writePublicKey(ed25519.publicKey, 'jwk')).toBe(
      '{"kty":"OKP","crv":"Ed25519","x":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"}\n',
    );
    expect([
      writePrivateKey(ed25519, 'lock-pem').length,
      writePublicKey(ed25519.publicKey, 'lock-pem').length,
    ]).toEqual([160, 113]);
  });

  it('hold the 54-byte seed form for ML-DSA', () => {
    const pem = writePrivateKey(privateKey('ML-DSA-65', seed), 'pem').split('\n').slice(1, -2).join('');
    expect(toHex(fromBase64(pem))).toBe(`3034020100300b060960864801650304031204228020${toHex(seed)}`);
  });

  it('are not made for ML-DSA in the lock format', () => {
    const key = privateKey('ML-DSA-44', seed);
    expect(() => writePrivateKey(key, 'lock-pem')).toThrow(code('KEY_ALGORITHM'));
    expect(() => writePublicKey(key.publicKey, 'lock-pem')).toThrow(code('KEY_ALGORITHM'));
  });

  it('leave the seed out when a key is printed', () => {
    expect(Object.keys(ed25519)).toEqual(['algorithm', 'publicKey']);
    expect(JSON.stringify(ed25519)).not.toContain('seed');
    expect(toHex(ed25519.seed)).toBe(toHex(seed));
  });
});

describe('hex', () => {
  it('needs to be told the algorithm of a seed', () => {
    expect(() => readPrivateKey(toHex(seed))).toThrow(code('KEY_AMBIGUOUS'));
    expect(readPrivateKey(toHex(seed), 'ML-DSA-44').publicKey.bytes).toHaveLength(1312);
  });

  it.each([
    ['0', 'KEY_MALFORMED'],
    ['', 'KEY_MALFORMED'],
    ['AB'.repeat(32), 'KEY_MALFORMED'],
    [`0x${'ab'.repeat(32)}`, 'KEY_MALFORMED'],
    ['ab'.repeat(33), 'KEY_SIZE'],
  ])('%j is refused', (text, expected) => {
    expect(() => detectKey(text)).toThrow(code(expected));
    expect(() => readPublicKey(text)).toThrow(code(expected));
  });

  it('is refused as a seed of another size', () => {
    expect(() => readPrivateKey('ab'.repeat(64), 'Ed25519')).toThrow(code('KEY_SIZE'));
  });
});

describe('PEM', () => {
  const good = writePrivateKey(ed25519, 'lock-pem');
  const [begin, first, second, end] = good.split('\n') as [string, string, string, string];

  it.each([
    ['mixed line ends', good.replace('\n', '\r\n')],
    ['a missing end', `${begin}\n${first}\n${second}\n`],
    ['another label at the end', good.replace('END ED25519 PRIVATE', 'END ED25519 PUBLIC')],
    ['another wrap', `${begin}\n${first}${second}\n${end}\n`],
    ['a short first line', `${begin}\n${first.slice(0, 60)}\n${first.slice(60)}${second}\n${end}\n`],
    ['an empty line', `${begin}\n${first}\n\n${second}\n${end}\n`],
    ['a header', `${begin}\nProc-Type: 4,ENCRYPTED\n\n${first}\n${second}\n${end}\n`],
    ['no body', `${begin}\n${end}\n`],
    ['white space', `${begin}\n${first} \n${second}\n${end}\n`],
    ['stray bits', good.replace(second, `${second.slice(0, -3)}${next(second.at(-3)!)}==`)],
    ['missing padding', good.replace('==', '')],
    ['the URL alphabet', good.replace('/', '_')],
    ['two blocks', good + good],
  ])('with %s is refused', (_what, text) => {
    expect(text).not.toBe(good);
    expect(() => readPrivateKey(text)).toThrow(code('KEY_MALFORMED'));
  });

  it('of two kinds in one file, or of one kind under the label of the other, is refused', () => {
    const made = privateKey('Ed25519', seed);
    const [secret, open] = [writePrivateKey(made, 'pem'), writePublicKey(made.publicKey, 'pem')];
    for (const text of [secret + open, open + secret]) {
      expect(() => readPublicKey(text)).toThrow(code('KEY_MALFORMED'));
      expect(() => readPrivateKey(text)).toThrow(code('KEY_MALFORMED'));
    }
    expect(() => readPublicKey(secret.replaceAll('PRIVATE', 'PUBLIC'))).toThrow();
    expect(() => readPrivateKey(open.replaceAll('PUBLIC', 'PRIVATE'))).toThrow();
    for (const format of ['pem', 'jwk', 'lock-pem'] as const)
      expect(() => readPublicKey(writePrivateKey(made, format))).toThrow(code('KEY_IS_PRIVATE'));
    expect(() =>
      readPublicKey(`${writePublicKey(made.publicKey, 'hex')}${writePrivateKey(made, 'hex')}`),
    ).toThrow(code('KEY_MALFORMED'));
  });

  it('with another label is refused by name', () => {
    for (const label of ['EC PRIVATE KEY', 'ENCRYPTED PRIVATE KEY', 'CERTIFICATE']) {
      expect(() => detectKey(writePem(label, seed))).toThrow(code('KEY_MALFORMED'));
    }
  });

  it('of the lock program with another size is refused', () => {
    expect(() => readPrivateKey(writePem('ED25519 PRIVATE KEY', seed))).toThrow(code('KEY_MALFORMED'));
    expect(() => readPublicKey(writePem('ED25519 PUBLIC KEY', new Uint8Array(33)))).toThrow(code('KEY_SIZE'));
  });

  it('holds no key of small order', () => {
    expect(() => readPublicKey(writePem('ED25519 PUBLIC KEY', new Uint8Array(32)))).toThrow(
      code('KEY_SMALL_ORDER'),
    );
  });
});

describe('DER', () => {
  const pub = toHex(ed25519.publicKey.bytes);
  const read = (hex: string) => readPrivateKey(writePem('PRIVATE KEY', fromHex(hex)));
  const v2 = `3051020101300506032b657004220420${toHex(seed)}812100${pub}`;

  it('of PKCS#8 version 2 is read when its public key belongs to the seed', () => {
    expect(toHex(read(v2).seed)).toBe(toHex(seed));
    expect(() => read(`${v2.slice(0, -2)}00`)).toThrow(code('KEY_PAIR_MISMATCH'));
  });

  it.each([
    ['trailing data', `302e020100300506032b657004220420${toHex(seed)}00`],
    ['a wrong version', `302e020101300506032b657004220420${toHex(seed)}`],
    ['a parameter in the algorithm', `3030020100300706032b6570050004220420${toHex(seed)}`],
    ['a long length', `30812e020100300506032b657004220420${toHex(seed)}`],
    ['another curve', `302e020100300506032b656e04220420${toHex(seed)}`],
    ['one byte', '00'],
  ])('with %s is refused', (_what, hex) => {
    expect(() => read(hex)).toThrow(code('KEY_MALFORMED'));
  });

  it('of a public key is not read under the label of a private one', () => {
    const spki = `302a300506032b6570032100${pub}`;
    expect(() => read(spki)).toThrow(code('KEY_MALFORMED'));
    expect(readPublicKey(writePem('PUBLIC KEY', fromHex(spki)))).toEqual(ed25519.publicKey);
    expect(() => readPublicKey(writePem('PUBLIC KEY', fromHex(spki.replace('032100', '032101'))))).toThrow(
      code('KEY_MALFORMED'),
    );
  });
});

describe('JWK', () => {
  const x = toBase64url(ed25519.publicKey.bytes);
  const d = toBase64url(seed);
  const base = { kty: 'OKP', crv: 'Ed25519', x };
  const read = (members: object) => readPublicKey(JSON.stringify(members));

  it('may say what the key is for', () => {
    for (const alg of ['EdDSA', 'Ed25519']) {
      expect(read({ ...base, alg, kid: 'k', use: 'sig', key_ops: ['verify'], ext: true })).toEqual(
        ed25519.publicKey,
      );
    }
  });

  it.each([
    [{ ...base, alg: 'ES256' }],
    [{ ...base, use: 'enc' }],
    [{ ...base, key_ops: ['encrypt'] }],
    [{ ...base, key_ops: 'verify' }],
    [{ ...base, kid: 1 }],
    [{ ...base, ext: 'true' }],
    [{ ...base, y: x }],
    [{ ...base, pub: x }],
    [{ ...base, x5c: [] }],
    [{ ...base, toString: 'x' }],
  ])('%j has a member that does not fit', (members) => {
    expect(() => read(members)).toThrow(code('KEY_MALFORMED'));
  });

  it('does not take __proto__ for anything but a member', () => {
    expect(() => readPublicKey(`{"kty":"OKP","crv":"Ed25519","x":"${x}","__proto__":{}}`)).toThrow(
      code('KEY_MALFORMED'),
    );
  });

  it.each([
    [{}],
    [{ ...base, kty: 'EC' }],
    [{ ...base, crv: 'Ed448' }],
    [{ ...base, crv: undefined }],
    [{ kty: 'OKP', crv: 'Ed25519', d }],
    [{ ...base, x: `${x}=` }],
    [{ ...base, x: 7 }],
    [{ kty: 'AKP', alg: 'ML-DSA-87', pub: x }],
    [{ kty: 'AKP', crv: 'ML-DSA-65', pub: x }],
  ])('%j is malformed', (members) => {
    expect(() => detectKey(JSON.stringify(members))).toThrow(code('KEY_MALFORMED'));
  });

  it.each(['{', '{}x', '{"kty":"OKP",}'])('%j is not JSON, and the error does not quote it', (text) => {
    expect(() => detectKey(text)).toThrow(code('KEY_MALFORMED'));
    try {
      detectKey(text);
    } catch (error) {
      expect((error as Error).cause).toBe(undefined);
    }
  });

  it('carries a public part that belongs to the private one', () => {
    const other = toBase64url(privateKey('Ed25519', seed.slice().reverse()).publicKey.bytes);
    expect(toHex(readPrivateKey(JSON.stringify({ ...base, d })).seed)).toBe(toHex(seed));
    expect(() => readPrivateKey(JSON.stringify({ ...base, x: other, d }))).toThrow(code('KEY_PAIR_MISMATCH'));
    expect(() => detectKey(JSON.stringify({ ...base, x: other, d }))).toThrow(code('KEY_PAIR_MISMATCH'));
    expect(() => readPrivateKey(JSON.stringify({ ...base, d: d.slice(1) }))).toThrow(code('KEY_MALFORMED'));
    expect(() => readPrivateKey(JSON.stringify({ ...base, d: toBase64url(seed.subarray(1)) }))).toThrow(
      code('KEY_SIZE'),
    );
  });
});

describe.skipIf(!hasVectors)('published keys', () => {
  it('of the lock program are read and written back byte for byte', async () => {
    const secret = await readText('mcptrust/backward_compat/test_private.key');
    const open = await readText('mcptrust/backward_compat/test_public.key');
    const key = readPrivateKey(secret, 'Ed25519');
    expect(key.publicKey).toEqual(readPublicKey(open));
    expect(writePrivateKey(key, 'lock-pem')).toBe(secret);
    expect(writePublicKey(key.publicKey, 'lock-pem')).toBe(open);
    expect(verify(key.publicKey, toUtf8('m'), signerOf(key).sign(toUtf8('m')))).toBe(true);
    const swapped = fromBase64(secret.split('\n').slice(1, 3).join(''));
    swapped[63]! ^= 1;
    expect(() => readPrivateKey(writePem('ED25519 PRIVATE KEY', swapped))).toThrow(code('KEY_PAIR_MISMATCH'));
  });

  it('of Wycheproof are the same as PEM, DER, JWK and hex', async () => {
    const { testGroups } = JSON.parse(await readText('crypto/wycheproof-ed25519.json'));
    for (const group of testGroups) {
      const key = readPublicKey(group.publicKey.pk);
      expect(writePublicKey(key, 'pem')).toBe(group.publicKeyPem);
      expect(readPublicKey(group.publicKeyPem)).toEqual(key);
      expect(readPublicKey(JSON.stringify(group.publicKeyJwk))).toEqual(key);
      expect(toBase64(fromHex(group.publicKeyDer))).toBe(group.publicKeyPem.split('\n')[1]);
    }
    expect(testGroups).toHaveLength(78);
  });

  it('of Wycheproof for ML-DSA-65 are what we write', async () => {
    const { testGroups } = JSON.parse(await readText('crypto/wycheproof-mldsa65-sign-seed.json'));
    let compared = 0;
    for (const { privateSeed, privateKeyPkcs8, publicKey } of testGroups) {
      if (!privateKeyPkcs8) continue;
      const pem = writePem('PRIVATE KEY', fromHex(privateKeyPkcs8));
      const key = readPrivateKey(pem);
      expect([toHex(key.seed), toHex(key.publicKey.bytes)]).toEqual([privateSeed, publicKey]);
      expect(writePrivateKey(key, 'pem')).toBe(pem);
      compared++;
    }
    expect(compared).toBe(27);
  });
});

/** The next letter of the base64 alphabet: the same byte with a stray bit. */
function next(letter: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return alphabet[alphabet.indexOf(letter) + 1]!;
}
