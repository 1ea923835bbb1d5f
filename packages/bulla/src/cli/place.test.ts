import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { loadKeyring } from '../keys/index.ts';
import { openToRead, openToVerify, openToWrite, tellLooseIn } from './place.ts';

let home = '';
let said = '';
beforeEach(() => {
  home = temporaryFolder();
  said = '';
  vi.stubEnv('BULLA_HOME', home);
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    said += chunk;
    return true;
  });
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const options = { chain: 'default' };
const capsule = { type: 'tool', outcome: { status: 'success' } } as const;
const keys = () => join(home, 'keys');

async function sealOne(): Promise<string> {
  const store = await openToWrite(options);
  try {
    const { signed_by } = await store.chain('default').append(capsule);
    return signed_by;
  } finally {
    await store.close();
  }
}

test('who seals for the first time has a keyring made, and is told where and which key it is', async () => {
  const signedBy = await sealOne();
  const { active } = loadKeyring(keys());
  expect(signedBy).toBe(active.label);
  expect(said).toBe(`bulla: made a keyring in ${keys()}; its key is ${active.fingerprint}\n`);
  said = '';
  expect([await sealOne(), said]).toEqual([signedBy, '']);
});

test('two that seal for the first time at the same time share one keyring', async () => {
  const labels = await Promise.all([sealOne(), sealOne(), sealOne()]);
  expect(new Set(labels)).toEqual(new Set([loadKeyring(keys()).active.label]));
  expect(said.match(/made a keyring/g)).toHaveLength(1);
});

test('a keyring that is gone from beside its records is missed, not replaced', async () => {
  await sealOne();
  rmSync(keys(), { recursive: true });
  await expect(sealOne()).rejects.toMatchObject({
    code: 'KEYRING_MISSING',
    message: expect.stringContaining('but the store has records'),
  });
  expect(existsSync(keys())).toBe(false);
});

test('a damaged keyring is told and left alone', async () => {
  await sealOne();
  writeFileSync(join(keys(), 'keyring.json'), '{');
  await expect(sealOne()).rejects.toMatchObject({ code: 'KEYRING_MALFORMED' });
});

test('reading, and writing to a store that must be there, make no keyring', async () => {
  await expect(openToRead(options)).rejects.toMatchObject({ code: 'STORE_MISSING' });
  await expect(openToWrite(options, false)).rejects.toMatchObject({ code: 'KEYRING_MISSING' });
  expect([existsSync(keys()), said]).toEqual([false, '']);
});

test('files that others can read are told of once, with the command that mends it', async () => {
  await sealOne();
  const [store, keyring] = [join(home, 'store.db'), join(keys(), 'keyring.json')];
  chmodSync(store, 0o644);
  chmodSync(keyring, 0o640);
  said = '';
  for (let i = 0; i < 2; i++) await (await openToRead(options)).close();
  expect(said).toBe(
    `bulla: warning: others on this machine can read or change what is yours alone; run: chmod go= ${store} ${keyring}\n`,
  );
});

const warning = (...paths: string[]) =>
  `bulla: warning: others on this machine can read or change what is yours alone; run: chmod go= ${paths.join(' ')}\n`;

test('whoever verifies the own store is told of them too, also of what lies beside it', async () => {
  await sealOne();
  const [store, operator] = [join(home, 'store.db'), join(home, 'store.db.checkpoints/operator')];
  const installation = join(home, 'installation');
  writeFileSync(installation, '');
  for (const file of [store, operator, installation]) chmodSync(file, 0o604);
  said = '';
  await (await openToVerify(options)).close();
  expect(said).toBe(warning(store, operator, installation));
  // What somebody names may be a copy that was made for others.
  said = '';
  chmodSync(store, 0o644);
  chmodSync(operator, 0o600);
  await (await openToVerify({ ...options, store })).close();
  expect(said).toBe('');
});

test('so is whoever uses the tokens of a sign-in', () => {
  const [folder, token] = [join(home, 'oauth'), join(home, 'oauth/a.json')];
  mkdirSync(folder);
  writeFileSync(token, '{}');
  chmodSync(folder, 0o770);
  chmodSync(token, 0o644);
  tellLooseIn(folder);
  expect(said).toBe(warning(folder, token));
});
