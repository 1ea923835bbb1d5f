import { type Drift, drift, type Lock, lockDigest, type Severity, verdict } from '@bulla/core/lock';
import { identityOf } from '../locks/index.ts';
import type { Target } from '../mcp/index.ts';
import { refusing } from '../refusal.ts';
import { type LockTrust, openLock } from './locked.ts';
import type { Observer } from './observer.ts';
import { artifactNow, type Fetching, pinnedServer } from './pinned.ts';
import type { DriftPolicy } from './policy.ts';
import {
  confineWith,
  type MeantServer,
  type Scanned,
  type ServerAccess,
  scanServer,
  targetFor,
} from './server.ts';

interface DiffInput extends MeantServer, LockTrust, ServerAccess, Observer {
  readonly lockfile: string;
}

interface CheckInput extends DiffInput, Fetching {
  /** Start the program that the lock pins, not whatever the command would start now. */
  readonly pinned?: boolean | undefined;
  /** The mildest difference that fails. Default `critical`. */
  readonly failOn?: Severity | undefined;
  /** Rules that must hold too: a preset, or the file of a policy. */
  readonly policy?: string | undefined;
}

/** What a server differs in from its lock. */
interface ServerDrift {
  readonly drift: Drift;
  /** The bytes of the lockfile. */
  readonly source: Uint8Array;
}

interface Checked extends ServerDrift {
  readonly outcome: 'PASS' | 'FAIL';
  readonly policy: DriftPolicy | null;
}

/**
 * Tells whether a server still is as it was locked. Rejects as `openLock`, `scanServer`, `pinnedServer` and
 * `loadPolicy` do.
 */
export async function check(input: CheckInput): Promise<Checked> {
  const { onFacts, failOn = 'critical' } = input;
  const ask = input.policy ? (await import('./policy.ts')).driftPolicy(input.policy) : null;
  const { lock, bytes: source } = openLock(input.lockfile, input);
  onFacts?.({ lock: lockDigest(lock) });
  const target = targetFor(input, lock);
  await input.onTarget?.(target);
  using pinned = input.pinned ? await pinnedServer(lock, target, input) : null;
  const now = pinned === null ? await artifactNow(lock, target) : {};
  const access = { ...input, confine: confineWith(input.confine, pinned) };
  const scanned = await scanServer(pinned?.target ?? target, access, input);
  const found = compareScanned(lock, target, scanned, now);
  const policy = ask?.(lock, scanned.surface, found) ?? null;
  onFacts?.({ drift: { ...found.counts } });
  if (policy !== null) {
    const { preset: name, digest, passed } = policy;
    onFacts?.({ policy: { name, digest, passed } });
  }
  const outcome = policy?.passed === false ? 'FAIL' : verdict(found, failOn).outcome;
  return { drift: found, source, outcome, policy };
}

/** What changed in a server since a lock. Rejects as `openLock` and `scanServer` do. */
export async function diffServer(input: DiffInput): Promise<ServerDrift> {
  const { lock, bytes: source } = openLock(input.lockfile, input);
  const target = targetFor(input, lock);
  return { drift: compareScanned(lock, target, await scanServer(target, input, input)), source };
}

/** What changed between two lockfiles; the source is that of the first. Throws as `openLock` does. */
export function diffLocks(before: string, after: string, trust: LockTrust): ServerDrift {
  const { lock, bytes: source } = openLock(before, trust);
  return { drift: drift(lock, openLock(after, trust).lock), source };
}

/** What a scanned server differs in from a lock; one that cannot be compared is refused. */
export function compareScanned(
  lock: Lock,
  target: Target,
  { surface, authorization }: Scanned,
  now: Awaited<ReturnType<typeof artifactNow>> = {},
): Drift {
  return refusing('The server cannot be compared', () =>
    drift(lock, surface, { identity: identityOf(target), authorization, ...now }),
  );
}
