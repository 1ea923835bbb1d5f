import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { localSigner, noteVerifier, openNote, publicKey, signNote, toUtf8, verify } from '@bulla/core/crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { loadPkcs11, type Pkcs11Options, pkcs11Signer } from './pkcs11.ts';

const repo = fileURLToPath(new URL('../../../../', import.meta.url));
const { BULLA_REQUIRE_HSM } = process.env;
const library = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so'].find(
  existsSync,
);

function run(command: string, args: string[], env: NodeJS.ProcessEnv = process.env): string | null {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: repo, env, encoding: 'utf8' });
  return status === 0 ? null : `${command} failed: ${error?.message ?? (stderr || stdout).trim()}`;
}

/** Why the test cannot run here, or null. Builds the native part of pkcs11js where it is missing. */
async function obstacle(): Promise<string | null> {
  if (library === undefined) return 'softhsm2 is not installed';
  const noTool = run('softhsm2-util', ['--version']);
  if (noTool !== null) return noTool;
  try {
    createRequire(import.meta.url)('pkcs11js');
    return null;
  } catch {
    return run('npm', ['rebuild', 'pkcs11js']);
  }
}

const pin = '246810';

/** Makes a token and, through the package itself, the keys that the tests ask for. */
async function prepare(): Promise<{ slot: number }> {
  mkdirSync(join(home, 'tokens'));
  writeFileSync(
    join(home, 'softhsm2.conf'),
    `directories.tokendir = ${home}/tokens\nobjectstore.backend = file\n`,
  );
  Object.assign(process.env, { SOFTHSM2_CONF: join(home, 'softhsm2.conf') });
  const made = run('softhsm2-util', [
    '--init-token',
    '--free',
    '--label',
    'bulla test',
    '--pin',
    pin,
    '--so-pin',
    '13579',
  ]);
  if (made !== null) throw new Error(made);

  const pkcs11 = new (await loadPkcs11())();
  pkcs11.load(library!);
  pkcs11.C_Initialize({ flags: 0x02 });
  const slot = pkcs11
    .C_GetSlotList(true)
    .find((handle) => pkcs11.C_GetTokenInfo(handle).label.trimEnd() === 'bulla test')!;
  const session = pkcs11.C_OpenSession(slot, 0x04 | 0x02); // serial, read and write
  pkcs11.C_Login(session, 1, pin);
  const edwards = Buffer.concat([Buffer.of(0x13, 12), Buffer.from('edwards25519')]);
  const generate = (secretLabel: string, openLabel: string) => {
    const open = [
      { type: 0x01, value: true }, // CKA_TOKEN
      { type: 0x03, value: openLabel },
      { type: 0x180, value: edwards }, // CKA_EC_PARAMS
    ];
    const secret = [
      { type: 0x01, value: true },
      { type: 0x02, value: true }, // CKA_PRIVATE
      { type: 0x03, value: secretLabel },
      { type: 0x103, value: true }, // CKA_SENSITIVE
      { type: 0x108, value: true }, // CKA_SIGN
    ];
    return pkcs11.C_GenerateKeyPair(session, { mechanism: 0x1055 }, open, secret); // CKM_EC_EDWARDS_KEY_PAIR_GEN
  };
  generate('log key', 'log key');
  generate('twin', 'twin');
  generate('twin', 'twin');
  generate('no public', 'elsewhere');
  generate('swapped', 'swapped original');
  const publicOnly = (label: string, point: Uint8Array) =>
    pkcs11.C_CreateObject(session, [
      { type: 0x00, value: 0x02 },
      { type: 0x01, value: true },
      { type: 0x03, value: label },
      { type: 0x100, value: 0x40 },
      { type: 0x180, value: edwards },
      { type: 0x181, value: Buffer.from(point) },
    ]);
  const other = localSigner('Ed25519', new Uint8Array(32)).publicKey;
  publicOnly('swapped', Uint8Array.of(0x04, 0x20, ...other));
  generate('small order', 'small order original');
  publicOnly('small order', Uint8Array.of(0x04, 0x20, ...new Uint8Array(32)));
  generate('raw point', 'raw point original');
  publicOnly('raw point', other);
  const id = Number(slot.length === 8 ? slot.readBigUInt64LE() : slot.readUInt32LE());
  pkcs11.C_Finalize();
  pkcs11.close();
  return { slot: id };
}

const problem = await obstacle();
if (problem !== null && BULLA_REQUIRE_HSM === '1') throw new Error(`BULLA_REQUIRE_HSM=1, but ${problem}`);
if (problem !== null) console.warn(`skipped: the PKCS#11 signer was not tested, because ${problem}`);

const home = mkdtempSync(join(tmpdir(), 'bulla-hsm-'));
afterAll(() => rmSync(home, { recursive: true }));

describe.skipIf(problem !== null)('a signer in a SoftHSM token', async () => {
  const { slot } = problem === null ? await prepare() : { slot: 0 };
  const options = { module: library!, tokenLabel: 'bulla test', pin, keyLabel: 'log key' };
  const message = toUtf8('sealed');

  const refused = (change: Partial<typeof options>, code: string) =>
    expect(pkcs11Signer({ ...options, ...change })).rejects.toMatchObject({ code });

  it('signs what our verifier accepts', async () => {
    const signer = await pkcs11Signer(options);
    const key = publicKey(signer.algorithm, signer.publicKey);
    const signature = await signer.sign(message);
    expect(signature.constructor).toBe(Uint8Array);
    expect(signature).toHaveLength(64);
    expect(verify(key, message, signature)).toBe(true);
    expect(verify(key, toUtf8('sealee'), signature)).toBe(false);
    expect(await signer.sign(message)).toEqual(signature);
    signer.close();
  });

  it('is found by slot, and is the same key each time it is opened', async () => {
    const bySlot: Pkcs11Options = { module: library!, slot, pin, keyLabel: 'log key' };
    const [first, second] = [await pkcs11Signer(options), await pkcs11Signer(bySlot)];
    expect(second.publicKey).toEqual(first.publicKey);
    first.close();
    const key = publicKey('Ed25519', second.publicKey);
    expect(verify(key, message, await second.sign(message))).toBe(true);
    second.close();
  });

  it('makes many signatures at once, each its own, from the bytes as they were when asked', async () => {
    const signer = await pkcs11Signer(options);
    const key = publicKey('Ed25519', signer.publicKey);
    const messages = Array.from({ length: 50 }, (_, i) => toUtf8(`message ${i}`));
    const pending = messages.map((m) => {
      const given = m.slice();
      const signature = signer.sign(given);
      given.fill(0);
      return signature;
    });
    signer.close(); // pending signatures are still made
    const signatures = await Promise.all(pending);
    expect(signatures.map((signature, i) => verify(key, messages[i]!, signature))).toEqual(
      messages.map(() => true),
    );
  });

  it('signs notes', async () => {
    const signer = await pkcs11Signer(options);
    const note = await signNote('text\n', [{ name: 'hsm.example', signer }]);
    const verifier = noteVerifier('hsm.example', publicKey('Ed25519', signer.publicKey));
    expect(openNote(note, [verifier]).text).toBe('text\n');
    signer.close();
  });

  it('signs no more once closed, and may be closed twice', async () => {
    const signer = await pkcs11Signer(options);
    signer.close();
    signer.close();
    await expect(signer.sign(message)).rejects.toMatchObject({ code: 'KEY_PKCS11_UNAVAILABLE' });
  });

  it('is refused with a wrong PIN, which no error repeats', async () => {
    await refused({ pin: '000000' }, 'KEY_PKCS11_PIN');
    await refused({ pin: '' }, 'KEY_PKCS11_PIN');
    const error = await pkcs11Signer({ ...options, pin: '97531' }).catch((e: Error) => e);
    expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain('97531');
  });

  it('is refused without exactly one such token and key', async () => {
    await refused({ tokenLabel: 'another' }, 'KEY_PKCS11_UNAVAILABLE');
    await refused({ tokenLabel: 'bulla' }, 'KEY_PKCS11_UNAVAILABLE');
    await expect(
      pkcs11Signer({ module: library!, slot: slot + 1, pin, keyLabel: 'log key' }),
    ).rejects.toMatchObject({
      code: 'KEY_PKCS11_UNAVAILABLE',
    });
    await refused({ keyLabel: 'unknown' }, 'KEY_PKCS11_KEY');
    await refused({ keyLabel: 'twin' }, 'KEY_PKCS11_KEY');
    await refused({ keyLabel: 'no public' }, 'KEY_PKCS11_KEY');
  });

  it('is refused with a public key that no key may have', async () => {
    await refused({ keyLabel: 'small order' }, 'KEY_SMALL_ORDER');
  });

  it('gives out no signature that its public key does not verify, for either form of the point', async () => {
    for (const keyLabel of ['swapped', 'raw point']) {
      const signer = await pkcs11Signer({ ...options, keyLabel });
      expect(signer.publicKey).toEqual(localSigner('Ed25519', new Uint8Array(32)).publicKey);
      await expect(signer.sign(message)).rejects.toMatchObject({ code: 'KEY_PKCS11_SIGNATURE' });
      await expect(signer.sign(message)).rejects.toMatchObject({ code: 'KEY_PKCS11_SIGNATURE' });
      signer.close();
    }
  });

  it('is refused with a library that is none', async () => {
    await refused({ module: join(home, 'none.so') }, 'KEY_PKCS11_UNAVAILABLE');
    await refused({ module: join(home, 'softhsm2.conf') }, 'KEY_PKCS11_UNAVAILABLE');
  });
});

it('says what to install when the package is missing', async () => {
  await expect(loadPkcs11('pkcs11js-is-not-here')).rejects.toMatchObject({
    code: 'KEY_PKCS11_UNAVAILABLE',
    message: expect.stringContaining('npm install pkcs11js'),
  });
});
