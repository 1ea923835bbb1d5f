import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readAction } from '../packages/bulla/test/action.ts';
import { temporaryFolder } from '../packages/bulla/test/run.ts';
import { sarifComplaints } from '../packages/bulla/test/sarif.ts';
// @ts-expect-error: plain JavaScript, which runs before anything is built
import * as action from './action.mjs';

describe('action.yml', () => {
  const { runs, inputs } = readAction();

  test('runs only what lies in its own checkout, and no other action', () => {
    expect(runs.using).toBe('composite');
    for (const step of runs.steps) {
      expect([step.uses, step.shell]).toEqual([undefined, 'bash']);
      expect(step.run).toMatch(/^node "\$GITHUB_ACTION_PATH\/scripts\/(?:setup|action)\.mjs"(?: [a-z]+)?$/);
    }
  });

  test('lets no expression into a script: what comes from outside is in the environment', () => {
    for (const step of runs.steps) expect(step.run).not.toContain('${{');
    const used = runs.steps.flatMap(({ env = {} }) => Object.values(env).join(' '));
    for (const name of Object.keys(inputs)) expect(used.join(' ')).toContain(`inputs.${name} `);
  });

  test('has the token in no step that starts servers', () => {
    const holders = runs.steps.filter(({ env = {} }) =>
      Object.values(env).some((value) => value.includes('token')),
    );
    expect(holders.map(({ name }) => name)).toEqual(['Publish']);
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

test('what gives rights on GitHub is not in the environment of the CLI', () => {
  const env = {
    PATH: '/bin',
    API_KEY: 'of the server',
    GITHUB_TOKEN: 'x',
    GH_TOKEN: 'x',
    BULLA_TOKEN: 'x',
    INPUT_TOKEN: 'x',
    ACTIONS_RUNTIME_TOKEN: 'x',
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'x',
  };
  expect(action.withoutRights(env)).toEqual({ PATH: '/bin', API_KEY: 'of the server' });
});

test('a block of code is not ended by what is in it', () => {
  expect(action.codeBlock('a\n```\n# title\n')).toBe('````text\na\n```\n# title\n````\n');
  expect(action.codeBlock('plain')).toBe('```text\nplain\n```\n');
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
