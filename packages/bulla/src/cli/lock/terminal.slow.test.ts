import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lockedFolder, SHOP, sha256Of, surfaceServer, type TestSurface } from '../../../test/lockfiles.ts';
import { repo } from '../../../test/run.ts';

const script = '/usr/bin/script';
const [search, order] = SHOP.tools as { name: string; description: string }[];

/** Runs `bulla lock` on a terminal, and types when the question comes. */
async function lockTyping(surface: TestSurface, keys: string) {
  const folder = lockedFolder(SHOP, surfaceServer(surface).words);
  const before = sha256Of(join(folder, 'mcp-lock.json'));
  const command = `${process.execPath} ${join(repo, 'packages/bulla/dist/bulla.js')} lock`;
  const child = spawn(script, ['-qec', command, '/dev/null'], { cwd: folder });
  let said = '';
  let isAsked = false;
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk;
    if (isAsked || !/\[y\/N\] $|Type yes to accept: $/.test(said)) return;
    isAsked = true;
    child.stdin.write(keys);
  });
  const status = await new Promise((resolve) => child.on('close', resolve));
  return { status, said, isChanged: sha256Of(join(folder, 'mcp-lock.json')) !== before, folder };
}

describe.skipIf(process.platform !== 'linux' || !existsSync(script))('lock on a terminal', () => {
  const prose = {
    ...SHOP,
    tools: [{ ...search!, description: 'Finds articles by their exact name.' }, order!],
  };
  const renamed = { ...SHOP, tools: [search!, { ...order!, name: 'buy' }] };

  test('takes prose with one key', async () => {
    const { status, said, isChanged, folder } = await lockTyping(prose, 'y');
    expect([status, isChanged]).toEqual([0, true]);
    expect(said).toContain('Only prose changed. Accept it? [y/N] yes');
    expect(readFileSync(join(folder, 'mcp-lock.json'), 'utf8')).toContain('their exact name');
  });

  test('takes anything else only for the word yes', async () => {
    const [key, word] = await Promise.all([lockTyping(renamed, 'y\n'), lockTyping(renamed, 'yes\n')]);
    expect([key.status, key.isChanged, word.status, word.isChanged]).toEqual([1, false, 0, true]);
    expect(key.said).toContain(
      ' The server changed since it was locked, and that was not accepted: nothing was written, the lock stays as it was. ',
    );
  });

  test('an interrupt at the question is no', async () => {
    const { status, isChanged } = await lockTyping(prose, '\u0003');
    expect([status, isChanged]).toEqual([1, false]);
  });
});
