import type { Case } from './case.ts';

/** Keys for which the orders by code point and by UTF-16 code unit are the same. */
const common: readonly Case[] = [
  {
    name: 'keys-case',
    why: 'Upper case stands before lower case.',
    input: '[{"b":1,"B":2,"a":3,"A":4,"ab":5,"aB":6,"Ab":7}]',
  },
  {
    name: 'keys-punctuation',
    why: 'Punctuation stands where ASCII has it, around digits and letters.',
    input:
      '[{"~":0,"{":0,"a":0,"`":0,"_":0,"^":0,"[":0,"Z":0,"@":0,"=":0,":":0,"9":0,"/":0,".":0,"-":0,"$":0,"!":0," ":0}]',
  },
  {
    name: 'keys-digits',
    why: 'Digits are compared as characters, not as numbers.',
    input: '[{"9":1,"10":2,"1":3,"02":4,"2":5,"-1":6,"4294967295":7}]',
  },
  {
    name: 'keys-empty-and-prefixes',
    why: 'The empty key stands first, and a key before those that begin with it.',
    input: '[{"aa":1,"a":2,"":3,"a ":4,"aaa":5}]',
  },
  {
    name: 'keys-with-special-names',
    why: 'A key that means something to a programming language is a key like any other.',
    input: '[{"toString":1,"constructor":2,"__proto__":{"b":1,"a":2},"hasOwnProperty":3,"length":4}]',
  },
  {
    name: 'keys-sorted-before-escaping',
    why: 'Keys are compared by their characters, not by their escaped forms.',
    input: String.raw`[{"!":1,"\n":2,"]":3,"\\":4,"#":5,"\"":6,"\u0000":7,"\u007f":8}]`,
  },
  {
    name: 'keys-beyond-ascii',
    why: 'Accents are neither removed nor composed before keys are compared.',
    input: '[{"\u00e9":1,"z":2,"e\u0301":3,"f":4,"\u0416":5,"\u4e2d":6,"\u00df":7,"ss":8}]',
  },
  {
    name: 'keys-many',
    why: 'The order does not depend on the number of keys.',
    input:
      '[{"t":0,"h":1,"e":2,"q":3,"u":4,"i":5,"c":6,"k":7,"b":8,"r":9,"o":10,"w":11,"n":12,"f":13,"x":14,"j":15,"m":16,"p":17,"s":18,"v":19,"l":20,"a":21,"z":22,"y":23,"d":24,"g":25,"T":26,"H":27,"E":28,"Q":29,"U":30,"I":31,"C":32,"K":33,"B":34,"R":35,"O":36}]',
  },
];

const high =
  '[{"\u{1f600}":1,"\uffff":2,"\u{10ffff}":3,"\ue000":4,"\ud7ff":5,"\u{10000}":6,"\uff5e":7,"\u{1f601}":8}]';
const highAfterPrefix = '[{"a\uff5eb":1,"a\u{1f600}":2,"a\uff5e":3,"ab":4,"a\u{1f600}\ue000":5}]';

export const codePointKeys: readonly Case[] = [
  ...common,
  {
    name: 'keys-astral',
    why: 'By code point, U+E000 to U+FFFF stand before everything beyond U+FFFF.',
    input: high,
  },
  {
    name: 'keys-astral-after-a-prefix',
    why: 'By code point, the first different character decides, wherever it stands.',
    input: highAfterPrefix,
  },
];

export const utf16Keys: readonly Case[] = [
  ...common,
  {
    name: 'keys-astral',
    why: 'By UTF-16 code unit, everything beyond U+FFFF stands before U+E000 to U+FFFF.',
    input: high,
  },
  {
    name: 'keys-astral-after-a-prefix',
    why: 'By UTF-16 code unit, the first different code unit decides, wherever it stands.',
    input: highAfterPrefix,
  },
];
