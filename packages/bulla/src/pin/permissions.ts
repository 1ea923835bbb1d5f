import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BullaError } from '@bulla/core/error';

// Node looks for packages in the node_modules of every folder above a script. The fence stops that wherever it is
// loaded; a process that is started with another environment does not load it, and then only permissions protect it.

/**
 * Refuses a folder in which somebody else can replace what lies there, or has a `node_modules` in a folder above, or can
 * write into one. Throws `PIN_PLACE_SHARED`.
 */
export function checkPermissions(folder: string): void {
  for (const above of foldersFrom(folder)) {
    if (othersCanReplace(statSync(above), above === folder))
      throw shared(`Others can replace what lies in ${above}, and so the packages of the pinned program.`);
    const modules = join(above, 'node_modules');
    // A link counts as what it leads to; one that leads nowhere may lead somewhere soon.
    const stats =
      statSync(modules, { throwIfNoEntry: false }) ?? lstatSync(modules, { throwIfNoEntry: false });
    if (stats !== undefined && othersCanWrite(stats))
      throw shared(`Others can write ${modules}, where Node would look for packages of the pinned program.`);
  }
}

function shared(what: string): BullaError {
  return new BullaError('PIN_PLACE_SHARED', `${what} Set BULLA_HOME to a folder of your own.`);
}

/** The nearest folder, from this one upwards, in which others can make a `node_modules`; null where there is none. */
export function openFolder(folder: string): string | null {
  return foldersFrom(folder).find((above) => othersCanWrite(statSync(above))) ?? null;
}

function foldersFrom(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersFrom(above)];
}

type Rights = Pick<Stats, 'uid' | 'gid' | 'mode'>;
const STICKY = 0o1000;

/** In a sticky folder, such as `/tmp`, everybody can make something, and replace only what is their own. */
function othersCanReplace(rights: Rights, isTheFolder: boolean): boolean {
  const isSafe = (rights.mode & STICKY) !== 0 && isOurs(rights) && !isTheFolder;
  return othersCanWrite(rights) && !isSafe;
}

/** Whether it belongs to us or to the administrator. */
function isOurs({ uid }: Rights): boolean {
  return uid === 0 || uid === process.getuid!();
}

/** Whether anybody but us and the administrator can write there. */
export function othersCanWrite(rights: Rights): boolean {
  if (process.platform === 'win32') return false; // modes say nothing there
  const { gid, mode } = rights;
  // Many systems give each person a group of their own, with the same number, and let it write.
  const isOwnGroup = gid === process.getgid!() && gid === process.getuid!();
  const isGroup = (mode & 0o020) !== 0 && !isOwnGroup && gid !== 0;
  return !isOurs(rights) || (mode & 0o002) !== 0 || isGroup;
}
