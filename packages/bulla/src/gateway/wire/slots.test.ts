import { expect, test } from 'vitest';
import { Slots, weightOf } from './slots.ts';

test('reading waits while all slots are taken, or their messages are too long together', async () => {
  const slots = new Slots(3, 100);
  const ends: (() => void)[] = [];
  const work = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
  expect(slots.run(work, 60)).toBeUndefined();
  let hasRoom = false;
  const room = (slots.run(work, 60) as Promise<void>).then(() => {
    hasRoom = true;
  });
  await Promise.resolve();
  expect(hasRoom).toBe(false);
  ends.shift()!();
  await room;
  expect(slots.run(work)).toBeUndefined();
  expect(slots.run(work)).toBeInstanceOf(Promise);
  for (const end of ends) end();
  await slots.idle();
  expect(slots.run(async () => {}, 1000)).toBeInstanceOf(Promise);
  await slots.idle();
});

test('a message weighs what its values take in memory, not only its bytes', () => {
  const weight = (text: string) => weightOf(Buffer.from(text));
  expect(weight('{"a":"bcd"}')).toBe(11 + 2 * 128);
  expect(weight('{"a":[1,2,[]]}')).toBe(14 + 6 * 128);
  expect(weight(`[${'{},'.repeat(99)}{}]`)).toBe(301 + 201 * 128);
});
