import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { loadKeyring } from '../keys/index.ts';
import { type OpenOptions, open, tellLoose } from './open.ts';
import { pathsOf, withContents } from './paths.ts';

let home = '';
let told: unknown[] = [];
beforeEach(() => {
  home = temporaryFolder();
  told = [];
});

const capsule = { type: 'tool', outcome: { status: 'success' } } as const;
const keys = () => pathsOf(home).keys;
const notices: OpenOptions = {
  onKeyringMade: (made) => told.push(made),
  onLoose: (loose) => told.push(loose.map(({ path }) => path)),
};
const opening = (options: OpenOptions = {}) => open(home, { ...notices, ...options });

async function sealOne(): Promise<string> {
  await using at = await opening();
  const { signed_by } = await at.chain.append(capsule);
  return signed_by;
}

/** Opens and closes. */
async function visit(options: OpenOptions): Promise<void> {
  await using _ = await opening(options);
}

test('who seals for the first time has a keyring made, and is told where and which key it is', async () => {
  const signedBy = await sealOne();
  const { active } = loadKeyring(keys());
  expect(signedBy).toBe(active.label);
  expect(told).toEqual([{ folder: keys(), fingerprint: active.fingerprint }]);
  expect([await sealOne(), told.length]).toEqual([signedBy, 1]);
});

test('two that seal for the first time at the same time share one keyring', async () => {
  const labels = await Promise.all([sealOne(), sealOne(), sealOne()]);
  expect(new Set(labels)).toEqual(new Set([loadKeyring(keys()).active.label]));
  expect(told).toHaveLength(1);
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

test('only writing makes a store and a keyring', async () => {
  await expect(opening({ access: 'verify' })).rejects.toMatchObject({ code: 'STORE_MISSING' });
  await expect(opening({ access: 'read' })).rejects.toMatchObject({ code: 'STORE_MISSING' });
  await expect(opening({ access: 'extend' })).rejects.toMatchObject({ code: 'KEYRING_MISSING' });
  expect([existsSync(keys()), existsSync(pathsOf(home).store), told]).toEqual([false, false, []]);
});

test('the handle gives the chain that was named, and is closed when it is disposed of', async () => {
  const at = await opening({ chain: 'other' });
  await at.chain.append(capsule);
  expect([at.chain.name, at.keyring?.current().active.label]).toEqual([
    'other',
    loadKeyring(keys()).active.label,
  ]);
  await at[Symbol.asyncDispose]();
  await expect(at.chain.append(capsule)).rejects.toThrow();
  await using reading = await opening({ access: 'verify', chain: 'other' });
  // Closing made the last checkpoint.
  expect((await reading.chain.checkpoints()).map(({ size }) => size)).toEqual([1]);
  expect(reading.keyring).toBeNull();
  await expect(reading.chain.append(capsule)).rejects.toThrow();
});

test('files that others can read are told of, also those beside the store', async () => {
  await sealOne();
  const { store } = pathsOf(home);
  const operator = `${store}.checkpoints/operator`;
  const installation = join(home, 'installation');
  writeFileSync(installation, '', { mode: 0o600 });
  const mode = statSync(store).mode & 0o777;
  told = [];
  await visit({ access: 'verify' });
  expect([mode, told]).toEqual([0o600, []]);
  for (const file of [store, operator, installation]) chmodSync(file, 0o604);
  for (const access of ['verify', 'read', 'extend', 'write'] as const) await visit({ access });
  expect(told).toEqual(Array(4).fill([store, operator, installation]));
  // What somebody names to verify may be a copy that was made for others.
  told = [];
  await visit({ access: 'verify', store });
  expect(told).toEqual([]);
});

test('so is a folder of secrets with what lies in it', () => {
  const folder = join(home, 'oauth');
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.json'), '{}');
  chmodSync(folder, 0o770);
  chmodSync(join(folder, 'a.json'), 0o644);
  tellLoose(withContents(folder), notices);
  expect(told).toEqual([[folder, join(folder, 'a.json')]]);
});
