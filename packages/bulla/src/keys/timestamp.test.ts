import { expect, test } from 'vitest';
import { isTimestamp, readTime, timestamp } from './timestamp.ts';

test('times are written as Python writes them', () => {
  expect(timestamp(new Date(Date.UTC(2026, 0, 31, 12, 0, 0)))).toBe('2026-01-31T12:00:00+00:00');
  expect(timestamp(new Date(Date.UTC(2026, 0, 31, 12, 0, 0, 7)))).toBe('2026-01-31T12:00:00.007000+00:00');
  for (const bad of [new Date(Number.NaN), new Date(8e15)])
    expect(() => timestamp(bad)).toThrow(expect.objectContaining({ code: 'KEYRING_TIME' }));
});

test.each([
  ['2026-02-28T23:59:59+00:00', true],
  ['2026-02-28T23:59:59.123456+00:00', true],
  ['2026-02-29T00:00:00+00:00', false],
  ['2024-02-29T00:00:00+00:00', true],
  ['2026-02-28T24:00:00+00:00', false],
  ['2026-02-28T23:59:60+00:00', false],
  ['2026-02-28T23:59:59.123+00:00', false],
  ['2026-02-28T23:59:59Z', false],
  ['2026-02-28T23:59:59+01:00', false],
  ['2026-02-28 23:59:59+00:00', false],
  ['2026-02-28T23:59:59+00:00\n', false],
])('%j is a time of the keyring: %s', (text, expected) => {
  expect(isTimestamp(text)).toBe(expected);
});

test('written times sort as the times do', () => {
  const dates = [0, 1, 999, 1000, 1001, 60_000].map((ms) => new Date(Date.UTC(2026, 0, 1) + ms));
  const texts = dates.map(timestamp);
  expect(texts.toReversed().sort()).toEqual(texts);
});

test('people may give any offset, but only times that exist', () => {
  expect(readTime('2026-01-31T12:00:00.5+02:00').toISOString()).toBe('2026-01-31T10:00:00.500Z');
  expect(readTime('2026-01-31T12:00:00Z').toISOString()).toBe('2026-01-31T12:00:00.000Z');
  for (const bad of [
    '2026-01-31',
    'yesterday',
    '2026-02-30T00:00:00Z',
    '2026-01-31T12:00:00',
    '2026-01-31T12:00:00+24:00',
  ])
    expect(() => readTime(bad), bad).toThrow(expect.objectContaining({ code: 'KEYRING_TIME' }));
});
