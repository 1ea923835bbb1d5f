import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MAX_COST, MAX_TOTAL_COST } from '../packages/core/src/cel/index.ts';
import { MAX_POLICY_BYTES, MAX_RULES } from '../packages/core/src/policy/index.ts';
import { RECORDS } from '../packages/core/src/policy/shape.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(root, 'docs/policies.md'), 'utf8');

test('the examples of docs/policies.md end as they say', () => {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks.length).toBe(5);
  const shown = blocks.flatMap((block) => [...block.matchAll(/^# (.*)$/gm)].map((match) => match[1]!));
  expect(shown.length).toBe(9);
  // The first check is meant to fail with 1; the rest must not.
  const failing = [blocks[0]!.replace(/^(bin.*)$/m, '$1 && exit 9 || test $? = 1'), ...blocks.slice(1)];
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e\n${failing.join('')}rm -r "$D"\n`], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  expect([status, stderr]).toEqual([0, '']);
  for (const line of shown) expect(stdout).toContain(line);
});

test('every field and every limit is told', () => {
  // A question mark behind a name says that the field may be absent.
  for (const fields of Object.values(RECORDS))
    for (const name of Object.keys(fields)) expect(text).toContain(`\`${name.replace('?', '')}`);
  expect([MAX_COST, MAX_TOTAL_COST, MAX_POLICY_BYTES, MAX_RULES]).toEqual([1e6, 1e7, 2 ** 20, 2000]);
  for (const figure of ['1,000,000 steps', '10,000,000', '1 MiB and 2,000 rules', '8,192 characters'])
    expect(text).toContain(figure);
});
