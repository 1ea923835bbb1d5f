import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { normalized } from './index.ts';
import type { Form } from './normalize.ts';

const FORMS: readonly Form[] = ['NFC', 'NFD', 'NFKC', 'NFKD'];

test('is what the engine makes of a text, whatever marks it has', () => {
  const mark = fc.oneof(
    fc.integer({ min: 0x300, max: 0x36f }).map((code) => String.fromCodePoint(code)),
    // Classes 0, 1, 8, 9, 10, 220 and 240, one that is two marks, and letters that become marks.
    fc.constantFrom(...'\u034f\u20dd\u0334\u3099\u094d\u05b0\u0316\u0345\u0344\uff9e\uff9f\u{1d165}\u09be'),
    fc.constantFrom('a', 'か', '\u1ea5', '\ufb2c'),
  );
  const text = fc.array(mark, { maxLength: 200, size: 'max' }).map((marks) => marks.join(''));
  fc.assert(
    fc.property(text, fc.constantFrom(...FORMS), (text, form) => {
      expect(normalized(text, form)).toBe(text.normalize(form));
    }),
    { numRuns: 500 * inject('soak') },
  );
});

test('knows every character whose decomposition begins with a mark that has a class', () => {
  const missed: string[] = [];
  for (let code = 0x80; code <= 0x10ffff; code++) {
    if ((code >= 0xac00 && code <= 0xdfff) || (code >= 0x3400 && code <= 0x9fff)) continue;
    if (code === 0x20000) code = 0xe0000;
    const character = String.fromCodePoint(code);
    const [first] = character.normalize('NFKD');
    const hasClass = first === '\u0345' || `\u0345${first}`.normalize('NFD') !== `\u0345${first}`;
    if (hasClass && !/^[\p{M}\uff9e\uff9f]$/u.test(character)) missed.push(code.toString(16));
  }
  expect(missed).toEqual([]);
});

test('takes 600,000 marks on one letter, in the wrong order', () => {
  const n = 300_000;
  const [above, below] = ['\u0301'.repeat(n), '\u0316'.repeat(n)];
  expect(normalized(`a${above}${below}`, 'NFKD') === `a${below}${above}`).toBe(true);
  expect(normalized(`a${above}${below}`, 'NFC') === `\u00e1${below}${above.slice(1)}`).toBe(true);
  expect(
    normalized(`a${above}${'\uff9e'.repeat(n)}`, 'NFKC') === `\u00e1${'\u3099'.repeat(n)}${above.slice(1)}`,
  ).toBe(true);
});
