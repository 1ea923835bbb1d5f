import { expect, test } from 'vitest';
import { createJournal } from './journal.ts';

function made() {
  const lines: string[] = [];
  const clock = { ms: 1_000_000 };
  return { lines, clock, journal: createJournal({ write: (line) => lines.push(line), now: () => clock.ms }) };
}

test('lines of one kind are written twenty times, then counted, and told with the next one a minute later', () => {
  const { lines, clock, journal } = made();
  for (let i = 0; i < 10_000; i++) journal.note('409', `line ${i}`);
  expect(lines).toEqual(Array.from({ length: 20 }, (_, i) => `line ${i}`));
  clock.ms += 60_000;
  journal.note('409', 'later');
  journal.note('409', 'and again');
  expect(lines.slice(20)).toEqual(['409: 9980 further lines were left out', 'later']);
  journal.flush();
  journal.flush();
  expect(lines.slice(22)).toEqual(['409: 1 further lines were left out']);
});

test('kinds do not use up each other’s room, and what is kept is always written', () => {
  const { lines, journal } = made();
  for (let i = 0; i < 100; i++) journal.note('404', 'junk');
  journal.note('422', 'other');
  for (let i = 0; i < 100; i++) journal.keep(`new ${i}`);
  expect(lines).toHaveLength(20 + 1 + 100);
});

test('in a day of requests without pause a kind writes no more than two lines a minute', () => {
  const { lines, clock, journal } = made();
  for (let second = 0; second < 86_400; second++) {
    clock.ms += 1000;
    journal.note('200', 'again');
  }
  expect(lines.length).toBeLessThanOrEqual(20 + 2 * 1440);
});

test('a clock that was set back does not silence it', () => {
  const { lines, clock, journal } = made();
  for (let i = 0; i < 30; i++) journal.note('200', 'line');
  clock.ms -= 3_600_000;
  journal.note('200', 'line');
  clock.ms += 60_000;
  journal.note('200', 'last');
  expect(lines.at(-1)).toBe('last');
});
