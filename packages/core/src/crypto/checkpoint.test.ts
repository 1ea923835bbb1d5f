import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Checkpoint, formatCheckpointBody, fromBase64, parseCheckpointBody, toBase64 } from './index.ts';

const code = (code: string) => expect.objectContaining({ code });
const root = 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=';
const nothing = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';
// The example of c2sp.org/tlog-checkpoint.
const sofa = `example.com/behind-the-sofa\n20852163\n${root}\n`;

describe('the text of a checkpoint', () => {
  it('is its origin, size, root and extension lines', () => {
    const checkpoint = {
      origin: 'example.com/behind-the-sofa',
      size: 20852163,
      root: fromBase64(root),
      extensions: [],
    };
    expect(parseCheckpointBody(sofa)).toEqual(checkpoint);
    expect(formatCheckpointBody(checkpoint)).toBe(sofa);
    const extended = { ...checkpoint, extensions: ['one', '— two'] };
    expect(formatCheckpointBody(extended)).toBe(`${sofa}one\n— two\n`);
    expect(parseCheckpointBody(`${sofa}one\n— two\n`)).toEqual(extended);
  });

  it('may have any origin that is a line', () => {
    for (const origin of ['go.sum database tree', 'a+b', ' ', '\u007f', '\u2028', '0', 'é']) {
      const text = sofa.replace('example.com/behind-the-sofa', origin);
      expect(formatCheckpointBody(parseCheckpointBody(text))).toBe(text);
    }
  });

  it('has these limits', () => {
    const sized = (size: string, hash = root) => `o\n${size}\n${hash}\n`;
    expect(parseCheckpointBody(sized('9007199254740991')).size).toBe(Number.MAX_SAFE_INTEGER);
    expect(parseCheckpointBody(sized('0', nothing)).size).toBe(0);
    for (const size of [
      '9007199254740992',
      '9223372036854775807',
      '18446744073709551616',
      `1${'0'.repeat(400)}`,
    ])
      expect(() => parseCheckpointBody(sized(size))).toThrow(code('LOG_CHECKPOINT'));
    for (const size of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
      const checkpoint = { ...parseCheckpointBody(sofa), size };
      expect(() => formatCheckpointBody(checkpoint)).toThrow(code('LOG_CHECKPOINT'));
    }
  });

  it.each([
    '',
    '\n',
    'o\n1\n',
    `o\n1\n${root}`,
    `\n1\n${root}\n`,
    `o\n\n${root}\n`,
    'o\n1\n\n',
    `${sofa}\n`,
    `${sofa}one\n\ntwo\n`,
    `${sofa}one`,
    `\n${sofa}`,
    `o\n01\n${root}\n`,
    `o\n+1\n${root}\n`,
    `o\n-1\n${root}\n`,
    `o\n1.0\n${root}\n`,
    `o\n1e3\n${root}\n`,
    `o\n0x1\n${root}\n`,
    `o\n 1\n${root}\n`,
    `o\n1 \n${root}\n`,
    `o\n１\n${root}\n`,
    `o\n1\n${root.slice(0, -1)}\n`,
    `o\n1\n${root.replace('I=', 'J=')}\n`,
    `o\n1\n${root} \n`,
    `o\n1\n${root.replaceAll('/', '_')}\n`,
    `o\n1\n${toBase64(new Uint8Array(31))}\n`,
    `o\n1\n${toBase64(new Uint8Array(33))}\n`,
    `o\n0\n${root}\n`,
    `o\r\n1\r\n${root}\r\n`,
    `o\t\n1\n${root}\n`,
    `o\0\n1\n${root}\n`,
    `\ud800\n1\n${root}\n`,
    `${sofa}x\t\n`,
  ])('is not %j', (text) => {
    expect(() => parseCheckpointBody(text)).toThrow(code('LOG_CHECKPOINT'));
  });

  it('is not written where it could not be read', () => {
    const good: Checkpoint = parseCheckpointBody(sofa);
    const bad: Partial<Checkpoint>[] = [
      { origin: '' },
      { origin: 'a\nb' },
      { origin: '\udfff' },
      { root: new Uint8Array(31) },
      { size: 0 },
      { extensions: [''] },
      { extensions: ['a\n'] },
      { extensions: ['a', '\r'] },
    ];
    for (const part of bad)
      expect(() => formatCheckpointBody({ ...good, ...part })).toThrow(code('LOG_CHECKPOINT'));
  });

  it('says one thing, and what it says has one text', () => {
    const line = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !/[\u0000-\u001f]/.test(text));
    fc.assert(
      fc.property(
        line,
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.array(line, { maxLength: 3 }),
        (origin, size, hash, extensions) => {
          const checkpoint = { origin, size, root: hash, extensions };
          expect(parseCheckpointBody(formatCheckpointBody(checkpoint))).toEqual(checkpoint);
        },
      ),
    );
  });
});
