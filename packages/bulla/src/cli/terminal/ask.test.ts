import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { askKey, askYes, isAnswered } from './ask.ts';

/** A terminal on which somebody has typed already, and types when the question is shown. */
function typing(text: string, ahead = '') {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => modes.push(mode),
  });
  const output = Object.assign(new PassThrough(), { isTTY: true });
  let shown = '';
  output.on('data', (data) => {
    if (shown === '') {
      if (text === 'end') input.end();
      else input.write(text);
    }
    shown += data;
  });
  if (ahead === 'end') input.end();
  else if (ahead !== '') input.write(ahead);
  return { terminal: { input, output }, modes, shown: () => shown };
}

describe('a question on a terminal', () => {
  test.each([
    ['y', true],
    ['Y', true],
    ['yes', true],
    ['YES', true],
    ['yes\r', true],
    ['y\n', true],
    ['n', false],
    ['no', false],
    ['\r', false],
    ['\u0003', false],
    ['yesterday', false],
    ['yes please', false],
    [' y', false],
    ['end', false],
  ])('one key: %j is %s', async (key, answer) => {
    const { terminal, modes, shown } = typing(key);
    expect(await askKey('Accept?', terminal)).toBe(answer);
    expect(shown()).toBe(`Accept? [y/N] ${answer ? 'yes' : 'no'}\n`);
    expect([modes.at(0), modes.at(-1)]).toEqual([true, false]);
  });

  test('quotes what others wrote so that it is seen', async () => {
    const { terminal, shown } = typing('n');
    await askKey('Grant \u001b[2Ka\r\nb?', terminal);
    expect(shown()).toBe('Grant ⟨U+001B⟩[2Ka⟨U+000D⟩⟨U+000A⟩b? [y/N] no\n');
  });

  test.each([
    ['yes\n', true],
    [' yes \n', true],
    ['y\n', false],
    ['YES\n', false],
    ['\n', false],
    ['end', false],
  ])('a whole word: %j is %s', async (line, answer) => {
    const { terminal, modes, shown } = typing(line);
    expect(await askYes('Accept?', terminal)).toBe(answer);
    expect(shown()).toBe('Accept? Type yes to accept: ');
    expect(modes).toEqual([true, false]);
  });

  test.each([
    ['y', 'n\n'],
    ['yes\n', '\n'],
    ['yes\nyes\n', 'no\n'],
  ])('is not answered by what was typed before it was shown: %j, then %j', async (ahead, after) => {
    expect(await askKey('Accept?', typing(after, ahead).terminal)).toBe(false);
    expect(await askYes('Accept?', typing(after, ahead).terminal)).toBe(false);
    expect(await askKey('Accept?', typing('y', 'n').terminal)).toBe(true);
    expect(await askYes('Accept?', typing('yes\n', 'no\n').terminal)).toBe(true);
  });

  test.each(['\u0003', 'end'])('is no when somebody has stopped or gone before: %j', async (ahead) => {
    expect(await askKey('Accept?', typing('', ahead).terminal)).toBe(false);
    expect(await askYes('Accept?', typing('', ahead).terminal)).toBe(false);
  });

  test('is asked only where somebody can see and answer it', () => {
    const { terminal } = typing('');
    expect(isAnswered(terminal)).toBe(true);
    expect(isAnswered({ ...terminal, input: new PassThrough() })).toBe(false);
    expect(isAnswered({ ...terminal, output: new PassThrough() })).toBe(false);
  });
});
