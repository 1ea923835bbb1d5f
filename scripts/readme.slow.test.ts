import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = (language: string) =>
  [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter((match) => match[1] === language)
    .map((match) => match[2]!);

describe('README.md', () => {
  const home = mkdtempSync(join(tmpdir(), 'bulla-readme-'));
  const env = { ...process.env, BULLA_HOME: home };
  beforeAll(() => void execFileSync(join(root, 'bin/bulla'), ['keys', 'init', '--quiet'], { env }));
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test.each(blocks('ts').map((block, i) => [i + 1, block] as const))(
    'snippet %i prints what its comments say',
    (i, block) => {
      const file = join(root, `.readme-snippet-${i}.ts`);
      writeFileSync(file, block);
      try {
        const { stdout, stderr } = spawnSync(process.execPath, [file], { cwd: root, encoding: 'utf8', env });
        expect(stderr).toBe('');
        const comments = [...block.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
        expect(stdout.trimEnd().split('\n')).toEqual(comments);
      } finally {
        rmSync(file);
      }
    },
  );

  const [, start, locks, payment, chain, environments] = blocks('sh') as string[];
  test.each(start!.trimEnd().split('\n'))('$ %s', (line) => {
    const [command, expected] = line.split(/\s+# /) as [string, string | undefined];
    const { status, stdout } = spawnSync('sh', ['-c', command], { cwd: root, encoding: 'utf8', env });
    expect(status).toBe(0);
    if (expected !== undefined) expect(stdout).toBe(expected);
  });

  test('the five minutes with a tool server end as they say', () => {
    const { status, stdout } = spawnSync('sh', ['-e', '-c', locks!], { cwd: root, encoding: 'utf8', env });
    expect(status).toBe(0);
    expect(stdout).toContain('19 tools');
    expect(stdout).toContain('No drift: what was compared is as it was locked.');
    expect(stdout).toContain('exit 1\n');
    expect(stdout).toContain('CRITICAL  identity');
    // A real client starts the guard by the configuration that lock printed.
    const said = [...locks!.matchAll(/^node .*# (.*)$/gm)].map((match) => match[1]!);
    expect(said).toHaveLength(2);
    for (const line of said) expect(stdout).toContain(`\n${line}`);
    expect(stdout).toContain('good  7 records, unbroken from the first to the last');
  });

  test('the five minutes with a payment end as they say', () => {
    const { status, stdout } = spawnSync('sh', ['-e', '-c', payment!], { cwd: root, encoding: 'utf8', env });
    expect(status).toBe(0);
    const said = [...payment!.matchAll(/^(?:pay|cat) .*# (.*)$/gm)].map((match) => match[1]!);
    expect(said).toHaveLength(4);
    const lines = stdout.trimEnd().split('\n').slice(-said.length);
    for (const [i, line] of lines.entries()) expect(line.startsWith(said[i]!)).toBe(true);
  });

  test('one agent in two environments: which hash differs, and why', () => {
    const { status, stdout } = spawnSync('sh', ['-c', environments!], { cwd: root, encoding: 'utf8', env });
    expect(status).toBe(0);
    expect(stdout).toMatch(/static hash +same/);
    expect(stdout).toMatch(/runtime hash +differs/);
    for (const part of ['tier-pro: denied → allowed', '+ export_report', 'exit 1'])
      expect(stdout).toContain(part);
  });

  test('the five minutes with a chain end as they say', () => {
    const { status, stdout } = spawnSync('sh', ['-e', '-c', chain!], { cwd: root, encoding: 'utf8', env });
    expect(status).toBe(0);
    expect(stdout.match(/good {2}3 records, unbroken from the first to the last/g)?.length).toBe(2);
    expect(stdout).toContain('record 0 (sequence 0): Content hash mismatch at sequence 0 [hash_mismatch]');
    expect(stdout.trimEnd().endsWith('exit 1')).toBe(true);
  });

  test('names only files that exist', () => {
    const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map((match) => match[1]!);
    expect(links.length).toBeGreaterThan(4);
    for (const link of links) expect(() => readFileSync(join(root, link)), link).not.toThrow();
  });
});
