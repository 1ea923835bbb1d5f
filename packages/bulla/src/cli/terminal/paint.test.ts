import { describe, expect, test } from 'vitest';
import { colors, painted } from './paint.ts';

describe('the print boundary', () => {
  test('turns our own colours into escape sequences, or leaves them out', () => {
    const text = `${colors.bold(colors.red('bad'))}  x`;
    expect(painted(text, true)).toBe('\u001b[1m\u001b[31mbad\u001b[39m\u001b[22m  x');
    expect(painted(text, false)).toBe('bad  x');
  });

  test('shows the escape sequences of everybody else', () => {
    expect(painted(colors.dim('\u001b[2J\u001b[32mgood\u009b1m\rx'), true)).toBe(
      '\u001b[2m⟨U+001B⟩[2J⟨U+001B⟩[32mgood⟨U+009B⟩1m⟨U+000D⟩x\u001b[22m',
    );
  });

  test('cannot be passed with marks that look like ours', () => {
    expect(painted('\u{fdd0}0123456789abcdef;32\u{fdd1}good', true)).toBe(
      '⟨U+FDD0⟩0123456789abcdef;32⟨U+FDD1⟩good',
    );
  });

  test('leaves newlines, tabs, other scripts, the joiners of emoji, and what was made visible before', () => {
    const text = 'é\n\t日本 👩‍💻 ❤️ ⟨U+200B⟩';
    expect(painted(text, false)).toBe(text);
  });

  test('shows what reorders or hides text, and what is no character', () => {
    expect(painted('\u202e\u2066\u200b\u2028\u{e0041}\ud800\u007f\u0000', false)).toBe(
      '⟨U+202E⟩⟨U+2066⟩⟨U+200B⟩⟨U+2028⟩⟨U+E0041⟩⟨U+D800⟩⟨U+007F⟩⟨U+0000⟩',
    );
  });
});
