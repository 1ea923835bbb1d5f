import type { Case, Suite } from './case.ts';
import { notFinite, tokensRefused } from './ecmascript.ts';
import { codePointKeys, utf16Keys } from './order.ts';
import { goStrings, plainStrings, surrogatesRefused } from './strings.ts';
import { strict, structure } from './structure.ts';

const lock: Case = {
  name: 'root-object',
  why: 'Every member of the root object is hashed.',
  input:
    '{"tools":{"read_file":{"risk":"LOW","hash":"ab"},"Exec":{"risk":"HIGH","metadata":{}}},"lock_version":"9","hash":"","metadata":null}',
};

export const mcptrustV1: Suite = {
  valid: [
    ...structure,
    {
      name: 'number-spellings',
      why: 'A number stands as in the source, with every zero, sign and capital.',
      input: '[1.0,2.50,1E2,1e+2,10e-1,0.0,0e0,1E-05]',
    },
    { name: 'number-minus-zero', why: 'Minus zero stands as in the source.', input: '[-0,-0.0,-0E+0]' },
    {
      name: 'number-large',
      why: 'No digit of an integer is lost.',
      input: '[9007199254740993,-9007199254740993,98765432109876543210,1000000000000000000000]',
    },
    {
      name: 'number-digits',
      why: 'No digit of a fraction is lost.',
      input: '[0.1000000000000000055511151231257827,4.350,0.0000001]',
    },
    {
      name: 'number-beyond-doubles',
      why: 'The range of doubles does not matter.',
      input: '[1e309,-1e400,1e-400]',
    },
    ...goStrings,
    ...codePointKeys,
    lock,
  ],
  refused: [...tokensRefused, ...surrogatesRefused, ...strict],
};

export const mcptrustV1Go: Suite = {
  valid: [
    ...structure,
    {
      name: 'number-minus-zero',
      why: 'Minus zero keeps its sign, also when a number is too small for a double.',
      input: '[-0,-0.0,-0e7,-1e-400]',
    },
    {
      name: 'number-spellings',
      why: 'Fraction zeros, capital E and plus signs are not kept.',
      input: '[1.0,2.50,1E2,1e+2,10e-1,0.0,0e0]',
    },
    {
      name: 'number-integers',
      why: 'An integer beyond 2^53 becomes the nearest double.',
      input: '[9007199254740991,9007199254740992,9007199254740993,98765432109876543210]',
    },
    {
      name: 'number-large-switch',
      why: 'From 10^21 on an exponent is written, with a plus sign.',
      input: '[1e20,999999999999999900000,1e21,-2.5e21,1e100]',
    },
    {
      name: 'number-small-switch',
      why: 'Below 10^-6 an exponent is written, and a one-digit exponent has no padding.',
      input: '[0.000001,0.0000001,9.99e-7,-1.5e-10]',
    },
    {
      name: 'number-extremes',
      why: 'The largest double, the smallest normal and the smallest subnormal are written in full.',
      input: '[1.7976931348623157e308,2.2250738585072014e-308,5e-324,3e-324]',
    },
    { name: 'number-underflow', why: 'A number too small for a double is zero.', input: '[1e-400]' },
    ...goStrings,
    ...codePointKeys,
    lock,
  ],
  refused: [...notFinite, ...tokensRefused, ...surrogatesRefused, ...strict],
};

export const mcptrustV2: Suite = {
  valid: [
    ...structure,
    {
      name: 'number-minus-zero',
      why: 'Minus zero is an integer and is written as 0.',
      input: '[-0,-0.0,-0e7,-1e-400]',
    },
    {
      name: 'number-integers',
      why: 'What is an integer within plus or minus 2^53-1 is written plainly, however it was spelled.',
      input: '[1.0,1E2,1e6,1234567.0,1e15,-25e5,9007199254740991,-9007199254740991]',
    },
    {
      name: 'number-integers-beyond-the-limit',
      why: 'From 2^53 on an integer is written with an exponent of at least two digits.',
      input: '[9007199254740992,-9007199254740992,9007199254740993,1e16,12e18,1e20,1e21,1e100]',
    },
    {
      name: 'number-large-fractions',
      why: 'From 10^6 on a fraction is written with an exponent.',
      input: '[99999.5,100000.25,999999.5,999999.9999,1000000.5,1234567.25,-7654321.125,123456789012.5]',
    },
    {
      name: 'number-small-fractions',
      why: 'Below 10^-4 a fraction is written with an exponent of at least two digits.',
      input: '[0.001,0.0001,0.000123,0.00009999,0.00001,1e-7,-2.5e-9,1e-10]',
    },
    {
      name: 'number-shortest-digits',
      why: 'The fewest digits that give the double back are written.',
      input: '[0.1000000000000000055511151231257827,0.30000000000000004,2.50]',
    },
    {
      name: 'number-extremes',
      why: 'The largest double, the smallest normal and the smallest subnormal have three exponent digits.',
      input: '[1.7976931348623157e308,2.2250738585072014e-308,5e-324,1e-400]',
    },
    ...plainStrings,
    ...utf16Keys,
    lock,
  ],
  refused: [...notFinite, ...tokensRefused, ...surrogatesRefused, ...strict],
};
