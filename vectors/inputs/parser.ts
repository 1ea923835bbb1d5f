import type { Case, Refusal, Suite } from './case.ts';

const valid: readonly Case[] = [
  { name: 'scalar-roots', why: 'Any value may be the root.', input: ' -12.50E+3 ' },
  { name: 'all-white-space', why: 'Space, tab, LF and CR are white space.', input: '\t\n\r [\r1\n,\t2 ] \n' },
  {
    name: 'numbers-keep-their-digits',
    why: 'A number is kept as it was written.',
    input: '[0,-0,0.0,1.50,1E5,1e+05,1e-00,12345678901234567890123,1e400,-1e-400]',
  },
  {
    name: 'keys-keep-their-order',
    why: 'Keys are kept in the order in which they were written.',
    input: '{"b":1,"10":2,"2":3,"__proto__":4,"":5,"a":6}',
  },
  {
    name: 'every-escape',
    why: 'All eight short escapes and \\u escapes are read.',
    input: String.raw`["\"\\\/\b\f\n\r\t\u0041\u00Ff\ud834\udd1e"]`,
  },
  {
    name: 'different-normal-forms',
    why: 'Keys are compared by their code points, so these two differ.',
    input: '{"\u00e9":1,"e\u0301":2}',
  },
  {
    name: 'delete-and-separators-in-a-string',
    why: 'Only U+0000 to U+001F must be escaped.',
    input: '["\u007f\u0085\u2028\u2029\ufeff\uffff\u{10ffff}"]',
  },
  {
    name: 'same-key-in-different-objects',
    why: 'Only keys of one object must differ.',
    input: '{"a":{"a":[{"a":1},{"a":2}]}}',
  },
  {
    name: 'deepest',
    why: 'A nesting of 1,000 is accepted.',
    input: '['.repeat(1000) + ']'.repeat(1000),
  },
  {
    name: 'largest',
    why: 'The limit counts UTF-8 bytes, and a text of that size is accepted.',
    input: '"\u20ac\u20ac"',
    max_bytes: 8,
  },
  {
    name: 'allow-bom',
    why: 'Where it is allowed, a byte order mark is skipped.',
    allow: ['bom'],
    input: '\ufeff{"a":1}',
  },
  {
    name: 'allow-duplicate-keys',
    why: 'Where they are allowed, the last value wins, at the place of the first.',
    allow: ['duplicate-keys'],
    input: '{"a":1,"b":2,"a":{"c":3}}',
  },
  {
    name: 'allow-lone-surrogates',
    why: 'Where it is allowed, half of a surrogate pair is kept.',
    allow: ['lone-surrogates'],
    input: String.raw`["\ud83d","\uDC00\uD800"]`,
  },
  {
    name: 'allow-non-finite',
    why: 'Where they are allowed, the three tokens of Python are numbers.',
    allow: ['non-finite'],
    input: '[NaN,Infinity,-Infinity]',
  },
];

function refuse(code: string, cases: readonly (readonly [name: string, why: string, input: string])[]) {
  return cases.map(([name, why, input]): Refusal => ({ name, why, input, code }));
}

function refuseBytes(cases: readonly (readonly [name: string, why: string, input_hex: string])[]) {
  return cases.map(
    ([name, why, input_hex]): Refusal => ({ name, why, input_hex, code: 'JSON_INVALID_UTF8' }),
  );
}

const refused: readonly Refusal[] = [
  ...refuse('JSON_UNEXPECTED_END', [
    ['empty-text', 'There must be a value.', ''],
    ['only-white-space', 'There must be a value.', ' \n'],
    ['open-array', 'An array must be closed.', '[1,2'],
    ['open-array-after-comma', 'After a comma a value must follow.', '[1,'],
    ['open-object', 'An object must be closed.', '{"a":1'],
    ['no-value-for-the-key', 'A key must have a value.', '{"a":'],
    ['no-colon-at-the-end', 'A colon must follow a key.', '{"a"'],
    ['open-escape', 'An escape must be complete.', String.raw`"\u12`],
    ['open-string', 'A string must be closed.', '["\u20acuro'],
    ['open-string-after-backslash', 'A string must be closed.', '"a\\'],
  ]),
  ...refuse('JSON_SYNTAX', [
    ['comma-at-the-end-of-an-array', 'No comma may stand before the bracket.', '[1,]'],
    ['comma-at-the-end-of-an-object', 'No comma may stand before the brace.', '{"a":1,}'],
    ['two-commas', 'A value must stand between commas.', '[1,,2]'],
    ['no-comma', 'A comma must stand between values.', '[1 2]'],
    ['no-colon', 'A colon must stand between key and value.', '{"a" 1}'],
    ['wrong-bracket', 'A bracket is closed by its own kind.', '[{"a":1]]'],
    ['key-without-quotes', 'A key is a string.', '{a:1}'],
    ['key-is-a-number', 'A key is a string.', '{1:1}'],
    ['single-quotes', 'A string stands in double quotes.', "['a']"],
    ['comment', 'There are no comments.', '[1,/* two */2]'],
    ['capital-literal', 'Literals are in lower case.', '[True]'],
    ['cut-literal', 'A literal is written in full.', '[tru]'],
    ['plus-sign', 'A number has no plus sign in front.', '[+1]'],
    ['no-digit-before-the-point', 'A point must follow a digit.', '[.5]'],
    ['nan', 'NaN is not JSON.', '[NaN]'],
    ['infinity', 'Infinity is not JSON.', '[Infinity]'],
    ['undefined', 'undefined is not JSON.', '{"a":undefined}'],
    ['form-feed', 'A form feed is not white space.', '[\f1]'],
    ['no-break-space', 'U+00A0 is not white space.', '["\u20ac",\u00a01]'],
    ['bom-inside', 'A byte order mark is not white space.', '[\ufeff1]'],
    ['nul-byte', 'U+0000 is not white space.', '[1\u0000]'],
  ]),
  ...refuse('JSON_BAD_NUMBER', [
    ['leading-zero', 'No digit may follow a leading zero.', '[10,012]'],
    ['leading-zero-after-minus', 'No digit may follow a leading zero.', '[-01]'],
    ['minus-alone', 'A digit must follow a minus sign.', '[-]'],
    ['minus-infinity', 'A digit must follow a minus sign.', '[-Infinity]'],
    ['point-at-the-end', 'A digit must follow the point.', '[1.]'],
    ['point-before-exponent', 'A digit must follow the point.', '[1.e5]'],
    ['exponent-without-digits', 'An exponent must have a digit.', '[1e]'],
    ['exponent-with-sign-only', 'An exponent must have a digit.', '{"\u20ac":1e+}'],
  ]),
  ...refuse('JSON_TRAILING_DATA', [
    ['second-value', 'Nothing may follow the value.', '{"a":1} {"b":2}'],
    ['extra-bracket', 'Nothing may follow the value.', '[]]'],
    ['hexadecimal', 'Numbers are decimal, so the number ends before the x.', '0x1F'],
    ['comment-after-the-value', 'There are no comments.', '"\u{1f600}" // end'],
    ['literal-with-more-letters', 'The literal ends before the s.', 'nulls'],
    ['nul-after-the-value', 'Nothing may follow the value.', '1\u0000'],
  ]),
  ...refuse('JSON_CONTROL_CHARACTER', [
    ['tab-in-a-string', 'A tab must be escaped.', '["a\tb"]'],
    ['newline-in-a-string', 'A newline must be escaped.', '["\u00e9\n"]'],
    ['nul-in-a-string', 'U+0000 must be escaped.', '["\u0000"]'],
    ['control-character-in-a-key', 'U+001F must be escaped in a key.', '{"a\u001f":1}'],
    ['control-character-after-an-escape', 'U+0001 must be escaped.', '["\\n\u0001"]'],
  ]),
  ...refuse('JSON_BAD_ESCAPE', [
    ['unknown-escape-at-the-end', 'There is no such escape.', String.raw`"\x`],
    ['unknown-escape', 'There is no such escape.', String.raw`["\x41"]`],
    ['escaped-apostrophe', 'An apostrophe has no escape.', String.raw`["it\'s"]`],
    ['escape-with-a-capital-u', 'The u is in lower case.', String.raw`["\U0041"]`],
    ['escape-with-three-digits', 'There must be four hex digits.', String.raw`["\u041"]`],
    ['escape-with-braces', 'There must be four hex digits.', String.raw`["\u{41}"]`],
    ['escape-with-a-sign', 'There must be four hex digits.', String.raw`["\u+041"]`],
    ['bad-second-half', 'There must be four hex digits.', String.raw`["\ud83d\u00g0"]`],
    ['bad-escape-in-a-key', 'There is no such escape.', String.raw`{"\a":1}`],
  ]),
  ...refuse('JSON_LONE_SURROGATE', [
    ['high-half-alone', 'The second half must follow.', String.raw`["ab\ud83d"]`],
    ['low-half-alone', 'The first half must stand before.', String.raw`["\u20ac\ude00"]`],
    ['halves-in-the-wrong-order', 'The first half must stand before.', String.raw`["\ude00\ud83d"]`],
    ['two-first-halves', 'The second half must follow.', String.raw`["\ud83d\ud83d\ude00"]`],
    ['halves-apart', 'The second half must follow at once.', String.raw`["\ud83d \ude00"]`],
    ['half-before-a-short-escape', 'The second half must follow.', String.raw`["\ud83d\n"]`],
    ['half-in-a-key', 'The rule holds for keys too.', String.raw`{"a":0,"\uD800":1}`],
  ]),
  ...refuse('JSON_DUPLICATE_KEY', [
    ['same-key', 'A key must not occur twice, even with the same value.', '{"a":1,"a":1}'],
    ['same-key-spelled-differently', 'Escapes are read first.', String.raw`{"\u20ac":1,"€":2}`],
    ['same-empty-key', 'The empty key is a key.', '[{"":1,"b":2,"":3}]'],
    ['same-key-deep', 'The rule holds at every depth.', '{"x":[{"y":{"__proto__":1,"__proto__":2}}]}'],
    [
      'same-key-among-many',
      'The rule holds for large objects.',
      '{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"n":0,"c":0}',
    ],
  ]),
  ...refuse('JSON_BOM', [['bom', 'The text must not begin with a byte order mark.', '\ufeff{}']]),
  ...refuse('JSON_TOO_DEEP', [
    ['too-deep', 'A nesting of 1,001 is refused.', '['.repeat(1001) + ']'.repeat(1001)],
    ['too-deep-and-open', 'The limit counts before the end is seen.', '{"a":'.repeat(1001)],
  ]),
  {
    name: 'too-large',
    why: 'A text over the limit is refused; the offset is the limit.',
    input: '"\u20ac\u20ac" ',
    max_bytes: 8,
    code: 'JSON_TOO_LARGE',
  },
  ...refuseBytes([
    ['lone-continuation-byte', 'No character begins with 80.', '5b2280225d'],
    ['byte-ff', 'FF never occurs.', '22ff22'],
    ['overlong-slash', 'A character has the shortest form.', '22c0af22'],
    ['overlong-three-bytes', 'A character has the shortest form.', '22e0809f22'],
    ['surrogate-in-utf8', 'Surrogates have no form.', '2261eda0bdedb88022'],
    ['beyond-the-last-code-point', 'The last is U+10FFFF.', '22f490808022'],
    ['cut-character', 'A character must be complete.', '22e282ac20e282'],
    ['latin-1', 'The encoding is UTF-8 alone.', '7b226e616d65223a224a6f73e9227d'],
    ['utf-16', 'The encoding is UTF-8 alone.', 'fffe5b005d00'],
  ]),
];

export const parser: Suite = { valid, refused };
