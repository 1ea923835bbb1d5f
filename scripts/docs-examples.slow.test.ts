import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

test.each([
  ['docs/consent.md', 6],
  ['docs/evidence.md', 6],
  ['docs/sessions.md', 7],
])('the example of %s ends as it says', (file, lines) => {
  const text = readFileSync(join(root, file), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks.length).toBe(1);
  const shown = [...blocks[0]!.matchAll(/^# (.*)$/gm)].map((match) => match[1]!);
  expect(shown.length).toBe(lines);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e\n${blocks[0]}rm -r "$BULLA_HOME"\n`], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  expect([status, stderr]).toEqual([0, '']);
  for (const line of shown) expect(stdout).toContain(`${line}\n`);
});
