import { isCelError, run } from '@bufbuild/cel';
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import { RE2JS } from '@bufbuild/re2';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { metered } from './environment.ts';
import { compile, type Fault } from './expression.ts';
import { Matcher } from './pattern.ts';
import { PatternSyntax } from './pattern-syntax.ts';
import { vocabularyOf } from './records.ts';

const NOTHING_KNOWN = vocabularyOf({ Nothing: {} }, { none: 'Nothing' });

type Answer = 'true' | 'false' | 'error' | 'refused';

/** What we say of an expression: true, false, an error at evaluation, or refused when it is read. */
function ours(expr: string): Answer {
  const program = compile(expr, NOTHING_KNOWN, 'none');
  if (!('run' in program)) return 'refused';
  try {
    const result = metered({ left: 1e6 }, () => program.run(undefined));
    return result === true ? 'true' : result === false ? 'false' : 'error';
  } catch {
    return 'error';
  }
}

function theirs(expr: string): Answer {
  try {
    const result = run(expr, {});
    if (isCelError(result)) return 'error';
    return result === true ? 'true' : result === false ? 'false' : 'error';
  } catch {
    return 'error';
  }
}

interface Case {
  readonly name: string;
  readonly expr: string;
}

type Value = Readonly<Record<string, unknown>>;

/** A value of the suite as CEL writes it; null where a rule could not. */
function literal(value: Value): string | null {
  const [[kind, inner] = ['', null]] = Object.entries(value);
  if (kind === 'int64Value') return `(${inner})`;
  if (kind === 'boolValue') return String(inner);
  if (kind === 'nullValue') return 'null';
  if (kind === 'stringValue') return JSON.stringify(inner);
  if (kind === 'doubleValue' && typeof inner === 'number')
    return `(${Number.isInteger(inner) && Math.abs(inner) < 1e21 ? inner.toFixed(1) : inner})`;
  if (kind !== 'listValue') return null;
  const items = ((inner as { values?: Value[] }).values ?? []).map(literal);
  return items.includes(null) ? null : `[${items.join(', ')}]`;
}

/** Every case that needs no variable, as an expression that gives true, false or an error. */
function cases(): Map<string, Case[]> {
  const found = new Map<string, Case[]>();
  const walk = (suite: (typeof tests)['suites'] & object, section: string, at: string) => {
    for (const inner of suite) {
      const top = section === '' ? inner.name : section;
      for (const { original } of inner.tests ?? []) {
        const { name, expr, value, evalError, ...more } = original as unknown as Value & Case;
        if (['bindings', 'typeEnv', 'container', 'disableMacros'].some((key) => key in more)) continue;
        const expected = value === undefined ? null : literal(value as Value);
        const asked =
          evalError !== undefined
            ? `dyn(${expr}) == dyn(0)`
            : expected === 'true' || expected === 'false' || value === undefined
              ? expr
              : `(${expr}) == ${expected}`;
        if (value !== undefined && expected === null) continue;
        const list = found.get(top) ?? [];
        found.set(top, [...list, { name: `${at}${inner.name}/${name}`, expr: asked }]);
      }
      walk(inner.suites ?? [], top, section === '' ? '' : `${at}${inner.name}/`);
    }
  };
  walk(tests.suites ?? [], '', '');
  return found;
}

/** Why we refuse to load what the oracle answers. */
function reason(expr: string): string {
  const [fault] = compile(expr, NOTHING_KNOWN, 'none') as readonly Fault[];
  const { code, message } = fault!;
  // One code for many faults: the beginning of the sentence tells them apart.
  if (/^There is no function/.test(message)) return 'There is no function';
  return code === 'POLICY_EXPRESSION' ? message.replace(/[:;,].*/, '') : code;
}

describe('the conformance cases of CEL, asked as rules', () => {
  const answers = [...cases()].flatMap(([section, list]) =>
    list.map(({ name, expr }) => ({ section, name, expr, a: ours(expr), b: theirs(expr) })),
  );
  // A refusal at load is what an error at evaluation becomes where it can be told that early.
  const isSame = ({ a, b }: { a: Answer; b: Answer }) => a === b || (a === 'refused' && b === 'error');

  test('the answers are the oracle’s, as often as this', () => {
    const same: Record<string, number> = {};
    for (const answer of answers) if (isSame(answer)) same[answer.section] = (same[answer.section] ?? 0) + 1;
    expect(same).toEqual({
      basic: 26,
      bindings_ext: 5,
      block_ext: 21,
      comparisons: 190,
      conversions: 53,
      dynamic: 18,
      encoders_ext: 1,
      fields: 20,
      fp_math: 27,
      integer_math: 47,
      lists: 31,
      logic: 25,
      macros: 40,
      macros2: 40,
      math_ext: 174,
      optionals: 57,
      parse: 114,
      plumbing: 3,
      string: 45,
      string_ext: 202,
      timestamps: 14,
      type_deductions: 21,
    });
    const answered = answers.filter(({ a }) => a === 'true' || a === 'false').length;
    expect([answers.length, answered]).toEqual([1512, 545]);
  });

  test('what is answered in another way is this alone', () => {
    const differing = answers.filter((answer) => answer.a !== 'refused' && !isSame(answer));
    expect(differing.map(({ section, name, a, b }) => `${section}/${name}: ${a}, not ${b}`)).toEqual([
      // Ints and doubles are compared exactly here, and as doubles by the oracle.
      'comparisons/lt_literal/not_lt_dyn_int_big_lossy_double: true, not false',
      'comparisons/gt_literal/not_gt_dyn_big_double_int: true, not false',
      'comparisons/lte_literal/lte_dyn_big_double_int: false, not true',
      'comparisons/gte_literal/gte_dyn_int_big_lossy_double: false, not true',
      // The library does not refuse integers beyond 64 bits that come from a double or from a change of sign.
      'conversions/int/double_int_max_range: false, not error',
      'conversions/int/double_int_min_range: false, not error',
      'conversions/int/double_range: false, not error',
      'conversions/uint/double_uint_max_range: false, not error',
      'integer_math/int64_math/int64_min_negate: false, not error',
      'integer_math/int64_math/int64_min_negate_div: false, not error',
    ]);
  });

  test('what is refused although the oracle answers is refused for these reasons', () => {
    const reasons: Record<string, number> = {};
    for (const answer of answers) {
      if (answer.a !== 'refused' || isSame(answer)) continue;
      const why = reason(answer.expr);
      reasons[why] = (reasons[why] ?? 0) + 1;
    }
    expect(reasons).toEqual({
      'No input has bytes or unsigned numbers': 150,
      // The functions for times, among them, and made-up ones whose failure another operand covers.
      'There is no function': 83,
      // Messages of Protocol Buffers.
      'This is not CEL': 54,
      // The library would make them text, and drop some.
      'A key of a map must be written as text': 28,
      // `1 == 1.0`, `true || 32` and `has` of a literal: the checker of CEL itself refuses most of them.
      'The types do not fit': 11,
      'The types cannot be told': 1,
      POLICY_EXPRESSION_FIELD: 1,
    });
  });
});

describe('one equals one point nought', () => {
  test('is refused at load for two literals, where the oracle says true', () => {
    expect([ours('1 == 1.0'), theirs('1 == 1.0')]).toEqual(['refused', 'true']);
    expect([ours('1.0 != 1'), theirs('1.0 != 1')]).toEqual(['refused', 'false']);
  });

  test('is true where the type is not known before, for both', () => {
    for (const expr of [
      'dyn(1) == 1.0',
      '1 == dyn(1.0)',
      'dyn(1) == dyn(1.0)',
      'dyn(1.0) in [1]',
      '1 <= 1.0',
    ])
      expect([expr, ours(expr), theirs(expr)]).toEqual([expr, 'true', 'true']);
    for (const expr of ['dyn(1) == 1.5', 'dyn(1) != 1.0', 'dyn(9007199254740993) == 9007199254740992.0'])
      expect([expr, ours(expr)]).toEqual([expr, 'false']);
  });
});

describe('patterns', { timeout: 60_000 * inject('soak') }, () => {
  const piece = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom('a', 'b', 'A', '_', ' ', '0', '9', 'é', '😀', 'k', 's', '-', '/', '='),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom('.', '\\d', '\\w', '\\s', '\\D', '\\W', '\\S', '\\.', '\\n', '\\x41'),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom('[ab]', '[^ab]', '[a-c0-9]', '[\\w-]', '[^\\d]', '[]a]', '[a-]', '[\\]x]'),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom('^', '$', '\\b', '\\B', '\\A', '\\z', '(?:', '(', ')', '|', '(?i)', '(?s)'),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom('*', '+', '?', '*?', '{2}', '{1,}', '{0,2}', '{,2}', '{', '}', '{1001}'),
    },
  );
  const subject = fc.stringMatching(/^[abAksK ſ_09é😀\n.=/-]{0,12}$/u);

  test('match as RE2 matches, and what RE2 refuses is refused', () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 8 }),
        fc.array(subject, { maxLength: 6 }),
        (pieces, subjects) => {
          const source = pieces.join('');
          let matcher: Matcher;
          try {
            matcher = new Matcher(source);
          } catch (error) {
            expect(error).toBeInstanceOf(PatternSyntax);
            return;
          }
          accepted++;
          const oracle = RE2JS.compile(source);
          for (const text of subjects) {
            const at = JSON.stringify([source, text]);
            expect([at, matcher.test(text, { left: 1e6 })]).toEqual([at, oracle.test(text)]);
          }
        },
      ),
      { numRuns: 3000 * inject('soak') },
    );
    expect(accepted).toBeGreaterThan(500);
  });
});
