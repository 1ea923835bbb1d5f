import { describe, expect, onTestFinished, test } from 'vitest';
import { takeStandardInput } from './index.ts';
import { readStandardInput } from './stdin.ts';

const fresh = () => {
  takeStandardInput(null);
  onTestFinished(() => takeStandardInput(null));
};

describe('standard input', () => {
  test('is read to its end, part by part', () => {
    fresh();
    const parts = ['{"a":', '1}', ''];
    const bytes = readStandardInput(100, (buffer) => buffer.write(parts.shift()!));
    expect(Buffer.from(bytes!).toString()).toBe('{"a":1}');
  });

  test('is not read further than the limit', () => {
    fresh();
    let asked = 0;
    const endless = (buffer: Buffer) => {
      asked++;
      return buffer.length;
    };
    expect(readStandardInput(100_000, endless)).toBeNull();
    expect(asked).toBe(2);
  });

  test('can stand for one file only', () => {
    fresh();
    expect(readStandardInput(10, () => 0)).toEqual(new Uint8Array());
    expect(() => readStandardInput(10, () => 0)).toThrow('standard input was read before');
  });

  test('is what was put in its place', () => {
    fresh();
    takeStandardInput(new Uint8Array([1, 2, 3]));
    expect(readStandardInput(3)).toEqual(new Uint8Array([1, 2, 3]));
    takeStandardInput(new Uint8Array([1, 2, 3]));
    expect(readStandardInput(2)).toBeNull();
  });
});
