import fs, {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path, { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compileCacheFolder, type Host } from './compile-cache.ts';

const uid = process.geteuid!();
let home: string;
beforeEach(() => {
  home = fs.realpathSync(mkdtempSync(join(tmpdir(), 'bulla-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const host = (changes: Partial<Host> = {}): Host => ({
  platform: 'linux',
  env: { HOME: home },
  uid,
  ...changes,
});
const folderOf = (given: Host = host(), version = '1.0.0') => compileCacheFolder(given, version, fs, path);

describe('the folder for compiled code', () => {
  test('is made in the cache directory of the platform, for its owner alone', () => {
    expect(folderOf()).toBe(join(home, '.cache/bulla/code/1.0.0'));
    expect(lstatSync(join(home, '.cache/bulla/code/1.0.0')).mode & 0o777).toBe(0o700);
    expect(folderOf()).toBe(join(home, '.cache/bulla/code/1.0.0'));
    const XDG_CACHE_HOME = join(home, 'xdg');
    expect(folderOf(host({ env: { HOME: home, XDG_CACHE_HOME } }))).toBe(join(home, 'xdg/bulla/code/1.0.0'));
    mkdirSync(join(home, 'Library'));
    expect(folderOf(host({ platform: 'darwin' }))).toBe(join(home, 'Library/Caches/bulla/code/1.0.0'));
    const windows = host({ platform: 'win32', env: { LOCALAPPDATA: home }, uid: null });
    expect(folderOf(windows)).toBe(join(home, 'bulla/code/1.0.0'));
  });

  test('is none where there is no home, or one that is relative or cannot be written', () => {
    expect(folderOf(host({ env: {} }))).toBe(null);
    expect(folderOf(host({ env: { HOME: 'here' } }))).toBe(null);
    expect(folderOf(host({ env: { HOME: join(home, 'missing') } }))).toBe(null);
    expect(folderOf(host({ env: { HOME: '/proc' } }))).toBe(null);
    writeFileSync(join(home, '.cache'), '');
    expect(folderOf()).toBe(null);
    expect(readdirSync(home)).toEqual(['.cache']);
  });

  test('is none where others can read or write it', () => {
    const folder = folderOf()!;
    for (const mode of [0o701, 0o750, 0o720, 0o777, 0o1777]) {
      chmodSync(folder, mode);
      expect([mode, folderOf()]).toEqual([mode, null]);
    }
    chmodSync(folder, 0o700);
    expect(folderOf()).toBe(folder);
  });

  test('is none where others can put another one in its place', () => {
    const folder = folderOf()!;
    for (const above of [
      join(home, '.cache/bulla/code'),
      join(home, '.cache/bulla'),
      join(home, '.cache'),
      home,
    ]) {
      for (const mode of [0o770, 0o707]) {
        chmodSync(above, mode);
        expect([above, mode, folderOf()]).toEqual([above, mode, null]);
      }
      // Such as /tmp, in which only owners rename.
      chmodSync(above, 0o1777);
      expect(folderOf()).toBe(folder);
      chmodSync(above, 0o755);
      expect(folderOf()).toBe(folder);
    }
  });

  test('is none where it, or what is above it, belongs to another user', () => {
    folderOf();
    expect(folderOf(host({ uid: uid + 1 }))).toBe(null);
  });

  test('is judged where a link leads', () => {
    const open = join(home, 'open');
    mkdirSync(open);
    mkdirSync(join(home, '.cache'));
    symlinkSync(open, join(home, '.cache/bulla'));
    expect(folderOf()).toBe(join(open, 'code/1.0.0'));
    chmodSync(open, 0o777);
    expect(folderOf()).toBe(null);
  });

  test('holds the code of one version: the first start of another removes it, links and files apart', () => {
    const code = join(home, '.cache/bulla/code');
    const elsewhere = join(home, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'kept'), '');
    writeFileSync(join(folderOf()!, 'compiled'), '');
    symlinkSync(elsewhere, join(code, 'link'));
    symlinkSync(elsewhere, join(code, '1.0.0', 'link'));
    writeFileSync(join(code, 'file'), '');
    expect(folderOf()).toBe(join(code, '1.0.0'));
    expect(readdirSync(code)).toEqual(['1.0.0', 'file', 'link']);
    expect(folderOf(host(), '1.1.0')).toBe(join(code, '1.1.0'));
    expect(readdirSync(code)).toEqual(['1.1.0', 'file', 'link']);
    expect(readdirSync(elsewhere)).toEqual(['kept']);
  });

  test('removes nothing where the folder of all versions is a link', () => {
    const elsewhere = join(home, 'elsewhere');
    mkdirSync(join(elsewhere, 'photos'), { recursive: true });
    mkdirSync(join(home, '.cache/bulla'), { recursive: true });
    symlinkSync(elsewhere, join(home, '.cache/bulla/code'));
    expect(folderOf()).toBe(join(elsewhere, '1.0.0'));
    expect(readdirSync(elsewhere)).toEqual(['1.0.0', 'photos']);
  });

  test('is used also where the code of other versions cannot be removed', () => {
    mkdirSync(join(folderOf()!, 'compiled'));
    const failing = {
      ...fs,
      rmSync() {
        throw Object.assign(new Error('not allowed'), { code: 'EPERM' });
      },
    };
    expect(compileCacheFolder(host(), '1.1.0', failing, path)).toBe(join(home, '.cache/bulla/code/1.1.0'));
  });
});
