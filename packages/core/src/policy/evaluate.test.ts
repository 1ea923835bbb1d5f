import { describe, expect, test } from 'vitest';
import { object, options, surface, whole } from '../../test/surface.ts';
import { toUtf8 } from '../crypto/index.ts';
import type { JsonObject } from '../json/index.ts';
import { drift, type Lock, readLock, type Surface, writeLock } from '../lock/index.ts';
import type { PolicyVerdict } from './evaluate.ts';
import {
  callInput,
  checkInput,
  evaluate,
  parsePolicy,
  policyCheckInput,
  prepareInput,
  toolInput,
  verdictText,
} from './index.ts';
import { presetText } from './presets.ts';

const lockOf = (of: Surface, more = {}): Lock =>
  readLock(toUtf8(writeLock(of, { ...options, ...more }).text));
const live = (of: Surface, lock?: Lock) =>
  prepareInput(
    'policy-check',
    policyCheckInput({
      command: 'node server.js',
      surface: of,
      ...(lock && { lock, drift: drift(lock, of) }),
    }),
  );
const locked = (of: Surface, lock: Lock) =>
  prepareInput('check', checkInput({ surface: of, lock, drift: drift(lock, of) }));
const rules = (...list: string[]) =>
  parsePolicy(`rules:\n${list.map((rule, i) => `  - {name: r${i}, ${rule}}`).join('\n')}`);
const told = ({ rules: results }: PolicyVerdict) =>
  results.map(({ name, severity, passed, code }) => (passed ? `${name} ok` : `${name} ${severity} ${code}`));

const PINNED = {
  artifact: {
    ...{ type: 'npm', name: 'sample', version: '1.0.0', registry: null, integrity: 'sha512-AAAA' },
    ...{ tarball_url: null, tarball_sha256: null, tarball_size: null, image: null, digest: null },
    provenance: {
      ...{
        method: 'cosign_slsa',
        predicate_type: null,
        builder_id: 'b',
        source_repo: 'https://example.com/r',
      },
      ...{
        source_ref: null,
        workflow_uri: 'w.yml',
        issuer: null,
        identity: null,
        verified: true,
        verified_at: null,
      },
    },
  },
} as const;
const IMAGE = {
  artifact: {
    ...PINNED.artifact,
    ...{ type: 'oci', integrity: null, image: 'example.com/x', digest: `sha256:${'0'.repeat(64)}` },
  },
} as const;
const harmless = surface({ tools: ['{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}'] });

describe('the presets', () => {
  test('baseline passes an unpinned server with warnings', () => {
    const verdict = evaluate(parsePolicy(presetText('baseline')), live(whole));
    expect([verdict.outcome, verdict.errors, verdict.warnings]).toEqual(['pass', 0, 2]);
    expect(told(verdict)).toEqual([
      'artifact_pinned warn POLICY_DENIED',
      'provenance_present warn POLICY_DENIED',
      'no_high_risk_tools ok',
      'no_critical_drift ok',
    ]);
  });

  test.each([
    ['a package by its integrity', PINNED],
    ['an image by its digest', IMAGE],
  ])('strict can pass for both inputs: %s', (_, pinned) => {
    const lock = lockOf(harmless, pinned);
    for (const input of [live(harmless, lock), locked(harmless, lock)]) {
      const verdict = evaluate(parsePolicy(presetText('strict')), input);
      expect([verdict.outcome, told(verdict)]).toEqual([
        'pass',
        [
          ...['artifact_pinned_required ok', 'provenance_required ok', 'no_high_risk_tools ok'],
          ...['tools_exist ok', 'no_critical_drift ok', 'no_file_scheme ok'],
        ],
      ]);
    }
  });

  test('strict fails for each of its reasons', () => {
    const lock = lockOf(harmless);
    const bad = surface({
      tools: ['{"name":"run_shell","description":"Runs.","inputSchema":{"type":"object"}}'],
      resources: ['{"uri":"FILE:/etc/passwd","name":"p"}'],
    });
    for (const input of [live(bad, lock), locked(bad, lock)])
      expect(told(evaluate(parsePolicy(presetText('strict')), input))).toEqual([
        ...['artifact_pinned_required error POLICY_DENIED', 'provenance_required error POLICY_DENIED'],
        ...['no_high_risk_tools error POLICY_DENIED', 'tools_exist ok'],
        ...['no_critical_drift error POLICY_DENIED', 'no_file_scheme error POLICY_DENIED'],
      ]);
    const empty = told(evaluate(parsePolicy(presetText('strict')), live(surface())));
    expect(empty).toContain('tools_exist error POLICY_DENIED');
  });
});

describe('the inputs', () => {
  const ask = (expr: string, input: Parameters<typeof evaluate>[1]) =>
    told(evaluate(rules(`expr: '${expr}'`), input))[0];

  test('hold what the released program shows', () => {
    const lock = lockOf(whole, PINNED);
    const changed = surface({ ...{ serverInfo: '{"name":"sample","version":"1.0.0"}' }, tools: [] });
    for (const expr of [
      'input.command == "node server.js" && input.error == ""',
      'input.tools[0].name == "write_file" && input.tools[0].input_schema.required == ["path"]',
      'input.tools[0].risk_level == "HIGH" || input.tools[0].risk_reasons == ["contains dangerous keyword: \\"write\\""]',
      'input.tools[0].annotations.destructiveHint == true && input.tools.exists_one(t, has(t.annotations))',
      'input.resources.exists(r, r.uri == "file:///a" && r.mime_type == "")',
      'input.server_info.name == "sample" && input.server_info.protocol_version == "2025-11-25"',
      'input.artifact.type == "npm" && input.artifact.registry == "" && input.artifact.provenance.verified',
      'input.provenance.config_source_uri == "https://example.com/r"',
      'input.provenance.config_source_entrypoint == "w.yml"',
      '!input.drift.hasDrift && "file" in input.resource_schemes',
    ])
      expect([expr, ask(expr.replaceAll("'", "''"), live(whole, lock))]).toEqual([expr, 'r0 ok']);
    for (const expr of [
      'input.lockfileVersion == "3.0" && input.server.name == "sample"',
      'input.server.artifact.name == "sample" && input.artifact.name == "sample"',
      'input.prompts.names == ["review"]',
      'input.prompts.definitions["review"].argumentsHash.startsWith("sha256:")',
      'input.prompts.definitions.all(name, name == "review")',
      'input.resources.templates.all(t, t.templateHash.startsWith("sha256:")) && size(input.resources.schemes) > 0',
      'input.drift.hasDrift && input.drift.items.exists(d, d.type == "TOOL_REMOVED" && d.id == "add" && d.severity == "critical")',
      'size(input.tools) == 0',
    ])
      expect([expr, ask(expr, locked(changed, lock))]).toEqual([expr, 'r0 ok']);
  });

  test('present numbers by their value, not by how they are written', () => {
    const tool = (n: string) =>
      surface({
        tools: [`{"name":"a","inputSchema":{"n":${n},"list":[${n}],"constructor":1,"__proto__":null}}`],
      });
    const n = 'input.tools[0].input_schema.n';
    for (const [lexeme, type] of [
      ...[
        ['1', 'int'],
        ['1.0', 'int'],
        ['10e-1', 'int'],
        ['-0', 'int'],
        ['1e18', 'int'],
      ],
      ...[
        ['9223372036854775807', 'int'],
        ['-9223372036854775808', 'int'],
        ['9223372036854775808', 'double'],
      ],
      ...[
        ['1.5', 'double'],
        ['1e19', 'double'],
        ['1.00000000000000000001', 'double'],
        ['1e-400', 'double'],
      ],
    ] as const)
      expect([lexeme, ask(`type(${n}) == ${type}`, live(tool(lexeme)))]).toEqual([lexeme, 'r0 ok']);
    for (const expr of [`${n} == 1 && ${n} == 1.0 && ${n} < 1.5 && 1.0 in input.tools[0].input_schema.list`])
      expect(ask(expr, live(tool('1.0')))).toBe('r0 ok');
    expect(ask('"constructor" in input.tools[0].input_schema', live(tool('1')))).toBe('r0 ok');
    expect(() => live(tool('1e400'))).toThrow(
      expect.objectContaining({ code: 'POLICY_INPUT', path: '/tools/0/input_schema' }),
    );
  });

  test('of another shape are refused, with the path', () => {
    const input = toolInput(whole.tools[0]!, { server: 's' });
    const cases: [JsonObject, string, string][] = [
      [object('{}'), '/tool', 'This field is missing.'],
      [object('{"tool":1,"server":{}}'), '/tool', 'An object is expected here.'],
      [object('{"tool":{},"server":{},"extra":1}'), '/extra', 'This field is not known here.'],
    ];
    for (const [value, path, message] of cases)
      expect(() => prepareInput('tool', value)).toThrow(
        expect.objectContaining({ code: 'POLICY_INPUT', path, message }),
      );
    expect(() => prepareInput('call', input)).toThrow(expect.objectContaining({ path: '/arguments' }));
    const deep = object(`{"a":${'['.repeat(101)}${']'.repeat(101)}}`);
    expect(() => prepareInput('call', callInput(whole.tools[0]!, deep, { server: 's' }))).toThrow(
      expect.objectContaining({ message: 'This is nested more than 100 deep.', path: '/arguments' }),
    );
    expect(() => toolInput(object('{"name":"a","description":1}'), { server: 's' })).toThrow(
      expect.objectContaining({ code: 'POLICY_INPUT', path: '/tools/0/description' }),
    );
  });
});

describe('calls and tools', () => {
  const policy = rules(
    `phase: tool, expr: 'input.tool.name != "drop_all"', failure_msg: No dropping.`,
    `phase: call, expr: 'input.arguments.amount <= 100', severity: warn`,
    `phase: call, expr: '!has(input.arguments.path) || !input.arguments.path.matches("(^|/)[.][.](/|$)")'`,
    `expr: 'size(input.tools) < 5'`,
  );
  const tool = (name: string) =>
    object(`{"name":"${name}","description":"x","inputSchema":{"type":"object"}}`);
  const call = (args: string, name = 'pay', agent?: string) =>
    evaluate(
      policy,
      prepareInput('call', callInput(tool(name), object(args), { server: 'shop', ...(agent && { agent }) })),
    );

  test('a rule is asked in its phase; those about a tool also when it is called', () => {
    expect(told(evaluate(policy, live(harmless)))).toEqual(['r3 ok']);
    const shown = (name: string) =>
      told(evaluate(policy, prepareInput('tool', toolInput(tool(name), { server: 'shop' }))));
    expect([shown('pay'), shown('drop_all')]).toEqual([['r0 ok'], ['r0 error POLICY_DENIED']]);
    expect(told(call('{"amount":1}', 'drop_all'))).toEqual(['r0 error POLICY_DENIED', 'r1 ok', 'r2 ok']);
  });

  test.each([
    ['{"amount":100}', ['r0 ok', 'r1 ok', 'r2 ok']],
    ['{"amount":100.0}', ['r0 ok', 'r1 ok', 'r2 ok']],
    ['{"amount":1e2}', ['r0 ok', 'r1 ok', 'r2 ok']],
    ['{"amount":100.5}', ['r0 ok', 'r1 warn POLICY_DENIED', 'r2 ok']],
    ['{"amount":9223372036854775808}', ['r0 ok', 'r1 warn POLICY_DENIED', 'r2 ok']],
    ['{"amount":"1"}', ['r0 ok', 'r1 error POLICY_EVALUATION', 'r2 ok']],
    ['{"amount":null}', ['r0 ok', 'r1 error POLICY_EVALUATION', 'r2 ok']],
    ['{}', ['r0 ok', 'r1 error POLICY_EVALUATION', 'r2 ok']],
    ['{"amount":1,"path":"a/../b"}', ['r0 ok', 'r1 ok', 'r2 error POLICY_DENIED']],
    ['{"amount":1,"path":"a..b"}', ['r0 ok', 'r1 ok', 'r2 ok']],
    ['{"amount":1,"path":["a/../b"]}', ['r0 ok', 'r1 ok', 'r2 error POLICY_EVALUATION']],
  ])('%s', (args, expected) => {
    expect(told(call(args))).toEqual(expected);
  });

  test('the digest, the server and the agent', () => {
    const asked = rules(
      `phase: call, expr: 'input.server.name == "shop" && input.tool.digest.startsWith("sha256:")'`,
      `phase: call, expr: 'input.agent.id == "a1"'`,
    );
    const input = (agent?: string) =>
      prepareInput('call', callInput(tool('pay'), object('{}'), { server: 'shop', ...(agent && { agent }) }));
    expect(told(evaluate(asked, input('a1')))).toEqual(['r0 ok', 'r1 ok']);
    expect(told(evaluate(asked, input()))).toEqual(['r0 ok', 'r1 error POLICY_EVALUATION']);
  });

  test('no value of the input is in a message', () => {
    const secret = call('{"amount":"hunter2","path":{"hunter2":1}}');
    expect(secret.errors).toBe(2);
    expect(JSON.stringify(secret)).not.toContain('hunter2');
    const converted = rules(`phase: call, expr: 'bool(input.arguments.a)'`);
    const input = prepareInput('call', callInput(tool('x'), object('{"a":"hunter2"}'), { server: 's' }));
    expect(evaluate(converted, input).rules[0]!.message).toBe(
      'The rule could not be evaluated: bool conversion error at its character 1.',
    );
  });
});

describe('an evaluation that fails does not pass', () => {
  test('whatever the severity of the rule and the mode of the policy', () => {
    const policy = parsePolicy(`mode: warn
rules:
  - {name: bare, severity: warn, expr: 'input.artifact.integrity != ""'}
  - {name: guarded, severity: warn, expr: 'has(input.artifact) && input.artifact.integrity != ""'}
`);
    const verdict = evaluate(policy, live(whole));
    expect(told(verdict)).toEqual(['bare error POLICY_EVALUATION', 'guarded warn POLICY_DENIED']);
    expect(verdict.outcome).toBe('fail');
    expect(verdictText(verdict)).toBe(
      [
        'ERROR  bare     The rule could not be evaluated: no such key (artifact) at its character 7. [POLICY_EVALUATION]',
        'WARN   guarded  The rule does not hold.',
        'FAIL: of 2 rules, 0 passed; 1 error and 1 warning.',
      ].join('\n'),
    );
  });

  test('a rule for the other input is not passed over', () => {
    const policy = rules(`severity: warn, expr: 'input.lockfileVersion == "3.0"'`);
    expect(told(evaluate(policy, live(whole)))).toEqual(['r0 error POLICY_EVALUATION']);
  });

  test('warnings pass in mode warn alone', () => {
    const text = (mode: string) => `mode: ${mode}\nrules: [{name: a, severity: warn, expr: "false"}]`;
    expect(evaluate(parsePolicy(text('warn')), live(whole)).outcome).toBe('pass');
    expect(evaluate(parsePolicy(text('strict')), live(whole)).outcome).toBe('fail');
  });
});

describe('cost', () => {
  const many = (count: number) =>
    surface({
      tools: Array.from({ length: count }, (_, i) => `{"name":"t${i}","inputSchema":{"type":"object"}}`),
    });
  const nested = (depth: number) =>
    rules(
      `expr: '${Array.from({ length: depth }, (_, i) => `input.tools.all(v${i}, `).join('')}true${')'.repeat(depth)}'`,
    );

  test('what would take too long for this input is not started', () => {
    expect(told(evaluate(nested(2), live(many(200))))).toEqual(['r0 ok']);
    expect(told(evaluate(nested(3), live(many(50))))).toEqual(['r0 ok']);
    expect(told(evaluate(nested(3), live(many(200))))).toEqual(['r0 error POLICY_EVALUATION']);
    expect(told(evaluate(nested(10), live(many(5))))).toEqual(['r0 error POLICY_EVALUATION']);
    expect(told(evaluate(nested(10), live(many(1))))).toEqual(['r0 ok']);
  });

  test.each([
    // Each makes something large out of what is not.
    'input.tools.map(a, input.tools).all(l, l.all(b, b.name != "") && l.exists(c, input.tools.exists(d, d.name == c.name + "x")))',
    'input.tools.map(a, input.tools.map(b, b.name)) == input.tools.map(a, input.tools.map(b, b.name + ""))',
    'input.tools.all(t, input.tools.map(a, a.name + "x") != input.tools.map(b, b.name + "y"))',
    'input.tools.all(a, input.tools.map(t, t.name).filter(n, n != "").all(n, n in input.tools.map(t, t.name)))',
  ])('%s', (expr) => {
    expect(told(evaluate(rules(`expr: '${expr}'`), live(many(2000))))).toEqual([
      'r0 error POLICY_EVALUATION',
    ]);
  });

  test('long texts count too', () => {
    const long = surface({
      tools: Array.from({ length: 30 }, (_, i) => `{"name":"t${i}","description":"${'a'.repeat(300_000)}"}`),
    });
    for (const expr of [
      'input.tools.all(t, input.tools.all(u, t.description.contains(u.description)))',
      'input.tools.all(t, input.tools.all(u, t.description == u.description))',
      'input.tools.all(t, !t.description.matches("b"))',
    ])
      expect(told(evaluate(rules(`expr: '${expr}'`), live(long)))).toEqual(['r0 error POLICY_EVALUATION']);
  });

  test('many rules share what a policy may cost', () => {
    const inner =
      'input.tools.all(a, input.tools.all(b, a.name != "x" && b.name != "y" && a.name + b.name != ""))';
    const policy = rules(...Array.from({ length: 150 }, () => `expr: '${inner}'`));
    const verdict = evaluate(policy, live(many(100)));
    expect(verdict.rules.at(-1)!.code).toBe('POLICY_EVALUATION');
    expect(verdict.rules[0]!.passed).toBe(true);
  });

  test('a pattern that runs out of its meter decides nothing, whatever stands beside it', () => {
    let seed = 7;
    const letters = Array.from({ length: 100_000 }, () => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return seed & 0x10000 ? 'a' : 'b';
    }).join('');
    const hard = surface({ tools: [`{"name":"t","description":"${letters}"}`] });
    const policy = rules(`expr: 'input.tools.exists(t, t.description.matches("a[ab]{100}c")) || true'`);
    expect(told(evaluate(policy, live(hard)))).toEqual(['r0 error POLICY_EVALUATION']);
  });
});
