import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { isGone, write } from './streams.ts';

const failing = (code: string): Writable =>
  new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })),
  });

describe('writing', () => {
  test('to a reader that went away is silent, and nothing more is written', async () => {
    const stream = failing('EPIPE');
    await write(stream, 'a');
    expect(isGone(stream)).toBe(true);
    await write(stream, 'b');
  });

  test('that fails for another reason is an error with a code', async () => {
    const stream = failing('ENOSPC');
    await expect(write(stream, 'a')).rejects.toMatchObject({
      code: 'OUTPUT_UNWRITABLE',
      message: 'The output cannot be written (ENOSPC).',
    });
    expect(isGone(stream)).toBe(false);
  });
});
