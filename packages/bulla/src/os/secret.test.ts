import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { resolveSecret, Secret } from './secret.ts';

const env = (environment: Record<string, string>) => resolveSecret('env:KEY', { environment, base: '/' });
const fails = (code: string, message: string) => expect.objectContaining({ code, message });

test('a secret shows itself only when it is asked to', () => {
  const secret = new Secret('hunter2');
  const shown = [
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true, depth: 9 }),
  ];
  expect(shown).toEqual(['[secret]', '{"secret":"[secret]"}', '{ secret: [secret] }']);
  expect([Object.keys(secret), JSON.stringify(structuredClone(secret))]).toEqual([[], '{}']);
  expect(secret.reveal()).toBe('hunter2');
});

describe('a variable', () => {
  test('is taken as it is', async () => {
    expect((await env({ KEY: ' pass word ü ' })).reveal()).toBe(' pass word ü ');
  });

  test('must be set, and hold what a header can carry', async () => {
    await expect(env({})).rejects.toEqual(fails('SECRET_MISSING', 'The variable KEY is not set.'));
    const inherited = resolveSecret('env:toString', { environment: {}, base: '/' });
    await expect(inherited).rejects.toEqual(fails('SECRET_MISSING', 'The variable toString is not set.'));
    for (const value of ['', '  ', '\n'])
      await expect(env({ KEY: value })).rejects.toEqual(fails('SECRET_VALUE', 'The variable KEY is empty.'));
    for (const value of ['a\nb', 'hunter2\n', 'a\r', 'a\tb', 'a\0', '\x7f', 'a\x85', '\ufeffa'])
      await expect(env({ KEY: value })).rejects.toEqual(
        fails('SECRET_VALUE', 'The variable KEY holds a control character or a byte order mark.'),
      );
    for (const value of ['a\ufffd', 'a\ud800'])
      await expect(env({ KEY: value })).rejects.toEqual(
        fails('SECRET_VALUE', 'The variable KEY is not UTF-8.'),
      );
  });
});

describe('a file', () => {
  const write = (content: string | Uint8Array, mode = 0o600) => {
    const base = temporaryFolder();
    const path = join(base, 'key');
    writeFileSync(path, content);
    chmodSync(path, mode);
    const open = (name: string) => resolveSecret(`file:${name}`, { environment: {}, base });
    return { base, path, open };
  };

  test('is found by its whole path, or from the folder of the configuration', async () => {
    const { path, open } = write('hunter2');
    expect((await open(path)).reveal()).toBe('hunter2');
    expect((await open('key')).reveal()).toBe('hunter2');
    expect((await open('./x/../key')).reveal()).toBe('hunter2');
  });

  test('loses one newline at its end', async () => {
    for (const content of ['hunter2\n', 'hunter2\r\n'])
      expect((await write(content).open('key')).reveal()).toBe('hunter2');
    expect((await write(' a b \n').open('key')).reveal()).toBe(' a b ');
  });

  test('must hold what a header can carry', async () => {
    const of = async (content: string | Uint8Array) => {
      const { path, open } = write(content);
      const { code, message } = await open('key').catch((error) => error);
      return [code, message.replace(path, 'FILE')];
    };
    for (const content of ['', '\n', ' \n'])
      expect(await of(content)).toEqual(['SECRET_VALUE', 'FILE is empty.']);
    for (const content of ['a\n\n', 'a\nb', 'a\0b', '\ufeffa', 'a\r'])
      expect(await of(content)).toEqual([
        'SECRET_VALUE',
        'FILE holds a control character or a byte order mark.',
      ]);
    for (const content of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80]])
      expect(await of(Uint8Array.from(content))).toEqual(['SECRET_VALUE', 'FILE is not UTF-8.']);
    expect(await of('a'.repeat(65_537))).toEqual(['SECRET_TOO_LARGE', 'FILE is larger than 65536 bytes.']);
    expect((await write('a'.repeat(65_536)).open('key')).reveal()).toHaveLength(65_536);
  });

  test.skipIf(process.platform === 'win32')('is of its owner alone', async () => {
    for (const mode of [0o640, 0o604, 0o620, 0o644, 0o601]) {
      const { path, open } = write('hunter2', mode);
      const message = `Others can reach ${path} (mode ${mode.toString(8)}); change the secret, or allow its owner alone: chmod go= ${path}`;
      await expect(open('key')).rejects.toEqual(fails('SECRET_EXPOSED', message));
    }
    for (const mode of [0o400, 0o600, 0o700])
      expect((await write('hunter2', mode).open('key')).reveal()).toBe('hunter2');
    const { base, path, open } = write('hunter2', 0o644);
    symlinkSync(path, join(base, 'link'));
    await expect(open('link')).rejects.toHaveProperty('code', 'SECRET_EXPOSED');
  });

  test('is there, and is a regular file', async () => {
    const { base, path, open } = write('a');
    mkdirSync(join(base, 'folder'), { mode: 0o700 });
    await expect(open('none')).rejects.toEqual(fails('SECRET_MISSING', `There is no file ${base}/none.`));
    await expect(open('folder')).rejects.toEqual(
      fails('SECRET_UNREADABLE', `${base}/folder is not a regular file.`),
    );
    await expect(open('/dev/null')).rejects.toEqual(
      fails('SECRET_UNREADABLE', '/dev/null is not a regular file.'),
    );
    await expect(open('key/below')).rejects.toEqual(
      fails('SECRET_UNREADABLE', `${path}/below cannot be read (ENOTDIR).`),
    );
  });
});
