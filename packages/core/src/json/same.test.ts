import { expect, test } from 'vitest';
import { parse } from './parse.ts';
import { sameValue } from './same.ts';

const same = (
  a: string,
  b: string,
  ...more: [((x: { lexeme: string }, y: { lexeme: string }) => boolean)?, number?]
) => sameValue(parse(a), parse(b), ...more);

test('the order of keys does not count, and that of elements does', () => {
  expect(same('{"a":1,"b":[true,null]}', '{"b":[true,null],"a":1}')).toBe(true);
  expect(same('[1,2]', '[2,1]')).toBe(false);
});

test.each([
  ['{"a":1}', '{"a":1,"b":1}'],
  ['{"a":1}', '{"b":1}'],
  ['[]', '{}'],
  ['[1]', '[1,1]'],
  ['"1"', '1'],
  ['null', 'false'],
  ['{"a":{"b":{"c":1}}}', '{"a":{"b":{"c":2}}}'],
  ['[{}]', '[[]]'],
  ['[1]', '[{}]'],
])('%s and %s differ', (a, b) => {
  expect([same(a, b), same(b, a)]).toEqual([false, false]);
});

test('numbers are the same when they are written alike, or when the caller says so', () => {
  expect(same('[1.0]', '[1]')).toBe(false);
  expect(same('[1.0]', '[1]', (x, y) => Number(x.lexeme) === Number(y.lexeme))).toBe(true);
});

test('it gives up after as many containers as it may look at', () => {
  expect(same('[[[1]]]', '[[[1]]]', undefined, 3)).toBe(true);
  expect(same('[[[1]]]', '[[[1]]]', undefined, 2)).toBe(false);
});

test('depth is no limit', () => {
  const deep = `${'['.repeat(1000)}1${']'.repeat(1000)}`;
  expect(same(deep, deep)).toBe(true);
});
