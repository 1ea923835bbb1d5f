import { expect, test } from 'vitest';
import { questionId } from './consent.ts';

const open = ['6b1f0c1e-0000', '6b1f9999-0000', 'a1b2c3d4-0000', 'a1b2'];

test.each([
  ['6b1f0c1e-0000', '6b1f0c1e-0000'],
  ['6b1f0', '6b1f0c1e-0000'],
  ['6b1f9…', '6b1f9999-0000'],
  ['a1b2c...', 'a1b2c3d4-0000'],
  // A whole id is that one, whatever else begins with it.
  ['a1b2', 'a1b2'],
  // What is not open, or too short to be meant, is left to be refused.
  ['ffff', 'ffff'],
  ['6b1', '6b1'],
  ['', ''],
])('%j is %j', (given, id) => {
  expect(questionId(given, open)).toBe(id);
});

test('what could be several is refused, and they are named', () => {
  expect(() => questionId('6b1f…', open)).toThrow(
    expect.objectContaining({
      code: 'CONSENT_AMBIGUOUS',
      message: '6b1f could be any of 6b1f0c1e-0000, 6b1f9999-0000.',
    }),
  );
});
