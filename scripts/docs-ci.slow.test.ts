import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../packages/bulla/test/run.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const terminal = '/usr/bin/script';

function blocksOf(file: string): { blocks: string[]; shown: string[] } {
  const text = readFileSync(join(root, file), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  return {
    blocks,
    shown: blocks.flatMap((block) => [...block.matchAll(/^# (.*)$/gm)].map((match) => match[1]!)),
  };
}

function environment(home: string): NodeJS.ProcessEnv {
  const { BULLA_HOME: _, ...env } = process.env;
  return { ...env, HOME: home, NO_COLOR: '1', PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
}

/** Each line is in the output, behind the one before it. */
function expectInOrder(output: string, lines: readonly string[]): void {
  let at = 0;
  for (const line of lines) {
    const found = output.indexOf(line, at);
    expect(found, `${line}\nis not behind the line before it in\n${output}`).toBeGreaterThanOrEqual(0);
    at = found + line.length;
  }
}

describe.skipIf(process.platform !== 'linux' || !existsSync(terminal))('docs/ci.md', () => {
  test('a changed description is caught, explained, approved by a person, and green', async () => {
    const { blocks, shown } = blocksOf('docs/ci.md');
    expect([blocks.length, shown.length]).toEqual([6, 16]);
    const home = temporaryFolder();
    const file = join(home, 'doc.sh');
    writeFileSync(file, `set -e\n${blocks.join('')}cd /; echo "the end"\n`);
    const child = spawn(terminal, ['-qec', `sh ${file}`, '/dev/null'], { cwd: root, env: environment(home) });
    let said = '';
    let isAsked = false;
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk;
      if (isAsked || !said.endsWith('Type yes to accept: ')) return;
      isAsked = true;
      child.stdin.write('yes\n');
    });
    const status = await new Promise((resolve) => child.on('close', resolve));
    const output = said.replaceAll('\r\n', '\n').replace(/scanning the server…\r *\r/g, '');
    expect([status, isAsked]).toEqual([0, true]);
    expectInOrder(output, [...shown, 'the end']);
  });
});

describe('docs/discover.md', () => {
  test('the examples end as they say', () => {
    const { blocks, shown } = blocksOf('docs/discover.md');
    expect([blocks.length, shown.length]).toEqual([2, 12]);
    const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e\n${blocks.join('')}rm -r "$D"\n`], {
      cwd: root,
      encoding: 'utf8',
      env: environment(temporaryFolder()),
    });
    expect([status, stderr]).toEqual([0, '']);
    expectInOrder(stdout.replaceAll(/^(?:Cursor|Claude Code) .*\n/gm, ''), [
      ...shown.slice(0, 10),
      // ls names the folders in the order of their names
      ...shown.slice(10).toSorted(),
      '2 servers in 2 files: 2 locked.',
    ]);
    expect(stdout).not.toContain('sk-4f3a9b2c1d8e7f60');
  });
});
