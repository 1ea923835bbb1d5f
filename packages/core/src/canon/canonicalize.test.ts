import { describe, expect, test } from 'vitest';
import { BullaError } from '../error.ts';
import { float, JsonObject, parse } from '../json/index.ts';
import {
  canonicalBytes,
  canonicalize,
  digest,
  type ProfileId,
  profile,
  profiles,
  sortNames,
} from './index.ts';

function refusal(run: () => unknown): [string, string | undefined] {
  try {
    run();
  } catch (error) {
    if (error instanceof BullaError) return [error.code, error.path];
    throw error;
  }
  throw new Error('accepted');
}

const ids = Object.keys(profiles) as ProfileId[];

describe('every profile', () => {
  test.each(ids)('%s writes compact JSON with sorted keys, the same for parsed and plain values', (id) => {
    const text = '{ "b" : [ true , null , "x" ] , "a" : { "d" : 2 , "c" : 1 } }';
    const members = id === 'cps-ts' ? canonicalize(new JsonObject(), id) : undefined;
    const expected = members ?? '{"a":{"c":1,"d":2},"b":[true,null,"x"]}';
    expect(canonicalize(parse(text), id)).toBe(expected);
    expect(canonicalize(JSON.parse(text), id)).toBe(expected);
  });

  test.each(ids)('%s refuses NaN, functions and class instances', (id) => {
    expect(refusal(() => canonicalize({ trigger: [Number.NaN] }, id))[1]).toBe('/trigger/0');
    expect(refusal(() => canonicalize({ trigger: () => 1 }, id))).toEqual(['VALUE_NOT_JSON', '/trigger']);
    expect(refusal(() => canonicalize(new Date(0), id))).toEqual(['VALUE_NOT_JSON', '']);
  });

  test('an unknown profile is an error', () => {
    expect(refusal(() => profile('JCS'))).toEqual(['CANON_UNKNOWN_PROFILE', undefined]);
    expect(refusal(() => profile('constructor'))).toEqual(['CANON_UNKNOWN_PROFILE', undefined]);
  });

  test('a plain value and an array at the root are written too', () => {
    expect(ids.map((id) => canonicalize('x', id))).toEqual(ids.map(() => '"x"'));
    expect(ids.map((id) => canonicalize([], id))).toEqual(ids.map(() => '[]'));
  });
});

/** What each profile writes for a number, by lexeme and as a plain value; a code where it refuses. */
function numberForms(input: string | number | bigint): Record<string, string> {
  const value = typeof input === 'string' ? parse(input) : input;
  return Object.fromEntries(
    (['jcs', 'cps', 'cps-ts', 'envelope-v1', 'mcptrust-v1', 'mcptrust-v1-go', 'mcptrust-v2'] as const).map(
      (id) => {
        try {
          return [id, canonicalize(value, id)];
        } catch (error) {
          return [id, (error as BullaError).code];
        }
      },
    ),
  );
}

describe('numbers', () => {
  test.each<[string | number | bigint, string, string, string, string, string, string, string]>([
    // input, jcs, cps, cps-ts, envelope-v1, mcptrust-v1, mcptrust-v1-go, mcptrust-v2
    ['1.0', '1', '1.0', 'CANON_NUMBER', 'CANON_NUMBER', '1.0', '1', '1'],
    ['-0', '0', '0', 'CANON_NUMBER', 'CANON_NUMBER', '-0', '-0', '0'],
    ['-0.0', '0', '-0.0', 'CANON_NUMBER', 'CANON_NUMBER', '-0.0', '-0', '0'],
    ['1E5', '100000', '100000.0', 'CANON_NUMBER', 'CANON_NUMBER', '1E5', '100000', '100000'],
    [
      '1e16',
      '10000000000000000',
      '1e+16',
      'CANON_NUMBER',
      'CANON_NUMBER',
      '1e16',
      '10000000000000000',
      '1e+16',
    ],
    ['1e-7', '1e-7', '1e-07', '1e-7', 'CANON_NUMBER', '1e-7', '1e-7', '1e-07'],
    ['0.00001', '0.00001', '1e-05', '0.00001', 'CANON_NUMBER', '0.00001', '0.00001', '1e-05'],
    [
      '1234567.5',
      '1234567.5',
      '1234567.5',
      '1234567.5',
      'CANON_NUMBER',
      '1234567.5',
      '1234567.5',
      '1.2345675e+06',
    ],
    [
      '9007199254740993',
      '9007199254740992',
      '9007199254740993',
      'CANON_NUMBER',
      'CANON_NUMBER',
      '9007199254740993',
      '9007199254740992',
      '9.007199254740992e+15',
    ],
    [
      '-9007199254740991',
      '-9007199254740991',
      '-9007199254740991',
      '-9007199254740991',
      '-9007199254740991',
      '-9007199254740991',
      '-9007199254740991',
      '-9007199254740991',
    ],
    [
      '1e400',
      'CANON_NOT_FINITE',
      'CANON_NOT_FINITE',
      'CANON_NOT_FINITE',
      'CANON_NUMBER',
      '1e400',
      'CANON_NOT_FINITE',
      'CANON_NOT_FINITE',
    ],
    [-0, '0', '0', '0', 'CANON_NUMBER', '-0', '-0', '0'],
    [1e21, '1e+21', '1e+21', '1e+21', 'CANON_NUMBER', '1e+21', '1e+21', '1e+21'],
    [0.5, '0.5', '0.5', '0.5', 'CANON_NUMBER', '0.5', '0.5', '0.5'],
    [1e-5, '0.00001', '1e-05', '0.00001', 'CANON_NUMBER', '0.00001', '0.00001', '1e-05'],
    [
      2n ** 64n,
      '18446744073709552000',
      '18446744073709551616',
      'CANON_NUMBER',
      'CANON_NUMBER',
      '18446744073709551616',
      '18446744073709552000',
      '1.8446744073709552e+19',
    ],
  ])('%s', (input, jcs, cps, cpsTs, envelope, v1, v1Go, v2) => {
    expect(numberForms(input)).toEqual({
      jcs,
      cps,
      'cps-ts': cpsTs,
      'envelope-v1': envelope,
      'mcptrust-v1': v1,
      'mcptrust-v1-go': v1Go,
      'mcptrust-v2': v2,
    });
  });

  test('a float that was written on purpose keeps its point in capsules', () => {
    expect(canonicalize({ a: float(1) }, 'cps')).toBe('{"a":1.0}');
  });

  test('the two float paths of a capsule always carry a point, and no other place does', () => {
    const capsule = {
      reasoning: { confidence: 1, options: [{ feasibility: 0, x: 1 }], feasibility: 1 },
      confidence: 1,
    };
    const expected =
      '{"confidence":1,"reasoning":{"confidence":1.0,"feasibility":1,"options":[{"feasibility":0.0,"x":1}]}}';
    expect(canonicalize(capsule, 'cps')).toBe(expected);
    expect(canonicalize(parse(JSON.stringify(capsule)), 'cps')).toBe(expected);
    expect(canonicalize(parse(JSON.stringify(capsule)), 'cps-python')).toBe(
      '{"confidence":1,"reasoning":{"confidence":1,"feasibility":1,"options":[{"feasibility":0,"x":1}]}}',
    );
    expect(JSON.parse(canonicalize(capsule, 'cps-ts'))).toMatchObject({
      id: null,
      reasoning: capsule.reasoning,
    });
    expect(canonicalize(parse('{"reasoning":{"confidence":-0}}'), 'cps')).toBe(
      '{"reasoning":{"confidence":0.0}}',
    );
    expect(canonicalize(parse('{"reasoning":{"confidence":-0.0}}'), 'cps')).toBe(
      '{"reasoning":{"confidence":-0.0}}',
    );
    const lookAlike = '{"reasoning":{"options":{"*":{"feasibility":1},"null":{"feasibility":1}}}}';
    expect(canonicalize(parse(lookAlike), 'cps')).toBe(lookAlike);
    expect(canonicalize({ reasoning: { confidence: 1e-5 } }, 'cps')).toBe(
      '{"reasoning":{"confidence":1e-05}}',
    );
  });

  test('NaN and Infinity are printed only by the profile that knows how, and only when asked', () => {
    const value = parse('[NaN,-Infinity,1e400]', { allow: ['non-finite'] });
    expect(canonicalize(value, 'cps-python', { nonFinite: true })).toBe('[NaN,-Infinity,Infinity]');
    expect(refusal(() => canonicalize(value, 'cps-python'))).toEqual(['CANON_NOT_FINITE', '/0']);
    for (const id of ids.filter((id) => id !== 'cps-python')) {
      expect(refusal(() => canonicalize(value, id, { nonFinite: true }))[1]).toBe('/0');
    }
  });
});

describe('strings', () => {
  const text = '<b>&\u2028\u2029\u007f\b\f\n\r\t\u0001"\\/é😀';
  const plain = '"<b>&\u2028\u2029\u007f\\b\\f\\n\\r\\t\\u0001\\"\\\\/é😀"';

  test.each(ids)('%s', (id) => {
    const html = id === 'mcptrust-v1' || id === 'mcptrust-v1-go';
    const expected = html
      ? '"\\u003cb\\u003e\\u0026\\u2028\\u2029\u007f\\b\\f\\n\\r\\t\\u0001\\"\\\\/é😀"'
      : plain;
    expect(canonicalize(text, id)).toBe(expected);
  });

  test('lone surrogates are escaped where JSON.stringify rules, refused elsewhere', () => {
    const escaping = ids.filter((id) => {
      try {
        return canonicalize(['\ud800'], id) === '["\\ud800"]';
      } catch (error) {
        expect(error).toMatchObject({ code: 'CANON_LONE_SURROGATE', path: '/0' });
        return false;
      }
    });
    expect(escaping).toEqual(['cps-ts', 'khora', 'khora-icu']);
    expect(refusal(() => canonicalize({ a: { '\udc00': 1 } }, 'jcs'))).toEqual([
      'CANON_LONE_SURROGATE',
      '/a',
    ]);
  });
});

describe('key order', () => {
  const order = (keys: string[], id: ProfileId) =>
    (parse(canonicalize(Object.fromEntries(keys.map((key) => [key, 0])), id)) as JsonObject).keys;

  test('astral characters stand after U+FFFD by code point, before it by UTF-16', () => {
    expect(order(['\u{1f600}', '\ufffd', '\ud7ff', 'a'], 'cps')).toEqual([
      'a',
      '\ud7ff',
      '\ufffd',
      '\u{1f600}',
    ]);
    expect(order(['\u{1f600}', '\ufffd', '\ud7ff', 'a'], 'jcs')).toEqual([
      'a',
      '\ud7ff',
      '\u{1f600}',
      '\ufffd',
    ]);
  });

  test('both orders hold for many keys too', () => {
    const keys = Array.from({ length: 500 }, (_, i) => String.fromCodePoint(0xe000 + ((i * 7919) % 0x12000)));
    const distinct = [...new Set(keys)];
    const byPoint = distinct.toSorted((a, b) => a.codePointAt(0)! - b.codePointAt(0)!);
    expect(order(distinct, 'cps')).toEqual(byPoint);
    expect(order(distinct, 'jcs')).toEqual(distinct.toSorted());
  });

  test('khora: array indices first, by number', () => {
    expect(order(['b', '10', '2', '4294967294', '4294967295', '01', '-1'], 'khora')).toEqual([
      '2',
      '10',
      '4294967294',
      '-1',
      '01',
      '4294967295',
      'b',
    ]);
    expect(order(['b', '10', '2'], 'jcs')).toEqual(['10', '2', 'b']);
  });

  test('khora-icu: the collation, without the help of the host', () => {
    expect(
      order(['B', 'a', '_x', 'A', 'b', '~t', '$y', 'x-z', 'x_z', 'a_b', 'ab', 'aB'], 'khora-icu'),
    ).toEqual(['_x', '~t', '$y', 'a', 'A', 'a_b', 'ab', 'aB', 'b', 'B', 'x_z', 'x-z']);
  });

  test('khora-icu: ties and names outside ASCII are refused, with the path of the object', () => {
    expect(refusal(() => canonicalize({ o: { a: 1, 'a\u0001': 2 } }, 'khora-icu'))).toEqual([
      'CANON_KEY',
      '/o',
    ]);
    expect(refusal(() => canonicalize([{ a: 1, é: 2 }], 'khora-icu'))).toEqual(['CANON_KEY', '/0']);
    expect(refusal(() => canonicalize([{ é: 2 }], 'khora-icu'))).toEqual(['CANON_KEY', '/0']);
  });

  test('names are sorted as keys are, without the place of array indices', () => {
    expect(sortNames(['b', '10', '2', 'B', 'b'], 'khora')).toEqual(['10', '2', 'B', 'b', 'b']);
    expect(sortNames(['b', '10', '2', 'B', 'b'], 'khora-icu')).toEqual(['10', '2', 'b', 'b', 'B']);
  });

  test('keys that are special to JavaScript are ordinary', () => {
    const text = '{"toString":1,"__proto__":{"constructor":2}}';
    expect(canonicalize(parse(text), 'jcs')).toBe('{"__proto__":{"constructor":2},"toString":1}');
    expect(canonicalize(JSON.parse(text), 'jcs')).toBe('{"__proto__":{"constructor":2},"toString":1}');
  });
});

describe('what is not hashed', () => {
  const sealed = {
    b: 1,
    hash: 'h',
    signature: 's',
    signature_pq: '',
    signed_at: null,
    signed_by: 'k',
    a: { hash: 1 },
  };

  test('the seal fields of a capsule, at the root only', () => {
    expect(canonicalize(sealed, 'cps')).toBe('{"a":{"hash":1},"b":1}');
    expect(canonicalize(parse(JSON.stringify(sealed)), 'cps-python')).toBe('{"a":{"hash":1},"b":1}');
    expect(canonicalize(sealed, 'jcs')).toContain('"signature":"s"');
  });

  test('the metadata of an envelope, at the root only', () => {
    expect(canonicalize({ z: 1, metadata: { x: 0.5 }, a: { metadata: 2 } }, 'envelope-v1')).toBe(
      '{"a":{"metadata":2},"z":1}',
    );
  });

  test('members that the TypeScript reference does not know; one that is missing counts as null', () => {
    expect(canonicalize({ id: 'x', extra: 1, outcome: { extra: 2 } }, 'cps-ts')).toBe(
      '{"authority":null,"context":null,"domain":null,"execution":null,"id":"x","outcome":{"extra":2},"parent_id":null,' +
        '"previous_hash":null,"reasoning":null,"sequence":null,"spec_version":null,"trigger":null,"type":null}',
    );
  });

  test('undefined properties, under khora alone', () => {
    expect(canonicalize({ b: undefined, a: { c: undefined } }, 'khora')).toBe('{"a":{}}');
    expect(refusal(() => canonicalize({ a: [undefined] }, 'khora'))).toEqual(['VALUE_NOT_JSON', '/a/0']);
    expect(refusal(() => canonicalize({ a: { c: undefined } }, 'jcs'))).toEqual(['VALUE_NOT_JSON', '/a/c']);
    expect(refusal(() => canonicalize({ a: undefined }, 'cps'))).toEqual(['VALUE_NOT_JSON', '/a']);
  });

  test('a symbol at the root is not lost when members are left out', () => {
    expect(refusal(() => canonicalize({ [Symbol('s')]: 1, metadata: 2 }, 'envelope-v1'))).toEqual([
      'VALUE_NOT_JSON',
      '',
    ]);
  });
});

describe('digests', () => {
  test('are the hash of the domain separator and the bytes', () => {
    expect(digest({}, 'jcs')).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
    expect(new TextDecoder().decode(canonicalBytes({ é: '😀' }, 'jcs'))).toBe('{"é":"😀"}');
    expect(digest({}, 'envelope-v1-nul')).toMatch(/^0x[0-9a-f]{64}$/);
  });
});

test('canonicalising is stable: its output is its own canonical form', () => {
  const value = parse('{"b":[1.5,{"z":"é","y":null}],"a":{"10":1,"9":2}}');
  for (const id of ids.filter((id) => id !== 'envelope-v1' && id !== 'envelope-v1-nul')) {
    const once = canonicalize(value, id);
    expect(canonicalize(parse(once), id)).toBe(once);
  }
});

test('nesting is limited, and the limit can be raised', () => {
  const deep = parse('['.repeat(5000) + ']'.repeat(5000), { maxDepth: 5000 });
  expect(refusal(() => canonicalize(deep, 'jcs'))[0]).toBe('VALUE_TOO_DEEP');
  expect(canonicalize(deep, 'jcs', { maxDepth: 5000 })).toBe('['.repeat(5000) + ']'.repeat(5000));
});
