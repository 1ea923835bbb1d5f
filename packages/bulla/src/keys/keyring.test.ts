import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { derivePublicKey, publicKey, toUtf8, verify } from '@bulla/core/crypto';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import {
  epochNamed,
  initKeyring,
  loadKeyring,
  openKeyring,
  registerKey,
  revokeKey,
  rotateKeys,
} from './index.ts';

const message = toUtf8('a'.repeat(64));
const names = (dir: string) => readdirSync(dir).sort();

/** Draws the seeds 1, 2, 3 … so that every key is known, and lets a minute pass with each look at the clock. */
function known(first = 1) {
  let fill = first;
  let minute = 0;
  return {
    now: () => new Date(Date.UTC(2026, 0, 1, 0, minute++)),
    randomBytes: (size: number) => new Uint8Array(size).fill(fill++),
  };
}
const real = { now: () => new Date(), randomBytes };
const seed = (fill: number) => Buffer.alloc(32, fill);
const ed = (fill: number) => derivePublicKey('Ed25519', seed(fill));

describe('init', () => {
  test('makes epoch 0 in the format of the reference, files for the owner alone', async () => {
    const dir = join(temporaryFolder(), 'new', 'keys');
    await initKeyring(dir, known());
    expect(readFileSync(join(dir, 'keyring.json'), 'utf8')).toBe(`{
  "version": 1,
  "active_epoch": 0,
  "epochs": [
    {
      "epoch": 0,
      "algorithm": "ed25519",
      "public_key_hex": "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c",
      "fingerprint": "qp_key_8a88",
      "created_at": "2026-01-01T00:00:00+00:00",
      "rotated_at": null,
      "status": "active"
    }
  ]
}
`);
    expect(readFileSync(join(dir, 'key'))).toEqual(seed(1));
    expect(names(dir)).toEqual(['key', 'keyring.json']);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of names(dir)) expect(statSync(join(dir, name)).mode & 0o777, name).toBe(0o600);
  });

  test('with ML-DSA-65, the seed is in key.ml and both keys sign', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, { ...known(), pq: true });
    expect(names(dir)).toEqual(['key', 'key.ml', 'keyring.json']);
    expect(statSync(join(dir, 'key.ml')).mode & 0o777).toBe(0o600);
    const sealer = openKeyring(dir, real).sealer();
    expect(verify(sealer.publicKey, message, await sealer.signer.sign(message))).toBe(true);
    expect(verify(sealer.pqPublicKey!, message, await sealer.pqSigner!.sign(message))).toBe(true);
    expect(sealer.pqPublicKey).toEqual(derivePublicKey('ML-DSA-65', readFileSync(join(dir, 'key.ml'))));
  });

  test.each(['keyring.json', 'key', 'key.ml', 'key.ml.pub', 'key.3', 'key.retired'])(
    'never overwrites a %s',
    async (name) => {
      const dir = temporaryFolder();
      writeFileSync(join(dir, name), 'mine');
      await expect(initKeyring(dir, real)).rejects.toMatchObject({ code: 'KEYRING_EXISTS' });
      expect(names(dir)).toEqual([name]);
      expect(readFileSync(join(dir, name), 'utf8')).toBe('mine');
    },
  );
});

test('reading a keyring that is not there creates nothing', async () => {
  const dir = join(temporaryFolder(), 'none');
  const missing = expect.objectContaining({ code: 'KEYRING_MISSING' });
  expect(() => loadKeyring(dir)).toThrow(missing);
  expect(() => openKeyring(dir, real)).toThrow(missing);
  await expect(rotateKeys(dir, real)).rejects.toEqual(missing);
  await expect(registerKey(dir, ed(9), real)).rejects.toEqual(missing);
  await expect(revokeKey(dir, 'qp_key_0000', { ...real, reason: 'x' })).rejects.toEqual(missing);
  expect(existsSync(dir)).toBe(false);
});

test('reading to verify needs keyring.json alone, and changes nothing', async () => {
  const dir = temporaryFolder();
  await initKeyring(dir, known());
  rmSync(join(dir, 'key'));
  writeFileSync(join(dir, 'key.retired'), seed(8));
  expect(epochNamed(loadKeyring(dir).epochs, '8a88e3dd7409f195').publicKey).toEqual(ed(1));
  expect(names(dir)).toEqual(['key.retired', 'keyring.json']);
});

describe('rotate', () => {
  test('the new key is one number up, the old one is retired and its private key gone', async () => {
    const dir = temporaryFolder();
    const options = known();
    await initKeyring(dir, { ...options, pq: true });
    const keyring = await rotateKeys(dir, options);
    expect(
      keyring.epochs.map(({ epoch, status, createdAt, rotatedAt }) => [epoch, status, createdAt, rotatedAt]),
    ).toEqual([
      [0, 'retired', '2026-01-01T00:00:00+00:00', '2026-01-01T00:01:00+00:00'],
      [1, 'active', '2026-01-01T00:01:00+00:00', null],
    ]);
    expect(names(dir)).toEqual(['key', 'key.ml', 'keyring.json']);
    expect([readFileSync(join(dir, 'key')), readFileSync(join(dir, 'key.ml'))]).toEqual([seed(4), seed(3)]);
    expect(loadKeyring(dir).epochs).toEqual(keyring.epochs);
  });

  test('an epoch after a registered key takes the next number', async () => {
    const dir = temporaryFolder();
    const options = known();
    await initKeyring(dir, options);
    await registerKey(dir, ed(200), options);
    expect((await rotateKeys(dir, options)).epochs.map(({ epoch, status }) => [epoch, status])).toEqual([
      [0, 'retired'],
      [1, 'retired'],
      [2, 'active'],
    ]);
  });

  test('draws again when the fingerprint is taken', async () => {
    const dir = temporaryFolder();
    const options = known();
    await initKeyring(dir, options);
    await registerKey(dir, ed(2), options); // what would be drawn next
    expect((await rotateKeys(dir, options)).active.publicKey).toEqual(ed(3));
  });

  test('ML-DSA-65 comes and goes with the asking; a retired seed is erased', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    expect((await rotateKeys(dir, { ...real, pq: true })).active.pqPublicKey).not.toBeNull();
    expect(names(dir)).toEqual(['key', 'key.ml', 'keyring.json']);
    expect((await rotateKeys(dir, { ...real, pq: false })).active.pqPublicKey).toBeNull();
    expect(names(dir)).toEqual(['key', 'keyring.json']);
  });

  test('a lost private key can be replaced, but a foreign one is not erased', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    rmSync(join(dir, 'key'));
    await rotateKeys(dir, real);
    writeFileSync(join(dir, 'key'), seed(9));
    await expect(rotateKeys(dir, real)).rejects.toMatchObject({ code: 'KEYRING_PRIVATE_KEY' });
    expect(readFileSync(join(dir, 'key'))).toEqual(seed(9));
    expect(loadKeyring(dir).active.epoch).toBe(1);
    expect(names(dir)).toEqual(['key', 'keyring.json']);
  });

  test("the reference's expanded ML-DSA-65 key stays where nothing replaces it, else it is refused", async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    writeFileSync(join(dir, 'key.ml'), new Uint8Array(4032));
    await rotateKeys(dir, real);
    expect(openKeyring(dir, real).sealer().pqSigner).toBeUndefined();
    await expect(rotateKeys(dir, { ...real, pq: true })).rejects.toMatchObject({
      code: 'KEYRING_PRIVATE_KEY',
    });
    expect(statSync(join(dir, 'key.ml')).size).toBe(4032);
  });

  test('rotations asked for at once are made one after the other', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    await Promise.all(Array.from({ length: 5 }, () => rotateKeys(dir, real)));
    expect(loadKeyring(dir).epochs.map(({ epoch }) => epoch)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(openKeyring(dir, real).sealer().epoch).toBe(5);
  });
});

describe('register', () => {
  test('a key to verify with, under the names that others write; the active epoch stays', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, known());
    const epoch = await registerKey(dir, ed(200), {
      ...real,
      pqPublicKey: derivePublicKey('ML-DSA-65', seed(200)),
      notBefore: new Date(0),
      notAfter: new Date(1e12),
    });
    expect(epoch).toMatchObject({
      epoch: 1,
      status: 'retired',
      verifyOnly: true,
      notBefore: '1970-01-01T00:00:00+00:00',
      notAfter: '2001-09-09T01:46:40+00:00',
    });
    const { active, epochs } = loadKeyring(dir);
    expect(active.epoch).toBe(0);
    expect(epochNamed(epochs, epoch.label).epoch).toBe(1);
    expect(readFileSync(join(dir, 'key'))).toEqual(seed(1));
  });

  test('a key that is there, and another with the same fingerprint, are refused', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    const [first, second] = twins();
    await registerKey(dir, first, real);
    await expect(registerKey(dir, first, real)).rejects.toMatchObject({ code: 'KEYRING_KEY_KNOWN' });
    await expect(registerKey(dir, second, real)).rejects.toMatchObject({ code: 'KEYRING_KEY_KNOWN' });
    expect(loadKeyring(dir).epochs).toHaveLength(2);
  });
});

/** Two keys with the same first two bytes: among a few hundred there is such a pair. */
function twins() {
  const seen = new Map<number, Uint8Array>();
  for (;;) {
    const { bytes } = derivePublicKey('Ed25519', randomBytes(32));
    const start = bytes[0]! * 256 + bytes[1]!;
    const other = seen.get(start);
    if (other !== undefined) return [publicKey('Ed25519', other), publicKey('Ed25519', bytes)] as const;
    seen.set(start, bytes);
  }
}

describe('revoke', () => {
  test.each(['fingerprint', 'label', 'keyId'] as const)('a retired key by its %s', async (name) => {
    const dir = temporaryFolder();
    const options = known();
    await initKeyring(dir, options);
    const { epochs } = await rotateKeys(dir, options);
    const before = readFileSync(join(dir, 'key'));
    const at = new Date(Date.UTC(2025, 0, 1));
    const keyring = await revokeKey(dir, epochs[0]![name], { ...options, reason: 'lost', revokedAt: at });
    expect(keyring.epochs[0]!.revocation).toEqual({ at: '2025-01-01T00:00:00+00:00', reason: 'lost' });
    expect(keyring.active.epoch).toBe(1);
    expect(readFileSync(join(dir, 'key'))).toEqual(before);
  });

  test('the active key: rotated in the same write, so that it never signs again', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, { ...real, pq: true });
    const open = openKeyring(dir, real);
    const old = open.sealer();
    const { epochs, active } = await revokeKey(dir, old.fingerprint, { ...real, reason: 'stolen' });
    expect(epochs[0]).toMatchObject({ status: 'retired', revocation: { reason: 'stolen' } });
    expect(active).toMatchObject({ epoch: 1, revocation: null });
    expect(open.sealer().epoch).toBe(1);
    expect(open.sealer().pqSigner).toBeDefined();
    expect(epochNamed(open.current().epochs, old.label).revocation).not.toBeNull();
  });

  test('once, for a reason, of a key that is there, and not from a later time on', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    const { fingerprint } = await registerKey(dir, ed(200), real);
    const revoke = (name: string, reason: string, revokedAt?: Date) =>
      revokeKey(dir, name, { ...real, reason, ...(revokedAt && { revokedAt }) });
    await expect(revoke('qp_key_', 'x')).rejects.toMatchObject({ code: 'KEYRING_KEY_UNKNOWN' });
    await expect(revoke(fingerprint, '')).rejects.toMatchObject({ code: 'KEYRING_REASON' });
    await expect(revoke(fingerprint, 'x', new Date(Date.now() + 60_000))).rejects.toMatchObject({
      code: 'KEYRING_REASON',
    });
    await revoke(fingerprint, 'x');
    await expect(revoke(fingerprint, 'y')).rejects.toMatchObject({ code: 'KEYRING_ALREADY_REVOKED' });
  });
});

describe('an open keyring', () => {
  test('sees a rotation before the next signature; each snapshot signs under its own label', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    const open = openKeyring(dir, real);
    const before = open.sealer();
    expect(open.sealer()).toBe(before);
    await rotateKeys(dir, real);
    const after = open.sealer();
    expect([before.epoch, after.epoch]).toEqual([0, 1]);
    for (const sealer of [before, after]) {
      const named = epochNamed(open.current().epochs, sealer.label);
      expect(named.epoch).toBe(sealer.epoch);
      expect(verify(named.publicKey, message, await sealer.signer.sign(message))).toBe(true);
    }
  });

  test('a signer that is kept refuses once its key was rotated, and signs on after other changes', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    const open = openKeyring(dir, real);
    const signer = open.signer();
    await registerKey(dir, ed(200), real);
    expect(verify(open.current().active.publicKey, message, await signer.sign(message))).toBe(true);
    await rotateKeys(dir, real);
    expect(() => signer.sign(message)).toThrow(expect.objectContaining({ code: 'KEYRING_ROTATED' }));
    const next = open.signer();
    expect(verify(open.current().active.publicKey, message, await next.sign(message))).toBe(true);
  });

  test('does not sign outside the time of its key', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, { ...real, notAfter: new Date(2000) });
    let now = new Date(2000);
    const open = openKeyring(dir, { now: () => now });
    expect(open.sealer().epoch).toBe(0);
    now = new Date(2001);
    expect(() => open.sealer()).toThrow(expect.objectContaining({ code: 'KEYRING_KEY_NOT_VALID' }));
    await rotateKeys(dir, real);
    expect(open.sealer().epoch).toBe(1);
  });

  test('does not sign with a private key that others can read', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    chmodSync(join(dir, 'key'), 0o640);
    expect(() => openKeyring(dir, real).sealer()).toThrow(expect.objectContaining({ code: 'KEY_EXPOSED' }));
  });

  test('stops when the keyring is broken or gone, rather than sign from memory', async () => {
    const dir = temporaryFolder();
    await initKeyring(dir, real);
    const open = openKeyring(dir, real);
    open.sealer();
    const text = readFileSync(join(dir, 'keyring.json'), 'utf8');
    writeFileSync(join(dir, 'keyring.json'), text.replace('"active"', '"retired"'));
    expect(() => open.sealer()).toThrow(expect.objectContaining({ code: 'KEYRING_MALFORMED' }));
    rmSync(join(dir, 'keyring.json'));
    expect(() => open.sealer()).toThrow(expect.objectContaining({ code: 'KEYRING_MISSING' }));
  });
});

test('a private key in hex is not registered as a public one', async () => {
  const dir = join(temporaryFolder(), 'keys');
  await initKeyring(dir, known());
  const secret = publicKey('Ed25519', seed(1));
  await expect(registerKey(dir, secret, real)).rejects.toMatchObject({
    code: 'KEY_IS_PRIVATE',
    message: 'These digits are the private key of epoch 0.',
  });
  expect(loadKeyring(dir).epochs.length).toBe(1);
});
