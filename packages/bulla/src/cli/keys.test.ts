import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bulla, temporaryFolder } from '../../test/run.ts';

// A test key: the seed of the first example of RFC 8032.
const SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
const PUBLIC = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
const KEY_ID = '054f341a2fa584bb0c540fbf5232fcef6f76c5d5eb6a0663bacf8ccccf0d092b';

describe('keys show', () => {
  test('tells format, algorithm and identity, and never the secret', () => {
    const { status, stdout } = bulla(
      ['keys', 'show', '-', '--seed', '--algorithm', 'Ed25519', '--json', '--name', 'example.com/log'],
      `${SEED}\n`,
    );
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      format: 'hex',
      kind: 'private',
      algorithm: 'Ed25519',
      key_id: KEY_ID,
      public_key: PUBLIC,
      labels: { signed_by: 'd75a980182b10ab7', python: 'qp_key_d75a' },
      vkey: 'example.com/log+cc714670+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea',
    });
    const text = bulla(['keys', 'show', '-', '--seed', '--algorithm', 'Ed25519'], SEED).stdout;
    expect(text).toContain('private key, Ed25519, hex');
    expect(text).not.toContain(SEED);
  });

  test('64 hex digits are a public key unless they are said to be a seed', () => {
    expect(JSON.parse(bulla(['keys', 'show', '-', '--json'], PUBLIC).stdout)).toMatchObject({
      kind: 'public',
      key_id: KEY_ID,
    });
    expect(bulla(['keys', 'show', '-', '--seed'], SEED)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[KEY_ALGORITHM_NEEDED]'),
    });
  });

  test('a weak key is refused', () => {
    expect(bulla(['keys', 'show', '-', '--json'], '01'.padEnd(64, '0'))).toMatchObject({
      status: 2,
      stdout: expect.stringContaining('"code":"KEY_SMALL_ORDER"'),
    });
  });
});

describe('keys convert', () => {
  test('round trip through every format, files private and never overwritten', () => {
    const folder = temporaryFolder();
    const seed = join(folder, 'seed.hex');
    writeFileSync(seed, `${SEED}\n`);
    let from = ['--seed', '--algorithm', 'Ed25519', seed];
    for (const format of ['pem', 'jwk', 'lock-pem', 'hex']) {
      const out = join(folder, `key.${format}`);
      expect(bulla(['keys', 'convert', ...from, '--to', format, '--out', out])).toEqual({
        status: 0,
        stdout: '',
        stderr: '',
      });
      expect((statSync(out).mode & 0o777).toString(8)).toBe('600');
      const before = readFileSync(out, 'utf8');
      expect(bulla(['keys', 'convert', ...from, '--to', 'hex', '--out', out])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('[FILE_EXISTS]'),
      });
      expect(readFileSync(out, 'utf8')).toBe(before);
      from = [out];
    }
    expect(readFileSync(join(folder, 'key.hex'), 'utf8')).toBe(`${SEED}\n`);
    const jwk = createPrivateKey(readFileSync(join(folder, 'key.pem'))).export({ format: 'jwk' });
    expect(JSON.parse(readFileSync(join(folder, 'key.jwk'), 'utf8'))).toEqual(jwk);
  });

  test('the public half, on standard output', () => {
    const pem = bulla(
      ['keys', 'convert', '-', '--seed', '--algorithm', 'Ed25519', '--to', 'pem', '--public'],
      SEED,
    );
    expect(pem.status).toBe(0);
    expect(createPublicKey(pem.stdout).asymmetricKeyType).toBe('ed25519');
    expect(bulla(['keys', 'convert', '-', '--to', 'hex'], pem.stdout).stdout).toBe(`${PUBLIC}\n`);
  });

  test('ML-DSA keys as JWK and PEM', () => {
    const jwk = bulla(
      ['keys', 'convert', '-', '--seed', '--algorithm', 'ML-DSA-65', '--to', 'jwk'],
      SEED,
    ).stdout;
    expect(JSON.parse(jwk)).toMatchObject({ kty: 'AKP', alg: 'ML-DSA-65' });
    const pem = bulla(['keys', 'convert', '-', '--to', 'pem'], jwk).stdout;
    expect(createPrivateKey(pem).asymmetricKeyType).toBe('ml-dsa-65');
    expect(bulla(['keys', 'convert', '-', '--to', 'lock-pem'], jwk)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[KEY_FORMAT_UNSUPPORTED]'),
    });
  });

  test('a JWK with a member twice is refused', () => {
    expect(bulla(['keys', 'show', '-'], '{"kty":"OKP","kty":"OKP"}').stderr).toContain('JSON_DUPLICATE_KEY');
  });
});
