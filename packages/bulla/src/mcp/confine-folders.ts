import { readlinkSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { quote } from './transport.ts';

/** A symbolic link, and what is written in it. */
export interface Link {
  readonly at: string;
  readonly to: string;
}

/** As the kernel has it. */
const MAX_LINKS = 40;

/**
 * Where an absolute path leads, whether anything is there or not, and the links on the way. Throws `CONFINE_PATH` for
 * links without an end.
 */
export function followed(path: string): { readonly real: string; readonly links: readonly Link[] } {
  const links: Link[] = [];
  let ahead = partsOf(path);
  let real = '/';
  for (let part = ahead.shift(); part !== undefined; part = ahead.shift()) {
    const at = join(real, part);
    const to = linkAt(at);
    if (to === null) {
      real = at;
      continue;
    }
    links.push({ at, to });
    if (links.length > MAX_LINKS) throw badPath(path, 'has links without an end');
    ahead = [...partsOf(resolve(real, to)), ...ahead];
    real = '/';
  }
  return { real, links };
}

function partsOf(path: string): string[] {
  return resolve('/', path)
    .split('/')
    .filter((part) => part !== '');
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Whether a path is another one or lies below it; both without links and dots. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

/** Whether a path is, or leads over, something below one of the folders, which whoever writes there can replace. */
export function isReplaceable(path: string, written: readonly string[]): boolean {
  const { real, links } = followed(path);
  return [real, ...links.map(({ at }) => at)].some((step) =>
    written.some((folder) => step !== folder && isInside(step, folder)),
  );
}

export interface Named {
  readonly path: string;
  readonly kind: 'read' | 'write';
}

/** What the kernel and the services of the machine show: views of other processes, devices, sockets of daemons. */
const OTHER = ['/proc', '/sys', '/dev', '/run'];

/** The folders that a person named, as they were written. Throws `CONFINE_PATH`. */
export function namedFolders(read: readonly string[], write: readonly string[]): Named[] {
  const named = [
    ...read.map((path) => ({ path, kind: 'read' as const })),
    ...write.map((path) => ({ path, kind: 'write' as const })),
  ];
  for (const { path, kind } of named) checkFolder(path, kind);
  const written = write.map((path) => followed(path).real);
  for (const { path } of named) {
    if (isReplaceable(path, written))
      throw badPath(
        path,
        'lies in a folder that the server may write, and could be made a link to another one',
      );
  }
  return named;
}

function checkFolder(path: string, kind: Named['kind']): void {
  if (!path.startsWith('/')) throw badPath(path, 'is not an absolute path');
  if (path.includes('\0') || path.split('/').includes('..')) throw badPath(path, 'is not written plainly');
  const { real } = followed(path);
  if (!statSync(real, { throwIfNoEntry: false })?.isDirectory())
    throw badPath(path, 'is no folder that is there');
  if (real === '/') throw badPath(path, `is everything, which no server may ${kind}`);
  const other = OTHER.find((folder) => isInside(real, folder));
  if (other !== undefined) throw badPath(path, `lies in ${other}, through which a server could leave`);
}

/** Refuses a folder for a server; the reason begins with a verb. */
export function badPath(path: string, reason: string): BullaError {
  return new BullaError('CONFINE_PATH', `The folder ${quote(path)} ${reason}.`);
}
