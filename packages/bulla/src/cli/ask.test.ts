import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { askKey, askYes, isAnswered } from './ask.ts';

function typed(text: string) {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => modes.push(mode),
  });
  const output = Object.assign(new PassThrough(), { isTTY: true });
  if (text === 'end') input.end();
  else input.write(text);
  return { terminal: { input, output }, modes, shown: () => String(output.read()) };
}

describe('a question on a terminal', () => {
  test.each([
    ['y', true],
    ['Y', true],
    ['n', false],
    ['\r', false],
    ['\u0003', false],
    ['yes', false],
    ['end', false],
  ])('one key: %j is %s', async (key, answer) => {
    const { terminal, modes, shown } = typed(key);
    expect(await askKey('Accept?', terminal)).toBe(answer);
    expect(shown()).toBe(`Accept? [y/N] ${answer ? 'yes' : 'no'}\n`);
    expect(modes).toEqual([true, false]);
  });

  test.each([
    ['yes\n', true],
    [' yes \n', true],
    ['y\n', false],
    ['YES\n', false],
    ['\n', false],
    ['end', false],
  ])('a whole word: %j is %s', async (line, answer) => {
    const { terminal, shown } = typed(line);
    expect(await askYes('Accept?', terminal)).toBe(answer);
    expect(shown()).toBe('Accept? Type yes to accept: ');
  });

  test('is asked only where somebody can see and answer it', () => {
    const { terminal } = typed('');
    expect(isAnswered(terminal)).toBe(true);
    expect(isAnswered({ ...terminal, input: new PassThrough() })).toBe(false);
    expect(isAnswered({ ...terminal, output: new PassThrough() })).toBe(false);
  });
});
