import { expect, test } from 'vitest';
import type { BullaError } from '../error.ts';
import { parse } from '../json/index.ts';
import { commit, opens } from './index.ts';

const salt = new Uint8Array(32).fill(1);

test('is the HMAC of label, zero byte and canonical bytes', () => {
  // hmac.new(b'\x01'*32, b'bulla:args:v1\x00{"a":1,"b":"x"}', 'sha256')
  expect(commit('args', { b: 'x', a: 1 }, salt)).toBe(
    'e99e2f11f1e3b24dad46ce0c9ce90f0136d5f57bd1ce9ff245810a9edee32bb8',
  );
  expect(commit('args', parse('{"a":1.0,"b":"x"}'), salt)).toBe(commit('args', { b: 'x', a: 1 }, salt));
  const kinds = ['args', 'rest', 'result'] as const;
  expect(new Set(kinds.map((kind) => commit(kind, { b: 'x', a: 1 }, salt))).size).toBe(3);
});

test('is opened by the value and the salt alone', () => {
  const commitment = commit('args', { path: '/etc/passwd' }, salt);
  expect(opens(commitment, 'args', { path: '/etc/passwd' }, salt)).toBe(true);
  expect(opens(commitment, 'args', { path: '/etc/shadow' }, salt)).toBe(false);
  expect(opens(commitment, 'args', { path: '/etc/passwd' }, new Uint8Array(32).fill(2))).toBe(false);
  expect(opens(commitment, 'result', { path: '/etc/passwd' }, salt)).toBe(false);
});

test('refuses what would make two values share one commitment', () => {
  expect(() => commit('args', parse('{"n":[9007199254740993]}'), salt)).toThrow(
    expect.objectContaining({ code: 'COMMIT_INEXACT', path: '/n/0' }),
  );
  expect(() => commit('args', {}, new Uint8Array(16))).toThrow(
    expect.objectContaining({ code: 'COMMIT_SALT' }),
  );
});

test('finds the first inexact number wherever it stands, and nothing else', () => {
  const path = (value: unknown) => {
    try {
      return commit('args', value, salt).length;
    } catch (error) {
      return (error as BullaError).path;
    }
  };
  expect(path(parse('9007199254740993'))).toBe('');
  expect(path(parse('{"a":[1,{"b/c":0.1}],"d":[[],{"e":1e-400}]}'))).toBe('/d/1/e');
  expect(path({ a: [1.5, { b: 2n ** 53n + 1n }] })).toBe('/a/1/b');
  expect(path(parse('[1,-0,1.50,1e2,9007199254740992,123456789012345,0.1]'))).toBe(64);
});
