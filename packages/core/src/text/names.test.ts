import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROTOTYPES } from './confusables.ts';
import { mixedScript, skeleton } from './index.ts';
import { scriptSets } from './scripts.ts';

/** Whether two different texts can be taken for one another. */
const confusable = (a: string, b: string) => a !== b && skeleton(a) === skeleton(b);

test('the skeleton of a long name is that of its beginning, and the rest as it is', () => {
  const long = 'a'.repeat(1024);
  expect(skeleton(`${long}\u0410\ufdfa`)).toBe(`${long}\u0410\ufdfa`);
  expect(skeleton(`\u0410${long}`)).toBe(`${long}a`);
  // Each of these took most of a minute: one grows eighteenfold, the other has marks that must change places.
  expect(skeleton('\ufdfa'.repeat(100_000))).toHaveLength(
    100_000 - 1024 + skeleton('\ufdfa'.repeat(1024)).length,
  );
  const marks = `e${'\u0301'.repeat(100_000)}${'\u0316'.repeat(100_000)}`;
  expect(skeleton(marks)).toBe(marks);
});

describe('confusable', () => {
  test.each([
    ['Cyrillic a', 'pаypal', 'paypal'],
    ['capital i for l', 'paypaI', 'paypal'],
    ['one for l', 'fi1e', 'file'],
    ['zero for o', 'g0ogle', 'google'],
    ['rn for m', 'modern', 'modem'],
    ['vv for w', 'vvrite', 'write'],
    ['case', 'READ_FILE', 'read_file'],
    ['separators', 'read-file', 'read_file'],
    ['dots', 'read.file', 'read_file'],
    ['a dash that is none', 'read\u2010file', 'read-file'],
    ['fullwidth', 'ｒｅａｄ', 'read'],
    ['mathematical', '𝓻𝕖𝖆𝚍', 'read'],
    ['Greek', 'ΑΒΕΗΙΚΜΝΟΡΤΥΧΖ', 'ABEHIKMNOPTYXZ'],
    ['Cyrillic capitals', 'АВСЕНКМОРТХ', 'ABCEHKMOPTX'],
    ['Armenian', 'օռհսց', 'onhug'],
    ['Cherokee', 'ᎠᎡᎢᏀᎻᎳ', 'DRTGHW'],
    ['lunate sigma', 'Ϲode', 'Code'],
    ['an invisible character', 're\u200bad', 'read'],
    ['a ligature', 'ﬁle', 'file'],
    ['an accent on a look-alike', 'е\u0301', 'é'],
    ['a tag behind', 'read\u{e0041}', 'read'],
  ])('%s', (_, a, b) => {
    expect(skeleton(a)).toBe(skeleton(b));
    expect(confusable(a, b)).toBe(true);
  });

  test.each([
    ['read_file', 'write_file'],
    ['cafe', 'café'],
    ['a', 'b'],
    ['read', 'reed'],
    ['5', 'S'],
    ['東京', '京東'],
  ])('%s is not taken for %s', (a, b) => {
    expect(confusable(a, b)).toBe(false);
  });

  test('a name is not confusable with itself', () => {
    expect(confusable('read', 'read')).toBe(false);
  });

  test('every look-alike of the table has the skeleton of the character it stands for', () => {
    for (const [character, target] of PROTOTYPES) expect(skeleton(character)).toBe(skeleton(target));
    expect(PROTOTYPES.size).toBe(381);
  });

  test('a skeleton is its own skeleton, and case and invisible characters never count', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (text) => {
        expect(skeleton(skeleton(text))).toBe(skeleton(text));
        expect(skeleton(Array.from(text).join('\u200b'))).toBe(skeleton(text));
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), (ascii) => {
        expect(skeleton(ascii.toUpperCase())).toBe(skeleton(ascii));
      }),
    );
  });
});

describe('scripts', () => {
  test.each([
    ['read_file_2', false],
    ['pаypal', true],
    ['Ελλάδα', false],
    ['αlpha', true],
    ['東京タワーのそば', false],
    ['한국漢字', false],
    ['漢ㄅ', false],
    ['한の', true],
    ['漢a', true],
    ['ー', false],
    ['カー', false],
    ['१२', false],
    ['123-👍…', false],
    ['', false],
    ['e\u0301', false],
  ])('%s mixes scripts: %s', (text, mixed) => {
    expect(mixedScript(text)).toBe(mixed);
  });

  test('every letter that the engine knows has a script here', () => {
    const letters = /[\p{Script=Common}\p{Script=Inherited}\p{Script=Unknown}]/u;
    let without = 0;
    for (let point = 0x80; point <= 0x10ffff; point += point < 0x20000 ? 7 : 991) {
      const character = String.fromCodePoint(point);
      if (!letters.test(character) && /\p{L}/u.test(character) && scriptSets(character).length === 0)
        without++;
    }
    expect(without).toBe(0);
  });
});
