import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { type DiffPart, wordDiff } from './index.ts';

const join = (parts: readonly DiffPart[], without: DiffPart['kind']) =>
  parts
    .filter(({ kind }) => kind !== without)
    .map(({ text }) => text)
    .join('');
const show = (parts: readonly DiffPart[]) =>
  parts
    .map(({ kind, text }) => ({ same: text, removed: `[-${text}-]`, added: `{+${text}+}` })[kind])
    .join('');

describe('wordDiff', () => {
  test.each([
    ['', '', ''],
    ['', 'new', '{+new+}'],
    ['old', '', '[-old-]'],
    ['Reads a file.', 'Reads a file.', 'Reads a file.'],
    ['Reads a file from disk.', 'Reads any file from disk.', 'Reads [-a-]{+any+} file from disk.'],
    [
      'Reads a file.',
      'Reads a file and sends it to https://x.io.',
      'Reads a file{+ and sends it to https://x.io+}.',
    ],
    ['the quick brown fox', 'a slow red fox', '[-the quick brown-]{+a slow red+} fox'],
    ['don\u200bt', 'dont', '[-don\u200bt-]{+dont+}'],
    ['日本語の文', '日本の文', '日本[-語-]の文'],
    ['e\u0301a', 'ea', '[-e\u0301a-]{+ea+}'],
    ['a  b', 'a b', 'a[-  -]{+ +}b'],
  ])('%j to %j', (before, after, expected) => {
    expect(show(wordDiff(before, after))).toBe(expected);
  });

  test('gives both texts back, exactly, whatever they are', () => {
    const word = fc.constantFrom(
      'a',
      'b',
      'c',
      ' ',
      '  ',
      '\n',
      '.',
      'né',
      '漢',
      '\u0301',
      '\ud800',
      '👩\u200d👩',
    );
    const text = fc.oneof(
      fc.array(word, { maxLength: 60 }).map((words) => words.join('')),
      fc.string({ unit: 'binary', maxLength: 40 }),
    );
    fc.assert(
      fc.property(text, text, (before, after) => {
        const parts = wordDiff(before, after);
        expect(join(parts, 'added')).toBe(before);
        expect(join(parts, 'removed')).toBe(after);
        expect(parts.every((part) => part.text !== '')).toBe(true);
        expect(parts.every((part, i) => part.kind !== parts[i + 1]?.kind)).toBe(true);
      }),
      { numRuns: 3000 * inject('soak') },
    );
  });

  test('finds a shortest difference: no longer than the one found by dynamic programming', () => {
    // Each letter is a word where a script has no spaces.
    const words = fc.array(fc.constantFrom('あ', 'い', 'う', 'え'), { maxLength: 12 });
    fc.assert(
      fc.property(words, words, (a, b) => {
        const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
        for (let i = 1; i <= a.length; i++) {
          for (let j = 1; j <= b.length; j++) {
            table[i]![j] =
              a[i - 1] === b[j - 1]
                ? table[i - 1]![j - 1]! + 1
                : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
          }
        }
        const same = wordDiff(a.join(''), b.join(''))
          .filter(({ kind }) => kind === 'same')
          .map(({ text }) => text.length);
        expect(same.reduce((sum, n) => sum + n, 0)).toBe(table[a.length]![b.length]);
      }),
      { numRuns: 2000 },
    );
  });
});

/** Words that repeat in no simple order. */
function words(count: number, kinds: number, seed: number): string {
  let out = '';
  for (let i = 0, x = seed; i < count; i++) {
    x = (x * 1103515245 + 12345) & 0x7fffffff;
    out += `w${(x >> 8) % kinds} `;
  }
  return out;
}

describe('texts of hundreds of kilobytes', () => {
  test.each([
    ['all different', words(30_000, 5000, 1), words(30_000, 5000, 2)],
    ['few words, other order', words(60_000, 3, 1), words(60_000, 3, 2)],
    ['shifted', 'a b '.repeat(50_000), 'b a '.repeat(50_000)],
    ['one long word', 'x'.repeat(200_000), 'y'.repeat(200_000)],
    ['marks', '\u0301'.repeat(100_000), '!\u0301'.repeat(50_000)],
  ])('%s: still exact', (_, before, after) => {
    const parts = wordDiff(before, after);
    expect(join(parts, 'added') === before).toBe(true);
    expect(join(parts, 'removed') === after).toBe(true);
  });

  test('many small edits over the limit are still told one by one, between words that occur once', () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `line${i} reads the file and returns it`);
    const edited = lines.map((line, i) => (i % 3 === 0 ? line.replace('reads', 'writes') : line));
    const parts = wordDiff(lines.join('\n'), edited.join('\n'));
    expect(parts.filter(({ kind }) => kind === 'added').map(({ text }) => text)).toEqual(
      Array.from({ length: 1000 }, () => 'writes'),
    );
  });
});
