import { expect, test } from 'vitest';
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
