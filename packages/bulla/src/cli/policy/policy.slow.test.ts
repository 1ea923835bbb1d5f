import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bullaIn, lockedFolder, SHOP, surfaceServer } from '../../../test/lockfiles.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { sarifComplaints } from '../../../test/sarif.ts';

/** A folder with a lock of the shop and a policy. */
function folderWith(policy: string, server = surfaceServer(SHOP)): string {
  const folder = lockedFolder(SHOP, server.words);
  writeFileSync(join(folder, 'policy.yaml'), policy);
  return folder;
}

const COUNT = `name: count
rules:
  - {name: two, expr: 'size(input.tools) == 2'}
  - {name: named, severity: warn, expr: 'input.tools.all(t, t.name != "order")', failure_msg: No ordering.}
  - {name: short, phase: tool, expr: 'size(input.tool.description) < 25', failure_msg: Too many words.}
`;

describe('policy check', () => {
  test('asks the preset baseline where none is named, and says so', async () => {
    const { words } = surfaceServer(SHOP);
    const { status, stdout } = await bullaIn(temporaryFolder(), ['policy', 'check', '--', ...words]);
    expect([status, stdout]).toEqual([
      0,
      [
        'policy baseline (preset, because none was named), mode warn',
        'WARN   artifact_pinned     Nothing says which package or image the server is. Lock it with its artifact pinned.',
        'WARN   provenance_present  Nobody has verified where the artifact was built.',
        'ok     no_high_risk_tools',
        'ok     no_critical_drift',
        'PASS: of 4 rules, 2 passed; 2 warnings.',
        '',
      ].join('\n'),
    ]);
  });

  test('tells rules about the surface and about each tool', async () => {
    const { words } = surfaceServer(SHOP);
    const folder = folderWith(COUNT);
    const { status, stdout } = await bullaIn(folder, [
      'policy',
      'check',
      '-P',
      'policy.yaml',
      '--',
      ...words,
    ]);
    expect([status, stdout]).toEqual([
      1,
      [
        'policy policy.yaml (file), mode strict',
        'ok     two',
        'WARN   named  No ordering.',
        'ERROR  short  Too many words. (tool search)',
        'FAIL: of 3 rules, 1 passed; 1 error and 1 warning.',
        '',
      ].join('\n'),
    ]);
  });

  test('--json is one document with the digest of the policy', async () => {
    const { words } = surfaceServer(SHOP);
    const folder = folderWith(COUNT);
    const { stdout } = await bullaIn(folder, [
      'policy',
      'check',
      '-P',
      'policy.yaml',
      '--json',
      '--',
      ...words,
    ]);
    const { policy, rules, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({
      ...{ server: words.join(' '), scanned: true, outcome: 'FAIL', errors: 1, warnings: 1 },
      not_asked: [],
    });
    expect(policy).toEqual({
      ...{ type: 'file', name: 'policy.yaml', title: 'count', mode: 'strict' },
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect(rules[2]).toEqual({
      ...{
        name: 'short',
        severity: 'error',
        passed: false,
        message: 'Too many words.',
        code: 'POLICY_DENIED',
      },
      tools: ['search'],
    });
  });

  test('with a lock, rules see the drift; without a server, what the lock stores', async () => {
    const server = surfaceServer(SHOP);
    const folder = folderWith(COUNT, server);
    const check = (...args: string[]) => bullaIn(folder, ['policy', 'check', '-l', 'mcp-lock.json', ...args]);
    const stored = await check();
    expect([stored.status, stored.stdout.split('\n')[0]]).toEqual([
      0,
      'policy baseline (preset, because none was named), mode warn, about what the lock stores; no server was asked',
    ]);
    expect((await check('--', ...server.words)).status).toBe(0);
    server.show({ ...SHOP, tools: [] });
    const changed = await check('--', ...server.words);
    expect([changed.status, changed.stdout]).toEqual([
      1,
      expect.stringContaining('ERROR  no_critical_drift   The server differs critically from its lock.'),
    ]);
    // A lock of the released program stores hashes alone, and its server is asked.
    const lock = JSON.parse(readFileSync(join(folder, 'mcp-lock.json'), 'utf8'));
    writeFileSync(
      join(folder, 'mcp-lock.json'),
      JSON.stringify({ version: '2.0', server_command: server.words.join(' '), tools: lock.tools }),
    );
    const asked = await check('--json');
    expect([asked.status, JSON.parse(asked.stdout).scanned]).toEqual([1, true]);
  });

  test('a server that is dead, or cannot be scanned to the end, never passes', async () => {
    const folder = folderWith('rules: [{name: any, expr: "true"}]');
    const { command, args } = script('hostile.mjs', join(folder, 'pids'), 'dies-mid-list');
    for (const words of [[command, ...args], ['false'], ['/nonexistent']]) {
      const { status, stdout, stderr } = await bullaIn(folder, [
        ...['policy', 'check', '--policy', 'policy.yaml', '--json', '--', ...words],
      ]);
      expect([status, JSON.parse(stdout).ok]).toEqual([3, false]);
      expect(stderr).toMatch(/\[MCP_/);
    }
  });

  test('a policy that cannot be used is told whole, and nothing is started', async () => {
    const folder = folderWith(`rules:
  - {name: a, expr: 'size(input.toolz) > 0'}
  - {name: a, expr: 'input.lockfileVersion == "3.0"', severty: warn}
`);
    const marker = join(folder, 'started');
    const { status, stdout, stderr } = await bullaIn(folder, [
      ...['policy', 'check', '-P', 'policy.yaml', '--', process.execPath, '-e'],
      `require('fs').writeFileSync(${JSON.stringify(marker)}, '')`,
    ]);
    expect([status, stdout]).toEqual([2, '']);
    expect(
      stderr.match(/^.*policy\.yaml:\d+:\d+.*\[\w+\]$/gm)?.map((line) => line.replace(/^bulla: /, '')),
    ).toEqual([
      expect.stringMatching(
        /^policy\.yaml:2:33: The input never has a field "toolz" here\. .* \[POLICY_EXPRESSION_FIELD\]$/,
      ),
      expect.stringMatching(/^policy\.yaml:3:12: Two rules are called "a"\. \[POLICY_FIELD\]$/),
      expect.stringMatching(/^policy\.yaml:3:28: .* \[POLICY_EXPRESSION_FIELD\]$/),
      expect.stringMatching(/^policy\.yaml:3:55: There is no field "severty"; .* \[POLICY_FIELD\]$/),
    ]);
    expect(() => readFileSync(marker)).toThrow('ENOENT');
  });

  test('a problem of a policy is told once', async () => {
    const folder = folderWith('rules: [');
    expect(await bullaIn(folder, ['policy', 'explain', '-P', 'policy.yaml'])).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^bulla: policy\.yaml:1:9: This is not YAML: [^\n]* \[POLICY_YAML\]\n$/),
    });
  });

  test('what was asked about can be recorded and asked again', async () => {
    const { words } = surfaceServer(SHOP);
    const folder = folderWith(COUNT);
    const args = ['--policy', 'policy.yaml', '--save-input', 'input.json', '--quiet'];
    expect(await bullaIn(folder, ['policy', 'check', ...args, '--', ...words])).toEqual({
      ...{ status: 1, stdout: '', stderr: '' },
    });
    const recorded = JSON.parse(readFileSync(join(folder, 'input.json'), 'utf8'));
    expect([recorded.shape, recorded.input.tools.length]).toEqual(['policy-check', 2]);
    writeFileSync(
      join(folder, 'good.json'),
      JSON.stringify({ ...recorded, expect: { two: true, named: false } }),
    );
    writeFileSync(
      join(folder, 'bad.json'),
      JSON.stringify({ ...recorded, expect: { two: false, short: true } }),
    );
    const run = (...files: string[]) => bullaIn(folder, ['policy', 'test', '-P', 'policy.yaml', ...files]);
    const good = await run('good.json');
    expect([good.status, good.stdout]).toEqual([
      0,
      [
        'ok   good.json (policy-check, the policy says FAIL)',
        '  ok    two    true',
        '  ok    named  false  No ordering.',
        'PASS: every answer is as expected (1 of 1 inputs).',
        '',
      ].join('\n'),
    ]);
    const bad = await run('good.json', 'bad.json');
    expect([bad.status, bad.stdout]).toEqual([
      1,
      expect.stringContaining('FAIL  two    true, expected false\n'),
    ]);
    expect(bad.stdout).toContain(
      'FAIL  short  none, expected true  The rule is not asked about such an input.\n',
    );
    expect(bad.stdout).toContain('FAIL: not as expected (1 of 2 inputs).\n');
    // Without expectations the policy must pass.
    expect((await run('input.json')).status).toBe(1);
  });

  test('wrong usage', async () => {
    const folder = folderWith('rules: [{name: c, phase: call, expr: "true"}]');
    const run = (...args: string[]) => bullaIn(folder, ['policy', ...args]);
    const both = await run('check', '-P', 'policy.yaml', '--preset', 'strict', '-l', 'mcp-lock.json');
    expect([both.status, both.stderr]).toEqual([2, expect.stringContaining('[USAGE]')]);
    expect((await run('check')).stderr).toContain('[MCP_TARGET]');
    expect((await run('check', '--preset', 'lax', '-l', 'mcp-lock.json')).status).toBe(2);
    const nothing = await run('check', '-P', 'policy.yaml', '-l', 'mcp-lock.json');
    expect([nothing.status, nothing.stderr]).toEqual([3, expect.stringContaining('[POLICY_NOTHING_ASKED]')]);
    for (const [text, code] of [
      ['[]', 'POLICY_INPUT'],
      ['{"shape":"x","input":{}}', 'POLICY_INPUT'],
      ['{"shape":"call","input":{},"expect":{}}', 'POLICY_INPUT'],
      ['{"shape":"call","input":{},"expect":{"d":true}}', 'POLICY_INPUT'],
      ['{"shape":"call","input":{}}', 'POLICY_INPUT'],
      ['{', 'JSON_'],
    ] as const) {
      writeFileSync(join(folder, 'input.json'), text);
      const { status, stderr } = await run('test', '-P', 'policy.yaml', 'input.json');
      expect([text, status, stderr]).toEqual([text, 2, expect.stringContaining(`[${code}`)]);
    }
  });
});

describe('policy explain', () => {
  test('prints the released program’s document, or a table', async () => {
    const folder = folderWith(COUNT);
    const json = await bullaIn(folder, ['policy', 'explain', '-P', 'policy.yaml', '--json']);
    const { generated_at, rules, ...rest } = JSON.parse(json.stdout);
    expect(generated_at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect([json.status, rest.schema_version, rest.source]).toEqual([
      ...[0, '1.0', { type: 'file', name: 'policy.yaml' }],
    ]);
    expect(rules[0]).toEqual({
      ...{
        name: 'two',
        severity: 'error',
        phase: 'list',
        decision: 'deny',
        expr: 'size(input.tools) == 2',
        failure_msg: '',
      },
      ...{ control_refs: [], evidence: [], evidence_commands: [] },
    });
    const markdown = await bullaIn(folder, ['policy', 'explain', '--policy', 'policy.yaml']);
    expect(markdown.stdout).toContain('# Policy: count\n\n**Source**: file (`policy.yaml`)  \n');
    expect(markdown.stdout).toContain('| two | error | `size(input.tools) == 2` | - | - | - |\n');
    await bullaIn(folder, ['policy', 'explain', '--preset', 'strict', '-o', 'strict.md']);
    expect(readFileSync(join(folder, 'strict.md'), 'utf8')).toContain('| no\\_file\\_scheme | error |');
  });
});

test('policy check lists the rules that a server is not asked about', async () => {
  const folder = folderWith(`rules:
  - {name: two, expr: 'size(input.tools) == 2'}
  - {name: cheap, phase: call, expr: 'input.arguments.price < 10'}
`);
  const check = (...more: string[]) =>
    bullaIn(folder, ['policy', 'check', '-P', 'policy.yaml', '-l', 'mcp-lock.json', ...more]);
  expect(await check()).toEqual({
    status: 0,
    stdout: [
      'policy policy.yaml (file), mode strict, about what the lock stores; no server was asked',
      'ok     two',
      'PASS: 1 rule passed.',
      'not asked  cheap (phase call)',
      '',
    ].join('\n'),
    stderr: '',
  });
  expect(JSON.parse((await check('--json')).stdout).not_asked).toEqual([{ name: 'cheap', phase: 'call' }]);
});

describe('check --policy', () => {
  test('rules must hold too, whatever the drift', async () => {
    const server = surfaceServer(SHOP);
    const folder = folderWith(
      `rules:
  - {name: v3, expr: 'input.lockfileVersion == "3.0" && !input.drift.hasDrift'}
  - {name: none, expr: 'size(input.prompts.names) == 0', failure_msg: No prompts.}
  - {name: mild, severity: warn, expr: 'false'}
`,
      server,
    );
    const run = (...args: string[]) => bullaIn(folder, ['check', '--policy', ...args]);
    const text = await run('policy.yaml');
    expect([text.status, text.stdout]).toEqual([
      1,
      'No drift: what was compared is as it was locked.\n\nPolicy: DENY\n- none: No prompts.\n\nFAIL: the policy denies the server.\n',
    ]);
    const json = await run('policy.yaml', '--json');
    const { policy, outcome } = JSON.parse(json.stdout);
    expect([json.status, outcome, policy]).toEqual([
      ...[1, 'FAIL', { preset: 'policy.yaml', passed: false, reasons: ['none: No prompts.'] }],
    ]);
    const sarif = await run('policy.yaml', '--format', 'sarif');
    const log = JSON.parse(sarif.stdout);
    expect([sarif.status, sarif.stderr, sarifComplaints(log)]).toEqual([1, '', []]);
    expect(log.runs[0].tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual(['policy-denied']);
    expect(log.runs[0].results).toMatchObject([
      { ruleId: 'policy-denied', level: 'error', message: { text: 'policy policy.yaml: none: No prompts.' } },
    ]);
    const baseline = await run('baseline');
    expect([baseline.status, baseline.stdout]).toEqual([
      0,
      'No drift: what was compared is as it was locked.\n\nPolicy: PASS\n\nPASS: nothing is critical.\n',
    ]);
    const wrong = await run('missing.yaml');
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('[INPUT_UNREADABLE]')]);
  });

  test('every report holds what the policy denies, and is not green', async () => {
    const folder = folderWith(`rules:\n  - {name: 'no | <b>', expr: 'false', failure_msg: Never.}\n`);
    const reports = ['markdown', 'junit'].flatMap((format) => ['--report', `${format}=${format}.out`]);
    const { status } = await bullaIn(folder, ['check', '-P', 'policy.yaml', ...reports]);
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    expect([status, read('markdown.out')]).toEqual([
      1,
      [
        '### ❌ Drift of `mcp-lock.json`',
        '',
        'What was compared is as it was locked.',
        '',
        '❌ The policy `policy.yaml` denies the server:',
        '',
        '- `no ⟨U+007C⟩ <b>: Never.`',
        '',
      ].join('\n'),
    ]);
    expect(read('junit.out')).toContain(
      '<testcase classname="policy" name="policy.yaml" time="0"><failure type="policy-denied" message="no | &lt;b&gt;: Never.">no | &lt;b&gt;: Never.</failure></testcase>',
    );
    expect(read('junit.out')).toContain('<testsuites name="bulla drift" tests="2" failures="1" errors="0"');
  });
});

describe('BULLA_COMPAT=mcptrust, as the released program’s end-to-end script runs it', () => {
  test('2, 10, 15: policy check', async () => {
    const folder = temporaryFolder();
    const command = surfaceServer(SHOP).words.join(' ');
    writeFileSync(
      join(folder, 'impossible.yaml'),
      `name: impossible\nmode: strict\nrules:\n  - name: impossible\n    expr: "size(input.tools) > 9999"\n    failure_msg: "Fewer than 9999 tools"\n    severity: error\n`,
    );
    const run = (...args: string[]) =>
      bullaIn(folder, ['policy', 'check', ...args, '--', command], { BULLA_COMPAT: 'mcptrust' });
    const impossible = await run('--policy', 'impossible.yaml');
    expect(impossible.status).toBe(1);
    expect(impossible.stdout + impossible.stderr).toMatch(/fail|impossible|9999/i);
    expect((await run('--preset', 'baseline')).status).toBe(0);
    expect((await run('--preset', 'strict')).status).toBe(1);
  });
});
