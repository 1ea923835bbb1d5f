import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { CHECK, PUBLISH, readAction } from '../packages/bulla/test/action.ts';
import { repo, temporaryFolder } from '../packages/bulla/test/run.ts';
import { sarifComplaints } from '../packages/bulla/test/sarif.ts';
// @ts-expect-error: plain JavaScript, which runs before anything is built
import * as action from './action.mjs';
// @ts-expect-error: the same
import { codeBlock, packReport, readReport, shownMarkdown } from './action-report.mjs';

describe('action.yml', () => {
  test.each([CHECK, PUBLISH])('%s runs only what lies in its own checkout, and no other action', (folder) => {
    const { runs } = readAction(repo, folder);
    expect(runs.using).toBe('composite');
    for (const step of runs.steps) {
      expect([step.uses, step.shell]).toEqual([undefined, 'bash']);
      expect(step.run).toMatch(
        /^node "\$GITHUB_ACTION_PATH\/(?:\.\.\/)?scripts\/(?:setup|action)\.mjs"(?: [a-z]+)?$/,
      );
    }
  });

  test.each([CHECK, PUBLISH])(
    '%s lets no expression into a script: inputs are in the environment',
    (folder) => {
      const { runs, inputs } = readAction(repo, folder);
      for (const step of runs.steps) expect(step.run).not.toContain('${{');
      const used = runs.steps.flatMap(({ env = {} }) => Object.values(env).join(' '));
      for (const name of Object.keys(inputs)) expect(used.join(' ')).toContain(`inputs.${name} `);
    },
  );

  test('starts servers in the last step, in an action that has no token', () => {
    expect(JSON.stringify(readAction())).not.toContain('token }}');
    expect(readAction().runs.steps.map(({ name }) => name)).toEqual([
      'Set up Bulla from this commit',
      'Check',
    ]);
    expect(readAction(repo, PUBLISH).runs.steps.map(({ name }) => name)).toEqual(['Publish']);
  });
});

describe('lockfiles', () => {
  test('are named, or found by one star', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'mcp-locks'));
    for (const file of ['b.json', 'a.json', 'a.json.sig', 'a.json.dsse.json', 'c.txt'])
      writeFileSync(join(folder, 'mcp-locks', file), '');
    expect(action.lockfiles('mcp-lock.json')).toEqual(['mcp-lock.json']);
    expect(action.lockfiles(`${folder}/mcp-locks/*.json`)).toEqual([
      `${folder}/mcp-locks/a.json`,
      `${folder}/mcp-locks/b.json`,
    ]);
    expect(() => action.lockfiles(`${folder}/mcp-locks/*.yaml`)).toThrow('fits no file');
    expect(() => action.lockfiles(`${folder}/none/*.json`)).toThrow('fits no file');
    expect(() => action.lockfiles('*/mcp-lock.json')).toThrow('one * at most');
    expect(() => action.lockfiles('*x*')).toThrow('one * at most');
  });
});

test("what is the runner's, or gives rights on GitHub, is not in the environment of the CLI", () => {
  const env = {
    PATH: '/bin',
    API_KEY: 'of the server',
    GITHUB_TOKEN: 'x',
    GITHUB_ENV: 'x',
    GITHUB_PATH: 'x',
    GITHUB_OUTPUT: 'x',
    GITHUB_STEP_SUMMARY: 'x',
    GITHUB_PERSONAL_ACCESS_TOKEN: 'x',
    RUNNER_TEMP: 'x',
    runner_os: 'x',
    GH_TOKEN: 'x',
    BULLA_TOKEN: 'x',
    INPUT_TOKEN: 'x',
    ACTIONS_RUNTIME_TOKEN: 'x',
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'x',
  };
  expect(action.withoutRights(env)).toEqual({ PATH: '/bin', API_KEY: 'of the server' });
});

test('a block of code is not ended by what is in it', () => {
  expect(codeBlock('a\n```\n# title\n')).toBe('````text\na\n```\n# title\n````\n');
  expect(codeBlock('plain')).toBe('```text\nplain\n```\n');
});

describe('a report from a job in which servers ran', () => {
  const run = {
    tool: { driver: { name: 'Bulla', rules: [] } },
    results: [{ ruleId: 'tool-added', message: { text: 'tool x: [a\\](b)' } }],
    automationDetails: { id: 'bulla/mcp-lock.json/' },
  };
  const packedLog = (log: unknown) => gzipSync(`${JSON.stringify(log, null, 2)}\n`).toString('base64');
  const sarif = packedLog({ version: '2.1.0', runs: [run] });
  const report = { outcome: 'fail', differences: 2, markdown: '### ❌ x\n', sarif };

  test('is read as it was packed, and refused if it cannot have been', () => {
    expect(readReport(packReport(report))).toEqual(report);
    const packed = (value: unknown) => readReport(gzipSync(JSON.stringify(value)).toString('base64'));
    expect(readReport('')).toBe(null);
    expect(readReport('e30=')).toBe(null);
    for (const wrong of [
      ...[null, [], 'x', { ...report, outcome: 'toString' }, { ...report, differences: '0' }],
      ...[
        { ...report, markdown: null },
        { ...report, sarif: 'a b' },
        { ...report, sarif: undefined },
      ],
    ])
      expect(packed(wrong)).toBe(null);
    expect(readReport(gzipSync(Buffer.alloc(1 << 24)).toString('base64'))).toBe(null);
  });

  test('is refused with a log that would replace what another tool found, or holds a link', () => {
    const withLog = (log: string) => readReport(packReport({ ...report, sarif: log }));
    const named = (name: string) => ({ ...run, tool: { driver: { name, rules: [] } } });
    const saying = (message: object) => ({ ...run, results: [{ message }] });
    for (const other of [
      named('CodeQL'),
      { ...run, automationDetails: { id: '/language:javascript' } },
      { ...run, automationDetails: undefined },
      { ...run, tool: { ...run.tool, extensions: [] } },
      saying({ text: '[a](https://evil.example)' }),
      saying({ text: '[a\\\\](https://evil.example)' }),
      saying({ text: 'a', markdown: '@octocat' }),
    ])
      expect(withLog(packedLog({ version: '2.1.0', runs: [run, other] }))).toBe(null);
    for (const log of ['H4sI', packedLog([]), packedLog({ version: '2.1.0', runs: [] })])
      expect(withLog(log)).toBe(null);
    expect(withLog(gzipSync(Buffer.alloc(1 << 26, ' ')).toString('base64'))).toBe(null);
    // What a reader of the first of two members would see is not uploaded.
    const twice = JSON.stringify({ version: '2.1.0', runs: [run] }).replace(
      '"name":',
      '"name":"CodeQL","name":',
    );
    expect(withLog(gzipSync(twice).toString('base64'))).toEqual(report);
  });

  test('leaves out a log for which a variable of the environment has no room', () => {
    const text = packReport({ ...report, sarif: randomBytes(120_000).toString('base64') });
    expect([text.length < 1000, readReport(text)]).toEqual([true, { ...report, sarif: null }]);
  });

  const ours = [
    '### ❌ Drift of `mcp-lock.json`\n\n2 differences: 2 critical.\n\n| | What | Changed |\n|---|---|---|',
    '| 🔴 critical | tool ``x`@octocat<b>`` | description changed, new destination (only prose) |\n',
    '<details><summary>🔴 <code>tool x&#64;y é</code></summary>\n\n```text\n@octocat <img>\n```\n\n</details>\n',
    "### ⚠️ <code>a&#124;b.json</code> could not be checked\n\n````text\n```\n@octocat's\n````\n",
  ];

  test('is shown as it is if it is made as ours are', () => {
    const whole = ours.join('\n');
    for (const text of [...ours, whole]) expect(shownMarkdown(text)).toBe(text);
  });

  test.each([
    ['a mention', 'Hello @octocat'],
    ['a link', '[x](y)'],
    ['an image', '![x](y)'],
    ['an address', 'see https://evil.example'],
    ['another address', 'see www.evil.example'],
    ['a number of an issue', 'closes #7'],
    ['a tag', '<img src=x>'],
    ['a comment', '<!-- bulla-check 0000000000000000 -->'],
    ['a reference', '&commat;octocat'],
    ['code that a bar ends', '| a `b | @octocat` |'],
    ['code that nothing ends', 'a `@octocat'],
    ['code of another length', 'a `@octocat``'],
    ['a block that ends early', '```text\n   ```  \n@octocat\n```'],
    ['a block that a longer run ends', '```text\n`````\n@octocat\n```'],
    ['a block that a carriage return ends', '```text\n\r```\r@octocat\n```'],
    ['a block that nothing ends', '```text\nx'],
    ['code that is HTML', '</details>\n`@octocat`'],
    ['the same', '<details><summary>🔴 <code>x</code></summary>\n`@octocat`'],
    ['a heading with markup', '<details><summary>🔴 <code>x<b>@octocat</b></code></summary>\n'],
    ['a control character', 'a\u001b[31m'],
    ['too long a text', 'a'.repeat(65_001)],
  ])('is shown as code if it has %s', (_, text) => {
    for (const whole of [text, `${ours[0]}\n\n${text}\n`, `${text}\n\n${ours[3]}`]) {
      const shown = shownMarkdown(whole);
      const [, fence, inside] = /^(`{3,})text\n([\s\S]*)\n\1\n$/.exec(shown)!;
      expect(
        inside!.match(/^ {0,3}`+[ \t]*$/gm)?.some((line) => line.trim().length >= fence!.length),
      ).not.toBe(true);
      expect(shown.length).toBeLessThanOrEqual(65_001);
    }
  });
});

test('reports that do not fit are counted', () => {
  expect(action.joined(['a', 'b'], 10_000)).toBe('a\nb');
  expect(action.joined(['a'.repeat(500), 'b'.repeat(500), 'c'.repeat(500)], 1000)).toBe(
    `${'a'.repeat(500)}\nAnd 2 more reports, for which there is no room here.\n`,
  );
});

test('the next page of a list is asked for only where the first one was', () => {
  const next = action.nextPage;
  expect(
    next('<https://api.x/p?page=2>; rel="next", <https://api.x/p?page=9>; rel="last"', 'https://api.x'),
  ).toBe('https://api.x/p?page=2');
  expect(next('<https://evil.example/p?page=2>; rel="next"', 'https://api.x')).toBe(null);
  expect(next('<https://api.x.evil.example/p>; rel="next"', 'https://api.x')).toBe(null);
  expect(next(null, 'https://api.x')).toBe(null);
});

describe('the checks of SARIF logs', () => {
  const log = () => ({
    $schema: 'https://example.com/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'Bulla', rules: [{ id: 'a' }] } },
        results: [
          {
            ruleId: 'a',
            ruleIndex: 0,
            level: 'error',
            message: { text: 'x' },
            locations: [
              { physicalLocation: { artifactLocation: { uri: 'a%20b.json' }, region: { startLine: 1 } } },
            ],
          },
        ],
      },
    ],
  });
  type Log = ReturnType<typeof log>;
  const result = (value: Log) => value.runs[0]!.results[0]!;

  test('pass what is right, and complain of anything else', () => {
    expect(sarifComplaints(log())).toEqual([]);
    const wrong: [string, (value: Log) => unknown][] = [
      ['/version', (value) => Object.assign(value, { version: '2.0.0' })],
      ['/runs', (value) => Reflect.deleteProperty(value, 'runs')],
      ['/runs/0/results/0/level', (value) => Object.assign(result(value), { level: 'critical' })],
      ['/runs/0/results/0/message', (value) => Object.assign(result(value), { message: {} })],
      ['/runs/0/results/0/extra', (value) => Object.assign(result(value), { extra: 1 })],
      ['/runs/0/results/0', (value) => Object.assign(result(value), { ruleId: 'b' })],
      [
        'startLine',
        (value) => Object.assign(result(value).locations[0]!.physicalLocation.region, { startLine: 0 }),
      ],
      [
        'uri',
        (value) =>
          Object.assign(result(value).locations[0]!.physicalLocation.artifactLocation, { uri: 'a b' }),
      ],
    ];
    for (const [place, change] of wrong) {
      const value = log();
      change(value);
      expect(sarifComplaints(value).join()).toContain(place === '/runs' ? 'runs is missing' : place);
    }
  });
});
