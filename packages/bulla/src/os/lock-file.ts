import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Disk, realDisk, writeNewFile } from './disk.ts';
import { readIfThere } from './file.ts';

/** A process, told apart from a later one with the same number by when it started, where that can be known. */
export interface LockOwner {
  readonly pid: number;
  readonly start: string | null;
  /** Where its number has a meaning: the machine and, on Linux, the process namespace. */
  readonly host: string;
}

export interface LockOptions {
  readonly disk?: Disk;
  /** Who takes the lock. Default: this process. */
  readonly owner?: LockOwner;
  /** How long to wait for another holder, in milliseconds. Default 10,000. */
  readonly waitMs?: number;
}

/** What a lock file says. The nonce is never used twice, so it names one lock that was once taken. */
type Lock = LockOwner & { readonly nonce: string };

/**
 * Runs `action` while no other process that asks for the same lock does. The lock of a process that died is taken
 * over. Rejects with `KEYRING_LOCKED` when the wait was in vain, `KEYRING_LOCK_MALFORMED` for a file that is no
 * lock, and `KEYRING_NOT_TIDY` if only the release failed; errors of the disk are Node's.
 */
export async function withLock<Result>(
  path: string,
  options: LockOptions,
  action: () => Result | Promise<Result>,
): Promise<Result> {
  const release = await acquire(path, options);
  let result: Result;
  try {
    result = await action();
  } catch (error) {
    try {
      release();
    } catch {} // the first error is the one to tell
    throw error;
  }
  try {
    release();
  } catch (cause) {
    throw new BullaError('KEYRING_NOT_TIDY', `The work is done, but ${path} could not be removed.`, {
      cause,
    });
  }
  return result;
}

async function acquire(path: string, options: LockOptions): Promise<() => void> {
  const { waitMs = 10_000 } = options;
  const end = performance.now() + waitMs;
  for (;;) {
    const got = tryLock(path, options);
    if (typeof got === 'function') return got;
    if (performance.now() >= end) {
      throw new BullaError(
        'KEYRING_LOCKED',
        `Process ${got.pid} on ${JSON.stringify(got.host)} is changing the keyring (${path}); remove the file if that process is gone.`,
      );
    }
    await sleep(5 + Math.random() * 15);
  }
}

/** Takes the lock and gives its release, or tells who holds it. Throws as {@link withLock} rejects. */
export function tryLock(path: string, options: LockOptions = {}): (() => void) | LockOwner {
  const { disk = realDisk, owner = thisProcess() } = options;
  for (;;) {
    const holder = readLock(path);
    if (holder === null) {
      const nonce = randomUUID();
      if (create(disk, path, { ...owner, nonce })) return () => disk.remove(path);
      continue;
    }
    if (isAlive(holder)) return holder;
    // Two processes may find the same dead lock, and the slower one must not remove the lock that the faster one
    // took meanwhile. So a dead lock is removed only by who holds the lock named after it.
    const claim = tryLock(`${path}.${holder.nonce}`, options);
    if (typeof claim !== 'function') return claim;
    try {
      if (readLock(path)?.nonce === holder.nonce) disk.remove(path);
    } finally {
      claim();
    }
  }
}

/** Makes the lock file appear with all it says, or not at all: a link is as exclusive as O_EXCL. */
function create(disk: Disk, path: string, lock: Lock): boolean {
  const draft = `${path}.${lock.nonce}.new`;
  try {
    writeNewFile(disk, draft, toUtf8(`${JSON.stringify(lock)}\n`));
    try {
      disk.link(draft, path);
    } catch (error) {
      // Over a network a link may fail and yet be made. Else another was faster, or the holder swept the draft away.
      if (readLock(path)?.nonce === lock.nonce) return true;
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST' || code === 'ENOENT') return false;
      throw error;
    }
    return true;
  } finally {
    try {
      disk.remove(draft);
    } catch {} // the next holder sweeps it away
  }
}

function readLock(path: string): Lock | null {
  const bytes = readIfThere(path);
  if (bytes === null) return null;
  try {
    const { pid, start, host, nonce } = JSON.parse(Buffer.from(bytes).toString());
    const good =
      Number.isSafeInteger(pid) &&
      pid > 0 &&
      typeof host === 'string' &&
      (start === null || typeof start === 'string') &&
      /^[0-9a-f-]{36}$/.test(nonce);
    if (good) return { pid, start, host, nonce };
  } catch {} // reported below, as for any other text
  throw new BullaError(
    'KEYRING_LOCK_MALFORMED',
    `${path} is not a lock file; remove it if nothing uses the keyring.`,
  );
}

let self: LockOwner | undefined;

export function thisProcess(): LockOwner {
  self ??= { pid: process.pid, start: startOf(process.pid), host: hostname() + pidNamespace() };
  return self;
}

/** A name of this process for what it holds in a store, which other processes can tell to be gone; `id` is drawn once. */
export function holderName(id: string): string {
  const { pid, start, host } = thisProcess();
  return `process:${JSON.stringify({ pid, start, host, id })}`;
}

/** Whether a process that named itself with `holderName` is gone; false for every other name. */
export function isHolderGone(name: string): boolean {
  if (!name.startsWith('process:')) return false;
  try {
    const { pid, start, host } = JSON.parse(name.slice('process:'.length));
    const isOwner =
      Number.isSafeInteger(pid) &&
      pid > 0 &&
      typeof host === 'string' &&
      (start === null || typeof start === 'string');
    return isOwner && !isAlive({ pid, start, host });
  } catch {
    return false;
  }
}

/** Whether the holder may still run. A process of another machine, or of another container, is never held for dead. */
function isAlive(holder: LockOwner): boolean {
  if (holder.host !== thisProcess().host) return true;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
  const start = startOf(holder.pid);
  return start === null || holder.start === null || start === holder.start;
}

/** Containers may share a host name, but a process number means something only in its own namespace. */
function pidNamespace(): string {
  try {
    return ` ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return ''; // not Linux
  }
}

/** When a process started: the boot and the clock ticks since then, as Linux tells it; null elsewhere. */
function startOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // proc_pid_stat(5): the name stands in parentheses and may hold anything; the state is field 3, the start 22.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : `${boot}:${fields[19]}`;
  } catch {
    return null;
  }
}
