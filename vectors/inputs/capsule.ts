import type { Case, Refusal, Suite } from './case.ts';
import { codePointKeys, utf16Keys } from './order.ts';
import { plainStrings, surrogatesEscaped, surrogatesRefused } from './strings.ts';
import { strict, structure } from './structure.ts';

const content =
  '"id":"6f1c2d3e-0000-4000-8000-00000000000a","type":"agent","domain":"agents","parent_id":null,"sequence":3,' +
  '"previous_hash":"c0ffee","trigger":{"type":"scheduled","source":"cron","timestamp":"2026-03-04T05:06:07+00:00"},' +
  '"context":{"agent_id":"a-1","environment":{"region":"eu","Zone":"b"}},"reasoning":{"confidence":0.75,"options":[]},' +
  '"authority":{"type":"policy","chain":[]},"execution":{"tool_calls":[],"duration_ms":12},' +
  '"outcome":{"status":"success","metrics":{"tokens_in":10}}';
const seal =
  '"hash":"d00d","signature":"beef","signature_pq":"","signed_at":"2026-03-04T05:06:08+00:00","signed_by":"k"';

const sealFields: readonly Case[] = [
  {
    name: 'seal-fields',
    why: 'The five seal fields of the root are not hashed.',
    input: `{${content},${seal}}`,
  },
  { name: 'seal-fields-absent', why: 'The digest is the same as with the seal.', input: `{${content}}` },
  {
    name: 'seal-fields-deeper',
    why: 'Members of the same names deeper in the document are hashed.',
    input: `{"context":{"environment":{${seal}}},"outcome":{"hash":"kept"}}`,
  },
  {
    name: 'seal-fields-not-judged',
    why: 'What is not hashed is not held to the rules of the profile.',
    input: '{"signed_at":1e400,"sequence":1,"hash":{"b":-0.0}}',
  },
  {
    name: 'seal-fields-alone',
    why: 'A document of seal fields alone is an empty capsule.',
    input: `{${seal}}`,
  },
  {
    name: 'seal-fields-under-an-array',
    why: 'The root is an array, so nothing is left out.',
    input: `[{${seal}}]`,
  },
  {
    name: 'spec-version',
    why: 'The member spec_version is hashed when it is there.',
    input: `{"spec_version":"1.0",${content}}`,
  },
];

/** Python reads a lexeme with a point or an exponent as a float, all others as an integer of any size. */
const pythonNumbers: readonly Case[] = [
  {
    name: 'number-integer-or-float',
    why: 'A lexeme with a point or an exponent is a float and keeps a fraction; others are integers.',
    input: '[1,1.0,100,100.0,1E2,1e+2,10e-1,0,0.0,2.50]',
  },
  {
    name: 'number-minus-zero',
    why: 'The integer -0 is written as 0; the float keeps its sign, also when it is too small for a double.',
    input: '[-0,-0.0,-0e7,-1e-400]',
  },
  {
    name: 'number-large-integers',
    why: 'An integer keeps all its digits.',
    input: '[9007199254740991,9007199254740993,-9223372036854775809,1000000000000000000000000000000]',
  },
  {
    name: 'number-large-floats',
    why: 'From 10^16 on a float is written with an exponent, with a plus sign and at least two digits.',
    input: '[1e15,999999999999999.9,9999999999999998.0,1e16,12345678901234567.0,-1e16,1e21,1e100]',
  },
  {
    name: 'number-small-floats',
    why: 'Below 10^-4 a float is written with an exponent of at least two digits.',
    input: '[0.001,0.0001,0.000123,0.00009999,0.00001,1e-7,-2.5e-9,1e-10]',
  },
  {
    name: 'number-rounded-floats',
    why: 'A float is the nearest double, written with the fewest digits that give it back.',
    input: '[9007199254740993.0,0.1000000000000000055511151231257827,0.30000000000000004,1e23,4.350]',
  },
  {
    name: 'number-extremes',
    why: 'The largest double, the smallest normal and the smallest subnormal are written in full.',
    input: '[1.7976931348623157e308,2.2250738585072014e-308,5e-324,3e-324]',
  },
  { name: 'number-underflow', why: 'A float too small for a double is 0.0.', input: '[1e-400,2e-324]' },
];

/** The same documents under all three profiles; only the float paths make a difference. */
const floatPaths = {
  confidence: '{"reasoning":{"confidence":1}}',
  zero: '{"reasoning":{"confidence":0,"options":[]}}',
  feasibility:
    '{"reasoning":{"options":[{"feasibility":1},{"feasibility":0.5},{"id":"x"},{"feasibility":0}]}}',
  lookAlikes:
    '{"context":{"confidence":1,"reasoning":{"confidence":1}},"outcome":{"options":[{"feasibility":1}]},' +
    '"reasoning":{"Confidence":1,"feasibility":1,"confidence ":1,"options":[[{"feasibility":1}],' +
    '{"confidence":1,"impact":{"feasibility":1}}],"options_considered":[{"feasibility":1}]}}',
  wrongContainers: '{"reasoning":[{"confidence":1}],"trigger":{"reasoning":{"confidence":1}}}',
  optionsObject: '{"reasoning":{"options":{"feasibility":1},"confidence":[1,{"confidence":1}]}}',
  underArray: '[{"reasoning":{"confidence":1}}]',
  noNumber: '{"reasoning":{"confidence":null,"options":[{"feasibility":"1"},null,{"feasibility":false}]}}',
} as const;

/** `cps` alone: the TypeScript reference never prints -0. */
const minusZero: Case = {
  name: 'float-path-minus-zero',
  why: 'The integer -0 is 0, so as a float it is 0.0.',
  input: '{"reasoning":{"confidence":-0}}',
};

const forcedFloats: readonly Case[] = [
  {
    name: 'float-path-confidence',
    why: 'An integer at reasoning.confidence is written with a fraction.',
    input: floatPaths.confidence,
  },
  {
    name: 'float-path-confidence-zero',
    why: 'Zero at reasoning.confidence is written with a fraction.',
    input: floatPaths.zero,
  },
  {
    name: 'float-path-star-key',
    why: 'A key named * is not an element of an array; its feasibility is not at a float path.',
    input: '{"reasoning":{"options":{"*":{"feasibility":1}}}}',
  },
  {
    name: 'float-path-feasibility',
    why: 'An integer at reasoning.options[].feasibility is written with a fraction, in every option.',
    input: floatPaths.feasibility,
  },
  {
    name: 'float-path-look-alikes',
    why: 'The same names elsewhere are not float paths.',
    input: floatPaths.lookAlikes,
  },
  {
    name: 'float-path-wrong-containers',
    why: 'A float path begins at the root and leads through objects where it names a member.',
    input: floatPaths.wrongContainers,
  },
  {
    name: 'float-path-options-object',
    why: 'options is an array in the path, and what is inside a value at the path is not at the path.',
    input: floatPaths.optionsObject,
  },
  {
    name: 'float-path-under-an-array',
    why: 'The root is an array, so there are no float paths.',
    input: floatPaths.underArray,
  },
  {
    name: 'float-path-no-number',
    why: 'What is not a number is not changed at a float path.',
    input: floatPaths.noNumber,
  },
];

const notFiniteInCapsule: readonly Refusal[] = [
  {
    name: 'number-overflow',
    why: 'A float beyond the range of doubles is infinite, which is refused.',
    input: '{"outcome":{"metrics":{"cost":[0,1e309]}}}',
    code: 'CANON_NOT_FINITE',
  },
  {
    name: 'number-overflow-negative',
    why: 'What rounds to infinity is refused.',
    input: '{"reasoning":{"confidence":-1.7976931348623159e308}}',
    code: 'CANON_NOT_FINITE',
  },
];

const tokens = '{"outcome":{"metrics":{"a":NaN,"b":Infinity,"c":-Infinity,"d":1e400,"e":1.0}}}';

export const cps: Suite = {
  valid: [
    ...structure,
    ...pythonNumbers,
    ...plainStrings,
    ...codePointKeys,
    ...sealFields,
    minusZero,
    ...forcedFloats,
    {
      name: 'float-path-floats',
      why: "A float at a float path is written by Python's rule like any other.",
      input: '{"reasoning":{"confidence":1.0,"options":[{"feasibility":0.00001},{"feasibility":9.50}]}}',
    },
    {
      name: 'float-path-large-integers',
      why: 'A large integer at a float path becomes the nearest double.',
      input: '{"reasoning":{"confidence":9007199254740993,"options":[{"feasibility":10000000000000000}]}}',
    },
  ],
  refused: [
    ...notFiniteInCapsule,
    {
      name: 'float-path-integer-overflow',
      why: 'An integer at a float path becomes a float, and this one is infinite.',
      input: `{"reasoning":{"options":[{},{"feasibility":1${'0'.repeat(309)}}]}}`,
      code: 'CANON_NOT_FINITE',
    },
    {
      name: 'nan-token',
      why: 'NaN is refused.',
      allow: ['non-finite'],
      input: '{"reasoning":{"confidence":NaN}}',
      code: 'CANON_NOT_FINITE',
    },
    {
      name: 'infinity-token',
      why: 'The infinities are refused.',
      allow: ['non-finite'],
      input: '{"execution":{"resources_used":{"~a/b":[-Infinity]}}}',
      code: 'CANON_NOT_FINITE',
    },
    ...surrogatesRefused,
    ...strict,
  ],
};

export const cpsPython: Suite = {
  valid: [
    ...structure,
    ...pythonNumbers,
    ...plainStrings,
    ...codePointKeys,
    ...sealFields,
    {
      name: 'no-float-path-confidence',
      why: 'There are no float paths: an integer at reasoning.confidence stays one.',
      input: floatPaths.confidence,
    },
    {
      name: 'no-float-path-feasibility',
      why: 'There are no float paths: an integer at reasoning.options[].feasibility stays one.',
      input: floatPaths.feasibility,
    },
    {
      name: 'float-at-confidence',
      why: 'A float is a float because of its lexeme.',
      input: '{"reasoning":{"confidence":1.0,"options":[{"feasibility":1e0},{"feasibility":-0.0}]}}',
    },
    {
      name: 'non-finite-tokens',
      why: 'When asked to, NaN and the infinities are written as Python prints them, overflow included.',
      allow: ['non-finite'],
      input: tokens,
    },
  ],
  refused: [
    ...notFiniteInCapsule,
    {
      name: 'number-overflow-in-an-array',
      why: 'Infinity is refused unless it was asked for.',
      input: '[[1e400]]',
      code: 'CANON_NOT_FINITE',
    },
    {
      name: 'nan-token',
      why: 'NaN is not JSON unless it was asked for.',
      input: '{"reasoning":{"confidence":NaN}}',
      code: 'JSON_SYNTAX',
    },
    {
      name: 'infinity-token',
      why: '-Infinity is not JSON unless it was asked for.',
      input: '[-Infinity]',
      code: 'JSON_BAD_NUMBER',
    },
    ...surrogatesRefused,
    ...strict,
  ],
};

function notExact(name: string, why: string, input: string): Refusal {
  return { name, why, input, code: 'CANON_NUMBER' };
}

export const cpsTs: Suite = {
  valid: [
    ...structure,
    {
      name: 'number-integers',
      why: 'An integer that JavaScript prints with the same digits is accepted.',
      input:
        '[9007199254740991,9007199254740992,-9007199254740992,98765432109876540000,100000000000000000000]',
    },
    {
      name: 'number-exponents',
      why: 'An exponent is accepted where and as JavaScript prints it.',
      input: '[1e+21,-2.5e+21,1e-7,1.5e-10,1.7976931348623157e+308,2.2250738585072014e-308,5e-324]',
    },
    {
      name: 'number-fractions',
      why: 'A fraction is accepted with the fewest digits that give it back.',
      input: '[0.5,0.000001,0.00001,0.30000000000000004,-4.35,123456789.125]',
    },
    ...plainStrings,
    ...surrogatesEscaped,
    ...utf16Keys,
    ...sealFields,
    ...forcedFloats,
    {
      name: 'float-path-floats',
      why: 'At a float path 1.0 is accepted as well as 1.',
      input: '{"reasoning":{"confidence":1.0,"options":[{"feasibility":0.0},{"feasibility":0.95}]}}',
    },
    {
      name: 'float-path-exponent',
      why: 'A number with an exponent gets no fraction at a float path.',
      input: '{"reasoning":{"confidence":1e+21,"options":[{"feasibility":1e-7}]}}',
    },
    {
      name: 'members-missing',
      why: 'Each of the thirteen members that is missing is hashed as null.',
      input: '{"sequence":0}',
    },
    { name: 'members-none', why: 'An empty object has thirteen members that are null.', input: '{}' },
    {
      name: 'members-unknown',
      why: 'Other members of the root are not hashed.',
      input: '{"id":"a","extra":1,"Type":"x","tags":["b"],"__proto__":{"type":"y"},"constructor":null}',
    },
    {
      name: 'members-unknown-not-judged',
      why: 'What is not hashed is not held to the number rule.',
      input: '{"extra":[1.0,1e400,-0],"id":"a"}',
    },
    {
      name: 'members-unknown-deeper',
      why: 'Unknown members of sections are hashed, and missing ones are not added.',
      input: '{"trigger":{"extra":1,"type":"agent"},"outcome":{}}',
    },
  ],
  refused: [
    notExact(
      'number-fraction-of-zeros',
      'JavaScript prints 1 here.',
      '{"outcome":{"metrics":{"score":1.0}}}',
    ),
    notExact('number-trailing-zero', 'JavaScript prints 2.5 here.', '[2.50]'),
    notExact('number-minus-zero', 'JavaScript prints 0 here.', '[[],[-0]]'),
    notExact('number-minus-zero-at-a-float-path', 'It prints 0.0.', '{"reasoning":{"confidence":-0.0}}'),
    notExact('number-inexact-integer', 'The last digit would be lost.', '{"sequence":9007199254740993}'),
    notExact('number-too-many-digits', 'Digits would be lost.', '[0.1000000000000000055511151231257827]'),
    notExact('number-capital-e', 'JavaScript prints 1e+21.', '[1E+21]'),
    notExact('number-exponent-without-sign', 'JavaScript prints 1e+21.', '[1e21]'),
    notExact('number-needless-exponent', 'JavaScript prints 0.00001.', '[1e-5]'),
    notExact('number-missing-exponent', 'JavaScript prints 1e-7.', '[0.0000001]'),
    notExact('number-padded-exponent', 'JavaScript prints 1e-7.', '[{"a":1e-07}]'),
    notExact(
      'float-path-two-zeros',
      'Only 1 and 1.0 are accepted at a float path.',
      '{"reasoning":{"options":[{"feasibility":1},{"feasibility":1.00}]}}',
    ),
    notExact('float-path-look-alike', 'This is not at the path.', '{"context":{"confidence":1.0}}'),
    {
      name: 'number-overflow',
      why: 'A number beyond the range of doubles has no form.',
      input: '{"outcome":{"metrics":{"cost":1e309}}}',
      code: 'CANON_NOT_FINITE',
    },
    {
      name: 'nan-token',
      why: 'NaN has no form.',
      allow: ['non-finite'],
      input: '{"reasoning":{"confidence":NaN}}',
      code: 'CANON_NOT_FINITE',
    },
    ...strict,
  ],
};
