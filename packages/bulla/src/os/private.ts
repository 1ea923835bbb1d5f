import { closeSync, openSync, statSync } from 'node:fs';

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
  // Windows has no such modes.
  if (process.platform === 'win32') return [];
  return paths.flatMap((path) => {
    const stats = statOf(path);
    if (stats === undefined) return [];
    const mode = stats.mode & 0o777;
    return (mode & (stats.isDirectory() ? 0o022 : 0o077)) === 0 ? [] : [{ path, mode }];
  });
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
