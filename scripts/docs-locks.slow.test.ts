import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(root, 'docs/locks.md'), 'utf8');

test('the examples of docs/locks.md end as they say', () => {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks.length).toBe(6);
  const shown = blocks.flatMap((block) => [...block.matchAll(/^# (.*)$/gm)].map((match) => match[1]!));
  expect(shown.length).toBe(8);
  // The check that finds the edit exits with 1; the rest must not fail.
  const failing = blocks.map((block) =>
    block.includes('# CRITICAL') ? block.replace(/^(bin.*)$/m, '$1 && exit 9 || test $? = 1') : block,
  );
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e\n${failing.join('')}rm -r "$D"\n`], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  expect([status, stderr]).toEqual([0, '']);
  for (const line of shown) expect(stdout).toContain(line);
  expect(stdout).toContain('locked  ');
  expect(stdout).toMatch(/19 tools \(risk: [^)]+\), 4 prompts, 7 resources, 2 resource templates/);
  expect(stdout).toContain('signed by a trusted key; every file is as the manifest says.');
});
