import { mkdirSync, statSync } from 'node:fs';
import { dirname, posix, win32 } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { type Disk, realDisk } from './disk.ts';
import { accessFile } from './file.ts';

/** The variables of the environment, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The data directory: `BULLA_HOME`, else where the platform keeps the data of programs. Touches no disk. Throws
 * `HOME_NOT_ABSOLUTE` for one that would be another directory in every folder, with the keys that somebody put there.
 */
export function dataDirectory(env: Environment, platform: string, homedir: string): string {
  const { isAbsolute, join } = platform === 'win32' ? win32 : posix;
  const absolute = (path: string, what: string): string => {
    if (isAbsolute(path)) return path;
    throw new BullaError('HOME_NOT_ABSOLUTE', `${what} must be an absolute path.`);
  };
  const home = () => absolute(homedir, 'The home folder');
  if (env.BULLA_HOME) return absolute(env.BULLA_HOME, 'BULLA_HOME');
  if (platform === 'win32') {
    const local = env.LOCALAPPDATA ? absolute(env.LOCALAPPDATA, 'LOCALAPPDATA') : null;
    return join(local ?? join(home(), 'AppData', 'Local'), 'bulla');
  }
  if (platform === 'darwin') return join(home(), 'Library', 'Application Support', 'bulla');
  // The XDG specification says to ignore a path that is not absolute.
  const xdg = env.XDG_DATA_HOME && isAbsolute(env.XDG_DATA_HOME) ? env.XDG_DATA_HOME : undefined;
  return join(xdg ?? join(home(), '.local', 'share'), 'bulla');
}

/**
 * Creates a directory, and those above it, for its owner alone, durably; one that exists keeps its mode. Throws
 * `HOME_UNWRITABLE`.
 */
export function createDirectory(path: string, disk: Disk = realDisk): void {
  accessFile('HOME_UNWRITABLE', path, 'created', () => makeDirectories(path, 0o700, disk));
}

/**
 * Makes a directory, and those above it, durably; one that exists keeps its mode. By hand, because Node's own recursive
 * mkdir never returns where the system says that a directory cannot be made although the one above it is there, as in
 * /proc. Throws Node's errors.
 */
export function makeDirectories(path: string, mode: number, disk: Disk = realDisk): void {
  const above = dirname(path);
  let found = makeOne(path, mode);
  if (found === 'nothing above') {
    makeDirectories(above, mode, disk);
    found = makeOne(path, mode);
  }
  if (found === 'nothing above') throw Object.assign(new Error(`${above} is missing`), { code: 'ENOENT' });
  if (found === 'made') disk.syncDirectory(above);
}

function makeOne(path: string, mode: number): 'made' | 'was there' | 'nothing above' {
  try {
    mkdirSync(path, { mode });
    return 'made';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return 'was there';
    if (code === 'ENOENT') return 'nothing above';
    throw error;
  }
}
