import { expect, test } from 'vitest';
import { Deaths } from './deaths.ts';

test('a server is started again at once, then later each time, and not after five ends in a minute', () => {
  let now = 0;
  const deaths = new Deaths(() => now);
  expect(deaths.delayMs()).toBe(0);
  const delays = [];
  for (let i = 0; i < 4; i++) {
    expect(deaths.add()).toBe(true);
    delays.push(deaths.delayMs());
    now += 100;
  }
  expect(delays).toEqual([0, 1000, 2000, 4000]);
  expect(deaths.delayMs()).toBe(3900);
  expect(deaths.add()).toBe(false);
});

test('ends of more than a minute ago do not count', () => {
  let now = 0;
  const deaths = new Deaths(() => now);
  for (let i = 0; i < 20; i++) {
    expect(deaths.add()).toBe(true);
    now += 20_000;
  }
  now += 60_000;
  expect(deaths.add()).toBe(true);
  expect(deaths.delayMs()).toBe(0);
});
