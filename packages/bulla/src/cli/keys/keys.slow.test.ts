import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bulla, temporaryFolder } from '../../../test/run.ts';
import { parseKeyring } from '../../keys/index.ts';

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
      stderr: expect.stringContaining('[KEY_AMBIGUOUS]'),
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
      stderr: expect.stringContaining('[KEY_ALGORITHM]'),
    });
  });

  test('a JWK with a member twice is refused', () => {
    expect(bulla(['keys', 'show', '-'], '{"kty":"OKP","kty":"OKP"}').stderr).toContain('JSON_DUPLICATE_KEY');
  });
});

describe('the keyring', () => {
  const json = ({ stdout }: { stdout: string }) => JSON.parse(stdout);
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}000)?\+00:00$/);
  const foreign = {
    state: 'registered',
    key_id: KEY_ID,
    public_key: PUBLIC,
    labels: { signed_by: 'd75a980182b10ab7', python: 'qp_key_d75a' },
  };

  test('init, list, rotate, register, revoke and export, in BULLA_HOME', () => {
    const home = join(temporaryFolder(), 'home');
    const dir = join(home, 'keys');
    const keys = (...args: string[]) => bulla(['keys', ...args], '', { BULLA_HOME: home });

    expect(keys('list')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('[KEYRING_MISSING]'),
    });
    expect(existsSync(home)).toBe(false);

    const first = json(keys('init', '--json'));
    expect(first).toEqual({
      ok: true,
      dir,
      epoch: {
        epoch: 0,
        state: 'active',
        id: first.epoch.key_id.slice(0, 16),
        key_id: expect.stringMatching(/^[0-9a-f]{64}$/),
        public_key: expect.stringMatching(/^[0-9a-f]{64}$/),
        labels: {
          signed_by: first.epoch.public_key.slice(0, 16),
          python: `qp_key_${first.epoch.public_key.slice(0, 4)}`,
        },
        pq_key_id: null,
        created_at: time,
        rotated_at: null,
        not_before: null,
        not_after: null,
        revoked_at: null,
        revoked_reason: null,
        in_token: false,
      },
    });
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(readdirSync(dir).sort()).toEqual(['key', 'keyring.json']);
    expect(keys('init')).toMatchObject({ status: 2, stderr: expect.stringContaining('[KEYRING_EXISTS]') });

    const second = json(keys('rotate', '--pq', '--not-after', '2999-01-01T00:00:00Z', '--json')).epoch;
    expect(second).toMatchObject({ epoch: 1, state: 'active', not_after: '2999-01-01T00:00:00+00:00' });
    expect(second.pq_key_id).toMatch(/^[0-9a-f]{64}$/);
    expect(readdirSync(dir).sort()).toEqual(['key', 'key.ml', 'keyring.json']);

    expect(json(keys('register', PUBLIC, '--json')).epoch).toMatchObject({ epoch: 2, ...foreign });
    expect(keys('register', PUBLIC, '--json')).toMatchObject({
      status: 2,
      stdout: expect.stringContaining('"code":"KEYRING_KEY_KNOWN"'),
    });

    const revoke = [
      'revoke',
      first.epoch.labels.python,
      '--reason',
      'lost',
      '--at',
      '2026-01-01T01:00:00+01:00',
    ];
    expect(json(keys(...revoke, '--json'))).toMatchObject({
      ok: true,
      revoked: {
        epoch: 0,
        state: 'revoked',
        revoked_at: '2026-01-01T00:00:00+00:00',
        revoked_reason: 'lost',
      },
      active_epoch: 1,
    });
    expect(keys('revoke', second.key_id, '--reason', 'stolen').stdout).toMatch(
      /^Revoked the key of epoch 1 from .* on\.\nEpoch 3 is active \(qp_key_[0-9a-f]{4}\)\.\n$/,
    );

    const list = json(keys('list', '--json'));
    expect(list).toMatchObject({ ok: true, dir, active_epoch: 3 });
    expect(list.epochs.map(({ state }: { state: string }) => state)).toEqual([
      'revoked',
      'revoked',
      'registered',
      'active',
    ]);
    const lines = keys('list').stdout.split('\n');
    expect(lines[0]).toBe(
      'epoch  state       id                fingerprint  signed_by         created and more',
    );
    expect(lines[3]).toMatch(
      /^2 {6}registered {2}054f341a2fa584bb {2}qp_key_d75a {2}d75a980182b10ab7 {2}\d{4}-/,
    );
    expect(list.epochs[2]).toMatchObject({ id: '054f341a2fa584bb', key_id: KEY_ID });
    expect(keys('list', '--quiet')).toEqual({ status: 0, stdout: '', stderr: '' });

    expect(keys('export-public').stdout).toBe(`${list.epochs[3].public_key}\n`);
    expect(keys('export-public', '--epoch', '2').stdout).toBe(`${PUBLIC}\n`);
    for (const format of ['pem', 'jwk', 'lock-pem']) {
      const { stdout } = keys('export-public', '--epoch', '2', '--format', format);
      expect(json(bulla(['keys', 'show', '-', '--json'], stdout))).toMatchObject({ format, key_id: KEY_ID });
    }
    const pq = keys('export-public', '--epoch', '1', '--pq', '--format', 'jwk').stdout;
    expect(json(bulla(['keys', 'show', '-', '--json'], pq))).toMatchObject({
      algorithm: 'ML-DSA-65',
      key_id: second.pq_key_id,
    });
    const all = keys('export-public', '--all').stdout;
    expect(parseKeyring(Buffer.from(all)).epochs.map(({ epoch, keyId }) => [epoch, keyId])).toEqual(
      list.epochs.map((epoch: { epoch: number; key_id: string }) => [epoch.epoch, epoch.key_id]),
    );
    expect(all).toContain('"revoked_reason"');
    expect(keys('export-public', '--all', '--epoch', '2').status).toBe(2);
    // As reports show it, and by its number.
    for (const name of ['054f341a2fa584bb', '054f341a2fa584bb…', KEY_ID, 'qp_key_d75a', '2'])
      expect(keys('export-public', name).stdout).toBe(`${PUBLIC}\n`);
    expect(keys('export-public', '2', '--all').stderr).toContain('[KEYRING_KEY_AMBIGUOUS]');
    for (const name of ['054f341a2fa584b', '9', '02', ''])
      expect(keys('export-public', name).stderr).toContain('[KEYRING_KEY_UNKNOWN]');
    expect(keys('revoke', '2', '--reason', 'lost').stdout).toMatch(/^Revoked the key of epoch 2 from /);
    for (const args of [
      ['--epoch', '9'],
      ['--epoch', '2', '--pq'],
    ])
      expect(keys('export-public', ...args)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('[KEYRING_KEY_UNKNOWN]'),
      });
  });

  test('a directory of its own; a key from a file, from standard input, and what is no public key', () => {
    const dir = temporaryFolder();
    const keys = (args: string[], input = '') => bulla(['keys', ...args, '--keys', dir], input);
    expect(keys(['init']).stdout).toMatch(/^Made a keyring in .*\.\nkey id {6}[0-9a-f]{64}\n/);
    const file = join(temporaryFolder(), 'key.pem');
    writeFileSync(file, bulla(['keys', 'convert', '-', '--to', 'pem'], PUBLIC).stdout);
    expect(
      json(keys(['register', file, '--not-before', '2026-01-01T00:00:00Z', '--json'])).epoch,
    ).toMatchObject({
      ...foreign,
      not_before: '2026-01-01T00:00:00+00:00',
    });
    const secret = bulla(
      ['keys', 'convert', '-', '--seed', '--algorithm', 'Ed25519', '--to', 'jwk'],
      SEED,
    ).stdout;
    expect(keys(['register', '-'], secret).stderr).toContain('[KEY_IS_PRIVATE]');
    expect(keys(['register', '01'.padEnd(64, '0')]).stderr).toContain('[KEY_SMALL_ORDER]');
    expect(keys(['rotate', '--quiet'])).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(json(keys(['list', '--json'])).active_epoch).toBe(2);
  });

  test('wrong usage is told', () => {
    const dir = temporaryFolder();
    const keys = (...args: string[]) => bulla(['keys', ...args, '--keys', dir]);
    expect(keys('init').status).toBe(0);
    expect(keys('revoke', 'qp_key_0000')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--reason'),
    });
    expect(keys('revoke', 'qp_key_', '--reason', 'x').stderr).toContain('[KEYRING_KEY_UNKNOWN]');
    expect(keys('revoke', 'x', '--reason', 'x', '--at', 'yesterday').stderr).toContain('[KEYRING_TIME]');
    expect(keys('rotate', '--token', 'x').stderr).toContain('[KEYRING_TOKEN]');
    expect(keys('export-public', '--epoch', 'one')).toMatchObject({ status: 2, stdout: '' });
    expect(bulla(['keys', 'list'], '', { BULLA_HOME: 'relative' }).stderr).toContain('[HOME_NOT_ABSOLUTE]');
    const token = ['--pkcs11', '/none.so', '--token', 'x', '--key', 'y'];
    expect(keys('rotate', ...token).stderr).toContain('[KEYRING_TOKEN]');
    expect(json(keys('list', '--json')).active_epoch).toBe(0);
  });
});
