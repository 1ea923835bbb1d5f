import { describe, expect, test } from 'vitest';
import { options, refusal, utf8, whole } from '../../../test/surface.ts';
import { canonicalBytes } from '../../canon/index.ts';
import { keyId, localSigner, publicKey, toHex, verify } from '../../crypto/index.ts';
import { parse } from '../../json/index.ts';
import { openSigned, readLock, readSignature, signLock, writeLock } from '../index.ts';
import { writeSignature } from './signature.ts';

const signer = localSigner('Ed25519', new Uint8Array(32).fill(7));
const [key, other] = [signer, localSigner('Ed25519', new Uint8Array(32).fill(8))].map((by) =>
  publicKey('Ed25519', by.publicKey),
);
const text = writeLock(whole, options).text;
const lock = utf8(text);

describe('the file', () => {
  const signature = new Uint8Array(64).fill(0xab);
  const hex = 'ab'.repeat(64);

  test('has these bytes in each form', () => {
    expect(writeSignature({ form: 'v1', signature })).toBe(`{"canon_version":"v1"}\n${hex}`);
    expect(writeSignature({ form: 'v2', signature })).toBe(`{"canon_version":"v2"}\n${hex}`);
    expect(writeSignature({ form: 'legacy', signature })).toBe(`${hex}\n`);
    for (const form of ['v1', 'v2', 'legacy'] as const)
      expect(readSignature(utf8(writeSignature({ form, signature })))).toEqual({ form, signature });
  });

  test.each([
    [`\r\n {"canon_version":"v1"} \r\n\n  ${hex.toUpperCase()}\t\r\n`, 'v1'],
    [`{"canon_version":"v2","sig_type":"ed25519"}\n${hex}`, 'v2'],
    [` ${hex}\n\n`, 'legacy'],
  ])('%j is read as %s', (file, form) => {
    expect(readSignature(utf8(file))).toEqual({ form, signature });
  });

  test.each([
    [`0"canon_version":"v1"}\n${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
    ['{"canon_version":"v1"}', 'LOCK_SIGNATURE_MALFORMED'],
    [`{"canon_version":"v1","canon_version":"v2"}\n${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
    [`{"Canon_Version":"v1"}\n${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
    [`{"canon_version":"v1","x":1}\n${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
    [`{"canon_version":"v1"}\n${hex} ${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
    [`{"canon_version":"v1"}\n${hex}z`, 'LOCK_SIGNATURE_MALFORMED'],
    [`{}\n${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
    [`{"canon_version":"v3"}\n${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
    [
      '{"canon_version":"v1","sig_type":"sigstore_bundle","bundle_encoding":"base64+json"}\ne30=',
      'LOCK_SIGNATURE_MALFORMED',
    ],
    [`{"canon_version":"v1","sig_type":"none"}\n${hex}`, 'LOCK_SIGNATURE_MALFORMED'],
  ])('%j: %s', (file, code) => {
    expect(refusal(() => readSignature(utf8(file)))).toBe(code);
  });

  test('what is too long or not text is malformed', () => {
    expect(refusal(() => readSignature(new Uint8Array((1 << 20) + 1).fill(0x61)))).toBe(
      'LOCK_SIGNATURE_MALFORMED',
    );
    expect(refusal(() => readSignature(Uint8Array.of(0xff, 0x61)))).toBe('LOCK_SIGNATURE_MALFORMED');
    expect(refusal(() => readSignature(new Uint8Array()))).toBe('ok');
  });
});

describe('opening', async () => {
  const files = {
    v1: utf8(await signLock(lock, signer)),
    v2: utf8(await signLock(lock, signer, { form: 'v2' })),
  };

  test('says which key signed, and what', () => {
    const opened = openSigned(lock, files.v1, [other!, key!]);
    expect(opened.verified).toEqual({
      by: 'sig',
      keys: [key],
      keyIds: [keyId(key!)],
      profile: 'mcptrust-v1-go',
    });
    const { verified: _, ...rest } = opened;
    expect(rest).toEqual(readLock(lock));
    expect(openSigned(lock, files.v2, [key!]).verified.profile).toBe('mcptrust-v2');
  });

  test('holds for the lock in another order and indentation', () => {
    expect(
      openSigned(
        utf8(
          JSON.stringify(JSON.parse(text))
            .replace(/"multipleOf":1\b/, '"multipleOf":1.0')
            .replace('18446744073709552000', '18446744073709551615'),
        ),
        files.v1,
        [key!],
      ).tools.size,
    ).toBe(3);
  });

  test('fails for another key, another signature, or a changed lock; a change is told before a contradiction', () => {
    expect(refusal(() => openSigned(lock, files.v1, [other!]))).toBe('LOCK_SIGNATURE_INVALID');
    expect(refusal(() => openSigned(lock, utf8(`{"canon_version":"v1"}\n${'00'.repeat(64)}`), [key!]))).toBe(
      'LOCK_SIGNATURE_INVALID',
    );
    expect(refusal(() => openSigned(lock, utf8('{"canon_version":"v1"}\nab'), [key!]))).toBe(
      'LOCK_SIGNATURE_INVALID',
    );
    expect(refusal(() => openSigned(lock, new Uint8Array(), [key!]))).toBe('LOCK_SIGNATURE_INVALID');
    for (const changed of [
      text.replace('Be careful.', 'Be careless.'),
      text.replace('"MEDIUM"', '"LOW"'),
      text.replace('"node"', '"sh"'),
    ]) {
      expect(changed).not.toBe(text);
      expect(refusal(() => openSigned(utf8(changed), files.v1, [key!]))).toBe('LOCK_SIGNATURE_INVALID');
    }
    expect(refusal(() => openSigned(lock, files.v1, []))).toBe('LOCK_SIGNATURE_NO_KEY');
  });

  test('a number that a double takes for the same is signed there, and refused here by its digests', () => {
    const near = utf8(text.replace('"maximum": 18446744073709551615', '"maximum": 18446744073709551616'));
    expect(
      verify(key!, canonicalBytes(parse(near), 'mcptrust-v1-go'), readSignature(files.v1).signature),
    ).toBe(true);
    expect(refusal(() => openSigned(near, files.v1, [key!]))).toBe('LOCK_INCONSISTENT /bulla/tools/big');
  });

  test("a signature over the seed's form, with numbers in their digits, is accepted too", () => {
    const signature = signer.sign(canonicalBytes(readLock(lock).document, 'mcptrust-v1'));
    const file = utf8(`{"canon_version":"v1"}\n${toHex(signature)}`);
    expect(openSigned(lock, file, [key!]).verified.profile).toBe('mcptrust-v1');
  });
});

describe('signing', () => {
  test('refuses what is no lock, and keys of another kind', async () => {
    await expect(signLock(utf8('{}'), signer)).rejects.toMatchObject({ code: 'LOCK_VERSION' });
    const forged = utf8(text.replace('"MEDIUM"', '"LOW"'));
    await expect(signLock(forged, signer)).rejects.toMatchObject({ code: 'LOCK_INCONSISTENT' });
    const pq = localSigner('ML-DSA-65', new Uint8Array(32));
    await expect(signLock(lock, pq)).rejects.toMatchObject({ code: 'KEY_ALGORITHM' });
  });
});
