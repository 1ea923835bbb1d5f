import type { Case, Refusal } from './case.ts';

// What every profile has in common. Objects stand inside arrays here, so that no rule about root members and no
// float path touches them; all numbers are short integers, all keys sort the same under every order.

export const structure: readonly Case[] = [
  {
    name: 'white-space',
    why: 'White space between tokens is not written.',
    input: ' [ 1 ,\t{ "a" :\r\n2 , "b":[ true ] } ]\n',
  },
  {
    name: 'empty-containers',
    why: 'An empty object is {} and an empty array is [].',
    input: '[ { } , [ ] , [ [\n] ] , {"a" : { } } ]',
  },
  { name: 'literals', why: 'true, false and null stand as they are.', input: '[true,false,null]' },
  { name: 'short-integers', why: 'A short integer stands as it is.', input: '[0,7,-1,1234567890]' },
  { name: 'array-order', why: 'The elements of an array keep their order.', input: '[3,1,2,"b","a",[2,1]]' },
  {
    name: 'nested-key-order',
    why: 'The keys of every object are sorted, at every depth.',
    input: '[{"b":[{"d":1,"c":2}],"a":{"f":{"h":3,"g":4},"e":5}}]',
  },
  { name: 'root-string', why: 'The root may be a string.', input: ' "text" ' },
  { name: 'root-null', why: 'The root may be null.', input: 'null' },
];

/** Strict JSON comes before every profile; the whole set of its rules is in the file of the parser. */
export const strict: readonly Refusal[] = [
  {
    name: 'duplicate-key',
    why: 'A key must not occur twice in one object.',
    input: '[{"a":1,"b":2,"a":1}]',
    code: 'JSON_DUPLICATE_KEY',
  },
  {
    name: 'lone-surrogate',
    why: 'An escape must not stand for half of a surrogate pair.',
    input: String.raw`["x\ud83d"]`,
    code: 'JSON_LONE_SURROGATE',
  },
  {
    name: 'byte-order-mark',
    why: 'The text must not begin with a byte order mark.',
    input: '\ufeff[]',
    code: 'JSON_BOM',
  },
  {
    name: 'invalid-utf8',
    why: 'The text must be valid UTF-8.',
    input_hex: '5b22c328225d',
    code: 'JSON_INVALID_UTF8',
  },
  {
    name: 'two-values',
    why: 'Nothing may follow the value.',
    input: '[] []',
    code: 'JSON_TRAILING_DATA',
  },
];
