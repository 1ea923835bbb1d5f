import fc from 'fast-check';
import { expect, test } from 'vitest';
import { skeleton } from '../text/index.ts';
import { plainLook } from './names.ts';

test('the look of a plain name is its skeleton', () => {
  const letters = fc.constantFrom(...'abilmnorvw01_:'.split(''));
  fc.assert(
    fc.property(fc.array(letters), fc.array(letters), (a, b) => {
      const [x, y] = [a.join(''), b.join('')];
      expect(plainLook(x) === plainLook(y)).toBe(skeleton(x) === skeleton(y));
    }),
  );
  for (const name of ['rn', 'rrn', 'vvv', 'l1st', '0', 'a:b_c'])
    expect(skeleton(plainLook(name))).toBe(skeleton(name));
});
