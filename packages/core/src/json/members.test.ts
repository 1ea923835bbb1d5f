import { describe, expect, test } from 'vitest';
import type { BullaError } from '../error.ts';
import { isCaseTwin, Member, oneCode, type Reading } from './members.ts';
import { parse } from './parse.ts';

const READING: Reading = {
  codes: {
    type: 'MANIFEST_FIELD_TYPE',
    value: 'MANIFEST_SENSITIVITY',
    unknown: 'MANIFEST_FIELD_UNKNOWN',
    missing: 'MANIFEST_FIELD_MISSING',
    twin: 'LOCK_CASE_TWIN',
  },
};

function refusal(run: () => unknown): [string, string | undefined, string] {
  try {
    run();
  } catch (error) {
    const { code, path, message } = error as BullaError;
    return [code, path, message];
  }
  throw new Error('Nothing was refused.');
}

const member = (text: string, reading = READING) => new Member(parse(text), reading);

describe('the members of an object', () => {
  const fields = { required: ['name', 'size'], optional: ['kind'], others: ['version'] };
  test.each([
    ['[]', ['MANIFEST_FIELD_TYPE', '', 'This must be an object.']],
    ['{"name":1,"size":2,"a/b":3}', ['MANIFEST_FIELD_UNKNOWN', '/a~1b', 'There is no member "a/b" here.']],
    ['{"name":1,"Size":2}', ['LOCK_CASE_TWIN', '/Size', 'The member "Size" could be taken for another.']],
    ['{"ſize":2}', ['LOCK_CASE_TWIN', '/ſize', 'The member "ſize" could be taken for another.']],
    ['{"Kind":2}', ['LOCK_CASE_TWIN', '/Kind', 'The member "Kind" could be taken for another.']],
    ['{"Version":2}', ['LOCK_CASE_TWIN', '/Version', 'The member "Version" could be taken for another.']],
    ['{"version":2}', ['MANIFEST_FIELD_UNKNOWN', '/version', 'There is no member "version" here.']],
    ['{"name":1}', ['MANIFEST_FIELD_MISSING', '/size', 'The member "size" is missing.']],
  ])('%s is refused', (text, expected) => {
    expect(refusal(() => member(text).record(fields))).toEqual(expected);
  });

  test('a twin is unknown where it has no code of its own', () => {
    const twin = member('{"Name":1}', oneCode('EE_AO_INVALID'));
    expect(refusal(() => twin.record({ required: ['name'] }))[0]).toBe('EE_AO_INVALID');
  });

  test('a long key is cut in the sentence', () => {
    const text = JSON.stringify({ [`${'x'.repeat(63)}😀${'y'.repeat(1000)}`]: 1 });
    expect(refusal(() => member(text).record({ required: [] }))[2].length).toBeLessThan(120);
  });
});

const DOCUMENT = '{"a":["x",1],"t":"word","n":null,"b":false,"d":12,"e":1e3,"big":9007199254740993,"neg":-1}';

describe('a value', () => {
  const at = (key: string) => member(DOCUMENT).get(key);
  test('is read by its type', () => {
    expect(at('t').text()).toBe('word');
    expect(at('t').word(['other', 'word'])).toBe('word');
    expect(at('n').orNull((value) => value.text())).toBeNull();
    expect(at('b').boolean()).toBe(false);
    expect(at('d').natural()).toBe(12);
    expect(at('a').list()[1]!.natural()).toBe(1);
    expect(member(DOCUMENT).maybe('t', (value) => value.text())).toEqual({ t: 'word' });
    expect(member(DOCUMENT).maybe('none', (value) => value.text())).toEqual({});
    expect(member(DOCUMENT).optional('none', (value) => value.text())).toBeNull();
  });

  test.each<[string, (value: Member) => unknown, string[]]>([
    ['d', (value) => value.text(), ['MANIFEST_FIELD_TYPE', '/d', 'This must be a string.']],
    ['none', (value) => value.text(), ['MANIFEST_FIELD_MISSING', '/none', 'The member "none" is missing.']],
    ['a', (value) => value.texts(), ['MANIFEST_FIELD_TYPE', '/a/1', 'This must be a string.']],
    ['t', (value) => value.list(), ['MANIFEST_FIELD_TYPE', '/t', 'This must be a list.']],
    ['a', (value) => value.get('x'), ['MANIFEST_FIELD_TYPE', '/a', 'This must be an object.']],
    ['t', (value) => value.word(['a', 'b']), ['MANIFEST_SENSITIVITY', '/t', 'This must be one of a, b.']],
    ['t', (value) => value.fitting(() => false, 'No.'), ['MANIFEST_SENSITIVITY', '/t', 'No.']],
    ['b', (value) => value.flag(), ['MANIFEST_FIELD_TYPE', '/b', 'This must be true, or left out.']],
    ['n', (value) => value.boolean(), ['MANIFEST_FIELD_TYPE', '/n', 'This must be true or false.']],
    [
      'e',
      (value) => value.natural('bytes'),
      ['MANIFEST_FIELD_TYPE', '/e', 'This must be a whole number of bytes.'],
    ],
    ['big', (value) => value.natural(), ['MANIFEST_FIELD_TYPE', '/big', 'This must be a whole number.']],
    ['neg', (value) => value.natural(), ['MANIFEST_FIELD_TYPE', '/neg', 'This must be a whole number.']],
  ])('%s is refused where something else is expected', (key, read, expected) => {
    expect(refusal(() => read(at(key)))).toEqual(expected);
  });
});

test('a twin differs only in case, also by the letters that Unicode folds to s and k', () => {
  expect(isCaseTwin('toolſ', 'tools')).toBe(true);
  expect(isCaseTwin('\u212aey', 'key')).toBe(true);
  expect(isCaseTwin('tools', 'tools')).toBe(false);
  expect(isCaseTwin('tool_s', 'tools')).toBe(false);
});
