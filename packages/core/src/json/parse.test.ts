import { describe, expect, test } from 'vitest';
import { hasVectors, listFiles, readBytes } from '#test-files';
import { BullaError } from '../error.ts';
import { JsonNumber, JsonObject, type ParseOptions, parse, stringify } from './index.ts';

/** The code and byte offset with which a text is refused. */
function refusal(input: string | Uint8Array, options?: ParseOptions): [string, number | undefined] {
  try {
    parse(input, options);
  } catch (error) {
    if (error instanceof BullaError) return [error.code, error.offset];
    throw error;
  }
  throw new Error(`accepted: ${String(input).slice(0, 80)}`);
}

const bytes = (...values: number[]) => Uint8Array.from(values);

describe('what is kept', () => {
  test('numbers keep their lexemes', () => {
    const lexemes = ['0', '-0', '1.0', '1E400', '-1.50e+07', '123456789012345678901234567890'];
    const value = parse(`[${lexemes.join(', ')}]`) as JsonNumber[];
    expect(value.map((number) => number.lexeme)).toEqual(lexemes);
    expect(value.every((number) => number instanceof JsonNumber)).toBe(true);
  });

  test('keys keep their order, also integer-like ones', () => {
    const value = parse('{"b":1,"10":2,"2":3,"a":4}') as JsonObject;
    expect(value.keys).toEqual(['b', '10', '2', 'a']);
    expect(value.get('2')).toEqual(new JsonNumber('3'));
    expect(value.get('c')).toBe(undefined);
  });

  test('__proto__ and constructor are ordinary keys', () => {
    const value = parse('{"__proto__":{"x":true},"constructor":null,"toString":"s"}') as JsonObject;
    expect(value.keys).toEqual(['__proto__', 'constructor', 'toString']);
    expect((value.get('__proto__') as JsonObject).get('x')).toBe(true);
    expect(stringify(value)).toBe('{"__proto__":{"x":true},"constructor":null,"toString":"s"}');
  });

  test('every escape is decoded', () => {
    expect(parse('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\ud83d\\ude00 é 😀"')).toBe(
      '"\\/\b\f\n\r\tAé😀 é 😀',
    );
  });

  test('white space of all four kinds is skipped, and a bare value is a document', () => {
    expect(parse(' \t\r\n[ \t\r\n] \t\r\n')).toEqual([]);
    expect(parse('\n"x"\n')).toBe('x');
    expect(parse('null')).toBe(null);
  });

  test('strings longer than the parser looks at one by one are read whole', () => {
    const long = 'a'.repeat(500);
    expect(parse(`["${long}","${long}\\n${long}"]`)).toEqual([long, `${long}\n${long}`]);
    expect(refusal(`["${long}\u0001"]`)).toEqual(['JSON_CONTROL_CHARACTER', 502]);
    expect(refusal(`["${long}`)).toEqual(['JSON_UNEXPECTED_END', 502]);
  });

  test('bytes and string give the same value', () => {
    const text = '{"é":["😀",1e5,{"a":[]}]}';
    expect(parse(new TextEncoder().encode(text))).toEqual(parse(text));
  });

  test('an object of many keys finds each of them', () => {
    const text = `{${Array.from({ length: 1000 }, (_, i) => `"k${i}":${i}`).join(',')}}`;
    const value = parse(text) as JsonObject;
    expect(value.size).toBe(1000);
    expect((value.get('k999') as JsonNumber).lexeme).toBe('999');
    expect(value.has('k1000')).toBe(false);
    expect(stringify(value)).toBe(text);
  });
});

describe('what is refused, each with its code and byte offset', () => {
  test.each<[string, string, string, number]>([
    ['duplicate key', '{"a":1,"a":2}', 'JSON_DUPLICATE_KEY', 7],
    ['duplicate key written with an escape', '{"a":1,"\\u0061":2}', 'JSON_DUPLICATE_KEY', 7],
    ['duplicate key after a multi-byte one', '{"é":1,"b":2,"b":3}', 'JSON_DUPLICATE_KEY', 14],
    ['duplicate empty key, nested', '[{"":0,"":0}]', 'JSON_DUPLICATE_KEY', 7],
    ['lone high surrogate escape', '"x\\ud800"', 'JSON_LONE_SURROGATE', 2],
    ['lone low surrogate escape', '["\\udc00"]', 'JSON_LONE_SURROGATE', 2],
    ['high surrogate followed by another escape', '"\\ud800\\u0041"', 'JSON_LONE_SURROGATE', 1],
    ['lone surrogate in the text itself', '"é\ud800"', 'JSON_LONE_SURROGATE', 3],
    ['byte order mark', '\ufeff{}', 'JSON_BOM', 0],
    ['raw newline in a string', '"a\nb"', 'JSON_CONTROL_CHARACTER', 2],
    ['raw control character in a key', '{"a\u0000":1}', 'JSON_CONTROL_CHARACTER', 3],
    ['unknown escape', '"\\x41"', 'JSON_BAD_ESCAPE', 1],
    ['short unicode escape', '"\\u12"', 'JSON_BAD_ESCAPE', 1],
    ['upper-case U escape', '"\\U0041"', 'JSON_BAD_ESCAPE', 1],
    ['leading zero', '[01]', 'JSON_BAD_NUMBER', 1],
    ['leading zero after a sign', '-012', 'JSON_BAD_NUMBER', 0],
    ['plus sign', '[+1]', 'JSON_SYNTAX', 1],
    ['no digit after the point', '[1.]', 'JSON_BAD_NUMBER', 1],
    ['no digit before the point', '[.5]', 'JSON_SYNTAX', 1],
    ['empty exponent', '[1e]', 'JSON_BAD_NUMBER', 1],
    ['lone minus', '[-]', 'JSON_BAD_NUMBER', 1],
    ['NaN token', '[NaN]', 'JSON_SYNTAX', 1],
    ['Infinity token', '-Infinity', 'JSON_BAD_NUMBER', 0],
    ['trailing data', '{} x', 'JSON_TRAILING_DATA', 3],
    ['two values', '1 2', 'JSON_TRAILING_DATA', 2],
    ['trailing comma in an array', '[1,]', 'JSON_SYNTAX', 3],
    ['trailing comma in an object', '{"a":1,}', 'JSON_SYNTAX', 7],
    ['missing colon', '{"a" 1}', 'JSON_SYNTAX', 5],
    ['missing comma', '[1 2]', 'JSON_SYNTAX', 3],
    ['wrong closing bracket', '[1}', 'JSON_SYNTAX', 2],
    ['unquoted key', '{a:1}', 'JSON_SYNTAX', 1],
    ['single quotes', "['a']", 'JSON_SYNTAX', 1],
    ['comment', '[1/* */]', 'JSON_SYNTAX', 2],
    ['literal in capitals', '[True]', 'JSON_SYNTAX', 1],
    ['literal cut short', '[tru]', 'JSON_SYNTAX', 1],
    ['form feed as white space', '[\f]', 'JSON_SYNTAX', 1],
    ['empty text', '', 'JSON_UNEXPECTED_END', 0],
    ['only white space', ' \n ', 'JSON_UNEXPECTED_END', 3],
    ['unclosed array', '[1', 'JSON_UNEXPECTED_END', 2],
    ['unclosed object', '{"a":', 'JSON_UNEXPECTED_END', 5],
    ['unclosed string', '"abc', 'JSON_UNEXPECTED_END', 4],
    ['unclosed escape', '"abc\\', 'JSON_UNEXPECTED_END', 5],
    ['unclosed unicode escape', '"\\u12', 'JSON_UNEXPECTED_END', 5],
    ['bad escape at the end', '"\\x', 'JSON_BAD_ESCAPE', 1],
    ['bad unicode escape at the end', '"\\u1g', 'JSON_BAD_ESCAPE', 1],
  ])('%s', (_, text, code, offset) => {
    expect(refusal(text)).toEqual([code, offset]);
  });

  test.each<[string, Uint8Array, number]>([
    ['a continuation byte alone', bytes(0x22, 0x80, 0x22), 1],
    ['an overlong form', bytes(0x22, 0x61, 0xc0, 0xaf, 0x22), 2],
    ['an overlong three-byte form', bytes(0x22, 0xe0, 0x80, 0x80, 0x22), 1],
    ['an encoded surrogate', bytes(0x22, 0xed, 0xa0, 0x80, 0x22), 1],
    ['a code point over U+10FFFF', bytes(0x22, 0xf4, 0x90, 0x80, 0x80, 0x22), 1],
    ['a sequence cut short by the end', bytes(0x22, 0x41, 0xe2, 0x82), 2],
    ['a byte that never occurs', bytes(0x22, 0xc3, 0xa9, 0xff, 0x22), 3],
  ])('invalid UTF-8: %s', (_, input, offset) => {
    expect(refusal(input)).toEqual(['JSON_INVALID_UTF8', offset]);
  });

  test('a byte order mark in bytes', () => {
    expect(refusal(bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d))).toEqual(['JSON_BOM', 0]);
  });

  test('a duplicate among many keys', () => {
    const keys = Array.from({ length: 50 }, (_, i) => `"k${i}":0`);
    expect(refusal(`{${keys.join(',')},"k7":0}`)).toEqual([
      'JSON_DUPLICATE_KEY',
      `{${keys.join(',')},`.length,
    ]);
  });
});

describe('limits', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

  test('a thousand levels are accepted, one more is not', () => {
    expect(stringify(parse(nested(1000)))).toBe(nested(1000));
    expect(refusal(nested(1001))).toEqual(['JSON_TOO_DEEP', 1000]);
    expect(refusal('{"a":'.repeat(1001))).toEqual(['JSON_TOO_DEEP', 5000]);
  });

  test('a raised limit holds a million levels without overflowing the stack', () => {
    const deep = nested(1_000_000);
    const value = parse(deep, { maxDepth: 1_000_000 });
    expect(stringify(value, 1_000_000) === deep).toBe(true);
  });

  test('the size limit counts UTF-8 bytes', () => {
    expect(parse('"éé"', { maxBytes: 6 })).toBe('éé');
    expect(refusal('"éé"', { maxBytes: 5 })).toEqual(['JSON_TOO_LARGE', 5]);
    expect(refusal(new TextEncoder().encode('"éé"'), { maxBytes: 5 })).toEqual(['JSON_TOO_LARGE', 5]);
  });
});

describe('rules lifted by name', () => {
  test('duplicate-keys: the last value wins, at the place of the first', () => {
    const value = parse('{"a":1,"b":2,"\\u0061":3}', { allow: ['duplicate-keys'] });
    expect(stringify(value)).toBe('{"a":3,"b":2}');
  });

  test('duplicate-keys among many', () => {
    const keys = Array.from({ length: 30 }, (_, i) => `"k${i}":0`).join(',');
    const value = parse(`{${keys},"k3":1}`, { allow: ['duplicate-keys'] }) as JsonObject;
    expect(value.size).toBe(30);
    expect((value.get('k3') as JsonNumber).lexeme).toBe('1');
  });

  test("non-finite: Python's tokens become numbers by lexeme", () => {
    const value = parse('[NaN,Infinity,-Infinity,-1]', { allow: ['non-finite'] }) as JsonNumber[];
    expect(value.map((number) => number.lexeme)).toEqual(['NaN', 'Infinity', '-Infinity', '-1']);
    expect(refusal('[NaNa]', { allow: ['non-finite'] })).toEqual(['JSON_SYNTAX', 4]);
  });

  test('lone-surrogates, in escapes and in the text', () => {
    expect(parse('["\\ud800","\\ud800\\u0041"]', { allow: ['lone-surrogates'] })).toEqual([
      '\ud800',
      '\ud800A',
    ]);
    expect(parse('"\udc00"', { allow: ['lone-surrogates'] })).toBe('\udc00');
  });

  test('bom', () => {
    expect(parse('\ufeff{}', { allow: ['bom'] })).toEqual(new JsonObject());
    expect(parse(bytes(0xef, 0xbb, 0xbf, 0x31), { allow: ['bom'] })).toEqual(new JsonNumber('1'));
    expect(refusal('\ufeff\ufeff1', { allow: ['bom'] })).toEqual(['JSON_SYNTAX', 3]);
  });

  test('one lifted rule lifts no other', () => {
    expect(refusal('{"a":1,"a":NaN}', { allow: ['duplicate-keys'] })).toEqual(['JSON_SYNTAX', 11]);
  });
});

/** Our verdict on each of the documents that the suite leaves free: the code of the refusal, or `ok`. */
const FREE_VERDICTS: Record<string, string> = {
  'number_double_huge_neg_exp.json': 'ok',
  'number_huge_exp.json': 'ok',
  'number_neg_int_huge_exp.json': 'ok',
  'number_pos_double_huge_exp.json': 'ok',
  'number_real_neg_overflow.json': 'ok',
  'number_real_pos_overflow.json': 'ok',
  'number_real_underflow.json': 'ok',
  'number_too_big_neg_int.json': 'ok',
  'number_too_big_pos_int.json': 'ok',
  'number_very_big_negative_int.json': 'ok',
  'object_key_lone_2nd_surrogate.json': 'JSON_LONE_SURROGATE',
  'string_1st_surrogate_but_2nd_missing.json': 'JSON_LONE_SURROGATE',
  'string_1st_valid_surrogate_2nd_invalid.json': 'JSON_LONE_SURROGATE',
  'string_UTF-16LE_with_BOM.json': 'JSON_INVALID_UTF8',
  'string_UTF-8_invalid_sequence.json': 'JSON_INVALID_UTF8',
  'string_UTF8_surrogate_U+D800.json': 'JSON_INVALID_UTF8',
  'string_incomplete_surrogate_and_escape_valid.json': 'JSON_LONE_SURROGATE',
  'string_incomplete_surrogate_pair.json': 'JSON_LONE_SURROGATE',
  'string_incomplete_surrogates_escape_valid.json': 'JSON_LONE_SURROGATE',
  'string_invalid_lonely_surrogate.json': 'JSON_LONE_SURROGATE',
  'string_invalid_surrogate.json': 'JSON_LONE_SURROGATE',
  'string_invalid_utf-8.json': 'JSON_INVALID_UTF8',
  'string_inverted_surrogates_U+1D11E.json': 'JSON_LONE_SURROGATE',
  'string_iso_latin_1.json': 'JSON_INVALID_UTF8',
  'string_lone_second_surrogate.json': 'JSON_LONE_SURROGATE',
  'string_lone_utf8_continuation_byte.json': 'JSON_INVALID_UTF8',
  'string_not_in_unicode_range.json': 'JSON_INVALID_UTF8',
  'string_overlong_sequence_2_bytes.json': 'JSON_INVALID_UTF8',
  'string_overlong_sequence_6_bytes.json': 'JSON_INVALID_UTF8',
  'string_overlong_sequence_6_bytes_null.json': 'JSON_INVALID_UTF8',
  'string_truncated-utf-8.json': 'JSON_INVALID_UTF8',
  'string_utf16BE_no_BOM.json': 'JSON_INVALID_UTF8',
  'string_utf16LE_no_BOM.json': 'JSON_INVALID_UTF8',
  'structure_500_nested_arrays.json': 'ok',
  'structure_UTF-8_BOM_empty_object.json': 'JSON_BOM',
};

describe.skipIf(!hasVectors)('JSONTestSuite', () => {
  const verdict = async (name: string): Promise<string> => {
    try {
      parse(await readBytes(`json/test_parsing/${name}`));
      return 'ok';
    } catch (error) {
      if (error instanceof BullaError) return error.code;
      throw error;
    }
  };

  test('95 documents must be accepted; only those with duplicate keys are refused, by our rule', async () => {
    const names = (await listFiles('json/test_parsing')).filter((name) => name.startsWith('y_'));
    const refused = new Map<string, string>();
    for (const name of names) if ((await verdict(name)) !== 'ok') refused.set(name, await verdict(name));
    expect(names.length).toBe(95);
    expect(Object.fromEntries(refused)).toEqual({
      'y_object_duplicated_key.json': 'JSON_DUPLICATE_KEY',
      'y_object_duplicated_key_and_value.json': 'JSON_DUPLICATE_KEY',
    });
  });

  test('188 documents must be refused, and are', async () => {
    const names = (await listFiles('json/test_parsing')).filter((name) => name.startsWith('n_'));
    const accepted: string[] = [];
    for (const name of names) if ((await verdict(name)) === 'ok') accepted.push(name);
    expect(names.length).toBe(188);
    expect(accepted).toEqual([]);
  });

  test('35 documents are free, and our verdict on each is written down', async () => {
    const names = (await listFiles('json/test_parsing')).filter((name) => name.startsWith('i_'));
    const verdicts: Record<string, string> = {};
    for (const name of names) verdicts[name.slice(2)] = await verdict(name);
    expect(names.length).toBe(35);
    expect(verdicts).toEqual(FREE_VERDICTS);
  });

  test('what is accepted is written back without loss', async () => {
    for (const name of await listFiles('json/test_transform')) {
      const input = await readBytes(`json/test_transform/${name}`);
      let value: ReturnType<typeof parse>;
      try {
        value = parse(input);
      } catch {
        continue;
      }
      expect(parse(stringify(value)), name).toEqual(value);
    }
  });
});
