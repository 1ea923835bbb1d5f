import { expect, test } from 'vitest';
import { AREAS, type Code, exitOf, httpOf, isCode, KINDS, kindOf, rpcOf } from './codes.ts';
import { BullaError } from './error.ts';

const rows = Object.values(AREAS).flatMap((area) => Object.entries(area));

test('exit code, HTTP status and JSON-RPC code follow from the kind', () => {
  const of = (code: Code) => [exitOf(kindOf(code)), httpOf(kindOf(code)), rpcOf(kindOf(code))];
  expect(of('USAGE')).toEqual([2, 400, -32602]);
  expect(of('JSON_SYNTAX')).toEqual([2, 400, -32600]);
  expect(of('MANIFEST_TOO_LARGE')).toEqual([2, 413, -32600]);
  expect(of('CAPSULE_NOT_FOUND')).toEqual([2, 404, -32602]);
  expect(of('MANIFEST_CONFLICT')).toEqual([2, 409, -32600]);
  expect(of('LOCK_DRIFT')).toEqual([1, 422, 502]);
  expect(of('KILLED')).toEqual([1, 403, 403]);
  expect(of('STORE_UNAVAILABLE')).toEqual([3, 503, 503]);
  expect(of('MCP_HANDSHAKE')).toEqual([3, 502, 502]);
  expect(of('MCP_TIMEOUT')).toEqual([3, 504, 504]);
  expect(of('GATEWAY_FAILED')).toEqual([3, 500, -32603]);
});

test('no kind ends a command with 0', () => {
  for (const { exit } of Object.values(KINDS)) expect([1, 2, 3]).toContain(exit);
});

test('a code is a word that records can hold, and its help is a sentence', () => {
  expect(rows.length).toBeGreaterThan(400);
  for (const [code, [, help]] of rows) {
    expect(code).toMatch(/^(?:[A-Z][A-Z0-9_]{0,63}|[a-z_]+)$/);
    expect(help, code).toMatch(/^[^|\n]{9,}[^.]\.$/);
  }
});

test('what is not in the table is no code', () => {
  expect(['JSON_SYNTAX', 'unknown_key', 'ok', 'toString', '__proto__', '', null, 5].map(isCode)).toEqual([
    ...[true, true, false, false, false, false, false, false],
  ]);
  // @ts-expect-error: an unknown code does not compile.
  expect(() => new BullaError('NO_SUCH_CODE', 'x').kind).toThrow(TypeError);
});

test('an error has the kind of its code, unless the place knows better', () => {
  expect(new BullaError('LOCK_DUPLICATE', 'x').kind).toBe('input');
  expect(new BullaError('LOCK_DUPLICATE', 'x', { kind: 'bad' }).kind).toBe('bad');
});
