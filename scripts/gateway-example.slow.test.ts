import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../packages/bulla/test/run.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('whoever follows the example of the gateway sees what it says', async () => {
  const folder = join(temporaryFolder(), 'gateway');
  cpSync(join(root, 'examples/gateway'), folder, { recursive: true });
  for (const name of readdirSync(folder)) if (name.endsWith('.lock.json')) rmSync(join(folder, name));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const port = await freePort();
  for (const name of ['README.md', 'bulla.json', 'call.mjs']) {
    const text = readFileSync(join(folder, name), 'utf8');
    expect(text).toContain(':8484');
    writeFileSync(join(folder, name), text.replaceAll(':8484', `:${port}`));
  }
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks).toHaveLength(5);
  const said = [...blocks.join('').matchAll(/^# (.*)$/gm)].map((match) => match[1]!);
  expect(said).toHaveLength(6);
  const [lock, start, ...rest] = blocks.map((block) =>
    block.replaceAll('../../bin/bulla', join(root, 'bin/bulla')),
  );
  // A person sees that it listens, and goes on then.
  // The file is made first: the shell in the background may open it later than grep does.
  const started = `: > log\n${start!.replace(' &\n', ' 2>> log &\n')}`;
  const seen = 'until grep -q listening log; do kill -0 $! || exit 9; sleep 0.1; done; grep listening log\n';
  const end = 'rm -r "$BULLA_HOME"\n';
  const { status, stdout, stderr } = spawnSync(
    'sh',
    ['-c', `set -e\n${lock}${started}${seen}${rest.join('')}${end}`],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    },
  );
  expect([status, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n');
  expect(said.filter((line) => !lines.includes(line))).toEqual([]);
});
