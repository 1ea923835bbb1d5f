import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concat,
  equalBytes,
  fromBase64,
  fromBase64url,
  fromHex,
  fromHexAnyCase,
  fromUtf8,
  toBase64,
  toBase64url,
  toHex,
  toUtf8,
} from './bytes.ts';

const every = Uint8Array.from({ length: 256 }, (_, i) => i);
const code = (code: string) => expect.objectContaining({ code });

describe('hex', () => {
  it('is written in lower case and read back', () => {
    expect(toHex(Uint8Array.of(0, 1, 0x0a, 0x9f, 0xa0, 0xff))).toBe('00010a9fa0ff');
    expect(fromHex('00010a9fa0ff')).toEqual(Uint8Array.of(0, 1, 0x0a, 0x9f, 0xa0, 0xff));
    expect(fromHex(toHex(every))).toEqual(every);
    expect(fromHex('')).toEqual(new Uint8Array());
  });

  it.each(['0', '0g', 'AB', 'aB', ' 00', '00\n', '0x00', '00 00', '００', '/0', ':0', '@0', '`0'])(
    'refuses %j',
    (text) => {
      expect(() => fromHex(text)).toThrow(code('CRYPTO_ENCODING'));
    },
  );

  it('is read in any case only where that is asked for', () => {
    expect(fromHexAnyCase('aBCdEF09')).toEqual(Uint8Array.of(0xab, 0xcd, 0xef, 0x09));
    for (const text of ['0', '0G', '00\n', 'ＡＡ']) {
      expect(() => fromHexAnyCase(text)).toThrow(code('CRYPTO_ENCODING'));
    }
  });
});

describe('base64', () => {
  it('is written with padding, and for URLs without', () => {
    expect([0, 1, 2, 3].map((n) => toBase64(Uint8Array.of(251, 255, 190).subarray(0, n)))).toEqual([
      '',
      '+w==',
      '+/8=',
      '+/++',
    ]);
    expect([0, 1, 2, 3].map((n) => toBase64url(Uint8Array.of(251, 255, 190).subarray(0, n)))).toEqual([
      '',
      '-w',
      '-_8',
      '-_--',
    ]);
  });

  it('is read back, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(toHex(fromBase64(toBase64(bytes)))).toBe(toHex(bytes));
        expect(toHex(fromBase64url(toBase64url(bytes)))).toBe(toHex(bytes));
      }),
    );
  });

  it.each([
    '+w',
    '+w=',
    '+x==',
    '+/9=',
    '+w==\n',
    ' +w==',
    '+w ==',
    '-w==',
    '=',
    '====',
    '+w===',
    'A',
    '+/++=',
  ])('refuses %j', (text) => {
    expect(() => fromBase64(text)).toThrow(code('CRYPTO_ENCODING'));
  });

  it.each(['-w==', '-x', '-_9', '+w', '-w\n', 'A'])('refuses %j for URLs', (text) => {
    expect(() => fromBase64url(text)).toThrow(code('CRYPTO_ENCODING'));
  });

  it('has one text for each byte string: of all two-letter endings only the canonical ones are read', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    let read = 0;
    for (const a of alphabet) {
      for (const b of alphabet) {
        try {
          fromBase64(`${a}${b}==`);
          read++;
        } catch {}
      }
    }
    expect(read).toBe(256);
  });
});

describe('UTF-8', () => {
  it('keeps a byte order mark', () => {
    expect(fromUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa');
    expect(toHex(toUtf8('\ufeff€𝄞'))).toBe('efbbbfe282acf09d849e');
  });

  it.each([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]])(
    'refuses %j',
    (...bytes) => {
      expect(() => fromUtf8(Uint8Array.from(bytes))).toThrow(code('CRYPTO_ENCODING'));
    },
  );

  it('refuses to write a lone surrogate', () => {
    expect(() => toUtf8('a\ud800')).toThrow(code('CRYPTO_ENCODING'));
  });
});

it('joins and compares', () => {
  expect(concat(Uint8Array.of(1), new Uint8Array(), Uint8Array.of(2, 3))).toEqual(Uint8Array.of(1, 2, 3));
  expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true);
  expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false);
  expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1))).toBe(false);
  expect(equalBytes(Uint8Array.of(), Uint8Array.of())).toBe(true);
});
