// Taken into the entry of the CLI: no newer syntax, and no import that costs time.
type FileSystem = Pick<
  typeof import('node:fs'),
  'mkdirSync' | 'realpathSync' | 'lstatSync' | 'readdirSync' | 'rmSync'
>;
type Path = Pick<typeof import('node:path'), 'isAbsolute' | 'join' | 'dirname'>;

/** What the choice of a folder depends on. */
export interface Host {
  readonly platform: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** Null where the system has no such ids. */
  readonly uid: number | null;
}

/**
 * A folder for the compiled code of this version, made where it is missing: `bulla/code/<version>` in the user's cache
 * directory. Node runs what lies there without comparing it with its source, so nobody but this user and root may be
 * able to change it or to put another folder in its place. Null where that is not so, where there is no home, and where
 * nothing can be written: then code is compiled again. The first start of a version removes the code of all others.
 */
export function compileCacheFolder(host: Host, version: string, fs: FileSystem, path: Path): string | null {
  const caches = cacheDirectory(host, path);
  if (caches === null) return null;
  try {
    const all = path.join(caches, 'bulla', 'code');
    for (const folder of [caches, path.dirname(all), all]) makePrivate(folder, fs);
    const isNew = makePrivate(path.join(all, version), fs);
    const real = fs.realpathSync(path.join(all, version));
    if (host.uid !== null && !isOwn(real, host.uid, fs, path)) return null;
    if (isNew) removeOthers(all, version, fs, path);
    return real;
  } catch (_) {
    return null;
  }
}

/** Folders alone, and none where `all` is a link: what lies elsewhere is not ours to remove. */
function removeOthers(all: string, version: string, fs: FileSystem, path: Path): void {
  try {
    if (!fs.lstatSync(all).isDirectory()) return;
    for (const entry of fs.readdirSync(all, { withFileTypes: true })) {
      if (entry.isDirectory() && entry.name !== version)
        fs.rmSync(path.join(all, entry.name), { recursive: true, force: true });
    }
  } catch (_) {} // the next version does it
}

function cacheDirectory({ platform, env }: Host, path: Path): string | null {
  const home = env.HOME;
  const found =
    platform === 'win32'
      ? env.LOCALAPPDATA
      : platform !== 'darwin' && env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME)
        ? env.XDG_CACHE_HOME
        : home && path.join(home, platform === 'darwin' ? 'Library/Caches' : '.cache');
  return found && path.isAbsolute(found) ? found : null;
}

/** Whether the folder was missing. */
function makePrivate(folder: string, fs: FileSystem): boolean {
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Whether the folder is for this user alone, and every one above it is out of the reach of other users but root. */
function isOwn(folder: string, uid: number, fs: FileSystem, path: Path): boolean {
  const { uid: owner, mode } = fs.lstatSync(folder);
  if (owner !== uid || (mode & 0o077) !== 0) return false;
  for (let at = path.dirname(folder); ; at = path.dirname(at)) {
    const above = fs.lstatSync(at);
    // In a folder with the sticky bit others can write, but not rename what is ours.
    const isClosed = (above.mode & 0o022) === 0 || (above.mode & 0o1000) !== 0;
    if (!isClosed || (above.uid !== uid && above.uid !== 0)) return false;
    if (at === path.dirname(at)) return true;
  }
}
