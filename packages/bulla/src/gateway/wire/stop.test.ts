import { expect, test } from 'vitest';
import { Stop } from './stop.ts';

test.each([
  ['before somebody asked for the signal', true],
  ['afterwards', false],
])('what is stopped stays stopped: %s', (_, isFirst) => {
  const stop = new Stop();
  const told: string[] = [];
  if (!isFirst) stop.signal.addEventListener('abort', () => told.push('aborted'));
  stop.abort();
  stop.abort();
  expect(stop.signal.aborted).toBe(true);
  expect(stop.signal).toBe(stop.signal);
  expect(told).toEqual(isFirst ? [] : ['aborted']);
});

test('what is not stopped goes on', () => {
  expect(new Stop().signal.aborted).toBe(false);
});
