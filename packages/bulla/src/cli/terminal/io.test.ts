import { expect, test } from 'vitest';
import { blanksCounted } from './io.ts';

test('blanks that could push a text into a line of its own are counted', () => {
  expect(blanksCounted(`host${' '.repeat(70)}verified  answer`)).toBe('host⟨70 × U+0020⟩verified  answer');
  expect(blanksCounted(`a${' '.repeat(8)}b`)).toBe(`a${' '.repeat(8)}b`);
});
