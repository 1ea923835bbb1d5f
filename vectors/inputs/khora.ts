import type { Case, Refusal, Suite } from './case.ts';
import { ecmascriptNumbers, notFinite, tokensRefused } from './ecmascript.ts';
import { utf16Keys } from './order.ts';
import { plainStrings, surrogatesEscaped } from './strings.ts';
import { strict, structure } from './structure.ts';

const common: readonly Case[] = [
  ...structure,
  ...ecmascriptNumbers,
  ...plainStrings,
  ...surrogatesEscaped,
  {
    name: 'keys-array-indices',
    why: 'Keys that are array indices stand first, by their numbers.',
    input: '[{"b":1,"10":2,"9":3,"a":4,"0":5,"100":6}]',
  },
  {
    name: 'keys-largest-array-index',
    why: 'The largest array index is 4294967294; 4294967295 is an ordinary key.',
    input: '[{"4294967295":1,"4294967294":2,"4294967296":3,"42949672940":4,"7":5,"3999999999":6}]',
  },
  {
    name: 'keys-not-array-indices',
    why: 'An array index has no sign, no leading zero, no fraction and no exponent.',
    input: '[{"5":1,"05":2,"-5":3,"5.0":4,"5e0":5,"+5":6," 5":7,"00":8,"0x5":9,"":10}]',
  },
  {
    name: 'keys-array-indices-at-every-depth',
    why: 'Array indices stand first in every object.',
    input: '{"x":{"y":{"b":1,"2":2,"1":3},"3":4},"20":{"a":[{"c":5,"4":6}]},"3":7}',
  },
  {
    name: 'null-members',
    why: 'A member that is null is written; only undefined is dropped, which no JSON text can hold.',
    input: '{"instructions":null,"description":null,"name":"t"}',
  },
  {
    name: 'root-object',
    why: 'Every member of the root object is hashed.',
    input:
      '{"kind":"tool","name":"lookup","hash":"00","metadata":{},"schema":{"version":1.0,"vendor":"own"}}',
  },
];

/** Array indices have a place of their own here, so the case about digits is left to the lists above. */
const withoutDigits = utf16Keys.filter(({ name }) => name !== 'keys-digits' && name !== 'keys-punctuation');

export const khora: Suite = {
  valid: [
    ...common,
    ...withoutDigits,
    {
      name: 'keys-punctuation',
      why: 'Punctuation stands where ASCII has it, around letters.',
      input: '[{"~":0,"a":0,"_":0,"Z":0,"@":0,":":0,"/":0,"-":0,"$":0," ":0,"a_b":0,"aB":0,"ab":0,"a-b":0}]',
    },
  ],
  refused: [...notFinite, ...tokensRefused, ...strict],
};

const collation: readonly Case[] = [
  {
    name: 'keys-lower-case-first',
    why: 'Letters are compared without case; between equal letters lower case stands first.',
    input: '[{"B":1,"b":2,"A":3,"a":4,"C":5,"c":6}]',
  },
  {
    name: 'keys-case-decides-last',
    why: 'Case matters only when all letters are equal, and then at the first difference.',
    input: '[{"AB":1,"Ab":2,"aB":3,"ab":4,"abc":5,"ABD":6,"aa":7,"Aa":8}]',
  },
  {
    name: 'keys-all-punctuation',
    why: 'Punctuation has the order of the collation, before digits and letters.',
    input: String.raw`[{"a":0,"z1":0,"$":0,"~":0,"|":0,">":0,"=":0,"<":0,"+":0,"^":0,"${'`'}":0,"%":0,"#":0,"&":0,"\\":0,"/":0,"*":0,"@":0,"}":0,"{":0,"]":0,"[":0,")":0,"(":0,"\"":0,"'":0,".":0,"?":0,"!":0,":":0,";":0,",":0,"-":0,"_":0," ":0,"\r":0,"\f":0,"\u000b":0,"\n":0,"\t":0,"":0}]`,
  },
  {
    name: 'keys-punctuation-counts',
    why: 'Punctuation is not skipped: the first different character decides.',
    input: '[{"maxItem":1,"max_item":2,"max-item":3,"max.item":4,"max item":5,"max":6,"max$item":7,"maX":8}]',
  },
  {
    name: 'keys-digits-inside',
    why: 'Digits inside a key are compared as characters and stand before letters.',
    input: '[{"v10":1,"v9":2,"v1":3,"va":4,"V1":5,"v_1":6,"v":7}]',
  },
  {
    name: 'keys-schema-words',
    why: 'Letters are compared without case before any case is looked at.',
    input: '[{"minLength":1,"minimum":2,"minItems":3,"maxLength":4,"maximum":5,"$ref":6,"$Id":7,"$id":8}]',
  },
  {
    name: 'keys-ignored-characters',
    why: 'Control characters that the collation ignores are written, but not compared.',
    input: String.raw`[{"b":1,"\u0001a":2,"\u007fc":3,"a\u0000b":4,"\u001f":5}]`,
  },
  {
    name: 'keys-with-special-names',
    why: 'A key that means something to a programming language is a key like any other.',
    input: '[{"toString":1,"constructor":2,"__proto__":{"b":1,"a":2},"hasOwnProperty":3,"length":4}]',
  },
];

const outsideTheTable: readonly Refusal[] = [
  {
    name: 'key-not-ascii',
    why: 'A key outside ASCII has no place in the pinned collation; the path is that of the object.',
    input: '[{"a":1,"\u00e9":2}]',
    code: 'CANON_KEY',
  },
  {
    name: 'key-not-ascii-alone',
    why: 'A key outside ASCII is refused even where there is nothing to sort.',
    input: '{"schema":{"properties":[0,{"\u{1f511}":1}]}}',
    code: 'CANON_KEY',
  },
  {
    name: 'key-c1-control',
    why: 'U+0080 is outside ASCII.',
    input: String.raw`{"a":{"\u0080":1}}`,
    code: 'CANON_KEY',
  },
  {
    name: 'key-lone-surrogate',
    why: 'Half of a surrogate pair is outside ASCII.',
    allow: ['lone-surrogates'],
    input: String.raw`[{"\ud83d":1}]`,
    code: 'CANON_KEY',
  },
  {
    name: 'key-tie',
    why: 'Different keys that compare equal have no order; the path is that of the object.',
    input: String.raw`{"x":[{"a":1,"c":2,"a\u0001":3}]}`,
    code: 'CANON_KEY',
  },
  {
    name: 'key-tie-with-the-empty-key',
    why: 'A key of ignored characters compares equal to the empty key.',
    input: String.raw`{"":1,"\u0000":2}`,
    code: 'CANON_KEY',
  },
  {
    name: 'key-tie-of-ignored-characters',
    why: 'Two different ignored characters compare equal.',
    input: String.raw`[[{"k\u007fey":1,"k\u001fey":2}]]`,
    code: 'CANON_KEY',
  },
];

export const khoraIcu: Suite = {
  valid: [...common, ...collation],
  refused: [...outsideTheTable, ...notFinite, ...tokensRefused, ...strict],
};
