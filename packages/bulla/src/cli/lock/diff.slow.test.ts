import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  bullaIn,
  lockedFolder,
  SHOP,
  signFolder,
  surfaceServer,
  type TestSurface,
} from '../../../test/lockfiles.ts';

/** A folder with a lock of the shop, whose server now shows this. */
function changed(surface: TestSurface): string {
  return lockedFolder(SHOP, surfaceServer(surface).words);
}

describe('--require-signature', () => {
  test('nothing is started before a trusted key has verified', async () => {
    const folder = changed(SHOP);
    const required = (...args: string[]) => bullaIn(folder, ['check', '--quiet', ...args]);
    const unsigned = await required('--require-signature', '--key', 'public.key');
    expect([unsigned.status, unsigned.stderr]).toEqual([1, expect.stringContaining('[LOCK_UNSIGNED]')]);
    await signFolder(folder);
    const [good, keyless, stranger, named] = await Promise.all([
      required('--require-signature', '--key', 'public.key'),
      required('--require-signature'),
      required('--require-signature', '--key', 'other.pub'),
      required('--key', 'other.pub'),
    ]);
    expect([good.status, keyless.status, stranger.status, named.status]).toEqual([0, 2, 1, 1]);
    expect(keyless.stderr).toContain('[LOCK_SIGNATURE_NO_KEY]');

    // The command of a lock that nobody signed does not run.
    const file = join(folder, 'mcp-lock.json');
    const lock = readFileSync(file, 'utf8');
    writeFileSync(file, lock.replace(JSON.stringify(process.execPath), '"/nonexistent/program"'));
    const tampered = await required('--key', 'public.key');
    expect([tampered.status, tampered.stderr]).toEqual([
      1,
      expect.stringContaining('[LOCK_SIGNATURE_INVALID]'),
    ]);
  });
});

describe('diff', () => {
  test('of a lock and a server, and of two locks; exit 1 if anything changed', async () => {
    const next = { ...SHOP, serverInfo: { name: 'shop', version: '1.0.1' } };
    const folder = changed(next);
    copyFileSync(join(lockedFolder(next), 'mcp-lock.json'), join(folder, 'next.json'));
    copyFileSync(join(lockedFolder(SHOP), 'mcp-lock.json'), join(folder, 'first.json'));
    const [server, files, same, one] = await Promise.all([
      bullaIn(folder, ['diff', '-l', 'mcp-lock.json']),
      bullaIn(folder, ['diff', 'first.json', 'next.json']),
      bullaIn(folder, ['diff', 'next.json', 'next.json']),
      bullaIn(folder, ['diff', 'next.json']),
    ]);
    const told =
      '1 difference: 1 info.\n\nINFO  server\n  The version of the server was "1.0.0" and is now "1.0.1".\n';
    expect(server).toEqual({ status: 1, stdout: told, stderr: '' });
    expect(files).toEqual({ status: 1, stdout: told, stderr: '' });
    expect([same.status, same.stdout]).toEqual([0, 'No drift: what was compared is as it was locked.\n']);
    expect([one.status, one.stderr]).toEqual([2, expect.stringContaining('[USAGE]')]);
  });
});
