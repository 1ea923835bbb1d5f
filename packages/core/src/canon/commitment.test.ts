import { expect, test } from 'vitest';
import { parse } from '../json/index.ts';
import { commit, opens } from './index.ts';

const salt = new Uint8Array(32).fill(1);

test('is the HMAC of label, zero byte and canonical bytes', () => {
  // hmac.new(b'\x01'*32, b'bulla:args:v1\x00{"a":1,"b":"x"}', 'sha256')
  expect(commit('args', { b: 'x', a: 1 }, salt)).toEqual({
    commitment: 'e99e2f11f1e3b24dad46ce0c9ce90f0136d5f57bd1ce9ff245810a9edee32bb8',
    of: 'jcs',
  });
  expect(commit('args', parse('{"a":1.0,"b":"x"}'), salt)).toEqual(commit('args', { b: 'x', a: 1 }, salt));
  const kinds = ['args', 'rest', 'result', 'redacted-args', 'redacted-result'] as const;
  expect(new Set(kinds.map((kind) => commit(kind, { b: 'x', a: 1 }, salt).commitment)).size).toBe(5);
  // hmac.new(b'\x01'*32, b'bulla:redacted-args:v1\x00{"a":1,"b":"x"}', 'sha256')
  expect(commit('redacted-args', { b: 'x', a: 1 }, salt).commitment).toBe(
    '12c56e54fc235e3af32b7432cba45d43927d565a0c76f8404c8dc5da0a45b185',
  );
});

test('is opened by the value and the salt alone', () => {
  const made = commit('args', { path: '/etc/passwd' }, salt);
  expect(opens(made, 'args', { path: '/etc/passwd' }, salt)).toBe(true);
  expect(opens(made, 'args', { path: '/etc/shadow' }, salt)).toBe(false);
  expect(opens(made, 'args', { path: '/etc/passwd' }, new Uint8Array(32).fill(2))).toBe(false);
  expect(opens(made, 'result', { path: '/etc/passwd' }, salt)).toBe(false);
  expect(opens({ ...made, of: 'exact' }, 'args', { path: '/etc/passwd' }, salt)).toBe(false);
});

test('keeps the digits of a number that is no double, and halves of characters', () => {
  // hmac.new(b'\x01'*32, b'bulla:args:v1\x00{"a":1.0,"n":[9007199254740993]}', 'sha256')
  const made = commit('args', parse('{"n":[9007199254740993],"a":1.0}'), salt);
  expect(made).toEqual({
    commitment: '3d5bdcc7d8572bd36483a1be498295e21aa2a6a2c652c516d4c1098df03de4f0',
    of: 'exact',
  });
  expect(opens(made, 'args', parse('{"a":1.0,"n":[9007199254740993]}'), salt)).toBe(true);
  expect(opens(made, 'args', parse('{"a":1.0,"n":[9007199254740992]}'), salt)).toBe(false);
  const text = commit('result', 'half \ud800', salt);
  expect(text.of).toBe('exact');
  expect(opens(text, 'result', 'half \ud800', salt)).toBe(true);
  expect(opens(text, 'result', 'half \ud801', salt)).toBe(false);
});

test.each([
  ['9007199254740993', 'exact'],
  ['{"a":[1,{"b/c":0.1}],"d":[[],{"e":1e-400}]}', 'exact'],
  ['1e400', 'exact'],
  ['"\\ud800"', 'exact'],
  ['[1,-0,1.50,1e2,9007199254740992,123456789012345,0.1,null,"x",true]', 'jcs'],
])('the form of %s is %s', (text, of) => {
  expect(commit('args', parse(text, { allow: ['lone-surrogates'] }), salt).of).toBe(of);
});

test('takes whole numbers beyond doubles, and refuses what JSON cannot carry', () => {
  expect(commit('args', { a: [1.5, { b: 2n ** 53n + 1n }] }, salt).of).toBe('exact');
  expect(commit('args', { a: 2n ** 53n }, salt).of).toBe('jcs');
  const code = (value: unknown) => {
    try {
      return commit('args', value, salt).of;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  expect(code({ a: undefined })).toBe('VALUE_NOT_JSON');
  expect(code(new Date(0))).toBe('VALUE_NOT_JSON');
  expect(code([Number.NaN])).toBe('CANON_NOT_FINITE');
  expect(() => commit('args', {}, new Uint8Array(16))).toThrow(
    expect.objectContaining({ code: 'COMMIT_SALT' }),
  );
});
