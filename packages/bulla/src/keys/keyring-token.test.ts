import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toUtf8, verify } from '@bulla/core/crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { initKeyring, loadKeyring, openKeyring, revokeKey, rotateKeys } from './index.ts';
import { loadPkcs11 } from './pkcs11.ts';

const library = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so'].find(
  existsSync,
);
const pin = '246810';
const message = toUtf8('0'.repeat(64));
const real = { now: () => new Date(), randomBytes, env: { BULLA_PKCS11_PIN: pin } };

function usable(): boolean {
  try {
    createRequire(import.meta.url)('pkcs11js');
  } catch {
    return false; // pkcs11.test.ts builds it, and says so where it cannot
  }
  return library !== undefined && spawnSync('softhsm2-util', ['--version']).status === 0;
}
if (!usable() && process.env.BULLA_REQUIRE_HSM === '1')
  throw new Error('BULLA_REQUIRE_HSM=1, but there is no SoftHSM');

const home = mkdtempSync(join(tmpdir(), 'bulla-token-'));
afterAll(() => rmSync(home, { recursive: true }));

/** Makes a token with two keys. */
async function prepare(): Promise<void> {
  mkdirSync(join(home, 'tokens'));
  writeFileSync(
    join(home, 'softhsm2.conf'),
    `directories.tokendir = ${home}/tokens\nobjectstore.backend = file\n`,
  );
  process.env.SOFTHSM2_CONF = join(home, 'softhsm2.conf');
  spawnSync('softhsm2-util', [
    '--init-token',
    '--free',
    '--label',
    'ring',
    '--pin',
    pin,
    '--so-pin',
    '13579',
  ]);
  const pkcs11 = new (await loadPkcs11())();
  pkcs11.load(library!);
  pkcs11.C_Initialize({ flags: 0x02 });
  const slot = pkcs11
    .C_GetSlotList(true)
    .find((one) => pkcs11.C_GetTokenInfo(one).label.trimEnd() === 'ring')!;
  const session = pkcs11.C_OpenSession(slot, 0x04 | 0x02); // serial, read and write
  pkcs11.C_Login(session, 1, pin);
  const edwards = Buffer.concat([Buffer.of(0x13, 12), Buffer.from('edwards25519')]);
  for (const label of ['first', 'second']) {
    const common = [
      { type: 0x01, value: true }, // CKA_TOKEN
      { type: 0x03, value: label },
    ];
    const secret = [
      { type: 0x02, value: true }, // CKA_PRIVATE
      { type: 0x103, value: true }, // CKA_SENSITIVE
      { type: 0x108, value: true }, // CKA_SIGN
    ];
    pkcs11.C_GenerateKeyPair(
      session,
      { mechanism: 0x1055 }, // CKM_EC_EDWARDS_KEY_PAIR_GEN
      [...common, { type: 0x180, value: edwards }],
      [...common, ...secret],
    );
  }
  pkcs11.C_Finalize();
  pkcs11.close();
}

const key = (keyLabel: string) => ({ module: library!, tokenLabel: 'ring', keyLabel });

describe.skipIf(!usable())('a keyring whose active key lies in a token', () => {
  beforeAll(prepare);

  test('signs through the token; the file names the key and no PIN', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, { ...real, token: key('first'), pq: true });
    expect(readdirSync(dir).sort()).toEqual(['key.ml', 'keyring.json']);
    expect(readFileSync(join(dir, 'keyring.json'), 'utf8')).toContain(`"signer": {
        "type": "pkcs11",
        "module": "${library}",
        "token_label": "ring",
        "key_label": "first"
      }`);
    expect(readFileSync(join(dir, 'keyring.json'), 'utf8')).not.toContain(pin);
    const open = openKeyring(dir, real);
    const { signer, publicKey, pqSigner, pqPublicKey } = open.sealer();
    const signatures = await Promise.all(Array.from({ length: 10 }, () => signer.sign(message)));
    for (const signature of signatures) expect(verify(publicKey, message, signature)).toBe(true);
    expect(verify(pqPublicKey!, message, await pqSigner!.sign(message))).toBe(true);
    open.close();
    await expect(signer.sign(message)).rejects.toMatchObject({ code: 'KEY_PKCS11_UNAVAILABLE' });
  });

  test('rotates from file to token to token to file, and leaves no private key behind', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    const open = openKeyring(dir, real);
    const signs = async () => {
      const { signer, publicKey, epoch } = open.sealer();
      expect(verify(publicKey, message, await signer.sign(message))).toBe(true);
      return epoch;
    };
    expect(await signs()).toBe(0);
    await rotateKeys(dir, { ...real, token: key('first') });
    expect(readdirSync(dir)).toEqual(['keyring.json']);
    expect(await signs()).toBe(1);
    await rotateKeys(dir, { ...real, token: key('second') });
    expect(await signs()).toBe(2);
    await expect(rotateKeys(dir, { ...real, token: key('first') })).rejects.toMatchObject({
      code: 'KEYRING_KEY_KNOWN',
    });
    const { fingerprint } = loadKeyring(dir).active;
    const needed = { code: 'KEYRING_TOKEN' };
    await expect(rotateKeys(dir, real)).rejects.toMatchObject(needed);
    await expect(revokeKey(dir, fingerprint, { ...real, reason: 'x' })).rejects.toMatchObject(needed);
    await rotateKeys(dir, { ...real, token: null });
    expect(readdirSync(dir).sort()).toEqual(['key', 'keyring.json']);
    expect(await signs()).toBe(3);
    open.close();
  });

  test('the file of a retired key that a crash left is erased at the next open', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    const seed = readFileSync(join(dir, 'key'));
    await rotateKeys(dir, { ...real, token: key('first') });
    writeFileSync(join(dir, 'key'), seed, { mode: 0o600 });
    openKeyring(dir, real);
    expect(readdirSync(dir)).toEqual(['keyring.json']);
    writeFileSync(join(dir, 'key'), randomBytes(32), { mode: 0o600 }); // not ours to erase
    openKeyring(dir, real);
    expect(readdirSync(dir).sort()).toEqual(['key', 'keyring.json']);
  });

  test('a token without PIN, with a wrong one or with another key does not sign; the next try may', async () => {
    const dir = temporaryFolder();
    const env: Record<string, string> = {};
    await expect(initKeyring(dir, { ...real, env, token: key('first') })).rejects.toMatchObject({
      code: 'KEYRING_TOKEN',
    });
    expect(readdirSync(dir)).toEqual([]);
    await initKeyring(dir, { ...real, token: key('first') });
    const open = openKeyring(dir, { ...real, env });
    const { signer, publicKey } = open.sealer();
    await expect(signer.sign(message)).rejects.toMatchObject({ code: 'KEYRING_TOKEN' });
    env.BULLA_PKCS11_PIN = '000000';
    await expect(signer.sign(message)).rejects.toMatchObject({ code: 'KEY_PKCS11_PIN' });
    env.BULLA_PKCS11_PIN = pin;
    expect(verify(publicKey, message, await signer.sign(message))).toBe(true);
    const file = join(dir, 'keyring.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"first"', '"second"'));
    const other = openKeyring(dir, real);
    await expect(other.sealer().signer.sign(message)).rejects.toMatchObject({ code: 'KEYRING_TOKEN' });
    open.close();
    other.close();
  });
});
