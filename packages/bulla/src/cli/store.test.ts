import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { loadKeyring } from '../keys/index.ts';
import { openFor } from './store.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test('what people should know of the data directory is said on standard error, each thing once', async () => {
  const home = temporaryFolder();
  let said = '';
  vi.stubEnv('BULLA_HOME', home);
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    said += chunk;
    return true;
  });
  const visit = async () => (await openFor({ chain: 'default' }, 'write'))[Symbol.asyncDispose]();
  await visit();
  const keys = join(home, 'keys');
  expect(said).toBe(`bulla: made a keyring in ${keys}; its key is ${loadKeyring(keys).active.fingerprint}\n`);
  const [store, keyring] = [join(home, 'store.db'), join(keys, 'keyring.json')];
  chmodSync(store, 0o644);
  chmodSync(keyring, 0o640);
  said = '';
  for (let i = 0; i < 2; i++) await visit();
  expect(said).toBe(
    `bulla: warning: others on this machine can read or change what is yours alone; run: chmod go= ${store} ${keyring}\n`,
  );
});
