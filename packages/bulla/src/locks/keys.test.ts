import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KeyFormat, privateKey, toHex, writePrivateKey, writePublicKey } from '@bulla/core/crypto';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { loadSigner } from './index.ts';

// A test key.
const key = privateKey('Ed25519', new Uint8Array(32).fill(5));
const formats: KeyFormat[] = ['hex', 'pem', 'jwk', 'lock-pem'];

function written(text: string): string {
  const file = join(temporaryFolder(), 'key');
  writeFileSync(file, text);
  return file;
}

/** The public key that would sign, or the code of the refusal. */
function signerOf(text: string): string {
  try {
    return toHex(loadSigner({ file: written(text) }).signer.publicKey);
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('the file of a key to sign with', () => {
  test('is private in every format that says so', () => {
    const own = toHex(key.publicKey.bytes);
    expect(formats.map((format) => signerOf(writePrivateKey(key, format)))).toEqual([
      'KEY_AMBIGUOUS',
      own,
      own,
      own,
    ]);
  });

  test('is never a public one: with its bytes for a seed, anybody could sign the same', () => {
    expect(formats.map((format) => signerOf(writePublicKey(key.publicKey, format)))).toEqual([
      'KEY_AMBIGUOUS',
      'KEY_IS_PUBLIC',
      'KEY_IS_PUBLIC',
      'KEY_IS_PUBLIC',
    ]);
  });
});
