import { describe, expect, test } from 'vitest';
import { toUtf8 } from '../crypto/index.ts';
import { MAX_RULES, PolicyError, parsePolicy } from './index.ts';
import { policyDigest } from './policy.ts';
import { presetText } from './presets.ts';

/** What is wrong with a policy, a line each: line:column code path. */
function problems(text: string, options = {}): string[] {
  try {
    parsePolicy(text, options);
  } catch (error) {
    expect(error).toBeInstanceOf(PolicyError);
    const { problems: found, code, path } = error as PolicyError;
    expect([code, path]).toEqual([found[0]!.code, found[0]!.path]);
    return found.map((problem) => `${problem.line}:${problem.column} ${problem.code} ${problem.path}`);
  }
  return [];
}

/** The problem of a policy with this one rule. */
function refusal(expr: string, phase = 'list'): string {
  const text = `rules: [{name: r, phase: ${phase}, expr: ${JSON.stringify(expr)}}]`;
  try {
    parsePolicy(text);
  } catch (error) {
    const { code, message } = (error as PolicyError).problems[0]!;
    return `${code} ${message}`;
  }
  return 'accepted';
}

describe('a policy is read as the released program reads it', () => {
  test('every field has its default', () => {
    const policy = parsePolicy('rules:\n  - name: some tools\n    expr: size(input.tools) > 0\n');
    const [{ programs, ...rule }] = policy.rules as [(typeof policy.rules)[0]];
    expect({ ...policy, rules: [rule] }).toEqual({
      name: '',
      mode: 'strict',
      digest: 'sha256:0da830f077c1d138580aa6c56fccb39acf39e3e7ec1278b096342a94154ea4fd',
      rules: [
        {
          name: 'some tools',
          expr: 'size(input.tools) > 0',
          failure_msg: '',
          severity: 'error',
          phase: 'list',
          decision: 'deny',
          control_refs: [],
          evidence: [],
          evidence_commands: [],
        },
      ],
    });
    expect([...programs.keys()]).toEqual(['policy-check', 'check']);
  });

  test('every field is kept', () => {
    const policy = parsePolicy(`# Rules of the house
name: house
mode: warn
rules:
  - name: "no shells"
    expr: >-
      !input.tools.exists(t,
        t.name == "shell")
    failure_msg: 'A shell is offered.'
    severity: warn
    control_refs: [SOC2-CC6.1, "ISO 27001"]
    evidence:
      - mcp-lock.json
    evidence_commands: ["bulla check"]
`);
    const [{ programs: _, ...rule }] = policy.rules as [(typeof policy.rules)[0]];
    expect([policy.name, policy.mode, rule]).toEqual([
      'house',
      'warn',
      {
        name: 'no shells',
        expr: '!input.tools.exists(t,\n  t.name == "shell")',
        failure_msg: 'A shell is offered.',
        severity: 'warn',
        phase: 'list',
        decision: 'deny',
        control_refs: ['SOC2-CC6.1', 'ISO 27001'],
        evidence: ['mcp-lock.json'],
        evidence_commands: ['bulla check'],
      },
    ]);
  });

  test('its digest is that of its bytes', () => {
    const text = 'rules: [{name: é, expr: "true"}]';
    expect(parsePolicy(text).digest).toBe(policyDigest(text));
    expect(policyDigest(toUtf8(text))).toBe(policyDigest(text));
  });
});

describe('what is wrong is told all at once, with its place', () => {
  test('in fields', () => {
    const text = `name: 7
mode: loose
owner: me
rules:
  - name: a
    expr: "true"
    severity: fatal
    evidence: x
    control_refs: [1, b]
  - name: a
    expr: true
    phase: later
  - expr: "true"
    name: ""
  - just words
  - {}
`;
    expect(problems(text)).toEqual([
      '1:7 POLICY_FIELD /name',
      '2:7 POLICY_FIELD /mode',
      '3:1 POLICY_FIELD /owner',
      '7:15 POLICY_FIELD /rules/0/severity',
      '8:15 POLICY_FIELD /rules/0/evidence',
      '9:20 POLICY_FIELD /rules/0/control_refs/0',
      '10:11 POLICY_FIELD /rules/1/name',
      '11:11 POLICY_FIELD /rules/1/expr',
      '12:12 POLICY_FIELD /rules/1/phase',
      '14:11 POLICY_FIELD /rules/2/name',
      '15:5 POLICY_FIELD /rules/3',
      '16:5 POLICY_FIELD /rules/4',
      '16:5 POLICY_FIELD /rules/4',
    ]);
  });

  test('in expressions, however they are written', () => {
    const text = `rules:
  - name: plain
    expr: input.toolz == []
  - name: literal block
    expr: |
      size(input.tools) > 0 &&
        input.tools.all(t, t.inputSchema == 1)
  - name: folded block
    expr: >-
      input.command ==
      "a" ||

      foo
  - name: quoted
    expr: 'input.command == "a" && 1'
  - name: with escapes
    expr: "input.command == \\"a\\" && 1"
  - name: in brackets
    expr: (input.command
`;
    expect(problems(text)).toEqual([
      '3:17 POLICY_EXPRESSION_FIELD /rules/0/expr',
      '7:30 POLICY_EXPRESSION_FIELD /rules/1/expr',
      '13:7 POLICY_EXPRESSION_FIELD /rules/2/expr',
      '15:12 POLICY_EXPRESSION /rules/3/expr',
      '17:12 POLICY_EXPRESSION /rules/4/expr',
      '19:25 POLICY_EXPRESSION /rules/5/expr',
    ]);
  });

  test('the sentence says how many there are', () => {
    expect(() => parsePolicy('nam: x\nrules: []\n')).toThrow(
      'Line 1, column 1: There is no field "nam"; there are name, mode, rules. (2 problems in all)',
    );
  });
});

describe('YAML that is more than a notation is refused', () => {
  test.each([
    ['an anchor', 'rules: &r []', '1:8 POLICY_YAML '],
    ['an alias', 'a: &r 1\nb: *r', '1:4 POLICY_YAML '],
    ['a tag', 'name: !!str 7', '1:7 POLICY_YAML '],
    ['a merge key', 'rules:\n- <<: {name: a}\n  expr: "true"', '2:3 POLICY_FIELD /rules/0/<<'],
    ['a directive', '%YAML 1.1\n---\nrules: []', '1:1 POLICY_YAML '],
    ['two documents', 'rules: []\n---\nrules: []', '2:1 POLICY_YAML '],
    ['a duplicate key', 'name: a\nname: b\nrules: []', '2:1 POLICY_YAML /name'],
    [
      'a duplicate key in a rule',
      'rules:\n- name: a\n  expr: "true"\n  expr: "false"',
      '4:3 POLICY_YAML /rules/0/expr',
    ],
    ['a key that is no text', 'rules: []\n1: x', '2:1 POLICY_YAML '],
    ['a complex key', '? [a]\n: b', '1:1 POLICY_YAML '],
    ['a byte order mark', '\uFEFFrules: []', '1:1 POLICY_YAML '],
    ['a tab', 'rules:\n\t- a: b', '2:1 POLICY_YAML '],
    ['an open quote', 'name: "a', '1:9 POLICY_YAML '],
    ['deep brackets', `rules: ${'['.repeat(100_000)}`, '1:16 POLICY_YAML '],
    ['deep items', `${'- '.repeat(100_000)}a`, '1:17 POLICY_YAML '],
    ['nothing', '', '1:1 POLICY_FIELD '],
    ['no rules', 'name: a', '1:1 POLICY_FIELD '],
    ['an empty list of rules', 'rules: []', '1:8 POLICY_FIELD /rules'],
    ['rules that are no list', 'rules: {a: b}', '1:8 POLICY_FIELD /rules'],
  ])('%s', (_, text, problem) => {
    expect(problems(text)[0]).toBe(problem);
  });

  test('many keys are read in time in proportion to them', () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n');
    expect(problems(text).length).toBe(20_001);
  });

  test('what is too large', () => {
    expect(problems(`name: ${'a'.repeat(1 << 20)}`)).toEqual(['1:1 POLICY_TOO_LARGE ']);
    const rules = (count: number) =>
      `rules:\n${Array.from({ length: count }, (_, i) => `- {name: r${i}, expr: "true"}`).join('\n')}`;
    expect(problems(rules(MAX_RULES))).toEqual([]);
    expect(problems(rules(MAX_RULES + 1))).toEqual(['2:1 POLICY_TOO_LARGE /rules']);
  });

  test('a text without Unicode', () => {
    expect(() => parsePolicy('name: \ud800')).toThrow(expect.objectContaining({ code: 'CRYPTO_ENCODING' }));
  });
});

describe('a rule that cannot evaluate is refused', () => {
  test.each([
    ['input.artefact.name == ""', 'POLICY_EXPRESSION_FIELD The input never has a field "artefact" here.'],
    ['has(input.artefact)', 'POLICY_EXPRESSION_FIELD The input never has a field "artefact" here.'],
    ['has(input.artifact.hash)', 'POLICY_EXPRESSION_FIELD The input never has a field "hash" here.'],
    [
      'input.tools.all(t, has(t.inputSchema))',
      'POLICY_EXPRESSION_FIELD The input never has a field "inputSchema"',
    ],
    ['has(input.command.length)', 'POLICY_EXPRESSION A string has no fields.'],
    ['input["toolz"] == []', 'POLICY_EXPRESSION_FIELD The input never has a field "toolz" here.'],
    ['input[input.tools[0].name] == 1', 'POLICY_EXPRESSION_FIELD The name of a field must be written out.'],
    ['tools.size() > 0', 'POLICY_EXPRESSION_FIELD There is no variable tools; a rule speaks of input.'],
    ['cel == 1', 'POLICY_EXPRESSION_FIELD There is no variable cel; a rule speaks of input.'],
    ['input.command == 1', 'POLICY_EXPRESSION The types do not fit: no such overload: string == int.'],
    ['input.tools > 1', 'POLICY_EXPRESSION'],
    ['input.tools[0] == input.tools[1]', 'POLICY_EXPRESSION'],
    ['input.all(x, true)', 'POLICY_EXPRESSION'],
    ['input.tools.all(input, true)', 'POLICY_EXPRESSION The name input is taken.'],
    ['input.tools.all(t.name, true)', 'POLICY_EXPRESSION'],
    ['[].all(e, e > 0)', 'POLICY_EXPRESSION The types cannot be told'],
    ['1 == 1.0', 'POLICY_EXPRESSION The types do not fit: no such overload: int == double.'],
    ['1u == 1u', 'POLICY_EXPRESSION No input has bytes or unsigned numbers'],
    ['{1: true}[1]', 'POLICY_EXPRESSION A key of a map must be written as text'],
    ['{"constructor": true}["constructor"]', 'POLICY_EXPRESSION A key of a map must be written as text'],
    ['size(input.tools)', 'POLICY_EXPRESSION A rule must be true or false, and this is of type int.'],
    [
      'input.tools[0].input_schema.x',
      'POLICY_EXPRESSION A rule must be true or false, and this is of no certain type',
    ],
    ['input.tools', 'POLICY_EXPRESSION'],
    ['input.command.substring(1) == ""', 'POLICY_EXPRESSION There is no function substring for rules.'],
    ['timestamp(0) == timestamp(0)', 'POLICY_EXPRESSION There is no function timestamp for rules.'],
    ['cel.bind(x, 1, x == 1)', 'POLICY_EXPRESSION T'],
    ['input.command.matches(input.command)', 'POLICY_EXPRESSION A pattern must be written out'],
    ['matches(input.command, "a")', 'POLICY_EXPRESSION A pattern must be written out'],
    [
      'input.command.matches("(a")',
      'POLICY_EXPRESSION The pattern cannot be used: at its character 1, a group is not closed.',
    ],
    [
      'input.command.matches("(a)\\\\1")',
      'POLICY_EXPRESSION The pattern cannot be used: at its character 4, \\1 is not supported.',
    ],
    ['9223372036854775808 > 0', 'POLICY_EXPRESSION This integer does not fit in 64 bits.'],
    ['1 +', 'POLICY_EXPRESSION'],
    ['true; true', 'POLICY_EXPRESSION'],
    [`${'!'.repeat(8000)}true`, 'POLICY_EXPRESSION_LIMIT'],
    [`${'('.repeat(4000)}true${')'.repeat(4000)}`, 'POLICY_EXPRESSION_LIMIT'],
    [`true${' && true'.repeat(250)}`, 'POLICY_EXPRESSION_LIMIT The expression is nested too deep.'],
    [`"${'a'.repeat(8192)}" == ""`, 'POLICY_EXPRESSION_LIMIT An expression has at most 8192 characters.'],
    [
      `${[1, 2, 3, 4].map((i) => `[${'1,'.repeat(50)}].all(v${i}, `).join('')}true))))`,
      'POLICY_EXPRESSION_LIMIT This costs more than 1000000 steps whatever the input is.',
    ],
  ])('%s', (expr, expected) => {
    expect(refusal(expr).slice(0, expected.length)).toBe(expected);
  });

  test.each([
    '-9223372036854775808 < 0',
    'has(input.artifact) && input.artifact.integrity != ""',
    'input["tools"].all(t, t["name"] != "")',
    'input.tools.exists(t, "a" in t.input_schema && t.input_schema.a == 1.5)',
    'input.tools.map(t, t.name).filter(n, n.startsWith("a")).size() < 3',
    'type(input.command) == string && [1, 2.0, "x"].size() == 3',
    `true${' && true'.repeat(199)}`,
  ])('but not: %s', (expr) => {
    expect(refusal(expr)).toBe('accepted');
  });
});

describe('the two inputs about a surface', () => {
  const only = (expr: string) => `rules: [{name: r, expr: '${expr}'}]`;

  test('a rule need be answered by one of them, and by that which is asked for', () => {
    const locked = only('input.lockfileVersion == "3.0"');
    expect(problems(locked)).toEqual([]);
    expect(problems(locked, { shape: 'check' })).toEqual([]);
    expect(problems(locked, { shape: 'policy-check' })).toEqual([
      '1:32 POLICY_EXPRESSION_FIELD /rules/0/expr',
    ]);
    const live = only('input.resources.all(r, r.uri != "")');
    expect(problems(live, { shape: 'policy-check' })).toEqual([]);
    expect(problems(live, { shape: 'check' })).toEqual(['1:32 POLICY_EXPRESSION /rules/0/expr']);
    expect(problems(only('input.lockfileVersion == input.command'))).toEqual([
      '1:57 POLICY_EXPRESSION_FIELD /rules/0/expr',
    ]);
  });

  test('a rule of the released program that only `check` can answer is refused for `policy check`', () => {
    const schemes = only('!has(input.resources.schemes) || !("file" in input.resources.schemes)');
    expect(problems(schemes, { shape: 'check' })).toEqual([]);
    expect(problems(schemes, { shape: 'policy-check' })).toEqual(['1:87 POLICY_EXPRESSION /rules/0/expr']);
  });

  test('the presets can be answered by both', () => {
    for (const name of ['baseline', 'strict'])
      for (const { programs } of parsePolicy(presetText(name)).rules)
        expect([...programs.keys()]).toEqual(['policy-check', 'check']);
    expect(() => presetText('lax')).toThrow(expect.objectContaining({ code: 'POLICY_PRESET_UNKNOWN' }));
  });

  test('a rule about a tool or a call speaks of other things', () => {
    expect(refusal('input.tools.size() > 0', 'call').slice(0, 23)).toBe('POLICY_EXPRESSION_FIELD');
    expect(refusal('input.arguments.a == 1', 'tool').slice(0, 23)).toBe('POLICY_EXPRESSION_FIELD');
    expect(refusal('input.arguments.a == 1', 'call')).toBe('accepted');
    expect(refusal('input.tool.risk_level != "HIGH"', 'tool')).toBe('accepted');
  });
});
