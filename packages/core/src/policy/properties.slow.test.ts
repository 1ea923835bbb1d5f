import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { object } from '../../test/surface.ts';
import { BullaError } from '../error.ts';
import { callInput, evaluate, type Policy, parsePolicy, prepareInput, toolInput } from './index.ts';

const RUNS = 300 * inject('soak');

/** Expressions of every form, most of them nearly right. */
const { expression } = fc.letrec<{ expression: string; path: string; bool: string }>((tie) => ({
  path: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      'input',
      'input.arguments',
      'input.tool',
      'input.tool.name',
      'input.arguments.a',
      'v',
      'w',
    ),
    fc
      .tuple(tie('path'), fc.constantFrom('a', 'b', 'name', 'constructor', '__proto__'))
      .map(([p, k]) => `${p}.${k}`),
    fc.tuple(tie('path'), tie('path')).map(([p, k]) => `${p}[${k}]`),
    fc.constantFrom(
      '1',
      '1.0',
      '"a"',
      'null',
      'true',
      '[]',
      '{}',
      '[1, "a", 2.5]',
      '{"a": [1]}',
      '-1',
      '9e9',
    ),
    fc.tuple(tie('path'), tie('bool')).map(([p, b]) => `${p}.filter(v, ${b})`),
    fc.tuple(tie('path'), tie('path')).map(([p, q]) => `${p}.map(w, ${q})`),
    fc.tuple(tie('path'), tie('path')).map(([p, q]) => `(${p} + ${q})`),
    fc
      .tuple(fc.constantFrom('size', 'dyn', 'type', 'string', 'int', 'double', 'bool'), tie('path'))
      .map(([f, p]) => `${f}(${p})`),
  ),
  bool: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(tie('path'), fc.constantFrom('==', '!=', '<', '>=', 'in'), tie('path')).map((p) => p.join(' ')),
    fc
      .tuple(tie('path'), fc.constantFrom('all', 'exists', 'exists_one'), tie('bool'))
      .map(([p, m, b]) => `${p}.${m}(v, ${b})`),
    fc.tuple(tie('bool'), fc.constantFrom('&&', '||'), tie('bool')).map((p) => `(${p.join(' ')})`),
    tie('bool').map((b) => `!(${b})`),
    tie('path').map((p) => `has(${p})`),
    fc
      .tuple(tie('path'), fc.constantFrom('startsWith("a")', 'contains("b")', 'matches("^a+b?$")'))
      .map((p) => p.join('.')),
    fc.tuple(tie('bool'), tie('bool'), tie('bool')).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
  ),
  expression: tie('bool'),
}));

const argument = fc.json({ maxDepth: 5 }).map((text) => `{"a":${text},"b":[1,1.5,"a",null,{"a":1}]}`);
const tool = object('{"name":"t","description":"d","inputSchema":{"type":"object"}}');

/** A policy, or undefined where it is refused as it should be. */
function read(text: string): Policy | undefined {
  try {
    return parsePolicy(text);
  } catch (error) {
    expect(error).toBeInstanceOf(BullaError);
    return undefined;
  }
}

describe('properties', { timeout: 120_000 * inject('soak') }, () => {
  test('rules are refused or answered, and nothing else is ever thrown', () => {
    let answered = 0;
    fc.assert(
      fc.property(expression, argument, (expr, args) => {
        const policy = read(`rules: [{name: r, phase: call, expr: ${JSON.stringify(expr)}}]`);
        if (policy === undefined) return;
        const verdict = evaluate(
          policy,
          prepareInput('call', callInput(tool, object(args), { server: 's' })),
        );
        const [{ passed, code }] = verdict.rules as [(typeof verdict.rules)[0]];
        expect(passed ? code === null : typeof code === 'string').toBe(true);
        expect(verdict.outcome).toBe(passed ? 'pass' : 'fail');
        answered++;
      }),
      { numRuns: 10 * RUNS },
    );
    expect(answered).toBeGreaterThan(RUNS / 10);
  });

  test('texts of any kind are read or refused', () => {
    const piece = fc.constantFrom(
      ...[
        'name',
        'rules',
        'expr',
        'mode',
        ': ',
        ':',
        '- ',
        '\n',
        '\n  ',
        '\n    ',
        '{',
        '}',
        '[',
        ']',
        ', ',
        '"',
      ],
      ...[
        "'",
        '|',
        '>',
        '&a ',
        '*a',
        '!!str ',
        '# ',
        '---\n',
        '%YAML',
        'true',
        '1',
        '\t',
        'é',
        '? ',
        '<<',
        '...\n',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        read(pieces.join(''));
      }),
      { numRuns: 3 * RUNS },
    );
  });

  test('a rule about a tool says the same when the tool is called', () => {
    fc.assert(
      fc.property(expression, (expr) => {
        const policy = read(`rules: [{name: r, phase: tool, expr: ${JSON.stringify(expr)}}]`);
        if (policy === undefined) return;
        const origin = { server: 's' };
        const shown = evaluate(policy, prepareInput('tool', toolInput(tool, origin)));
        const called = evaluate(policy, prepareInput('call', callInput(tool, object('{}'), origin)));
        expect(called).toEqual(shown);
      }),
      { numRuns: RUNS },
    );
  });
});
