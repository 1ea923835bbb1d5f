import { drift } from '@bulla/core/lock';
import { compareScanned, type ServerDrift } from './check.ts';
import { type LockTrust, openLock } from './locked.ts';
import type { Observer } from './observer.ts';
import { type MeantServer, type ServerAccess, scanServer, targetFor } from './server.ts';

interface DiffInput extends MeantServer, LockTrust, ServerAccess, Observer {
  readonly lockfile: string;
}

/** What changed in a server since a lock. Rejects as `openLock` and `scanServer` do. */
export async function diffServer(input: DiffInput): Promise<ServerDrift> {
  const { lock, bytes: source } = openLock(input.lockfile, input);
  const target = targetFor(input, lock);
  return { drift: compareScanned(lock, target, await scanServer(target, input, input)), source };
}

/** What changed between two lockfiles; the source is that of the first. Throws as `openLock` does. */
export function diffLocks(before: string, after: string, trust: LockTrust = {}): ServerDrift {
  const { lock, bytes: source } = openLock(before, trust);
  return { drift: drift(lock, openLock(after, trust).lock), source };
}
