import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(root, 'docs/log.md'), 'utf8');

test('the worked example of docs/log.md ends as it says', () => {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks.length).toBe(4);
  const shown = [...blocks[2]!.matchAll(/^# (.*)$/gm)].map((match) => match[1]!);
  // The command that finds the forgery exits with 1; the rest must not fail.
  const script = `set -e\n${blocks[0]}${blocks[1]}${blocks[2]!.replace(/^(bin.*)$/m, '$1 && exit 9 || test $? = 1')}${blocks[3]}`;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  expect([status, stderr.replace(/wrote .*:/, 'wrote it:')]).toEqual([
    0,
    'bulla: wrote it: record 11 of a checkpoint of 20 records\n',
  ]);
  expect(stdout).toContain('good  10 records, unbroken from the first to the last');
  for (const line of shown) expect(stdout).toContain(line);
  expect(stdout).toMatch(
    /good {2}.*11\.tlog-proof \(log proof\): Record 11 of 20 in bulla-[0-9a-f]{16}\/-\/default, /,
  );
});
