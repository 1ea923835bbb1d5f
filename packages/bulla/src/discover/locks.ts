import { isAbsolute, join, resolve } from 'node:path';
import { sha256Hex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Lock, readLock } from '@bulla/core/lock';
import { isSameServer, serverKey, targetOf } from '../locks/index.ts';
import type { Target } from '../mcp/index.ts';
import { findInput } from '../os/index.ts';
import { type Configured, namesIn, type Problem } from './discover.ts';

/** A lock that is known, and the server that it names. */
interface KnownLock {
  readonly path: string;
  readonly lock: Lock;
  readonly target: Target | null;
}

/** The folders in which the locks of discovered servers lie. */
interface LockFolders {
  /** For what a user configured: `BULLA_HOME/locks`. */
  readonly user: string;
  /** For what a project shares, or null for `mcp-locks` in the project. */
  readonly project: string | null;
}

/** `locked`: by a lock for exactly this command or address; `changed`: its lock is of another; `unpinned`: no lock. */
type State = 'locked' | 'changed' | 'unpinned';

export interface CheckedServer extends Configured {
  readonly state: State;
  /** The lock that was found, else where `--lock-all` would write one. */
  readonly lockFile: string;
  readonly lock: Lock | null;
}

/** Reads every lock that lies where locks of these servers may lie, and says in which state each server is. */
export function checkServers(
  servers: readonly Configured[],
  folders: LockFolders,
): { checked: CheckedServer[]; problems: Problem[] } {
  const problems: Problem[] = [];
  const known = readLocks(servers, folders, problems);
  const taken = new Set(
    servers.flatMap((server) => known.filter((lock) => isOf(lock, server)).map(({ path }) => path)),
  );
  // Many disks take names that differ by case alone for the same.
  const slot = (path: string) => path.toLowerCase();
  const slots = new Set(known.map(({ path }) => slot(path)));
  const given = new Map<string, { readonly id: string; readonly path: string }>();
  const checked = servers.map((server): CheckedServer => {
    const same = known.find((lock) => isOf(lock, server));
    if (same !== undefined)
      return { ...withTarget(server, same), state: 'locked', lockFile: same.path, lock: same.lock };
    const files = lockFiles(server, folders);
    // A lock of this name that is another server's is not a change of this one.
    const own = known.find(({ path }) => files.includes(path) && !taken.has(path));
    const guarded = server.guard && guardLock(server);
    const other = known.find(({ path }) => path === guarded) ?? own;
    if (other !== undefined) return { ...server, state: 'changed', lockFile: other.path, lock: other.lock };
    const id = server.target === null ? '' : serverKey(server.target);
    const isFree = (path: string) => !slots.has(slot(path)) && (given.get(slot(path))?.id ?? id) === id;
    const free = files.find(isFree) ?? files.at(-1)!;
    const lockFile = guarded ?? given.get(slot(free))?.path ?? free;
    if (id !== '') given.set(slot(lockFile), { id, path: lockFile });
    return { ...server, state: 'unpinned', lockFile, lock: null };
  });
  return { checked, problems };
}

/** Whether a guard is known to hold the server to its lock. */
export function isGuarded({ guard, why }: Configured): boolean {
  return guard?.isThis === true && why === null;
}

/** A guard that names no server runs the one of its lock, and one that names no variables passes on those of its lock. */
function withTarget(server: Configured, { target }: KnownLock): Configured {
  return takesEnv(server) ? { ...server, target } : server;
}

function takesEnv({ guard, target }: Configured): boolean {
  return guard !== null && (target?.kind !== 'stdio' || target.env.length === 0);
}

function isOf({ path, lock, target }: KnownLock, server: Configured): boolean {
  if (server.why !== null || target === null) return false;
  // A guard goes by its own lock and by no other.
  if (server.guard !== null && path !== guardLock(server)) return false;
  if (server.guard?.namesServer === false) return true;
  if (server.target === null) return false;
  if (takesEnv(server)) return isSameServer(target, server.target, { env: false });
  // Locks of the released program name no variables.
  return isSameServer(target, server.target, { env: lock.native !== null });
}

/** The lock that a guard names, from where the client starts it. */
function guardLock(server: Configured): string {
  const { lock } = server.guard!;
  return isAbsolute(lock) ? lock : resolve(server.project ?? '.', lock);
}

function readLocks(servers: readonly Configured[], folders: LockFolders, problems: Problem[]): KnownLock[] {
  const files = new Set(list(folders.user, problems));
  for (const server of servers) {
    if (server.guard !== null) files.add(guardLock(server));
    if (server.project === null) continue;
    files.add(join(server.project, 'mcp-lock.json'));
    for (const file of list(folders.project ?? join(server.project, 'mcp-locks'), problems)) files.add(file);
  }
  return [...files].flatMap((path) => {
    try {
      const bytes = findInput(path, 'document');
      if (bytes === null) return [];
      const lock = readLock(bytes);
      return [{ path, lock, target: namedBy(lock) }];
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      problems.push({ client: null, file: path, error });
      return [];
    }
  });
}

function namedBy(lock: Lock): Target | null {
  try {
    return targetOf(lock);
  } catch (error) {
    if (error instanceof BullaError) return null;
    throw error;
  }
}

function list(folder: string, problems: Problem[]): string[] {
  try {
    const names = namesIn(folder, ['ENOENT']);
    return names
      .filter((name) => name.endsWith('.json') && !name.endsWith('.dsse.json'))
      .map((name) => join(folder, name));
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    if (!problems.some(({ file }) => file === folder)) problems.push({ client: null, file: folder, error });
    return [];
  }
}

/** The files that may hold the lock of a server, the one to write first, unless another server has it. */
function lockFiles(server: Configured, { user, project }: LockFolders): string[] {
  const { client, name } = server;
  if (!server.isShared) {
    const digested = join(user, fileName([client.id, name, server.project ?? '']));
    return server.project === null ? [join(user, fileName([client.id, name])), digested] : [digested];
  }
  const folder = project ?? join(server.project!, 'mcp-locks');
  return [[name], [client.id, name], [client.id, name, '']].map((parts) => join(folder, fileName(parts)));
}

/** A name that every file system takes; a digest tells apart what it would make the same. */
function fileName(parts: readonly string[]): string {
  const name = parts.slice(0, 2).join('-');
  const isPlain = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && !RESERVED.test(name) && parts.length < 3;
  if (isPlain) return `${name}.json`;
  const digest = sha256Hex(JSON.stringify(parts)).slice(0, 8);
  return `${name
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[._]+/, '')
    .slice(0, 48)}-${digest}.json`;
}

/** Names that Windows keeps for devices. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
