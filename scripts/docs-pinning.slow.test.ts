import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(root, 'docs/pinning.md'), 'utf8');

test('the examples of docs/pinning.md end as they say', () => {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks.length).toBe(5);
  const shown = blocks.flatMap((block) => [...block.matchAll(/^# (.*)$/gm)].map((match) => match[1]!));
  expect(shown.length).toBe(5);
  // The run that finds the changed byte exits with 1 and says so on standard error; the rest must not fail.
  const failing = blocks.map((block) =>
    block.includes('# integrity') ? block.replace(/^(bin.*)$/m, '$1 2>&1 && exit 9 || test $? = 1') : block,
  );
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e\n${failing.join('')}rm -r "$D"\n`], {
    cwd: root,
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      // The machine of a test may reach the registry through a mirror.
      BULLA_ALLOW_PRIVATE_REGISTRY: '1',
    },
  });
  expect([status, stderr]).toEqual([0, '']);
  for (const line of shown) expect(stdout).toContain(line);
});
