import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasVectors, readText } from '#test-files';
import { BullaError } from '../error.ts';
import { parse, pointer } from '../json/index.ts';
import { parseCapsuleUri, resolveFragment } from './index.ts';

const hash = '8c71e187dfbffca067265f576d9fb72ee8a223c3dff801dd7c5dd8fcb915f2cd';
const id = 'a1b2c3d4-e5f6-7890-abcd-ef1234567890';

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof BullaError) return error.code;
    throw error;
  }
  return 'ok';
}
/** Which part of a URI is refused: one code for all, so the sentence tells. */
const PARTS: readonly (readonly [sentence: RegExp, part: string])[] = [
  [/^A capsule URI starts with/, 'SCHEME'],
  [/^A reference (?:is|has)/, 'REFERENCE'],
  [/^This is not the name of a chain/, 'CHAIN'],
  [/^A hash is/, 'HASH'],
  [/^A sequence is/, 'SEQUENCE'],
  [/fragment|tilde/i, 'FRAGMENT'],
];
function refused(uri: string): string {
  try {
    parseCapsuleUri(uri);
    return 'ok';
  } catch (error) {
    if (!(error instanceof BullaError) || error.code !== 'CAPSULE_URI') throw error;
    return PARTS.find(([sentence]) => sentence.test(error.message))?.[1] ?? error.message;
  }
}

describe.skipIf(!hasVectors)('the published URIs', () => {
  interface Fixtures {
    valid: { name: string; uri: string; expected: object }[];
    invalid: { name: string; uri: string }[];
  }
  test('10 parse exactly and 11 are refused', async () => {
    const { valid, invalid } = JSON.parse(await readText('capsule/uri.json')) as Fixtures;
    expect([valid.length, invalid.length]).toEqual([10, 11]);
    for (const { name, uri, expected } of valid) expect(parseCapsuleUri(uri), name).toEqual(expected);
    expect(Object.fromEntries(invalid.map(({ name, uri }) => [name, refused(uri)]))).toEqual({
      wrong_scheme: 'SCHEME',
      hash_too_short: 'HASH',
      hash_too_long: 'HASH',
      hash_uppercase: 'HASH',
      hash_non_hex: 'HASH',
      unknown_hash_algorithm: 'REFERENCE',
      empty_uri: 'SCHEME',
      scheme_only: 'REFERENCE',
      invalid_uuid: 'REFERENCE',
      fragment_traversal: 'FRAGMENT',
      negative_sequence: 'SEQUENCE',
    });
  });
});

describe('what the scheme leaves open', () => {
  test('a UUID may be in any case and in a chain, and comes back in lower case', () => {
    expect(parseCapsuleUri(`capsule://${id.toUpperCase()}`).id).toBe(id);
    expect(parseCapsuleUri(`capsule://bot/${id}`)).toMatchObject({ chain: 'bot', reference_type: 'id', id });
    expect(parseCapsuleUri(`capsule://${id}/7`)).toMatchObject({ chain: id, sequence: 7 });
  });

  test.each([
    ['CAPSULE://bot/1', 'SCHEME'],
    ['capsule:bot/1', 'SCHEME'],
    [' capsule://bot/1', 'SCHEME'],
    ['capsule://42', 'REFERENCE'],
    ['capsule://bot', 'REFERENCE'],
    ['capsule://bot/', 'REFERENCE'],
    ['capsule:///1', 'CHAIN'],
    [`capsule:///sha3_${hash}`, 'CHAIN'],
    ['capsule://bot/1/', 'REFERENCE'],
    ['capsule://a/b/1', 'REFERENCE'],
    ['capsule://bot/01', 'SEQUENCE'],
    ['capsule://bot/9007199254740992', 'SEQUENCE'],
    ['capsule://bot/1?x=1', 'REFERENCE'],
    ['capsule://bot/+1', 'REFERENCE'],
    ['capsule://bot/1\n', 'REFERENCE'],
    ['capsule://me@bot/1', 'CHAIN'],
    ['capsule://bot:80/1', 'CHAIN'],
    ['capsule://b%6Ft/1', 'CHAIN'],
    ['capsule://../1', 'CHAIN'],
    ['capsule://bôt/1', 'CHAIN'],
    [`capsule://sha3_${hash}/1`, 'CHAIN'],
    ['capsule://bot/1#', 'FRAGMENT'],
    ['capsule://bot/1#hash', 'FRAGMENT'],
    ['capsule://bot/1#/reasoning', 'FRAGMENT'],
    ['capsule://bot/1#reasoning/..', 'FRAGMENT'],
    ['capsule://bot/1#reasoning/./model', 'FRAGMENT'],
    ['capsule://bot/1#reasoning/%2e%2E/x', 'FRAGMENT'],
    ['capsule://bot/1#reasoning%2F..', 'FRAGMENT'],
    ['capsule://bot/1#context/~2', 'FRAGMENT'],
    ['capsule://bot/1#context/%ff', 'FRAGMENT'],
    ['capsule://bot/1#context/%zz', 'FRAGMENT'],
    ['capsule://bot/1#context/a#b', 'FRAGMENT'],
    ['capsule://bot/1#context/é', 'FRAGMENT'],
  ])('%s is refused: %s', (uri, code) => {
    expect(refused(uri)).toBe(code);
  });
});

describe('resolveFragment', () => {
  const text =
    '{"id":"x","context":{"environment":{"a/b":{"~":[10,{"k":"v"}]},"":null}},"reasoning":{"confidence":0.5}}';

  test('finds values in plain and parsed capsules', () => {
    for (const capsule of [JSON.parse(text), parse(text)]) {
      expect(resolveFragment(capsule, 'context/environment/a~1b/~0/1/k')).toBe('v');
      expect(resolveFragment(capsule, 'context/environment/')).toBe(null);
    }
    expect(resolveFragment(JSON.parse(text), 'reasoning/confidence')).toBe(0.5);
  });

  test.each([
    'outcome',
    'context/nothing',
    'context/environment/a~1b/~0/2',
    'context/environment/a~1b/~0/01',
    'reasoning/confidence/x',
    'context/toString',
    'context/__proto__',
  ])('%s is not there', (fragment) => {
    expect(codeOf(() => resolveFragment(JSON.parse(text), fragment))).toBe('CAPSULE_NOT_FOUND');
  });

  test('any path that is percent-encoded leads back to its value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer(), (key, value) => {
        fc.pre(key !== '.' && key !== '..' && key !== '__proto__');
        const path = encodeURIComponent(pointer(['context', 'environment', key]).slice(1)).replaceAll(
          '%2F',
          '/',
        );
        const uri = `capsule://sha3_${hash}#${path}`;
        expect(
          resolveFragment({ context: { environment: { [key]: value } } }, parseCapsuleUri(uri).fragment!),
        ).toBe(value);
      }),
    );
  });
});
