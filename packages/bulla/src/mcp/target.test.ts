import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';
import { environmentOf, parseTarget } from './index.ts';
import { splitWords } from './words.ts';

function codeOf(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

describe('splitWords', () => {
  it.each([
    ['', []],
    ['  \t ', []],
    ['npx -y @scope/name@1.2.3', ['npx', '-y', '@scope/name@1.2.3']],
    [`a 'b  c' "d e"f`, ['a', 'b  c', 'd ef']],
    [`'' ""`, ['', '']],
    [`a\\ b \\"c\\'`, ['a b', `"c'`]],
    [`"\\"\\\\\\$\\\`\\n"`, ['"\\$`\\n']],
    [`'$HOME \`x\` * ? [a] ~ # \\'`, ['$HOME `x` * ? [a] ~ # \\']],
    ['\\$HOME \\* \\~ \\#', ['$HOME', '*', '~', '#']],
    ['a~ b#c x=y --k=v', ['a~', 'b#c', 'x=y', '--k=v']],
    ['a\\\nb', ['ab']],
    ['"a\nb"', ['a\nb']],
    ['{a,b} !x ^y %z ü', ['{a,b}', '!x', '^y', '%z', 'ü']],
  ])('%j', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it.each([
    ['a $HOME', 'MCP_TARGET'],
    ['a "$HOME"', 'MCP_TARGET'],
    ['a `b`', 'MCP_TARGET'],
    ['a "`b`"', 'MCP_TARGET'],
    ['a *.js', 'MCP_TARGET'],
    ['a ?', 'MCP_TARGET'],
    ['a [b]', 'MCP_TARGET'],
    ['a ~/b', 'MCP_TARGET'],
    ['a # b', 'MCP_TARGET'],
    ['a | b', 'MCP_TARGET'],
    ['a && b', 'MCP_TARGET'],
    ['a; b', 'MCP_TARGET'],
    ['a > b', 'MCP_TARGET'],
    ['(a)', 'MCP_TARGET'],
    ['a\nb', 'MCP_TARGET'],
    ['KEY=value a', 'MCP_TARGET'],
    [`a 'b`, 'MCP_TARGET'],
    ['a "b', 'MCP_TARGET'],
    ['a "b\\"', 'MCP_TARGET'],
    ['a \\', 'MCP_TARGET'],
  ])('refuses %j: %s', (text, code) => {
    expect(codeOf(() => splitWords(text))).toBe(code);
  });

  it('gives what a shell gives, wherever it gives anything', () => {
    const text = fc
      .array(
        fc.constantFrom(
          ' ',
          '\t',
          "'",
          '"',
          '\\',
          '$',
          '`',
          '*',
          '~',
          '#',
          '=',
          '\n',
          '{',
          '!',
          'a',
          'B',
          'é',
        ),
        {
          maxLength: 12,
        },
      )
      .map((characters) => characters.join(''));
    fc.assert(
      fc.property(text, (words) => {
        // As arguments, not as the command: there an assignment would be none.
        const ours = codeOf(() => splitWords(`x ${words}`));
        if (typeof ours === 'string') return;
        const command = `set -f; for word in x ${words}\ndo printf '%s\\0' "$word"; done`;
        const { stdout, status } = spawnSync('/bin/sh', ['-c', command]);
        expect(status).toBe(0);
        expect(stdout.toString().split('\0').slice(0, -1)).toEqual(ours);
      }),
      { numRuns: 200 * inject('soak') },
    );
  });
});

describe('parseTarget', () => {
  it('takes words as they are, one string as a shell would, and an address', () => {
    expect(parseTarget(['npx', '-y', 'a b', '$X'])).toEqual({
      kind: 'stdio',
      command: 'npx',
      args: ['-y', 'a b', '$X'],
      env: [],
    });
    expect(parseTarget(["npx -y 'a b'"], ['B', 'A', 'B'])).toEqual({
      kind: 'stdio',
      command: 'npx',
      args: ['-y', 'a b'],
      env: ['A', 'B'],
    });
    expect(parseTarget(['HTTPS://Example.com/mcp?x=1'])).toEqual({
      kind: 'http',
      url: 'https://example.com/mcp?x=1',
    });
  });

  it.each([
    [[], [], 'MCP_TARGET'],
    [[''], [], 'MCP_TARGET'],
    [['', 'a'], [], 'MCP_TARGET'],
    [["''"], [], 'MCP_TARGET'],
    [['https://'], [], 'MCP_TARGET'],
    [['https://a.example/', 'more'], [], 'MCP_TARGET'],
    [['https://a.example/'], ['A'], 'MCP_TARGET'],
    [['https://user:secret@a.example/'], [], 'MCP_TARGET'],
    [['https://a.example/#x'], [], 'MCP_TARGET'],
    [['a'], ['A=b'], 'MCP_TARGET_ENV'],
    [['a'], ['1'], 'MCP_TARGET_ENV'],
    [['a "b'], [], 'MCP_TARGET'],
  ])('refuses %j with %j: %s', (argv, env, code) => {
    expect(codeOf(() => parseTarget(argv, env))).toBe(code);
  });

  it('does not tell a password', () => {
    expect(() => parseTarget(['https://user:secret@a.example/'])).toThrow(/^(?!.*secret)/);
  });
});

describe('environmentOf', () => {
  const target = { kind: 'stdio', command: 'a', args: [], env: ['TOKEN'] } as const;
  it('passes on what was named and what programs need, and no more', () => {
    const environment = { PATH: '/bin', TOKEN: 't', OTHER: 'o', HOME: '() { :; }', LANG: '' };
    expect(environmentOf(target, environment)).toEqual({ PATH: '/bin', TOKEN: 't', LANG: '' });
  });

  it('refuses a name by which a server would reach the runner of a CI job, set or not', () => {
    for (const name of [
      ...['GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY', 'github_env'],
      ...['RUNNER_TEMP', 'ACTIONS_RUNTIME_TOKEN', 'ACTIONS_ID_TOKEN_REQUEST_URL'],
    ])
      expect(codeOf(() => environmentOf({ ...target, env: [name] }, { [name]: 'x' }))).toBe('MCP_TARGET_ENV');
    const own = { ...target, env: ['GITHUB_PERSONAL_ACCESS_TOKEN'] };
    expect(environmentOf(own, { GITHUB_PERSONAL_ACCESS_TOKEN: 'x' })).toEqual({
      GITHUB_PERSONAL_ACCESS_TOKEN: 'x',
    });
  });

  it('refuses a name that is not set', () => {
    expect(codeOf(() => environmentOf(target, {}))).toBe('MCP_TARGET_ENV');
  });
});
