import { expect, test } from 'vitest';
import { BullaError, failureOf, pointer } from './error.ts';

test('a path is written as a JSON Pointer with ~ and / escaped', () => {
  expect(pointer([])).toBe('');
  expect(pointer(['a/b', 0, 'c~d'])).toBe('/a~1b/0/c~0d');
});

test('an error carries its code, path and offset, and only those that are known', () => {
  const error = new BullaError('X_Y', 'A sentence.', { path: '/a', offset: 3 });
  expect({ ...error }).toEqual({ name: 'BullaError', code: 'X_Y', path: '/a', offset: 3 });
  expect('path' in new BullaError('X', 'y')).toBe(false);
  expect(error).toBeInstanceOf(Error);
});

test('a failure stands in a record by its code or its class, never by its words', () => {
  const secret = '401 for token sk-123';
  const named = Object.assign(new Error(secret), { name: 'sk-123' });
  expect(
    [
      new BullaError('STORE_FULL', secret),
      new BullaError(secret, secret),
      new RangeError(secret),
      new DOMException(secret, 'AbortError'),
      named,
      secret,
      null,
      { code: secret, message: secret },
    ].map(failureOf),
  ).toEqual(['STORE_FULL', 'BullaError', 'RangeError', 'AbortError', 'Error', 'Error', 'Error', 'Error']);
});
