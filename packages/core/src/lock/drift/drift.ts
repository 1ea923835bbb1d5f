import { BullaError } from '../../error.ts';
import { DEFAULT_EXCLUSIONS } from '../file/entry.ts';
import { LOCK_PROFILES } from '../file/hashes.ts';
import type { Authorization, Identity } from '../file/identity.ts';
import type { Lock } from '../file/lock.ts';
import type { Artifact } from '../file/package.ts';
import type { LockVersion } from '../file/released.ts';
import { LIST_KINDS, type ListKind, type Surface } from '../file/surface.ts';
import { hashedItems, hashedList } from './hashes.ts';
import { type DriftItem, SEVERITIES, type Severity } from './item.ts';
import { listItems } from './lists.ts';
import { type ToolNames, toolNames } from './names.ts';
import {
  artifactItems,
  authorizationItems,
  capabilityItems,
  commandItems,
  contentItems,
  exclusionItems,
  identityItems,
  instructionItems,
  serverItems,
  serverNameItem,
} from './server.ts';
import { isLock, type Whole, wholeOf } from './side.ts';

/** How a surface differs from a lock. */
export interface Drift {
  /**
   * Every difference, those of one definition together: first what is known of the server as a whole, then tools,
   * prompts, resources and templates by name, then contents.
   */
  readonly items: readonly DriftItem[];
  readonly counts: DriftCounts;
  /** Of the lockfile. */
  readonly version: LockVersion;
  /** SHA-256 of the lockfile's bytes, in hex. */
  readonly sha256: string;
  /** What the server called itself when it was locked; null where the file does not say. */
  readonly server: string | null;
  /** Whether the lock stores definitions. Without them it can be told that something changed, but not what. */
  readonly stored: boolean;
  /** What was not compared, because one side does not tell. What is named here can have changed unnoticed. */
  readonly unseen: readonly DriftPart[];
  /** Tools that the lock leaves out on purpose and that are there now. Nothing is wrong with that. */
  readonly leftOut: readonly string[];
}

/** The parts of a surface and of how it is reached, each of which is compared by itself. */
type DriftPart =
  | ListKind
  | ('identity' | 'authorization' | 'serverInfo' | 'instructions' | 'capabilities' | 'contents');

export interface DriftCounts extends Readonly<Record<Severity, number>> {
  readonly total: number;
}

export interface DriftOptions {
  /** How the server is reached now. A surface does not say. */
  readonly identity?: Identity;
  /** With which rights it was asked now. A surface does not say. */
  readonly authorization?: Authorization;
  /** What the program of the server is now, where the lock pins it. A surface does not say. */
  readonly artifact?: Artifact;
  /** Names of tools of other servers that the same agent sees: a text may speak of them, a name imitate them. */
  readonly otherTools?: readonly string[];
}

/**
 * Compares a lock with what is there now: a surface that was scanned, or another lock. Works for every version of
 * lockfile; `stored` and `unseen` say how much a file could tell. Takes time in proportion to both sides, and equal
 * definitions cost no more than their digest. Nothing of it is a verdict: see `verdict`. Throws `LOCK_DEFINITION`
 * for a definition without a name and `LOCK_DUPLICATE` for two of one name, because nobody could say which of them is
 * meant; `LOCK_IDENTITY` for an identity that cannot be; `CANON_NOT_FINITE` for a number that no double holds.
 */
export function drift(lock: Lock, current: Surface | Lock, options: DriftOptions = {}): Drift {
  const exclusions = lock.native?.excluded ?? DEFAULT_EXCLUSIONS;
  const [before, after] = [wholeOf(lock, exclusions), wholeOf(current, exclusions)];
  const others = options.otherTools ?? [];
  const names = lazyNames([lock, current], others);
  // The number rules under which the schema hashes of a file without definitions may stand.
  const profiles = before === null ? lock.profiles : isLock(current) ? current.profiles : LOCK_PROFILES;
  const unseen: DriftPart[] = [];
  const items: DriftItem[] = [];
  const add = (found: readonly DriftItem[]) => {
    for (const item of found) items.push(item);
  };
  const see = (part: DriftPart, found: readonly DriftItem[] | null) => {
    if (found === null) unseen.push(part);
    else add(found);
  };
  /** Both sides, where both are known whole. */
  const both = before && after && ([before, after] as const);

  see('identity', transportItems(lock, current, options));
  see('authorization', rightsItems(lock, current, options));
  if (isLock(current)) add(fileItems(lock, current));
  else if (options.artifact !== undefined) add(artifactItems(lock.artifact, options.artifact));
  see('serverInfo', both && serverItems(...both, names));
  if (both === null) add(nameItems(lock, current, after));
  see('instructions', both && instructionItems(...both, names));
  see('capabilities', both && capabilityItems(...both, names));
  for (const kind of LIST_KINDS) {
    const around = {
      ...{ names, exclusions: exclusions[kind], profile: lock.profiles[0]! },
      others: kind === 'tools' ? others : [],
      isLock: isLock(current),
    };
    if (both !== null || kind === 'resources') {
      see(kind, both && listItems(kind, ...both, around));
      continue;
    }
    const known = hashedList(kind, before, lock, profiles);
    const now = hashedList(kind, after, isLock(current) ? current : null, profiles);
    see(kind, known && now && hashedItems(kind, known, now, around));
  }
  see('contents', both && contentItems(...both));
  return {
    items,
    counts: countsOf(items),
    version: lock.version,
    sha256: lock.sha256,
    server: lock.serverName,
    stored: lock.native !== null,
    unseen,
    // A server offers them still; another lock leaves them out as well, or has approved them.
    leftOut: [...(before?.leftOut.keys() ?? [])].filter((name) =>
      isLock(current) ? after?.leftOut.has(name) : after?.definition('tools', name),
    ),
  };
}

/** A drift without what it says of some tools: whoever leaves them out need not accept how they changed. */
export function withoutTools(found: Drift, names: ReadonlySet<string>): Drift {
  const items = found.items.filter(({ kind, name }) => kind !== 'tool' || !names.has(name));
  return { ...found, items, counts: countsOf(items) };
}

function countsOf(items: readonly DriftItem[]): DriftCounts {
  const counts = { critical: 0, moderate: 0, info: 0, total: items.length };
  for (const { severity } of items) counts[severity]++;
  return counts;
}

/** The index over the tools of both sides and of other servers is made when the first text asks for it. */
function lazyNames(both: readonly (Surface | Lock)[], others: readonly string[]): () => ToolNames {
  let found: ToolNames | undefined;
  const toolsOf = (side: Surface | Lock) =>
    isLock(side) ? [...side.tools.keys()] : side.tools.map((tool) => tool.get('name') as string);
  return () => {
    found ??= toolNames(new Set([...both.flatMap(toolsOf), ...others]));
    return found;
  };
}

function transportItems(lock: Lock, current: Surface | Lock, options: DriftOptions): DriftItem[] | null {
  const is = options.identity ?? (isLock(current) ? current.native?.identity : undefined);
  if (lock.native !== null && is !== undefined) return identityItems(lock.native.identity, is);
  if (lock.serverCommand !== null && is !== undefined) return commandItems(lock.serverCommand, is);
  return null;
}

function rightsItems(lock: Lock, current: Surface | Lock, options: DriftOptions): DriftItem[] | null {
  const is = options.authorization ?? (isLock(current) ? current.native?.authorization : undefined);
  return lock.native === null || is === undefined ? null : authorizationItems(lock.native.authorization, is);
}

/** What only two lockfiles can be compared by. */
function fileItems(lock: Lock, current: Lock): DriftItem[] {
  const excluded =
    lock.native === null || current.native === null
      ? []
      : exclusionItems(lock.native.excluded, current.native.excluded);
  return [...artifactItems(lock.artifact, current.artifact), ...excluded];
}

/**
 * Version 3 without our key holds the name of the server and nothing else of it. The released program does not compare
 * it, so that it is told and does not fail a check.
 */
function nameItems(lock: Lock, current: Surface | Lock, whole: Whole | null): DriftItem[] {
  const was = lock.serverName;
  const is = whole === null ? (current as Lock).serverName : (whole.serverInfo.get('name') ?? '');
  return was === null || is === null || was === is ? [] : [serverNameItem(was, is, 'moderate')];
}

/**
 * Judges a drift by a threshold: `critical` fails on critical differences alone, `moderate` also on moderate ones,
 * `info` on any. `failing` is the number of those. What was not compared (`unseen`) is no part of it. Throws `USAGE` for
 * another word.
 */
export function verdict(
  { counts }: Drift,
  failOn: Severity = 'critical',
): { readonly outcome: 'PASS' | 'FAIL'; readonly failing: number } {
  const last = SEVERITIES.indexOf(failOn);
  if (last < 0) throw new BullaError('USAGE', `The threshold is one of ${SEVERITIES.join(', ')}.`);
  const failing = SEVERITIES.slice(0, last + 1).reduce((sum, severity) => sum + counts[severity], 0);
  return { outcome: failing > 0 ? 'FAIL' : 'PASS', failing };
}
