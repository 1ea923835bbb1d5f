import { readdirSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { findInput } from '../os/index.ts';
import { CLIENTS, type Client, type ConfigFile, type Location } from './clients.ts';
import { readDocument } from './document.ts';
import { type Entry, readEntry } from './entry.ts';
import { type OwnProgram, realPath } from './guard.ts';
import { type Launch, launchOf } from './launch.ts';

import type { Reading } from './readers.ts';

/** A server that a client is configured to use. */
export interface Configured extends Launch {
  readonly client: Client;
  readonly scope: ConfigFile['scope'];
  /** The project that it is for; null for all. */
  readonly project: string | null;
  /** Whether it lies in the project, for everybody who works there. */
  readonly isShared: boolean;
  readonly file: string;
  readonly name: string;
  readonly entry: Entry;
  readonly disabled: boolean;
}

/** What could not be read, or not be understood. */
export interface Problem {
  readonly client: Client | null;
  readonly file: string;
  readonly error: BullaError;
}

export interface Discovery {
  readonly servers: readonly Configured[];
  readonly files: readonly {
    readonly client: Client;
    readonly path: string;
    readonly scope: ConfigFile['scope'];
  }[];
  readonly problems: readonly Problem[];
}

/**
 * Finds the servers that the clients on this machine are configured to use. Nothing is started. `own` is the program
 * that guards are known by. What cannot be read is told among the problems, and the rest goes on.
 */
export function discover(location: Location, own: OwnProgram): Discovery {
  const servers: Configured[] = [];
  const files: Discovery['files'][number][] = [];
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const client of CLIENTS) {
    const off: NonNullable<Reading['off']>[number][] = [];
    const found: Configured[] = [];
    const attempt = (file: string, action: () => void): void => {
      try {
        action();
      } catch (error) {
        if (!(error instanceof BullaError)) throw error;
        problems.push({ client, file, error });
      }
    };
    const read = (file: ConfigFile, path: string): void => {
      const bytes = findInput(path, 'document');
      if (bytes === null) return;
      files.push({ client, path, scope: file.scope });
      const reading = file.reader(readDocument(bytes, file.syntax));
      for (const switches of reading.off ?? []) off.push(switches);
      for (const server of reading.servers) {
        attempt(path, () => {
          const entry = readEntry(server.value, server.path, file.shape);
          const project = server.project ?? (file.scope === 'project' ? location.project : null);
          const at = project === null ? location : { ...location, project };
          found.push({
            client,
            scope: server.project === undefined ? file.scope : 'project',
            project,
            isShared: file.scope === 'project',
            file: path,
            name: server.name,
            entry,
            disabled: entry.disabled || server.disabled === true,
            ...launchOf(entry, { location: at, project, isEditor: client.isEditor, own }),
          });
        });
      }
    };
    for (const file of client.files(location)) {
      attempt(file.path, () => {
        for (const path of expand(file.path, location)) {
          // A project in the home folder has the same files.
          const key = `${client.id}\0${realPath(path) ?? path}`;
          if (seen.has(key)) continue;
          seen.add(key);
          attempt(path, () => read(file, path));
        }
      });
    }
    for (const server of found) servers.push(switchedOff(server, location, off));
  }
  return { servers, files, problems };
}

/** Claude Code switches servers of a project's `.mcp.json` off in other files. */
function switchedOff(server: Configured, location: Location, off: NonNullable<Reading['off']>): Configured {
  if (!server.isShared) return server;
  const isOff = off.some(
    ({ project, names }) => (project === null || project === location.project) && names.includes(server.name),
  );
  return isOff ? { ...server, disabled: true } : server;
}

/** The paths that a path with one `*` stands for, in their order. Throws `INPUT_UNREADABLE`. */
function expand(path: string, { platform }: Location): string[] {
  const star = path.indexOf('*');
  if (star < 0) return [path];
  const { dirname, join, sep } = platform === 'win32' ? win32 : posix;
  const folder = dirname(path.slice(0, star + 1));
  const [pattern = '', ...rest] = path.slice(folder.length + 1).split(sep);
  const [head = '', tail = ''] = pattern.split('*');
  return namesIn(folder, ['ENOENT', 'ENOTDIR'])
    .filter((name) => name.startsWith(head) && name.endsWith(tail) && name.length > head.length + tail.length)
    .map((name) => join(folder, name, ...rest));
}

/** The names in a folder, in their order; none where it fails so. Throws `INPUT_UNREADABLE` for other failures. */
export function namesIn(folder: string, none: readonly string[]): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (none.includes(code)) return [];
    throw new BullaError('INPUT_UNREADABLE', `${folder} cannot be read (${code}).`, { cause });
  }
}
