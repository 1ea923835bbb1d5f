import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(root, 'docs/envelopes.md'), 'utf8');

const [block, program] = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
const run = (script: string) =>
  spawnSync('sh', ['-e', '-c', `${script}rm -r "$BULLA_HOME"\n`], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });

test('the example of docs/envelopes.md ends as it says', () => {
  const { status, stdout, stderr } = run(block!);
  expect(status).toBe(0);
  for (const [, line] of block!.matchAll(/^(?:pay|cat).*# (.*)$/gm)) expect(stdout).toContain(line);
  // The tool itself ran once.
  expect(stderr.match(/^paid 12\.50 EUR to acct-7$/gm)).toHaveLength(1);
  expect(stdout.match(/^exit 1$/gm)).toHaveLength(2);
  expect(stdout).toContain('good  5 records, unbroken from the first to the last');
});

test('so does the program', () => {
  const { status, stdout, stderr } = run(program!);
  expect([status, stderr.replace(/made a keyring in \S+; its key is \S+/, 'made a keyring')]).toEqual([
    0,
    '',
  ]);
  const lines = [...program!.matchAll(/^# (.*)$/gm)].map((match) => match[1]!);
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(stdout).toContain(`${line}\n`);
});
