import { closeSync, openSync, type Stats, statSync } from 'node:fs';

// What we keep for ourselves is for its owner alone, whatever the umask says: 0600 and 0700. It is created so, never
// changed afterwards: between the two somebody else could open it.

/**
 * Makes an empty file for its owner alone where there is none, for programs that would follow the umask. SQLite gives
 * the files beside a database the mode of the database. Throws Node's errors.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** A file that others than its owner can read or write, or a folder that they can write to. */
export interface Loose {
  readonly path: string;
  /** The permissions, such as 0o644. */
  readonly mode: number;
}

/** Those of our files and folders that are looser than we make them; what is not there is left out. */
export function findLoose(paths: readonly string[]): readonly Loose[] {
  return paths.flatMap((path) => {
    const stats = statOf(path);
    return stats === undefined || !isLoose(stats) ? [] : [{ path, mode: stats.mode & 0o777 }];
  });
}

/** Whether others than the owner can read or write a file, or write to a folder. Windows has no such modes. */
export function isLoose(stats: Stats): boolean {
  if (process.platform === 'win32') return false;
  return (stats.mode & (stats.isDirectory() ? 0o022 : 0o077)) !== 0;
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // Whoever uses it will say what is wrong with it.
    return undefined;
  }
}

/** The command that takes the permissions of others away. */
export function tightenCommand(loose: readonly Loose[]): string {
  return ['chmod', 'go=', ...loose.map(({ path }) => shellWord(path))].join(' ');
}

function shellWord(text: string): string {
  return /^[\w./@%+=:,][\w./@%+=:,-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
