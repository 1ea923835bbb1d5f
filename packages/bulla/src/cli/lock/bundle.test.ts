import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bullaIn, lockedFolder, signFolder } from '../../../test/lockfiles.ts';
import { repo, temporaryFolder } from '../../../test/run.ts';

/** A folder with a signed lock, keys and a policy. */
async function signed(): Promise<string> {
  const folder = lockedFolder();
  await signFolder(folder);
  writeFileSync(join(folder, 'policy.yaml'), 'name: none\n');
  return folder;
}

describe('bundle export', () => {
  test('refuses a key that did not sign, and leaves the old bundle as it was', async () => {
    const folder = await signed();
    writeFileSync(join(folder, 'approval.zip'), 'old');
    const wrong = await bullaIn(folder, ['bundle', 'export', '--public-key', 'other.pub']);
    expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('[LOCK_SIGNATURE_INVALID]')]);
    const missing = await bullaIn(folder, ['bundle', 'export', '-s', 'nothing.sig']);
    expect([missing.status, missing.stderr]).toEqual([2, expect.stringContaining('[INPUT_UNREADABLE]')]);
    expect(readFileSync(join(folder, 'approval.zip'), 'utf8')).toBe('old');
  });
});

test('nobody waits for a pipe that lies where a lock or its signature is looked for', async () => {
  const folder = await signed();
  const refused = async (file: string, ...args: string[]) => {
    rmSync(join(folder, file));
    expect(spawnSync('mkfifo', [join(folder, file)]).status).toBe(0);
    const { status, stderr } = await bullaIn(folder, args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(`${file} is not a regular file.`)]);
  };
  await refused('mcp-lock.json.sig', 'bundle', 'export');
  await refused('mcp-lock.json', 'bundle', 'export');
  expect((await bullaIn(folder, ['sign', '-k', 'private.key'])).status).toBe(2);
  expect((await bullaIn(folder, ['verify', '-k', 'public.key'])).status).toBe(2);
});

describe('bundle verify', () => {
  test('says which key it trusted, and never trusts the one inside', async () => {
    const folder = await signed();
    await bullaIn(folder, ['bundle', 'export', '--public-key', 'public.key', '--quiet']);
    const [good, byName, stranger, keyless, cut] = await Promise.all([
      bullaIn(folder, ['bundle', 'verify', 'approval.zip', '--key', 'public.key', '--json']),
      bullaIn(folder, ['verify', '-k', 'public.key', 'approval.zip', '--json']),
      bullaIn(folder, ['bundle', 'verify', 'approval.zip', '-k', 'other.pub']),
      bullaIn(folder, ['bundle', 'verify', 'approval.zip']),
      (async () => {
        writeFileSync(join(folder, 'cut.zip'), readFileSync(join(folder, 'approval.zip')).subarray(0, 400));
        return bullaIn(folder, ['bundle', 'verify', 'cut.zip', '-k', 'public.key']);
      })(),
    ]);
    const key = JSON.parse((await bullaIn(folder, ['keys', 'show', 'public.key', '--json'])).stdout).key_id;
    expect(good.status).toBe(0);
    expect(JSON.parse(good.stdout)).toMatchObject({
      ok: true,
      key_id: key,
      trusted_from: 'public.key',
      carries_key: true,
      unsigned: ['README.txt', 'manifest.json', 'public.key'],
      readme: 'derived',
      tools: 2,
    });
    expect([byName.status, JSON.parse(byName.stdout).files[0].details.key_id]).toEqual([0, key]);
    expect([stranger.status, stranger.stderr]).toEqual([
      1,
      expect.stringContaining('[LOCK_SIGNATURE_INVALID]'),
    ]);
    expect([keyless.status, keyless.stderr]).toEqual([2, expect.stringContaining('[LOCK_SIGNATURE_NO_KEY]')]);
    expect([cut.status, cut.stderr]).toEqual([2, expect.stringMatching(/\[BUNDLE_\w+\]/)]);
  });

  test('keys that nobody named for it decide nothing, and one that is revoked is no missing one', async () => {
    const folder = await signed();
    await bullaIn(folder, ['bundle', 'export', '--quiet']);
    await bullaIn(folder, ['keys', 'init']);
    const local = await bullaIn(folder, ['verify', 'approval.zip']);
    expect([local.status, local.stdout]).toEqual([
      3,
      'undecided  approval.zip (bundle): None of the keys at hand signed the lock; its signature does not say whose it is. Name the key with -k or --keyring. [LOCK_SIGNATURE_INVALID]\n',
    ]);
    expect((await bullaIn(folder, ['verify', 'approval.zip', '-k', 'other.pub'])).status).toBe(1);
    const key = JSON.parse((await bullaIn(folder, ['keys', 'show', 'public.key', '--json'])).stdout);
    await bullaIn(folder, ['keys', 'register', 'public.key']);
    expect((await bullaIn(folder, ['verify', 'approval.zip'])).status).toBe(0);
    await bullaIn(folder, ['keys', 'revoke', key.key_id, '--reason', 'stolen']);
    for (const named of [[], ['-k', 'public.key']]) {
      const revoked = await bullaIn(folder, ['verify', 'approval.zip', ...named]);
      expect([revoked.status, revoked.stdout]).toEqual([
        1,
        'BAD  approval.zip (bundle): A key that is revoked signed the lock. [LOCK_SIGNATURE_INVALID]\n',
      ]);
    }
  });

  test.skipIf(!process.env.BULLA_VECTORS)('a bundle of the released program', async () => {
    const vectors = resolve(repo, process.env.BULLA_VECTORS!, 'mcptrust');
    const folder = temporaryFolder();
    const { bundle } = JSON.parse(readFileSync(join(vectors, 'observed.json'), 'utf8'));
    writeFileSync(join(folder, 'released.zip'), Buffer.from(bundle.zip_base64, 'base64'));
    const key = join(vectors, 'backward_compat/test_public.key');
    const { status, stdout } = await bullaIn(folder, [
      'bundle',
      'verify',
      'released.zip',
      '-k',
      key,
      '--json',
    ]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      tool_version: 'dev',
      readme: 'unchecked',
      lock_version: '1.0',
    });
    expect(existsSync(join(folder, 'home'))).toBe(false);
  });
});
