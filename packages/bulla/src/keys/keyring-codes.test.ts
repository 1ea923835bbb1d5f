import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { derivePublicKey } from '@bulla/core/crypto';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { realDisk } from '../os/index.ts';
import { initKeyring, loadKeyring, openKeyring, registerKey, rotateKeys } from './index.ts';

const real = { now: () => new Date(), randomBytes };
const failure = Object.assign(new Error('injected'), { code: 'ENOSPC' });
const coded = (code: string) => expect.objectContaining({ name: 'BullaError', code });

async function made(options = {}): Promise<string> {
  const dir = temporaryFolder();
  await initKeyring(dir, { ...real, ...options });
  return dir;
}

test('KEYRING_UNREADABLE: the keyring, or a private key, is there and cannot be read', async () => {
  const dir = temporaryFolder();
  mkdirSync(join(dir, 'keyring.json'));
  expect(() => loadKeyring(dir)).toThrow(coded('KEYRING_UNREADABLE'));
  const other = await made();
  rmSync(join(other, 'key'));
  mkdirSync(join(other, 'key'));
  expect(() => openKeyring(other, real).sealer()).toThrow(coded('KEYRING_UNREADABLE'));
  const large = await made();
  truncateSync(join(large, 'key'), 1 << 30);
  expect(() => openKeyring(large, real).sealer()).toThrow(coded('KEYRING_UNREADABLE'));
});

test('KEYRING_PRIVATE_KEY_MISSING, _SIZE, _MISMATCH, KEYRING_PRIVATE_KEY: what is wrong with a private key', async () => {
  const dir = await made({ pq: true });
  const sealer = () => openKeyring(dir, real).sealer();
  const good = readFileSync(join(dir, 'key'));
  rmSync(join(dir, 'key'));
  expect(sealer).toThrow(coded('KEYRING_PRIVATE_KEY_MISSING'));
  writeFileSync(join(dir, 'key'), good.toString('hex'), { mode: 0o600 });
  expect(sealer).toThrow(coded('KEYRING_PRIVATE_KEY'));
  writeFileSync(join(dir, 'key'), randomBytes(32));
  expect(sealer).toThrow(coded('KEYRING_PRIVATE_KEY'));
  writeFileSync(join(dir, 'key'), good);
  writeFileSync(join(dir, 'key.ml'), new Uint8Array(4032));
  expect(sealer).toThrow(coded('KEYRING_PRIVATE_KEY'));
});

test('KEYRING_KEY_NOT_VALID: the active key begins later', async () => {
  const dir = await made();
  const file = join(dir, 'keyring.json');
  const later = '"status": "active", "not_before": "2999-01-01T00:00:00+00:00"';
  writeFileSync(file, readFileSync(file, 'utf8').replace('"status": "active"', later));
  expect(() => openKeyring(dir, real).sealer()).toThrow(coded('KEYRING_KEY_NOT_VALID'));
});

test('KEYRING_FULL: no key with a fingerprint of its own can be drawn', async () => {
  const options = { ...real, randomBytes: (size: number) => new Uint8Array(size) };
  const dir = await made(options);
  await expect(rotateKeys(dir, options)).rejects.toEqual(coded('KEYRING_FULL'));
});

test('KEY_ALGORITHM: a registered key is Ed25519, with an ML-DSA-65 key or none', async () => {
  const dir = await made();
  const [ed, ml] = (['Ed25519', 'ML-DSA-44'] as const).map((name) => derivePublicKey(name, randomBytes(32)));
  await expect(registerKey(dir, ml!, real)).rejects.toEqual(coded('KEY_ALGORITHM'));
  await expect(registerKey(dir, ed!, { ...real, pqPublicKey: ml! })).rejects.toEqual(coded('KEY_ALGORITHM'));
});

test('KEYRING_MALFORMED: what could not be read again is not written', async () => {
  const dir = await made();
  const before = readFileSync(join(dir, 'keyring.json'), 'utf8');
  const key = derivePublicKey('Ed25519', randomBytes(32));
  const window = { notBefore: new Date(1000), notAfter: new Date(0) };
  await expect(registerKey(dir, key, { ...real, ...window })).rejects.toEqual(coded('KEYRING_MALFORMED'));
  expect(readFileSync(join(dir, 'keyring.json'), 'utf8')).toBe(before);
  expect(readdirSync(dir).sort()).toEqual(['key', 'keyring.json']);
});

test('KEYRING_UNWRITABLE: a full disk changes nothing, and the message says where things stand', async () => {
  const dir = await made();
  const before = readdirSync(dir).map((name) => readFileSync(join(dir, name)));
  const write = (file: number, bytes: Uint8Array) => {
    if (bytes.length > 200) throw failure; // the keyring, after lock and private key
    realDisk.write(file, bytes);
  };
  await expect(rotateKeys(dir, { ...real, disk: { ...realDisk, write } })).rejects.toMatchObject({
    code: 'KEYRING_UNWRITABLE',
    message: `${dir} cannot be written (ENOSPC); epoch 0 is active.`,
  });
  expect(readdirSync(dir).map((name) => readFileSync(join(dir, name)))).toEqual(before);
});

test('KEYRING_NOT_TIDY: the rotation is done, and the message says what is left', async () => {
  const dir = await made();
  const link = (from: string, to: string) => {
    if (to.endsWith('.retired')) throw failure;
    realDisk.link(from, to);
  };
  await expect(rotateKeys(dir, { ...real, disk: { ...realDisk, link } })).rejects.toMatchObject({
    code: 'KEYRING_NOT_TIDY',
    message: expect.stringContaining(
      'epoch 1 is active, but a retired private key could not be erased (ENOSPC)',
    ),
  });
  expect(readdirSync(dir).sort()).toEqual(['key', 'key.1', 'keyring.json']);
  expect(openKeyring(dir, real).sealer().epoch).toBe(1);
  expect(readdirSync(dir).sort()).toEqual(['key', 'keyring.json']);
});

test('no error repeats a private key', async () => {
  const dir = await made();
  const seed = readFileSync(join(dir, 'key'));
  writeFileSync(join(dir, 'key'), `${seed.toString('hex')}\n`);
  const error = await rotateKeys(dir, real).catch((thrown: Error) => thrown);
  expect(error).toEqual(coded('KEYRING_PRIVATE_KEY'));
  expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain(seed.toString('hex'));
});
