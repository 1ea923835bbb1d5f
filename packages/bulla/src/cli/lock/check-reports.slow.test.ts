import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bullaIn, lockedFolder, SHOP, surfaceServer } from '../../../test/lockfiles.ts';
import { expectGone, script } from '../../../test/mcp.ts';
import { sarifComplaints } from '../../../test/sarif.ts';

test('--report writes other formats of the same scan, as --format prints them', async () => {
  const folder = lockedFolder(SHOP, surfaceServer({ ...SHOP, tools: [SHOP.tools![0] as object] }).words);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const reports = ['sarif', 'markdown', 'junit', 'json', 'text'].flatMap((format) => [
    '--report',
    `${format}=${format}.out`,
  ]);
  const { status, stdout } = await bullaIn(folder, ['check', ...reports], { FORCE_COLOR: '1' });
  expect(status).toBe(1);
  expect(stdout).toContain('\u001b[');
  for (const format of ['sarif', 'markdown', 'junit', 'json', 'text'])
    expect(read(`${format}.out`)).toBe((await bullaIn(folder, ['check', '--format', format])).stdout);
  expect(sarifComplaints(JSON.parse(read('sarif.out')))).toEqual([]);
  const quiet = await bullaIn(folder, ['diff', '--quiet', '--report', 'markdown=diff.md']);
  expect([quiet.status, quiet.stdout]).toEqual([1, '']);
  expect(read('diff.md')).toContain('### ❌ Drift of `mcp-lock.json`');
});

test('a server is started once, however many reports are asked for', async () => {
  const folder = lockedFolder();
  const pids = join(folder, 'pids');
  const { command, args } = script('hostile.mjs', pids, 'dies-mid-list');
  await bullaIn(folder, ['check', '--report', 'sarif=a', '--report', 'markdown=b', '--', command, ...args]);
  const once = (await expectGone(pids)).length;
  await bullaIn(folder, ['check', '--', command, ...args]);
  expect((await expectGone(pids)).length).toBe(2 * once);
});

test('what --report does not know or cannot write is told', async () => {
  const folder = lockedFolder(SHOP, surfaceServer(SHOP).words);
  for (const value of ['sarif', 'pdf=x', '=x', 'sarif='])
    expect((await bullaIn(folder, ['check', '--report', value])).status).toBe(2);
  const { status, stderr } = await bullaIn(folder, ['check', '--report', 'sarif=no/such/folder']);
  expect([status, stderr]).toEqual([2, expect.stringContaining('[FILE_UNWRITABLE]')]);
});
