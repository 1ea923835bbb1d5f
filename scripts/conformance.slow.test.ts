import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startFixture } from '../packages/bulla/test/conformance.ts';
import { temporaryFolder } from '../packages/bulla/test/run.ts';

const script = join(import.meta.dirname, 'conformance.mjs');
const TOOLS_LIST = ['--version', '2026-07-28', '--scenario', 'tools-list'];

function run(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [script, ...words], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** A column that differs: it does not speak the version. */
async function column(): Promise<string> {
  const fixture = await startFixture('--era', 'initialize');
  onTestFinished(() => fixture[Symbol.asyncDispose]());
  return `old=${fixture.url}`;
}

function expectedFile(...entries: object[]): string {
  const path = join(temporaryFolder(), 'expected.json');
  writeFileSync(path, JSON.stringify(entries));
  return path;
}

const ENTRY = {
  column: 'old',
  version: '2026-07-28',
  scenario: 'tools-list',
  checks: {
    'tools-list': 'FAILURE',
    'tools-name-format': 'absent',
    'tools-list-deterministic-order': 'absent',
    'wire-schema-valid': 'FAILURE',
  },
  reason: 'It does not speak the version.',
};

test('the fixture alone is as expected', async () => {
  expect(await run(...TOOLS_LIST)).toEqual({
    code: 0,
    stdout: '2026-07-28  direct\ntools-list  pass\n',
    stderr: '',
  });
});

test('each difference is told with its reason, or that it has none, or does not occur', async () => {
  const { 'tools-name-format': _, ...checks } = { ...ENTRY.checks, other: 'FAILURE' };
  const expected = expectedFile({ ...ENTRY, checks });
  const { code, stdout } = await run(await column(), ...TOOLS_LIST, '--expected', expected);
  expect(code).toBe(1);
  expect(stdout.split('\n').filter((line) => !line.startsWith('    '))).toEqual([
    '2026-07-28  direct old',
    'tools-list  pass   fail',
    '  ≠ old: tools-list: SUCCESS → FAILURE (It does not speak the version.)',
    '  ≠ old: tools-name-format: SUCCESS → absent (UNEXPECTED)',
    '  ≠ old: tools-list-deterministic-order: SUCCESS → absent (It does not speak the version.)',
    '  ≠ old: wire-schema-valid: SUCCESS → FAILURE (It does not speak the version.)',
    '  ≠ old: other: expected to differ as listed, and does not (STALE)',
    '',
  ]);
});

test('differences that all have a reason are as expected', async () => {
  const words = [await column(), ...TOOLS_LIST, '--expected', expectedFile(ENTRY)];
  const { code, stdout } = await run(...words, '--json');
  expect(code).toBe(0);
  const { columns, versions } = JSON.parse(stdout);
  expect(columns).toEqual(['direct', 'old']);
  expect(versions[0].judged[0]).toMatchObject({ expected: [ENTRY], unexpected: [], stale: [] });
});

test('a gateway can be put between a client and the suite', async () => {
  const words = ['--role', 'client', '--version', '2025-11-25', '--scenario', 'tools_call'];
  const { code, stdout, stderr } = await run('bridge=node packages/bulla/test/bridge.ts {url}', ...words);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: '2025-11-25  direct bridge\ntools_call  pass   pass\n',
    stderr: '',
  });
});

test('what is not understood is refused', async () => {
  const lines = await Promise.all([
    run('http://127.0.0.1:1/mcp'),
    run('guard=stdio'),
    run('--role', 'host'),
    run('--role', 'client', '--direct', 'http://127.0.0.1:1/mcp'),
    run('direct=http://127.0.0.1:1/mcp'),
    run('--version', '2024-11-05'),
    run('--scenario', 'no-such-scenario'),
    run('--expected', expectedFile({})),
  ]);
  expect(lines.map(({ code, stderr }) => [code, stderr.split('\n', 1)[0]!.replace(/^\/\S+ /, '')])).toEqual([
    [2, 'This has no name of a column: http://127.0.0.1:1/mcp'],
    [2, 'This is no URL: stdio'],
    [2, 'A role is server or client.'],
    [2, 'Client scenarios have no fixture.'],
    [2, 'Each column needs a name of its own; "direct" has no gateway.'],
    [2, 'There is no set of scenarios for 2024-11-05.'],
    [2, 'There is no such scenario: no-such-scenario'],
    [2, '✖ Invalid input: expected string, received undefined'],
  ]);
});
