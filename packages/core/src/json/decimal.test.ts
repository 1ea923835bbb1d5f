import { expect, test } from 'vitest';
import { isDouble, sameDecimal, significand } from './decimal.ts';

test.each([
  ['1.50', '15e-1', true],
  ['100', '1e2', true],
  ['-0', '0.000e9', true],
  ['-1', '1', false],
  ['1e99999999999999999999', '10e99999999999999999998', true],
  ['0.1', '0.10000000000000001', false],
  ['1', 'Infinity', false],
])('%s and %s: %s', (a, b, same) => expect([sameDecimal(a, b), sameDecimal(b, a)]).toEqual([same, same]));

test.each([
  ['0.1', true],
  ['-0', true],
  ['123456789012345.000', true],
  ['9007199254740992', true],
  ['9007199254740993', false],
  ['0.1000000000000000055', false],
  ['1e400', false],
  ['1e-400', false],
])('%s is a double: %s', (lexeme, expected) => expect(isDouble(lexeme)).toBe(expected));

test('takes a number apart, and nothing else', () => {
  expect(significand('-012.500e+3')).toEqual({ negative: true, digits: '125', shift: -1, exponent: '3' });
  expect([significand('NaN'), significand('1.'), significand('٣')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
