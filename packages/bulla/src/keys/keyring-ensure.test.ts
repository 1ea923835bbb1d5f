import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { ensureKeyring, loadKeyring } from './index.ts';

test('makes a keyring where there is none, and then gives that one', async () => {
  const dir = join(temporaryFolder(), 'home', 'keys');
  const first = await ensureKeyring(dir);
  expect([first.made, first.keyring.epochs.length]).toEqual([true, 1]);
  const again = await ensureKeyring(dir);
  expect([again.made, again.keyring.active.keyId]).toEqual([false, first.keyring.active.keyId]);
});

test('several at the same time get one keyring, and one of them made it', async () => {
  const dir = join(temporaryFolder(), 'keys');
  const all = await Promise.all(Array.from({ length: 8 }, () => ensureKeyring(dir)));
  expect(all.filter(({ made }) => made)).toHaveLength(1);
  expect(new Set(all.map(({ keyring }) => keyring.active.keyId))).toEqual(
    new Set([loadKeyring(dir).active.keyId]),
  );
});

test('a keyring that cannot be read is told and left as it is', async () => {
  const dir = join(temporaryFolder(), 'keys');
  mkdirSync(dir);
  writeFileSync(join(dir, 'keyring.json'), '{');
  await expect(ensureKeyring(dir)).rejects.toMatchObject({ code: 'KEYRING_MALFORMED' });
  expect([readdirSync(dir), readFileSync(join(dir, 'keyring.json'), 'utf8')]).toEqual([
    ['keyring.json'],
    '{',
  ]);
});

test('neither is one that the system does not let us read', async () => {
  const dir = join(temporaryFolder(), 'keys');
  mkdirSync(join(dir, 'keyring.json'), { recursive: true });
  await expect(ensureKeyring(dir)).rejects.toMatchObject({ code: 'KEYRING_UNREADABLE' });
  expect(readdirSync(dir)).toEqual(['keyring.json']);
});

test('private keys whose keyring is gone are not written over', async () => {
  const dir = join(temporaryFolder(), 'keys');
  await ensureKeyring(dir);
  const secret = readFileSync(join(dir, 'key'));
  rmSync(join(dir, 'keyring.json'));
  await expect(ensureKeyring(dir)).rejects.toMatchObject({ code: 'KEYRING_EXISTS' });
  expect(readFileSync(join(dir, 'key'))).toEqual(secret);
});
