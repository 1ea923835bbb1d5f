import { describe, expect, test } from 'vitest';
import { BullaError } from '../error.ts';
import { float, JsonNumber, JsonObject, number, parse, stringify, toPlain } from './index.ts';

/** The code and path with which a value is refused. */
function refusal(write: () => unknown): [string, string | undefined] {
  try {
    write();
  } catch (error) {
    if (error instanceof BullaError) return [error.code, error.path];
    throw error;
  }
  throw new Error('accepted');
}

describe('stringify', () => {
  test('writes a parsed value back with its lexemes and key order', () => {
    const text = '{"z":1.0,"10":-0,"a":[1E+2,0.10,"\\n\\u0001 é"],"e":{},"f":[]}';
    expect(stringify(parse(text))).toBe(text);
  });

  test('takes plain values, BigInt as an integer, and minus zero as it is', () => {
    expect(stringify({ a: [1, -0, 1e21, 12345678901234567890n, true, null], b: 'x' })).toBe(
      '{"a":[1,-0,1e+21,12345678901234567890,true,null],"b":"x"}',
    );
    expect(stringify(Object.assign(Object.create(null), { k: 1 }))).toBe('{"k":1}');
  });

  test('plain and parsed values may be mixed', () => {
    expect(stringify({ a: parse('{"n":1.50}'), b: [float(2), number('1e9')] })).toBe(
      '{"a":{"n":1.50},"b":[2.0,1e9]}',
    );
  });

  const cyclic: { a: unknown[] } = { a: [1] };
  cyclic.a.push({ back: cyclic });
  const loop: unknown[] = [];
  loop.push(loop);
  class Point {
    x = 1;
  }

  test.each<[string, unknown, string, string]>([
    ['a function', { a: [0, () => 1] }, 'VALUE_NOT_JSON', '/a/1'],
    ['a symbol', { 's/t': Symbol('x') }, 'VALUE_NOT_JSON', '/s~1t'],
    ['a property named by a symbol', { a: { [Symbol('x')]: 1 } }, 'VALUE_NOT_JSON', '/a'],
    ['undefined in an object', { a: { b: undefined } }, 'VALUE_NOT_JSON', '/a/b'],
    ['undefined in an array', [1, undefined], 'VALUE_NOT_JSON', '/1'],
    ['undefined itself', undefined, 'VALUE_NOT_JSON', ''],
    // biome-ignore lint/suspicious/noSparseArray: the subject of the test
    ['a hole in an array', { a: [1, , 3] }, 'VALUE_NOT_JSON', '/a/1'],
    ['NaN', [[Number.NaN]], 'VALUE_NOT_FINITE', '/0/0'],
    ['Infinity', { a: -Infinity }, 'VALUE_NOT_FINITE', '/a'],
    ['a Date', { when: new Date(0) }, 'VALUE_NOT_JSON', '/when'],
    ['a Map', [new Map()], 'VALUE_NOT_JSON', '/0'],
    ['a boxed string', [new String('x')], 'VALUE_NOT_JSON', '/0'],
    ['bytes', { b: new Uint8Array(2) }, 'VALUE_NOT_JSON', '/b'],
    ['an instance of a class', { p: new Point() }, 'VALUE_NOT_JSON', '/p'],
    ['an object that inherits', Object.create({ a: 1 }), 'VALUE_NOT_JSON', ''],
    ['a cycle through an object and an array', cyclic, 'VALUE_CYCLE', '/a/1/back'],
    ['an array in itself', { l: loop }, 'VALUE_CYCLE', '/l/0'],
  ])('refuses %s with its path', (_, value, code, path) => {
    expect(refusal(() => stringify(value))).toEqual([code, path]);
  });

  test('the same value twice is not a cycle', () => {
    const shared = { x: [1] };
    expect(stringify([shared, shared, { shared }])).toBe('[{"x":[1]},{"x":[1]},{"shared":{"x":[1]}}]');
  });

  test('refuses nesting over the limit', () => {
    let deep: unknown = [];
    for (let i = 0; i < 1000; i++) deep = [deep];
    expect(refusal(() => stringify(deep))[0]).toBe('VALUE_TOO_DEEP');
    expect(stringify(deep, 1001)).toBe('['.repeat(1001) + ']'.repeat(1001));
  });

  test('a cycle is found however high the limit is', () => {
    expect(refusal(() => stringify(loop, Number.POSITIVE_INFINITY))).toEqual(['VALUE_CYCLE', '/0']);
  });

  test('objects whose keys differ only late are not confused', () => {
    const long = Array.from({ length: 40 }, (_, i) => `k${i}`);
    const one = Object.fromEntries(long.map((key) => [key, 1]));
    const two = Object.fromEntries([...long.slice(0, -1), 'last'].map((key) => [key, 2]));
    expect(JSON.parse(stringify([one, two, one]))).toEqual([one, two, one]);
    expect(stringify([{ a: 1, b: 2 }, { a: 1, c: 2 }, { a: 1 }, { a: 1, b: 2, c: 3 }])).toBe(
      '[{"a":1,"b":2},{"a":1,"c":2},{"a":1},{"a":1,"b":2,"c":3}]',
    );
  });

  test('thousands of different shapes stay exact', () => {
    const objects = Array.from({ length: 3000 }, (_, i) => ({
      id: i,
      [`k${i}`]: i,
      [`x${'y'.repeat(i % 90)}`]: i,
    }));
    expect(stringify(objects)).toBe(JSON.stringify(objects));
  });
});

describe('number and float', () => {
  test('number keeps what it is given, and refuses what is not a JSON number', () => {
    expect(number('1.50').lexeme).toBe('1.50');
    for (const bad of ['01', '+1', '.5', '1.', 'NaN', '', '1 ', '0x1']) {
      expect(refusal(() => number(bad))).toEqual(['JSON_BAD_NUMBER', undefined]);
    }
  });

  test('float always carries a point or an exponent', () => {
    expect([1, -0, 0.5, 1e21, 1e-7].map((x) => float(x).lexeme)).toEqual([
      '1.0',
      '-0.0',
      '0.5',
      '1e+21',
      '1e-7',
    ]);
    expect(refusal(() => float(Number.NaN))).toEqual(['VALUE_NOT_FINITE', undefined]);
  });
});

describe('toPlain', () => {
  test('gives ordinary JavaScript values', () => {
    expect(toPlain(parse('{"a":[1,2.5,-3e2,"x",null,true],"o":{}}'))).toEqual({
      a: [1, 2.5, -300, 'x', null, true],
      o: {},
    });
  });

  test('keeps __proto__ as an ordinary property', () => {
    const plain = toPlain(parse('{"__proto__":{"polluted":true}}')) as object;
    expect(Object.keys(plain)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(plain)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBe(undefined);
  });

  test('refuses numbers that would become others, with their path', () => {
    expect(refusal(() => toPlain(parse('{"a":[0,9007199254740993]}')))).toEqual([
      'VALUE_INEXACT_NUMBER',
      '/a/1',
    ]);
    expect(refusal(() => toPlain(parse('1e400')))).toEqual(['VALUE_INEXACT_NUMBER', '']);
    expect(toPlain(parse('9007199254740991'))).toBe(9007199254740991);
  });

  test('does not recurse', () => {
    const deep = parse('['.repeat(100_000) + ']'.repeat(100_000), { maxDepth: 100_000 });
    let plain = toPlain(deep);
    let depth = 0;
    while (Array.isArray(plain)) {
      depth++;
      plain = plain[0] ?? null;
    }
    expect(depth).toBe(100_000);
  });
});

test('JsonObject behaves as a map that keeps order and does not change', () => {
  const object = JsonObject.from([
    ['b', true],
    ['a', true],
    ['b', null],
  ]);
  expect([...object]).toEqual([
    ['b', null],
    ['a', true],
  ]);
  const large = JsonObject.from(Array.from({ length: 30 }, (_, i) => [`k${i}`, new JsonNumber(String(i))]));
  expect([
    large.size,
    large.indexOf('k29'),
    (large.get('k29') as JsonNumber).lexeme,
    large.has('k30'),
  ]).toEqual([30, 29, '29', false]);
});

test('objects of one kind share their list of keys, and different ones are not confused', () => {
  const [a, b, c] = parse('[{"x":1,"y":2},{"x":3,"y":4},{"x":5,"z":6}]') as JsonObject[];
  expect(a!.keys).toBe(b!.keys);
  expect(c!.keys).toEqual(['x', 'z']);
});
