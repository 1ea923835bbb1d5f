import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BullaError } from '@bulla/core/error';

// Node looks for packages in the node_modules of every folder above a script. The fence stops that wherever it is
// loaded; a process that is started with another environment does not load it, and then only the place protects it.

/**
 * Refuses a place where somebody else has a `node_modules` in a folder above, or can write into one. Throws
 * `PIN_PLACE_SHARED`.
 */
export function checkPlace(folder: string): void {
  for (const above of foldersFrom(folder)) {
    const modules = join(above, 'node_modules');
    // A link counts as what it leads to; one that leads nowhere may lead somewhere soon.
    const stats =
      statSync(modules, { throwIfNoEntry: false }) ?? lstatSync(modules, { throwIfNoEntry: false });
    if (stats === undefined || !othersCanWrite(stats)) continue;
    throw new BullaError(
      'PIN_PLACE_SHARED',
      `Others can write ${modules}, where Node would look for packages of the pinned program. Remove it, or set BULLA_HOME to another folder.`,
    );
  }
}

/** The nearest folder, from this one upwards, in which others can make a `node_modules`; null where there is none. */
export function openFolder(folder: string): string | null {
  return foldersFrom(folder).find((above) => othersCanWrite(statSync(above))) ?? null;
}

function foldersFrom(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersFrom(above)];
}

/** Whether anybody but us and the administrator can write there. */
export function othersCanWrite({ uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>): boolean {
  if (process.platform === 'win32') return false; // modes say nothing there
  const me = process.getuid!();
  // Many systems give each person a group of their own, with the same number, and let it write.
  const isOwnGroup = gid === process.getgid!() && gid === me;
  return (
    (uid !== me && uid !== 0) || (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !isOwnGroup && gid !== 0)
  );
}
