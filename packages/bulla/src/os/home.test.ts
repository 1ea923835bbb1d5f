import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { realDisk } from './disk.ts';
import { createDirectory, dataDirectory } from './home.ts';

test.each([
  [{ BULLA_HOME: '/srv/bulla', XDG_DATA_HOME: '/x' }, 'linux', '/home/a', '/srv/bulla'],
  [{ XDG_DATA_HOME: '/x/data' }, 'linux', '/home/a', '/x/data/bulla'],
  [{ XDG_DATA_HOME: 'relative' }, 'linux', '/home/a', '/home/a/.local/share/bulla'],
  [{ BULLA_HOME: '', XDG_DATA_HOME: '' }, 'freebsd', '/home/a', '/home/a/.local/share/bulla'],
  [{ XDG_DATA_HOME: '/x' }, 'darwin', '/Users/a', '/Users/a/Library/Application Support/bulla'],
  [{ LOCALAPPDATA: 'D:\\Local' }, 'win32', 'C:\\Users\\a', 'D:\\Local\\bulla'],
  [{}, 'win32', 'C:\\Users\\a', 'C:\\Users\\a\\AppData\\Local\\bulla'],
  [{ BULLA_HOME: 'E:\\bulla' }, 'win32', 'C:\\Users\\a', 'E:\\bulla'],
])('with %j on %s, %s has its data in %s', (env, platform, home, expected) => {
  expect(dataDirectory(env, platform, home)).toBe(expected);
});

test.each([
  [{ BULLA_HOME: 'data' }, 'linux', '/home/a', 'BULLA_HOME'],
  [{}, 'linux', '', 'The home folder'],
  [{ XDG_DATA_HOME: 'relative' }, 'linux', 'a', 'The home folder'],
  [{}, 'darwin', '.', 'The home folder'],
  [{}, 'win32', 'C:a', 'The home folder'],
  [{ LOCALAPPDATA: 'Local' }, 'win32', 'C:\\Users\\a', 'LOCALAPPDATA'],
])('with %j on %s, %j depends on the folder and is refused', (env, platform, home, what) => {
  expect(() => dataDirectory(env, platform, home)).toThrow(
    expect.objectContaining({ code: 'HOME_NOT_ABSOLUTE', message: `${what} must be an absolute path.` }),
  );
});

test('a home folder that is not needed need not be absolute', () => {
  expect(dataDirectory({ XDG_DATA_HOME: '/x' }, 'linux', '')).toBe('/x/bulla');
  expect(dataDirectory({ BULLA_HOME: '/b' }, 'darwin', '')).toBe('/b');
  expect(dataDirectory({ LOCALAPPDATA: 'D:\\L' }, 'win32', '')).toBe('D:\\L\\bulla');
});

test('asking creates nothing; creating makes directories for the owner alone, and keeps those that exist', () => {
  const folder = temporaryFolder();
  const dir = join(dataDirectory({ BULLA_HOME: join(folder, 'home') }, 'linux', '/'), 'keys');
  expect(existsSync(join(folder, 'home'))).toBe(false);
  createDirectory(dir);
  for (const path of [dir, join(folder, 'home')]) expect(statSync(path).mode & 0o777).toBe(0o700);
  mkdirSync(join(folder, 'open'), { mode: 0o755 });
  createDirectory(join(folder, 'open'));
  expect(statSync(join(folder, 'open')).mode & 0o777).toBe(0o755);
  writeFileSync(join(folder, 'file'), '');
  for (const path of ['file', 'file/below'].map((name) => join(folder, name)))
    expect(() => createDirectory(path)).toThrow(expect.objectContaining({ code: 'HOME_UNWRITABLE' }));
});

test('another process may make the same directories at the same time', () => {
  const dir = join(temporaryFolder(), 'home', 'keys');
  // The other one comes right after the directory above was made.
  const faster = { ...realDisk, syncDirectory: () => mkdirSync(dir, { recursive: true }) };
  createDirectory(dir, faster);
  expect(statSync(dir).isDirectory()).toBe(true);
});

test.runIf(process.platform === 'linux')(
  'a place where nothing can be made is told, not tried for ever',
  () => {
    expect(() => createDirectory('/proc/bulla/keys')).toThrow(
      expect.objectContaining({ code: 'HOME_UNWRITABLE' }),
    );
  },
);
