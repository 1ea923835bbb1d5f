import type { Case, Refusal } from './case.ts';

/** How every profile writes strings. */
export const commonStrings: readonly Case[] = [
  {
    name: 'string-short-escapes',
    why: 'Quote, backslash, \\b, \\t, \\n, \\f and \\r have short escapes.',
    input: String.raw`["\u0022","\u005c","\u0008","\u0009","\u000a","\u000c","\u000d","\"\\\b\t\n\f\r"]`,
  },
  {
    name: 'string-control-characters',
    why: 'The other control characters are written as \\u00 and two lower-case hex digits.',
    input: String.raw`["\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u000B\u000E\u000F","\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001A\u001B\u001C\u001D\u001E\u001F"]`,
  },
  {
    name: 'string-needless-escapes',
    why: 'What needs no escape is written as itself, however it was spelled.',
    input: String.raw`["\/","\u002F","\u0041\u007a","\u00e9","\u20AC","\ud83d\uDE00"]`,
  },
  {
    name: 'string-delete-and-c1',
    why: 'U+007F and U+0080 to U+009F are not control characters for JSON and are not escaped.',
    input: '["\u007f\u0080\u0085\u009f"]',
  },
  {
    name: 'string-not-normalised',
    why: 'Composed and decomposed forms stay different.',
    input: '["\u00f1","n\u0303","\u212b","\u00c5"]',
  },
  {
    name: 'string-astral',
    why: 'A character beyond U+FFFF is written as its four UTF-8 bytes.',
    input: '["\u{10000}\u{1f9ff}\u{10ffff}"]',
  },
  {
    name: 'string-noncharacters',
    why: 'A byte order mark inside a string and noncharacters are written as they are.',
    input: '["\ufeff\ufffd\ufffe\uffff\ufdd0"]',
  },
  {
    name: 'string-key-escapes',
    why: 'Keys are escaped like strings.',
    input: String.raw`[{"a\n\u0022\u002f\u005c":"k"}]`,
  },
];

/** Where only quote, backslash and control characters are escaped. */
export const plainStrings: readonly Case[] = [
  ...commonStrings,
  { name: 'string-html', why: "The characters < > & and ' are not escaped.", input: '["<b>&amp;\'</b>"]' },
  {
    name: 'string-line-separators',
    why: 'U+2028 and U+2029 are not escaped.',
    input: '["a\u2028b\u2029c"]',
  },
];

/** Where the characters that HTML and old JavaScript trip over are escaped too. */
export const goStrings: readonly Case[] = [
  ...commonStrings,
  {
    name: 'string-html',
    why: 'The characters < > & are written as \\u003c, \\u003e and \\u0026; the apostrophe is not escaped.',
    input: '["<b>&amp;\'</b>"]',
  },
  {
    name: 'string-html-spelled-as-escapes',
    why: 'The escapes of < > & have lower-case hex digits, however they were spelled.',
    input: String.raw`["\u003C\u003E\u0026"]`,
  },
  {
    name: 'string-line-separators',
    why: 'U+2028 and U+2029 are written as \\u2028 and \\u2029.',
    input: '["a\u2028b\u2029c","\u2027\u202a"]',
  },
  {
    name: 'string-html-in-keys',
    why: 'The characters < > & are escaped in keys too, and keys are sorted before they are escaped.',
    input: '[{"=":1,"a":2,"<":3,">":4,"&":5}]',
  },
];

/** With the parser's own rule lifted, the profile refuses half of a surrogate pair. */
export const surrogatesRefused: readonly Refusal[] = [
  {
    name: 'lone-surrogate-in-a-string',
    why: 'Half of a surrogate pair has no UTF-8 form.',
    allow: ['lone-surrogates'],
    input: String.raw`[{"context":["ok","\udc00\ud800"]}]`,
    code: 'CANON_LONE_SURROGATE',
  },
  {
    name: 'lone-surrogate-in-a-key',
    why: 'Half of a surrogate pair has no UTF-8 form; the path is that of the object.',
    allow: ['lone-surrogates'],
    input: String.raw`[[],{"a":0,"\ud83d":1}]`,
    code: 'CANON_LONE_SURROGATE',
  },
];

/** With the parser's own rule lifted, the profile writes half of a surrogate pair as an escape. */
export const surrogatesEscaped: readonly Case[] = [
  {
    name: 'lone-surrogate-in-a-string',
    why: 'Half of a surrogate pair is written as \\u and four lower-case hex digits; a pair is not escaped.',
    allow: ['lone-surrogates'],
    input: String.raw`["\uD83D","\uDE00\uD83D","\uD83D\uDE00"]`,
  },
];
