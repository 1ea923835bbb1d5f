import { expect, test } from 'vitest';
import { parse, parseWithSpans } from './parse.ts';
import { parsePointer, pointer, spanAt, valueAt } from './pointer.ts';
import { JsonNumber } from './value.ts';

// The example document of RFC 6901 §5.
const TEXT = '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8}';

test.each([
  ['', null],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/e^f', 3],
  ['/g|h', 4],
  ['/i\\j', 5],
  ['/k"l', 6],
  ['/ ', 7],
  ['/m~0n', 8],
])('finds %j as RFC 6901 section 5 says', (text, expected) => {
  const document = parse(TEXT);
  const found = valueAt(document, parsePointer(text)!);
  const plain = found instanceof JsonNumber ? found.toNumber() : found;
  expect(plain).toBe(expected ?? document);
});

test.each(['/none', '/foo/2', '/foo/01', '/foo/-', '/foo/0/x', '/foo/length', '/a~1b/x'])(
  'finds nothing at %j',
  (text) => expect(valueAt(parse(TEXT), parsePointer(text)!)).toBeUndefined(),
);

test.each(['a', 'a/b', '/~', '/~2', '/a~', '#/a'])('%j is no pointer', (text) =>
  expect(parsePointer(text)).toBeNull(),
);

test.each([[[]], [['']], [['a/b', 'm~n', '~1', '~01']], [['__proto__', '0']]])('reads back %j', (steps) =>
  expect(parsePointer(pointer(steps))).toEqual(steps),
);

test('writes an index as its digits and escapes the tilde first', () => {
  expect(pointer(['a~/b', 3])).toBe('/a~0~1b/3');
});

test('finds where the deepest value on the way and its key stand', () => {
  const { value, span } = parseWithSpans('{"a":[1,{"b":2}]}');
  const starts = (text: string) => {
    const at = spanAt(value, span, parsePointer(text)!);
    return [at.value.start, at.key?.start];
  };
  expect(starts('')).toEqual([0, undefined]);
  expect(starts('/a')).toEqual([5, 1]);
  expect(starts('/a/1')).toEqual([8, undefined]);
  expect(starts('/a/1/b')).toEqual([13, 9]);
  expect(starts('/a/1/c/d')).toEqual([8, undefined]);
});
