import { expect, test } from 'vitest';
import { Matcher } from './pattern.ts';
import { PatternSyntax } from './pattern-syntax.ts';

function matches(pattern: string, text: string): boolean {
  return new Matcher(pattern).test(text, { left: 1_000_000 });
}

test.each([
  ['', '', true],
  ['a', 'bab', true],
  ['^a', 'ba', false],
  ['a$', 'a\n', false],
  ['^a|b$', 'xb', true],
  ['^(?:a|b)+$', 'abba', true],
  ['^a{2,3}$', 'aaaa', false],
  ['^a{2,3}$', 'aaa', true],
  ['^a{2,}$', 'aaaaa', true],
  ['^.$', '😀', true],
  ['.', '\n', false],
  ['(?s).', '\n', true],
  ['(?i)PASSWORD', 'Your passWord', true],
  ['(?i)k', '\u212a', true],
  ['[^a-c]', 'abc', false],
  ['[\\d-]+', '1-2', true],
  ['\\bsecret\\b', 'a secret.', true],
  ['\\bsecret\\b', 'secretary', false],
  ['\\x{1F600}', '😀', true],
  ['(?P<name>x)', 'x', true],
  ['a*?b', 'aab', true],
])('%s in %j: %j', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});

test.each([
  ...['(', ')', '(?=a)', '(?<!a)', 'a**', 'a{2}{3}', '*a', 'a{2,1}', 'a{1001}', '{', '[a', '[b-a]'],
  ...['[[:alpha:]]', '\\pL', '\\1', '\\Q', '\\', '(?x)a', '(?i)é', '^*', '[\\d-z]', 'a'.repeat(1001)],
  ...['(a{100}){100}', `${'('.repeat(21)}${')'.repeat(21)}`],
])('%s is refused', (pattern) => {
  expect(() => new Matcher(pattern)).toThrow(PatternSyntax);
});

test('repetitions of nothing inside each other end', () => {
  const nested = `${'('.repeat(15)}${'){1000}'.repeat(15)}`;
  expect(() => new Matcher(nested)).toThrow('it is too large');
});

test('what would run for ever by going back takes time in proportion to the text', () => {
  const meter = { left: 1_000_000 };
  const text = `${'a'.repeat(1_000_000)}!`;
  for (const pattern of ['^(a+)+$', '^(a|a)*$', '(a*)*b', '^(a|aa)+$', 'a*a*a*a*a*b', '(x+x+)+y'])
    expect(new Matcher(pattern).test(text, meter)).toBe(false);
  expect(meter.left).toBeGreaterThan(990_000);
});

test('a pattern with ever new sets of places is charged for them, and stopped', () => {
  let seed = 1;
  const bit = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed & 0x10000 ? 'a' : 'b';
  };
  const text = Array.from({ length: 200_000 }, bit).join('');
  const matcher = new Matcher('a[ab]{100}c');
  const meter = { left: 1_000_000 };
  expect(() => matcher.test(text, meter)).toThrow('the meter is used up');
  expect(meter.left).toBeLessThan(0);
});
