import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../packages/bulla/test/run.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

test('the host of the examples says in one line that the server ended, and exits with 1', () => {
  const file = join(temporaryFolder(), 'host.json');
  const server = { command: process.execPath, args: ['-e', ''] };
  writeFileSync(file, JSON.stringify({ mcpServers: { gone: server } }));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'examples/host/call.mjs'), file, 'echo', '{}'],
    { encoding: 'utf8' },
  );
  expect([status, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/^[^\n]*[Cc]losed[^\n]*\n$/);
});
