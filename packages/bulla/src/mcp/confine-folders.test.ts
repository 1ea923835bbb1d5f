import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { followed, isInside, namedFolders } from './confine-folders.ts';

/** The sentence with which named folders are refused. */
function refused(read: string[], write: string[]): string {
  try {
    namedFolders(read, write);
  } catch (error) {
    if (error instanceof BullaError && error.code === 'CONFINE_PATH') return error.message;
    throw error;
  }
  throw new Error('They were not refused.');
}

describe('a named folder', () => {
  it('is refused unless it is a folder by an absolute, plain path', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(refused(['data'], [])).toBe('The folder "data" is not an absolute path.');
    expect(refused(['~/data'], [])).toBe('The folder "~/data" is not an absolute path.');
    expect(refused([''], [])).toBe('The folder "" is not an absolute path.');
    expect(refused(['/usr/../etc'], [])).toBe('The folder "/usr/../etc" is not written plainly.');
    expect(refused(['/usr\0/x'], [])).toBe('The folder "/usr\\u0000/x" is not written plainly.');
    expect(refused([], ['/not/there'])).toBe('The folder "/not/there" is no folder that is there.');
    const file = join(folder, 'file');
    expect(refused([file], [])).toBe(`The folder "${file}" is no folder that is there.`);
  });

  it('is refused if it is the root or a way to other processes and services, also behind a link', () => {
    const folder = temporaryFolder();
    expect(refused(['/'], [])).toBe('The folder "/" is everything, which no server may read.');
    expect(refused([], ['//.'])).toBe('The folder "//." is everything, which no server may write.');
    symlinkSync('/', join(folder, 'root'));
    symlinkSync('../../../proc/self', join(folder, 'self'));
    symlinkSync('loop', join(folder, 'loop'));
    const root = join(folder, 'root');
    expect(refused([], [root])).toBe(`The folder "${root}" is everything, which no server may write.`);
    const proc = `${root}/proc`;
    expect(refused([proc], [])).toBe(
      `The folder "${proc}" lies in /proc, through which a server could leave.`,
    );
    for (const path of ['/dev', '/run', '/sys/kernel', join(folder, 'self')])
      expect(refused([path], [])).toContain(', through which a server could leave.');
    const loop = join(folder, 'loop');
    expect(refused([loop], [])).toBe(`The folder "${loop}" has links without an end.`);
  });

  it('is refused in a folder that the server may write, where it could become a link', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'a', 'b'), { recursive: true });
    const reason = 'lies in a folder that the server may write, and could be made a link to another one';
    const inner = join(folder, 'a', 'b');
    expect(refused([inner], [folder])).toBe(`The folder "${inner}" ${reason}.`);
    expect(refused([], [folder, inner])).toBe(`The folder "${inner}" ${reason}.`);
    const other = temporaryFolder();
    symlinkSync(other, join(folder, 'link'));
    const link = join(folder, 'link');
    expect(refused([link], [folder])).toBe(`The folder "${link}" ${reason}.`);
    expect(namedFolders([folder], [inner])).toEqual([
      { path: folder, kind: 'read' },
      { path: inner, kind: 'write' },
    ]);
  });
});

describe('a path', () => {
  it('is followed as the kernel follows it, and its links are kept as they are written', () => {
    const folder = realpathSync(temporaryFolder());
    mkdirSync(join(folder, 'data', 'in'), { recursive: true });
    symlinkSync('data', join(folder, 'one'));
    symlinkSync(join(folder, 'one', 'in'), join(folder, 'two'));
    expect(followed(join(folder, 'two', 'x'))).toEqual({
      real: join(folder, 'data', 'in', 'x'),
      links: [
        { at: join(folder, 'two'), to: join(folder, 'one', 'in') },
        { at: join(folder, 'one'), to: 'data' },
      ],
    });
    expect(followed(join(folder, 'two')).real).toBe(realpathSync(join(folder, 'two')));
  });

  it('lies in a folder, not in one whose name begins alike', () => {
    expect(isInside('/a/b', '/a')).toBe(true);
    expect(isInside('/a', '/a')).toBe(true);
    expect(isInside('/ab', '/a')).toBe(false);
    expect(isInside('/a', '/a/b')).toBe(false);
    expect(isInside('/a', '/')).toBe(true);
  });
});
