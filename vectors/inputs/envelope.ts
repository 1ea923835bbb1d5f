import type { Suite } from './case.ts';
import { codePointKeys } from './order.ts';
import { plainStrings, surrogatesRefused } from './strings.ts';
import { strict, structure } from './structure.ts';

/** Both envelope profiles; they differ in the domain separator and in the prefix of the digest. */
export const envelope: Suite = {
  valid: [
    ...structure,
    {
      name: 'number-limits',
      why: 'Every integer within plus or minus 2^53-1 is accepted.',
      input: '[9007199254740991,-9007199254740991,9007199254740990,0,-1]',
    },
    {
      name: 'number-as-string',
      why: 'A larger amount is a string, and a string is not looked into.',
      input: '{"amount":"25000000000000000000","fee":"1e18","rate":"1.0"}',
    },
    ...plainStrings,
    ...codePointKeys,
    {
      name: 'metadata-dropped',
      why: 'The member metadata of the root is not hashed.',
      input: '{"nonce":"n-1","metadata":{"note":"not bound"},"chain_id":1}',
    },
    {
      name: 'metadata-absent',
      why: 'The digest is the same as with metadata.',
      input: '{"nonce":"n-1","chain_id":1}',
    },
    {
      name: 'metadata-not-judged',
      why: 'What is not hashed is not held to the number rule.',
      input: '{"metadata":{"score":0.5,"big":1e400,"zero":-0},"nonce":"n-2"}',
    },
    {
      name: 'metadata-of-any-type',
      why: 'The member metadata of the root is dropped whatever it holds.',
      input: '{"metadata":null}',
    },
    {
      name: 'metadata-deeper',
      why: 'Only the member of the root is dropped.',
      input: '{"action":{"metadata":{"kept":true}},"list":[{"metadata":1}]}',
    },
    {
      name: 'metadata-under-an-array',
      why: 'The root is an array, so nothing is dropped.',
      input: '[{"metadata":{"kept":true}}]',
    },
    {
      name: 'metadata-look-alikes',
      why: 'The name is compared exactly.',
      input: '{"Metadata":1,"metadata ":2,"meta":3,"metadata_":4,"hash":5}',
    },
    {
      name: 'metadata-spelled-with-an-escape',
      why: 'Names are compared after escapes are read.',
      input: String.raw`{"met\u0061data":{"note":"not bound"},"nonce":"n-3"}`,
    },
    {
      name: 'null-fields',
      why: 'A member that is null is written.',
      input: '{"policy":null,"valid":true,"expires_at":null,"approved":false}',
    },
  ],
  refused: [
    {
      name: 'number-fraction',
      why: 'A fraction is not an integer.',
      input: '{"amount":1.5}',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-fraction-of-zeros',
      why: 'An integer is written without a fraction, even one of zeros.',
      input: '{"action":{"value":2.0}}',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-exponent',
      why: 'An integer is written without an exponent.',
      input: '{"steps":[{"gas":21e3}]}',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-minus-zero',
      why: 'Zero has no sign.',
      input: '[0,-0]',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-above-the-limit',
      why: 'Integers end at 2^53-1.',
      input: '{"nonce":9007199254740992}',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-below-the-limit',
      why: 'Integers begin at -(2^53-1).',
      input: '{"a/b":{"m~n":[-9007199254740992]}}',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-far-above-the-limit',
      why: 'Integers end at 2^53-1, also where digits would be lost.',
      input: '[1000000000000000000000000000000]',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-overflow',
      why: 'An exponent is refused before the size matters.',
      input: '[1e400]',
      code: 'CANON_NUMBER',
    },
    {
      name: 'number-in-deeper-metadata',
      why: 'A deeper member named metadata is hashed, so it is held to the rule.',
      input: '{"action":{"metadata":{"score":0.5}}}',
      code: 'CANON_NUMBER',
    },
    {
      name: 'duplicate-key-in-metadata',
      why: 'Strict JSON comes first, so it also holds for what is dropped.',
      input: '{"metadata":{"a":1,"a":2}}',
      code: 'JSON_DUPLICATE_KEY',
    },
    {
      name: 'nan-token',
      why: 'NaN is not an integer.',
      allow: ['non-finite'],
      input: '{"nonce":NaN}',
      code: 'CANON_NUMBER',
    },
    ...surrogatesRefused,
    ...strict,
  ],
};
