import type { Case, Refusal, Suite } from './case.ts';
import { utf16Keys } from './order.ts';
import { plainStrings, surrogatesRefused } from './strings.ts';
import { strict, structure } from './structure.ts';

/** Numbers as ECMAScript prints the nearest double. */
export const ecmascriptNumbers: readonly Case[] = [
  {
    name: 'number-minus-zero',
    why: 'Minus zero is written as 0, also when a number is too small for a double.',
    input: '[-0,-0.0,-0e7,-1e-400]',
  },
  {
    name: 'number-spellings',
    why: 'Fraction zeros, capital E and plus signs are not kept.',
    input: '[1.0,2.50,1E2,1e+2,10e-1,0.0,0e0,100e-2]',
  },
  {
    name: 'number-exact-integers',
    why: 'Every integer within 2^53 is exact.',
    input: '[9007199254740991,-9007199254740991,9007199254740992]',
  },
  {
    name: 'number-rounded-integers',
    why: 'A larger integer becomes the nearest double, ties to even.',
    input: '[9007199254740993,9007199254740995,-9007199254740993,18014398509481985,98765432109876543210]',
  },
  {
    name: 'number-large-switch',
    why: 'From 10^21 on an exponent is written, with a plus sign.',
    input: '[1e20,123e18,999999999999999900000,1e21,1000000000000000000000,-2.5e21]',
  },
  {
    name: 'number-small-switch',
    why: 'Below 10^-6 an exponent is written, without padding.',
    input: '[0.000001,0.00000123,0.0000001,1e-7,9.99e-7,-1.5e-10]',
  },
  {
    name: 'number-shortest-digits',
    why: 'The fewest digits that give the double back are written.',
    input: '[0.1000000000000000055511151231257827,0.30000000000000004,0.3333333333333333148,4.35,1e23]',
  },
  {
    name: 'number-extremes',
    why: 'The largest double, the smallest normal and the smallest subnormal are written in full.',
    input: '[1.7976931348623157e308,2.2250738585072014e-308,2.225073858507201e-308,5e-324,3e-324]',
  },
  {
    name: 'number-underflow',
    why: 'A number too small for a double is zero.',
    input: '[1e-400,2e-324]',
  },
];

export const notFinite: readonly Refusal[] = [
  {
    name: 'number-overflow',
    why: 'A number beyond the range of doubles has no form.',
    input: '{"a":[0,{"b":1e309}]}',
    code: 'CANON_NOT_FINITE',
  },
  {
    name: 'number-overflow-by-rounding',
    why: 'What rounds to infinity has no form.',
    input: '[-1.7976931348623159e308]',
    code: 'CANON_NOT_FINITE',
  },
];

/** With the parser's own rule lifted, the profile refuses Python's tokens. */
export const tokensRefused: readonly Refusal[] = [
  {
    name: 'nan-token',
    why: 'NaN has no form.',
    allow: ['non-finite'],
    input: '[1,NaN]',
    code: 'CANON_NOT_FINITE',
  },
  {
    name: 'infinity-token',
    why: 'The infinities have no form.',
    allow: ['non-finite'],
    input: '[{"execution":{"~a/b":-Infinity}}]',
    code: 'CANON_NOT_FINITE',
  },
];

export const jcs: Suite = {
  valid: [
    ...structure,
    ...ecmascriptNumbers,
    ...plainStrings,
    ...utf16Keys,
    {
      name: 'root-object',
      why: 'Every member of the root object is hashed.',
      input: '{"version":1.0,"name":"demo","hash":"00","metadata":{"signed_at":null},"scopes":[]}',
    },
  ],
  refused: [...notFinite, ...tokensRefused, ...surrogatesRefused, ...strict],
};
