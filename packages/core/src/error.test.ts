import { expect, test } from 'vitest';
import type { Code } from './codes.ts';
import { BullaError, failureOf, withoutSecrets } from './error.ts';

test('an error carries its code, path and offset, and only those that are known', () => {
  const error = new BullaError('JSON_SYNTAX', 'A sentence.', { path: '/a', offset: 3 });
  expect({ ...error }).toEqual({ name: 'BullaError', code: 'JSON_SYNTAX', path: '/a', offset: 3 });
  expect('path' in new BullaError('USAGE', 'y')).toBe(false);
  expect(error).toBeInstanceOf(Error);
});

test('a failure stands in a record by its code or its class, never by its words', () => {
  const secret = '401 for token sk-123';
  const named = Object.assign(new Error(secret), { name: 'sk-123' });
  expect(
    [
      new BullaError('STORE_FULL', secret),
      new BullaError(secret as Code, secret),
      new RangeError(secret),
      new DOMException(secret, 'AbortError'),
      named,
      secret,
      null,
      { code: secret, message: secret },
    ].map(failureOf),
  ).toEqual(['STORE_FULL', 'BullaError', 'RangeError', 'AbortError', 'Error', 'Error', 'Error', 'Error']);
});

test('a failure that cannot be looked at is one all the same', () => {
  const throws = () => {
    throw new Error('x');
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(
    [
      Object.defineProperty(new Error('x'), 'name', { get: throws }),
      Object.assign(new Error('x'), { name: ['TypeError'] }),
      proxy,
    ].map(failureOf),
  ).toEqual(['Error', 'Error', 'Error']);
});

test.each([
  ['postgres://u:pw@h/db', 'postgres://***@h/db'],
  ['postgress://u:pw@h is no store', 'postgress://***@h is no store'],
  ['There is nothing at "postgres:/u:pw@h/db".', 'There is nothing at "postgres:/***@h/db".'],
  ['//u:pw@h', '//***@h'],
  ['https://token@h/x', 'https://***@h/x'],
  [
    'postgres://h/db?user=u&password=pw&sslmode=require',
    'postgres://h/db?user=u&password=***&sslmode=require',
  ],
  ['https://h/?access_token=abc#x', 'https://h/?access_token=***#x'],
  ['https://127.0.0.1:4873/@scope/name', 'https://127.0.0.1:4873/@scope/name'],
  ['npx -y a@1.2.3 and me@example.com', 'npx -y a@1.2.3 and me@example.com'],
])('no error quotes a password: %s', (text, shown) => {
  expect(new BullaError('USAGE', text).message).toBe(shown);
});

test('a long text does not stall the hiding', () => {
  for (const part of ['://', ':/', '//', '?password', '&token=', 'a'])
    expect(withoutSecrets(part.repeat(300_000)).length).toBeGreaterThan(0);
});
