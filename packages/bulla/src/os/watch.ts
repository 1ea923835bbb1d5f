import { createHash } from 'node:crypto';
import { type FSWatcher, readFileSync, realpathSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';

export interface WatchOptions {
  /** How long nothing may happen before the files are looked at. Default 100 ms. */
  readonly quietMs?: number | undefined;
  /** How often they are looked at in any case: not every file system tells of changes. Default 5,000 ms. */
  readonly everyMs?: number | undefined;
}

/** What was seen of files: by their paths, digests of their contents, or why there is none. */
export type Digests = ReadonlyMap<string, string>;

/** Files that are watched. */
export interface Watching {
  /** Other files, with what was seen of them. */
  set(files: Digests): void;
  close(): void;
}

/**
 * Watches the contents of files, also those that are replaced, are links, or are not there yet: the folders of the files
 * and of what they lead to are watched, and looked at from time to time. `changed` is called once for each state that is
 * another one than was seen before, at first `given` (see `digestsOf`).
 */
export function watchFiles(
  given: Digests,
  changed: () => void,
  { quietMs = 100, everyMs = 5000 }: WatchOptions = {},
): Watching {
  const watchers = new Map<string, FSWatcher>();
  let seen = given;
  let quiet: NodeJS.Timeout | undefined;
  const look = (): void => {
    const now = digestsOf([...seen.keys()]);
    const isSame = [...now].every(([file, digest]) => seen.get(file) === digest);
    seen = now;
    follow();
    if (!isSame) changed();
  };
  const soon = (): void => {
    clearTimeout(quiet);
    quiet = setTimeout(look, quietMs).unref();
  };
  const drop = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  /** A link may lead elsewhere now. */
  const follow = (): void => {
    const folders = new Set([...seen.keys()].flatMap(foldersOf));
    for (const folder of watchers.keys()) if (!folders.has(folder)) drop(folder);
    for (const folder of folders) {
      if (watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, soon);
        watcher.on('error', () => drop(folder));
        watchers.set(folder, watcher);
      } catch {} // it is looked at from time to time
    }
  };
  follow();
  soon();
  const timer = setInterval(look, everyMs).unref();
  return {
    set(next) {
      seen = next;
      follow();
      soon();
    },
    close() {
      clearTimeout(quiet);
      clearInterval(timer);
      for (const folder of [...watchers.keys()]) drop(folder);
    },
  };
}

/** What is in files now. Taken before they are read for use, it tells later whether they have changed since. */
export function digestsOf(files: readonly string[]): Digests {
  return new Map(files.map((file) => [file, digestOf(file)]));
}

/** The folder of a file, and that of what it leads to. */
function foldersOf(file: string): string[] {
  const path = resolve(file);
  try {
    return [dirname(path), dirname(realpathSync(path))];
  } catch {
    return [dirname(path)];
  }
}

/** The digest of what is in a file, or why there is none. A pipe or a device is not read: that might never end. */
function digestOf(file: string): string {
  try {
    if (!statSync(file).isFile()) return 'no file';
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}
