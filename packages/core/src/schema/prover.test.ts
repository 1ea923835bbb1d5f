import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from '../json/index.ts';
import { compare, decimal, decimalText, isMultiple, numberKey, plus, wholesAround } from './decimal.ts';
import { SchemaDocument } from './document.ts';
import { matches } from './pattern.ts';
import { Prover } from './prover.ts';
import { valueKey } from './value.ts';

describe('decimals', () => {
  const lexeme = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.nat(100_000),
      fc.constantFrom('', '.5', '.25', '.10', '.001'),
      fc.constantFrom('', 'e3', 'E-4', 'e+12'),
    )
    .map((parts) => parts.join(''));

  /** The number times 10^10, which is whole for every lexeme above. */
  const scaled = (text: string): bigint => {
    const [mantissa, exponent = '0'] = text.toLowerCase().split('e') as [string, string?];
    const [whole, fraction = ''] = mantissa.replace('-', '').split('.') as [string, string?];
    const value = BigInt(whole + fraction) * 10n ** BigInt(10 - fraction.length + Number(exponent));
    return text.startsWith('-') ? -value : value;
  };

  test('compare, key and multiples agree with whole numbers', () => {
    fc.assert(
      fc.property(lexeme, lexeme, (x, y) => {
        const [a, b] = [decimal(x)!, decimal(y)!];
        const [p, q] = [scaled(x), scaled(y)];
        expect(Math.sign(compare(a, b))).toBe(p < q ? -1 : p > q ? 1 : 0);
        expect(numberKey(x) === numberKey(y)).toBe(p === q);
        expect(scaled(decimalText(a))).toBe(p);
        expect(isMultiple(a, b)).toBe(q === 0n ? undefined : p % q === 0n);
        const { floor, ceiling } = wholesAround(a);
        const unit = 10n ** 10n;
        expect(scaled(decimalText(floor))).toBe(p - (((p % unit) + unit) % unit));
        expect(compare(floor, a) <= 0 && compare(ceiling, a) >= 0).toBe(true);
        expect(scaled(decimalText(ceiling)) - scaled(decimalText(floor))).toBe(p % unit === 0n ? 0n : unit);
      }),
      { numRuns: 2000 },
    );
  });

  test('beyond reason', () => {
    expect(decimal('1e9999999999')).toBe(undefined);
    expect(decimal('NaN')).toBe(undefined);
    expect(decimal('9'.repeat(1001))).toBe(undefined);
    expect(numberKey('1.0e9999999999')).toBe(numberKey('10e9999999998'));
    expect(isMultiple(decimal('1e5000')!, decimal('3')!)).toBe(undefined);
    expect(plus(decimal('1e5000')!, 1n)).toBe(undefined);
    expect(compare(decimal('1e999999999')!, decimal('9e999999998')!)).toBe(1);
  });
});

test('valueKey is the same for what JSON Schema holds for equal', () => {
  expect(valueKey(parse('{"b":1.0,"a":[1e2,"x"]}'))).toBe(valueKey(parse('{"a":[100,"x"],"b":1}')));
  expect(valueKey(parse('"1"'))).not.toBe(valueKey(parse('1')));
  expect(valueKey(parse('true'))).not.toBe(valueKey(parse('1')));
});

test.each([
  ['^x-', 'x-a', true],
  ['^x-', 'ax-', false],
  ['^[a-z]+$', 'abc', true],
  ['^[a-z]+$', 'aBc', false],
  ['^\\d{3}$', '123', true],
  ['', '', true],
  ['.*', '\n', true],
  ['a\\.b', 'a.b', true],
  ['^(a|b)$', 'a', undefined],
  ['^[a-z]+[0-9]+$', 'a1', undefined],
  ['^.$', '😀', undefined],
  ['^a$', 'a\n', undefined],
  ['[z-a]', 'a', undefined],
  ['a', 'a'.repeat(301), undefined],
])('the pattern %j in %j: %s', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});

describe('the prover', () => {
  const document = (name: string, schema: unknown) => new SchemaDocument(name, parse(JSON.stringify(schema)));

  test('forgets a proof that leaned on a claim which then failed', () => {
    const schema = (n: string) => ({
      $defs: {
        a: { type: 'object', properties: { c: { $ref: '#/$defs/c' }, n: { type: n } } },
        c: { type: 'object', properties: { a: { $ref: '#/$defs/a' } } },
      },
    });
    const [wide, narrow] = [document('w', schema('number')), document('n', schema('integer'))];
    // The references inside: `a` of `c` and `c` of `a` lead back to each other.
    const [a, c] = ['#/$defs/c/properties/a', '#/$defs/a/properties/c'];
    const proves = (prover: Prover, place: string, from = wide, to = narrow) =>
      prover.proves([from.resolve(place)!], [to.resolve(place)!]);
    const prover = new Prover(10_000);
    // On the way `c` seems to hold, as long as `a` does; then `a` fails at its number.
    expect(proves(prover, a)).toBe(false);
    expect(proves(prover, c)).toBe(false);
    expect(proves(prover, c, narrow, wide)).toBe(true);
  });

  test('does not assume a claim about the same value', () => {
    const loop = document('l', { anyOf: [{ $ref: '#' }, { type: 'string' }] });
    const other = document('o', { anyOf: [{ $ref: '#' }, { type: 'integer' }] });
    expect(new Prover(10_000).proves([loop.root], [other.root])).toBe(false);
  });

  test('gives up when the steps are spent, and says nothing', () => {
    const [one, two] = [document('o', { maxLength: 1 }), document('t', { maxLength: 2 })];
    expect(new Prover(10_000).proves([one.root], [two.root])).toBe(true);
    expect(new Prover(3).proves([one.root], [two.root])).toBe(false);
    expect(new Prover(0).accepts([one.root], 'a')).toBe(undefined);
  });

  test.each([
    [{ type: 'integer' }, '1.0', true],
    [{ type: 'integer' }, '1.5', false],
    [{ type: 'integer' }, '1e9999999999', undefined],
    [{ minimum: 2 }, '1e9999999999', undefined],
    [{ maxLength: 1 }, '"😀"', true],
    [{ uniqueItems: true }, '[1,1.0]', false],
    [{ pattern: '^(a|b)$' }, '"a"', undefined],
    [{ pattern: '^(a|b)$', type: 'integer' }, '"a"', false],
    [{ oneOf: [{ type: 'string' }, { pattern: '^(a|b)$' }] }, '"a"', undefined],
    [{ oneOf: [{ type: 'string' }, { minLength: 1 }] }, '"a"', false],
    [{ not: { pattern: '^(a|b)$' } }, '1', false],
    [{ $ref: '#' }, '1', undefined],
    [{ $ref: 'https://x.test' }, '1', undefined],
    [{ patternProperties: { '^(a|b)$': false } }, '{"a":1}', undefined],
    [{ patternProperties: { '^(a|b)$': true }, additionalProperties: false }, '{"a":1}', undefined],
    [{ contains: { pattern: '^(a|b)$' }, minContains: 0 }, '["a"]', true],
    [{ contains: { type: 'string' }, maxContains: 1 }, '["a","b"]', false],
    [{ dependentRequired: { a: ['b'] } }, '{"a":1}', false],
    [{ propertyNames: { maxLength: 1 } }, '{"ab":1}', false],
    [{ unevaluatedProperties: false, allOf: [{}] }, '{}', undefined],
  ])('%j accepts %s: %s', (schema, value, expected) => {
    expect(new Prover(1000).accepts([document('d', schema).root], parse(value))).toBe(expected);
  });
});
