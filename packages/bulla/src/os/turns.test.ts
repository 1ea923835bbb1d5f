import { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import { untilSettled } from './turns.ts';

test('what others came before is tried again, however slow the machine is', async () => {
  let clock = 0;
  let attempts = 0;
  const done = await untilSettled(
    'MANIFEST_CONFLICT',
    async () => {
      clock += 10_000;
      if (++attempts < 12) throw new BullaError('MANIFEST_CONFLICT', 'Somebody was faster.');
      return 'mine';
    },
    () => clock,
  );
  expect([done, attempts]).toEqual(['mine', 12]);
});

test('any other failure ends it', async () => {
  let attempts = 0;
  const failing = untilSettled('MANIFEST_CONFLICT', async () => {
    attempts++;
    throw new BullaError('STORE_FULL', 'The disk is full.');
  });
  await expect(failing).rejects.toMatchObject({ code: 'STORE_FULL' });
  expect(attempts).toBe(1);
});
