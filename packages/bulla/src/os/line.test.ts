import { Writable } from 'node:stream';
import { fromUtf8, toUtf8 } from '@bulla/core/crypto';
import { type JsonValue, parse } from '@bulla/core/json';
import { expect, test } from 'vitest';
import { asLine, unbroken, writeLine } from './line.ts';

const line = (text: string): string => fromUtf8(asLine(toUtf8(text)));

test.each([
  ['{"a":1}', '{"a":1}\n'],
  ['\r{\r"a"\r:\n[\r\n1\r]\r}\r', ' { "a" : [  1 ] } \n'],
  ['{"a\u0085":"\u2028x\u2029"}', '{"a\\u0085":"\\u2028x\\u2029"}\n'],
  ['"\\\\\u2028\u2028"', '"\\\\\\u2028\\u2028"\n'],
  // Other characters that share their bytes.
  [
    '"\u00c2 \u0385 \u2027 \u202a \u20a8 \ue028 \\u2028 \\r"',
    '"\u00c2 \u0385 \u2027 \u202a \u20a8 \ue028 \\u2028 \\r"\n',
  ],
])('%j is written as one line for every reader', (text, expected) => {
  expect(line(text)).toBe(expected);
  expect(parse(line(text))).toEqual(parse(text));
});

test('what has no line break is not copied, and nothing is written into the original', () => {
  const bytes = toUtf8('{"a":"\u00e9\u2026"}');
  expect(unbroken(bytes)).toBe(bytes);
  const broken = toUtf8('{\r"a":"\u2028"}');
  // Small buffers of Node share one memory.
  expect(fromUtf8(unbroken(Buffer.from('{\r}')))).toBe('{ }');
  const before = Uint8Array.from(broken);
  expect(fromUtf8(unbroken(broken))).toBe('{ "a":"\\u2028"}');
  expect(broken).toEqual(before);
});

test.each(['\v', '\f', '\u001c', '\u001d', '\u001e', '\u0085', '\u2028', '\u2029'])(
  '%j is no white space of JSON, so that it can stand in strings alone',
  (separator) => {
    for (const text of [`${separator}{}`, `{${separator}}`, `{}${separator}`, `[1${separator},2]`]) {
      expect(() => parse(text)).toThrow();
    }
    if (separator < ' ') expect(() => parse(`"${separator}"`)).toThrow();
    else expect(parse(`"${separator}"`)).toBe(separator);
    expect(() => parse(`"\\${separator}"`)).toThrow();
  },
);

test('a separator at any position of a frame breaks no line and changes no value', () => {
  const frame = '{"jsonrpc":"2.0","id":-1.5e3,"params":{"a":[true,null,"x\\n\\u2028\\\\"],"é":""}}';
  const separators = ['\r', '\r\n', '\n', '\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029'];
  let messages = 0;
  for (let at = 0; at <= frame.length; at++) {
    for (const separator of separators) {
      const text = frame.slice(0, at) + separator + frame.slice(at);
      let value: JsonValue;
      try {
        value = parse(text);
      } catch {
        continue; // it is refused, and never written
      }
      messages++;
      expect(line(text)).toMatch(/^[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]*\n$/);
      expect(parse(line(text))).toEqual(value);
    }
  }
  expect(messages).toBe(180);
});

test('what is written in one turn goes out together, in order and whole', async () => {
  const calls: string[][] = [];
  const stream = new Writable({
    writev(chunks, done) {
      calls.push(chunks.map(({ chunk }) => chunk.toString()));
      done();
    },
  });
  const long = 'x'.repeat(100_000);
  const done: string[] = [];
  writeLine(stream, Buffer.from('{"a":\r1}'), () => done.push('a'));
  writeLine(stream, Buffer.from(long), () => done.push('long'));
  writeLine(stream, Buffer.from('{}'));
  expect(calls).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls.map((chunks) => chunks.join(''))).toEqual([`{"a": 1}\n${long}\n{}\n`]);
  expect(done).toEqual(['a', 'long']);
  writeLine(stream, Buffer.from('[]'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls.at(-1)).toEqual(['[]\n']);
});
