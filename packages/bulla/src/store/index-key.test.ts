import { describe, expect, test } from 'vitest';
import { indexKey, indexText } from './index-key.ts';

describe('a key', () => {
  test.each([
    ['read', 'read'],
    ['', ''],
    ['re\0ad', 're\\0ad'],
    ['re\\0ad', 're\\\\0ad'],
    ['\ud800x', '\\ud800x'],
    ['\u{1f600}', '\u{1f600}'],
    ['\\ud800', '\\\\ud800'],
  ])('%j is kept as %j', (text, key) => expect(indexKey(text)).toBe(key));

  test('that is long is kept by its beginning and its hash', () => {
    const [a, b] = [indexKey(`${'x'.repeat(9000)}a`), indexKey(`${'x'.repeat(9000)}b`)];
    expect(a).toMatch(/^x{128}\\#[0-9a-f]{64}$/);
    expect(a).not.toBe(b);
    expect(indexKey(a)).not.toBe(a);
    expect(indexKey('x'.repeat(1024))).toBe('x'.repeat(1024));
    expect(indexKey('\u{1f600}'.repeat(300))).toMatch(/^(?:\u{1f600}){64}\\#[0-9a-f]{64}$/u);
  });
});

describe('a text', () => {
  test.each([
    ['a\0b', 'a b'],
    ['\ud800', '\ufffd'],
    ['x'.repeat(70_000), 'x'.repeat(65_536)],
    [`x${'\u00e9'.repeat(40_000)}`, `x${'\u00e9'.repeat(32_767)}`],
  ])('case %#', (text, kept) => expect(indexText(text)).toBe(kept));
});
