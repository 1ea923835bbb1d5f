import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPrivateKey, readPublicKey, toHex } from '@bulla/core/crypto';
import { describe, expect, test } from 'vitest';
import { bullaIn, lockedFolder, lockOf, signFolder } from '../../../test/lockfiles.ts';
import { temporaryFolder } from '../../../test/run.ts';

describe('keygen', () => {
  test('writes the formats of the released program, the private key for its owner alone', async () => {
    const folder = temporaryFolder();
    const made = await bullaIn(
      folder,
      ['keygen', '--private', 'a', '--public', 'b', '--json'],
      {},
      'umask 000',
    );
    expect([made.status, made.stderr]).toEqual([0, '']);
    const [secret, open] = ['a', 'b'].map((name) => readFileSync(join(folder, name), 'utf8'));
    expect([secret!.length, open!.length]).toEqual([160, 113]);
    expect([statSync(join(folder, 'a')).mode & 0o777, statSync(join(folder, 'b')).mode & 0o777]).toEqual([
      0o600, 0o644,
    ]);
    expect(toHex(readPrivateKey(secret!).publicKey.bytes)).toBe(toHex(readPublicKey(open!).bytes));
    expect(JSON.parse(made.stdout)).toMatchObject({ ok: true, private: 'a', public: 'b' });
  });

  test('never overwrites, and leaves no half of a pair', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'public.key'), 'mine');
    const refused = await bullaIn(folder, ['keygen']);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('[FILE_EXISTS]');
    expect(() => statSync(join(folder, 'private.key'))).toThrow();
    const nowhere = await bullaIn(folder, ['keygen', '--private', 'p', '--public', 'no/where']);
    expect(nowhere.stderr).toContain('[FILE_UNWRITABLE]');
    expect(() => statSync(join(folder, 'p'))).toThrow();
    expect(readFileSync(join(folder, 'public.key'), 'utf8')).toBe('mine');
  });
});

describe('sign and verify', () => {
  test.each([
    [['--canonicalization', 'v1'], 'mcp-lock.json.sig', 'sig'],
    [['--canonicalization', 'v2'], 'mcp-lock.json.sig', 'sig'],
    [['--format', 'note'], 'mcp-lock.json.note', 'note'],
    [['--format', 'dsse'], 'mcp-lock.json.dsse.json', 'dsse'],
  ])('%j', async (flags, file, by) => {
    const folder = lockedFolder();
    const signed = await bullaIn(folder, ['sign', ...flags]);
    expect([signed.status, signed.stderr]).toEqual([0, '']);
    if (by === 'sig')
      expect(readFileSync(join(folder, file), 'utf8')).toMatch(
        new RegExp(`^\\{"canon_version":"${flags[1]}"\\}\\n[0-9a-f]{128}$`),
      );
    const [byFlags, byName, stranger] = await Promise.all([
      bullaIn(folder, ['verify', '-l', 'mcp-lock.json', '-s', file, '-k', 'public.key', '--json']),
      bullaIn(folder, ['verify', 'mcp-lock.json', '--public-key', 'public.key']),
      bullaIn(folder, ['verify', '-l', 'mcp-lock.json', '-k', 'other.pub']),
    ]);
    // A file of the released program does not say who signed it: for a key that was named it is bad.
    const unknown = by === 'sig' ? 1 : 3;
    expect([byFlags.status, byName.status, stranger.status]).toEqual([0, 0, unknown]);
    expect(JSON.parse(byFlags.stdout).files[0]).toMatchObject({
      kind: 'lockfile',
      code: 'ok',
      details: { version: '3.0', tools: 2, signed_as: by },
    });
    expect(byName.stdout).toMatch(
      /^good {2}mcp-lock\.json \(lockfile\): A lock of version 3\.0 with 2 tool\(s\)/,
    );
    const words =
      by === 'sig' ? /^BAD {2}mcp-lock\.json/ : /^undecided .* it says that it was signed by \S+\. /;
    expect(stranger.stdout).toMatch(words);
    await bullaIn(folder, ['keys', 'init']);
    const local = await bullaIn(folder, ['verify', 'mcp-lock.json']);
    expect([local.status, local.stdout]).toEqual([3, expect.stringContaining('Name the key with -k')]);
  });

  test('a changed lock is bad, a duplicate key is refused, and neither hides behind the other', async () => {
    const folder = lockedFolder();
    await signFolder(folder);
    const lock = join(folder, 'mcp-lock.json');
    const text = readFileSync(lock, 'utf8');
    writeFileSync(lock, text.replace('Orders an article', 'Orders two articles'));
    const tampered = await bullaIn(folder, ['verify', '-k', 'public.key', '--json']);
    expect(tampered.status).toBe(1);
    expect(JSON.parse(tampered.stdout).files[0].code).toBe('LOCK_SIGNATURE_INVALID');
    writeFileSync(lock, text.replace('"tools": {', '"tools": {},\n  "tools": {'));
    for (const args of [
      ['verify', '-k', 'public.key'],
      ['verify', 'mcp-lock.json', '--public-key', 'public.key'],
      ['sign'],
    ]) {
      const { status, stderr } = await bullaIn(folder, args);
      expect([status, stderr]).toEqual([2, expect.stringContaining('[JSON_DUPLICATE_KEY]')]);
    }
  });

  test('without a signature or a key nothing is decided: exit 3', async () => {
    const folder = lockedFolder();
    const unsigned = await bullaIn(folder, ['verify', '-k', 'public.key']);
    expect([unsigned.status, unsigned.stdout]).toEqual([3, expect.stringContaining('[LOCK_UNSIGNED]')]);
    await signFolder(folder);
    const keyless = await bullaIn(folder, ['verify', 'mcp-lock.json']);
    expect([keyless.status, keyless.stdout]).toEqual([3, expect.stringContaining('[VERIFY_NO_KEY]')]);
  });

  test('with the keyring, until the key is revoked', async () => {
    const folder = lockedFolder();
    const init = await bullaIn(folder, ['keys', 'init', '--json']);
    expect(init.status).toBe(0);
    const keyring = join(folder, 'home', 'keys');
    expect((await bullaIn(folder, ['sign', '--keys', keyring])).status).toBe(0);
    expect((await bullaIn(folder, ['verify', 'mcp-lock.json'])).status).toBe(0);
    const { epochs } = JSON.parse((await bullaIn(folder, ['keys', 'list', '--json'])).stdout);
    const revoked = await bullaIn(folder, ['keys', 'revoke', epochs[0].key_id, '--reason', 'lost']);
    expect(revoked.status).toBe(0);
    expect((await bullaIn(folder, ['verify', 'mcp-lock.json'])).status).toBe(1);
  });

  test('keys and signatures that cannot be read: exit 2', async () => {
    const folder = lockedFolder();
    await signFolder(folder);
    writeFileSync(join(folder, 'cut.pub'), readFileSync(join(folder, 'public.key')).subarray(0, 10));
    writeFileSync(join(folder, 'bad.sig'), '0"canon_version":"v1"}\nabc');
    const told = await Promise.all(
      [
        ['verify', '-k', 'cut.pub'],
        ['verify', '-k', 'missing.pub'],
        ['verify', '-k', 'private.key'],
        ['verify', '-k', 'public.key', '-s', 'bad.sig'],
        ['sign', '-k', 'public.key'],
        ['sign', '-k', 'missing.key'],
        ['sign', '-l', 'missing.json'],
        ['sign', '-k', 'private.key', '--keys', 'x'],
        ['verify', '-s', 'bad.sig', 'mcp-lock.json'],
      ].map((args) => bullaIn(folder, args)),
    );
    expect(told.map(({ status, stderr }) => [status, /\[(\w+)\]\n$/.exec(stderr)?.[1]])).toEqual([
      [2, 'KEY_MALFORMED'],
      [2, 'INPUT_UNREADABLE'],
      [2, 'KEY_IS_PRIVATE'],
      [2, 'LOCK_SIGNATURE_MALFORMED'],
      [2, 'KEY_IS_PUBLIC'],
      [2, 'INPUT_UNREADABLE'],
      [2, 'INPUT_UNREADABLE'],
      [2, 'USAGE'],
      [2, 'USAGE'],
    ]);
  });

  test('a lock is told from a capsule, whatever its tools are called', async () => {
    const folder = temporaryFolder();
    const tool = {
      name: 'signature',
      inputSchema: { type: 'object', properties: { signature: { type: 'string' } } },
    };
    const text = Buffer.from(lockOf({ tools: [tool] })).toString();
    writeFileSync(join(folder, 'sorted.json'), JSON.stringify(JSON.parse(text)));
    const { status, stdout } = await bullaIn(folder, ['verify', 'sorted.json']);
    expect([status, stdout]).toEqual([3, expect.stringContaining('(lockfile)')]);
  });
});
