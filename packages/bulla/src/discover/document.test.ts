import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { describe, expect, test } from 'vitest';
import { readDocument, type Syntax } from './document.ts';

const read = (text: string, syntax: Syntax) => readDocument(toUtf8(text), syntax);

function refusal(text: string, syntax: Syntax): { code: string; offset?: number; message: string } {
  try {
    read(text, syntax);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code, offset, message } = error;
    return { code, message, ...(offset !== undefined && { offset }) };
  }
  throw new Error('It was not refused.');
}

describe('every syntax gives the same', () => {
  const expected = new Map([
    [
      'servers',
      new Map([
        [
          'a',
          new Map<string, unknown>([
            ['args', ['x', 'y']],
            ['on', true],
          ]),
        ],
      ]),
    ],
  ]);

  test.each([
    ['json', '{"servers":{"a":{"args":["x","y"],"on":true}}}'],
    ['jsonc', '\ufeff// servers\n{"servers": {/* one */ "a": {"args": ["x", "y",], "on": true}},}'],
    ['toml', '[servers.a]\nargs = ["x", "y"]\non = true\n'],
    ['yaml', 'servers:\n  a:\n    args: [x, y]\n    on: true\n'],
  ] as const)('%s', (syntax, text) => {
    expect(read(text, syntax)).toEqual(expected);
  });
});

test('a key named __proto__ is a key', () => {
  for (const [syntax, text] of [
    ['json', '{"__proto__":{"x":1}}'],
    ['jsonc', '{"__proto__":{"x":1}}'],
    ['toml', '[__proto__]\nx = 1'],
    ['yaml', '__proto__:\n  x: 1'],
  ] as const)
    expect(read(text, syntax)).toEqual(new Map([['__proto__', new Map([['x', 1]])]]));
});

test('an empty file holds nothing where the format allows it', () => {
  for (const syntax of ['jsonc', 'toml', 'yaml'] as const) expect(read(' \n', syntax)).toEqual(new Map());
  expect(refusal('', 'json').code).toBe('JSON_UNEXPECTED_END');
});

describe('what is malformed is refused with its place, and never quoted', () => {
  const cases: [Syntax, string, string, number?][] = [
    ['json', '{"a": "sk-secret", // no\n}', 'JSON_SYNTAX', 19],
    ['json', '{"a": 1, "a": 2}', 'JSON_DUPLICATE_KEY', 9],
    ['jsonc', '{"a": "sk-secret" "b": 1}', 'DISCOVER_SYNTAX', 18],
    ['jsonc', '{"ä": 1, "ä": "sk-secret"}', 'DISCOVER_SYNTAX', 10],
    ['jsonc', "{'a': 1}", 'DISCOVER_SYNTAX', 1],
    ['jsonc', '{"a": 1} x', 'DISCOVER_SYNTAX', 9],
    ['jsonc', '{"a": "sk-secret', 'DISCOVER_SYNTAX', 6],
    ['jsonc', '/* never ended', 'DISCOVER_SYNTAX'],
    ['toml', '[a]\nkey = sk-secret\n', 'DISCOVER_SYNTAX', 10],
    ['toml', 'a = 1\na = 2\n', 'DISCOVER_SYNTAX'],
    ['yaml', 'a: 1\na: sk-secret\n', 'DISCOVER_SYNTAX', 5],
    ['yaml', '1: a\n"1": sk-secret\n', 'DISCOVER_SYNTAX', 5],
    ['yaml', 'a: [{b: 1, b: sk-secret}]\n', 'DISCOVER_SYNTAX', 11],
    ['yaml', '? [sk-secret]\n: 1\n', 'DISCOVER_SYNTAX', 2],
    ['yaml', '%YAML 1.1\n---\na: {<<: {b: sk-secret}}\n', 'DISCOVER_SYNTAX', 0],
    ['yaml', 'a: [1, 2\nb: sk-secret\n', 'DISCOVER_SYNTAX'],
    ['yaml', 'a: *nowhere\n', 'DISCOVER_SYNTAX'],
    ['yaml', 'a: 1\n---\nb: 2\n', 'DISCOVER_SYNTAX'],
  ];
  test.each(cases)('%s: %j', (syntax, text, code, offset) => {
    const found = refusal(text, syntax);
    expect(found.code).toBe(code);
    expect(found.offset).toBeTypeOf('number');
    if (offset !== undefined) expect(found.offset).toBe(offset);
    expect(found.message).not.toContain('secret');
  });

  test('bytes that are not UTF-8', () => {
    for (const syntax of ['json', 'jsonc', 'toml', 'yaml'] as const)
      expect(() => readDocument(new Uint8Array([0x7b, 0xff, 0x7d]), syntax)).toThrow(BullaError);
  });
});

test('what nests too deep is refused in every syntax', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  expect(refusal(deep, 'json').code).toBe('JSON_TOO_DEEP');
  expect(refusal(deep, 'jsonc').code).toBe('DISCOVER_SYNTAX');
  // These two parsers have limits of their own, and tell them as any other error.
  expect(refusal(`a = ${deep}`, 'toml').code).toBe('DISCOVER_SYNTAX');
  expect(refusal(deep.slice(90_000, 110_000), 'yaml').code).toBe('DISCOVER_SYNTAX');
});

test('aliases of YAML that would grow without end are refused', () => {
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 9; i++) {
    const [name, before] = [String.fromCharCode(97 + i), String.fromCharCode(96 + i)];
    lines.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`);
  }
  expect(refusal(lines.join('\n'), 'yaml').code).toBe('DISCOVER_SYNTAX');
});

test('many keys and aliases of YAML take no time in proportion to their square', () => {
  const many = (line: (i: number) => string) => Array.from({ length: 40_000 }, (_, i) => line(i)).join('');
  expect((read(`{${many((i) => `k${i},`)}}`, 'yaml') as Map<string, unknown>).size).toBe(40_000);
  const anchors = Array.from({ length: 101 }, (_, i) => `a${i}: &a${i} x\n`).join('');
  const used = (count: number) =>
    `${anchors}${Array.from({ length: count }, (_, i) => `b${i}: *a${i}\n`).join('')}`;
  expect((read(used(100), 'yaml') as Map<string, unknown>).get('b99')).toBe('x');
  const { code, message } = refusal(used(101), 'yaml');
  expect([code, message]).toEqual(['DISCOVER_SYNTAX', 'The file is not YAML with at most 100 aliases.']);
});
