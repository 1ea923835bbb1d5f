import fc from 'fast-check';
import { describe, expect, inject, it, test } from 'vitest';
import { Gatherer } from './gather.ts';

describe('Gatherer', () => {
  it('gives what came, if it was not too much, and begins anew', () => {
    const part = fc.uint8Array({ maxLength: 6000 });
    fc.assert(
      fc.property(
        fc.array(fc.array(part, { maxLength: 5 }), { maxLength: 4 }),
        fc.nat(20_000),
        (rounds, max) => {
          const gatherer = new Gatherer(max);
          for (const parts of rounds) {
            for (const bytes of parts) gatherer.add(bytes);
            const all = Buffer.concat(parts);
            expect(gatherer.isOver).toBe(all.length > max);
            const taken = gatherer.take();
            if (all.length > max) expect(taken).toBe(null);
            else expect(Buffer.from(taken!).equals(all)).toBe(true);
          }
        },
      ),
      { numRuns: 100 * inject('soak') },
    );
  });
});

test('a large message is given away, and the next one does not touch it', () => {
  const gatherer = new Gatherer(4 * 1024 * 1024);
  const part = new Uint8Array(3 * 1024 * 1024).fill(1);
  gatherer.add(part);
  expect(gatherer.isEmpty).toBe(false);
  const first = gatherer.take()!;
  expect(gatherer.isEmpty).toBe(true);
  gatherer.add(new Uint8Array(part.length).fill(2));
  expect(first).toEqual(part);
  expect(gatherer.take()!.every((byte) => byte === 2)).toBe(true);
});
