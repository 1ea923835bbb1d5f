import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(root, 'docs/capabilities.md'), 'utf8');

test('the examples of docs/capabilities.md give what they show', () => {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks.length).toBe(8);
  const shown = blocks.map((block) => [...block.matchAll(/^# (.*)$/gm)].map((match) => match[1]!));
  expect(shown.map((lines) => lines.length)).toEqual([1, 8, 4, 2, 2, 2, 1, 1]);
  // A diff that finds something ends with 1; the rest must not fail. What each block prints stands behind its number.
  const script = blocks.map((block, i) => {
    const checked = block.replace(/^(bin\/bulla capability diff .*)$/m, '$1 && exit 9 || test $? = 1');
    return `echo "== ${i}"\n${checked}`;
  });
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e\n${script.join('')}rm -r "$D"\n`], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  expect([status, stderr]).toEqual([0, '']);
  const printed = stdout.split(/^== \d+\n/m).slice(1);
  for (const [i, lines] of shown.entries()) for (const line of lines) expect(printed[i]).toContain(line);
});
