import { describe, expect, test } from 'vitest';
import { nextVersion } from './version.ts';

describe('the version of a manifest', () => {
  test('is one more for each that is accepted, from 1 on', () => {
    expect([nextVersion(null), nextVersion(1), nextVersion(6)]).toEqual([1, 2, 7]);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER])('does not follow %d', (current) => {
    expect(() => nextVersion(current)).toThrow(expect.objectContaining({ code: 'MANIFEST_VERSION' }));
  });
});
