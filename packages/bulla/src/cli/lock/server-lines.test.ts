import { describe, expect, test } from 'vitest';
import { serverLines } from './server-lines.ts';

function shown(chunks: readonly (string | Uint8Array)[], hasRoom?: () => boolean): string[] {
  const said: string[] = [];
  const lines = serverLines((line) => said.push(line), hasRoom);
  for (const chunk of chunks) lines.take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  lines.end();
  return said;
}

describe('what a server writes on standard error', () => {
  test.each([
    ['ready\n', ['[server] ready']],
    ['a\r\n\nb', ['[server] a', '[server] ', '[server] b']],
    ['x\rbulla: all good\n', ['[server] x⟨U+000D⟩bulla: all good']],
    ['\u001b[2K\u001b[1Gbulla: good\n', ['[server] ⟨U+001B⟩[2K⟨U+001B⟩[1Gbulla: good']],
    ['a\u0085b\u2028c\u2029d\ve\ff\n', ['[server] a⟨U+0085⟩b⟨U+2028⟩c⟨U+2029⟩d⟨U+000B⟩e⟨U+000C⟩f']],
    ['\u202edoog\u202c\u009b1m\u0007\u0000\n', ['[server] ⟨U+202E⟩doog⟨U+202C⟩⟨U+009B⟩1m⟨U+0007⟩⟨U+0000⟩']],
    ['\t日本 é ❤️\n', ['[server] \t日本 é ❤️']],
    ['\u0301x\n', ['[server] ⟨U+0301⟩x']],
  ])('%j', (text, expected) => {
    expect(shown([text])).toEqual(expected);
  });

  test('is the same however it is cut', () => {
    const bytes = Buffer.from('é日\u{1f600}\u001b[31m\r\nné\nlast\u2028');
    const whole = shown([bytes]);
    expect(whole).toEqual(['[server] é日\u{1f600}⟨U+001B⟩[31m', '[server] né', '[server] last⟨U+2028⟩']);
    expect(shown([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(shown([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
    }
  });

  test('that is no UTF-8 is shown for what it is not', () => {
    expect(shown([Uint8Array.of(0x61, 0xff, 0xc3, 0x0a, 0x9b, 0x31, 0x6d, 0x0a)])).toEqual([
      '[server] a\ufffd\ufffd',
      '[server] \ufffd1m',
    ]);
  });

  test('without a line end is shown in pieces, cut between characters', () => {
    const said = shown(['x'.repeat(8190), '日'.repeat(3000), '\n', 'next\n']);
    expect(said.map((line) => line.slice(0, 11))).toEqual([
      '[server] xx',
      '[server] …日',
      '[server] …日',
      '[server] ne',
    ]);
    expect(
      said
        .slice(0, 3)
        .map((line) => line.replace(/^\[server\] …?/, ''))
        .join(''),
    ).toBe('x'.repeat(8190) + '日'.repeat(3000));
  });

  test('faster than it can be read is left out, and counted', () => {
    let room = 2;
    const said = shown(['one\ntwo\nthree\nfour\nfive', '\nsix\n'], () => --room !== 0 && room !== -1);
    expect(said).toEqual([
      '[server] one',
      '[server] (8 bytes are left out)',
      '[server] four',
      '[server] five',
      '[server] six',
    ]);
    expect(shown(['a\nb\n'], () => false)).toEqual(['[server] (2 bytes are left out)']);
  });
});
