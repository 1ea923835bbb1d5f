import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  type Artifact,
  type Authorization,
  type Drift,
  type Lock,
  type LockProfile,
  type LockWarning,
  lockDigest,
  lockedSurface,
  readLock,
  type WriteLockOptions,
  withoutTools,
  writeLock,
} from '@bulla/core/lock';
import { identityOf } from '../locks/index.ts';
import type { Surface, Target } from '../mcp/index.ts';
import { findInput, LIMITS, naming, replaceFile } from '../os/index.ts';
import { refusing } from '../refusal.ts';
import { VERSION } from '../version.ts';
import { compareScanned } from './check.ts';
import { isChoosing, leftOutOf, type ToolChoice } from './choice.ts';
import type { Observer } from './observer.ts';
import { artifactFacts, type Fetching, type Pinned, pinProgram } from './pinned.ts';
import {
  confineWith,
  type MeantServer,
  type Scanned,
  type ServerAccess,
  scanServer,
  targetFor,
} from './server.ts';

export type LockFormat = NonNullable<WriteLockOptions['format']>;

/** How a lockfile is written. */
interface LockWriting extends ToolChoice, Pick<Observer, 'onFacts'> {
  /** The lockfile. */
  readonly output: string;
  /** Default `native`. */
  readonly format?: LockFormat | undefined;
  /** Hash numbers in schemas by the released program's rule. Default: as the lockfile has it. */
  readonly compatGo?: boolean | undefined;
  /** Pin the program too, or drop what is pinned of it. Default: keep the pin of an image, and refuse otherwise. */
  readonly pin?: boolean | undefined;
  /** Take defaults as the released lock program does. */
  readonly compat?: boolean | undefined;
  /** Whether what changed since it was locked becomes the new baseline. Default: no. */
  readonly accept?: ((drift: Drift) => boolean | Promise<boolean>) | undefined;
  /** Default: now, or as `SOURCE_DATE_EPOCH` says. */
  readonly now?: Date | undefined;
}

export interface LockInput extends LockWriting, MeantServer, ServerAccess, Fetching, Observer {
  /** Replace a lockfile that cannot be read. */
  readonly replaceUnreadable?: boolean | undefined;
  /** Look at no lockfile that is there. */
  readonly ignoreOld?: boolean | undefined;
}

/** What became of the lockfile. */
export interface Locked {
  readonly state: 'created' | 'updated' | 'unchanged';
  readonly format: LockFormat;
  readonly profile: LockProfile | null;
  readonly sha256: string;
  /** What it pins of the server's program. */
  readonly artifact: Artifact | null;
  readonly target: Target;
  /** With which rights it was scanned. */
  readonly authorization: Authorization;
  /** Tools that the server offers and that are left out on purpose. */
  readonly leftOut: ReadonlySet<string>;
  /** What is locked of the server. */
  readonly surface: Surface;
  readonly warnings: readonly LockWarning[];
}

/** The server changed since it was locked, and that was not accepted: the lockfile is as it was. */
interface NotLocked {
  readonly state: 'refused';
  readonly drift: Drift;
}

/**
 * Scans a server and locks what it offers. Rejects with `LOCK_SELECTION`, `LOCK_TOO_LARGE`, `USAGE`,
 * `USAGE`, with what `readLock` throws for a lockfile that is there, and as `scanServer` and `pinProgram` do.
 */
export async function lock(input: LockInput): Promise<Locked | NotLocked> {
  const old = input.ignoreOld ? null : readOld(input);
  if (old !== null) input.onFacts?.({ before: lockDigest(old) });
  const target = targetFor(input, old);
  await input.onTarget?.(target);
  refuseUnpinned(old, input.pin);
  using pinned = input.pin === true ? await pinProgram(target, input) : null;
  const access = { ...input, confine: confineWith(input.confine, pinned) };
  const scanned = await scanServer(pinned?.target ?? target, access, input);
  return await writeScanned(old, target, scanned, input, pinned);
}

/** The lock that is there. One that cannot be read is not replaced unawares. */
function readOld({ output, replaceUnreadable }: LockInput): Lock | null {
  const bytes = findInput(output, 'document');
  try {
    return bytes === null ? null : naming(output, () => readLock(bytes));
  } catch (error) {
    if (replaceUnreadable && error instanceof BullaError) return null;
    throw error;
  }
}

/** Writes the lockfile of a server, now that it is known what the server shows. */
export async function writeScanned(
  old: Lock | null,
  target: Target,
  scanned: Scanned,
  input: LockWriting,
  pinned: Pinned | null = null,
): Promise<Locked | NotLocked> {
  const { compat = false, onFacts } = input;
  const compatGo = input.compatGo ?? (compat || old?.native?.profile === 'mcptrust-v1-go');
  // The released program's scripts look for what is pinned where its version 2 has it.
  const usual = compat && pinned !== null ? 'v2' : 'native';
  const format = input.format ?? (compat && old !== null ? formatOf(old) : usual);
  // What was pinned now, what the old lock pins, or nothing.
  const artifact = pinned?.artifact ?? (input.pin === false ? null : (old?.artifact ?? null));
  const leftOut = await leftOutOf(scanned.surface, old, input);
  if (leftOut.size > 0 && format !== 'native')
    throw new BullaError(
      'LOCK_SELECTION',
      `Format ${format} cannot say which tools are left out on purpose.`,
    );
  // A program that is pinned for the first time is no change; another than the pinned one is.
  const now = pinned !== null && old?.artifact ? { artifact: pinned.artifact } : {};
  const found = old && withoutTools(compareScanned(old, target, scanned, now), leftOut);
  const made = written(scanned.surface, {
    ...{ format, compatGo, leftOut, authorization: scanned.authorization, identity: identityOf(target) },
    ...{ generator: `bulla ${VERSION}`, updatedAt: input.now ?? timeOfFiles() },
    ...(artifact && format !== 'v1' && { artifact }),
    // What was left out of digests stays as the old lock has it.
    ...(old?.native && { exclude: old.native.excluded }),
  });
  if (found !== null) onFacts?.({ drift: { ...found.counts } });
  if (artifact !== null) onFacts?.({ artifact: artifactFacts(artifact) });
  const rest = {
    ...{
      artifact,
      target,
      authorization: scanned.authorization,
      leftOut,
      surface: lockedSurface(scanned.surface, leftOut),
    },
    warnings: [...made.warnings, ...(pinned?.warnings ?? [])],
  };
  if (found?.counts.total === 0 && !asksForAnother(old!, leftOut, input)) {
    const { sha256, native } = old!;
    onFacts?.({ lock: lockDigest(old!) });
    return { state: 'unchanged', format: formatOf(old!), profile: native?.profile ?? null, sha256, ...rest };
  }
  if (found !== null && found.counts.total > 0 && !(await input.accept?.(found)))
    return { state: 'refused', drift: found };
  const bytes = toUtf8(made.text);
  onFacts?.({ lock: lockDigest(readLock(bytes)) });
  replaceFile(input.output, bytes);
  const profile = compatGo ? 'mcptrust-v1-go' : 'mcptrust-v1';
  return { state: old === null ? 'created' : 'updated', format, profile, sha256: sha256Hex(bytes), ...rest };
}

/** Another format, number rule or choice of tools than the file has was asked for, or a pin that it does not have. */
function asksForAnother(old: Lock, leftOut: ReadonlySet<string>, input: LockWriting): boolean {
  const { compatGo, pin, format } = input;
  const before = old.native?.leftOut;
  const isOtherChoice =
    isChoosing(input) &&
    (leftOut.size !== (before?.size ?? 0) || [...leftOut].some((name) => !before?.has(name)));
  const isOtherRule = compatGo === true && old.native?.profile === 'mcptrust-v1';
  const isOtherPin = pin !== undefined && pin !== (old.artifact !== null);
  return isOtherRule || isOtherPin || isOtherChoice || (format !== undefined && format !== formatOf(old));
}

function formatOf({ native, version }: Lock): LockFormat {
  return native !== null ? 'native' : ({ '1.0': 'v1', '2.0': 'v2', '3.0': 'v3' } as const)[version];
}

/** Nothing is written that would be too large to be read: deep definitions grow when they are set in lines. */
function written(surface: Surface, options: WriteLockOptions): ReturnType<typeof writeLock> {
  return refusing('The server cannot be locked', () => {
    try {
      const made = writeLock(surface, options);
      if (Buffer.byteLength(made.text) <= LIMITS.document) return made;
    } catch (error) {
      // A string that would be longer than the engine allows.
      if (!(error instanceof RangeError)) throw error;
    }
    throw new BullaError('LOCK_TOO_LARGE', `The lock would be larger than ${LIMITS.document} bytes.`);
  });
}

/** `SOURCE_DATE_EPOCH` is what makes files that hold a time reproducible elsewhere too. */
function timeOfFiles(): Date {
  const epoch = process.env.SOURCE_DATE_EPOCH;
  if (!epoch) return new Date();
  if (!/^[0-9]{1,11}$/.test(epoch))
    throw new BullaError('USAGE', 'SOURCE_DATE_EPOCH is a number of seconds since 1970.');
  return new Date(Number(epoch) * 1000);
}

/**
 * A lock with a tree says what the pinned package shows. Locking the server without pinning would make it say what some
 * other program shows. Throws `USAGE`.
 */
function refuseUnpinned(old: Lock | null, pin: boolean | undefined): void {
  if (pin !== undefined || !old?.artifact?.tree) return;
  const message = 'This lock pins its program. Pin it anew with --pin, or drop the pin with --no-pin.';
  throw new BullaError('USAGE', message);
}
