import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  type Artifact,
  type Drift,
  drift,
  driftJson,
  driftText,
  keptOf,
  type Lock,
  lockDigest,
  readLock,
  type WriteLockOptions,
  withoutTools,
  writeLock,
} from '@bulla/core/lock';
import { type Command, Option } from 'commander';
import { identityOf, MAX_LOCK_BYTES, readLimited, replaceFile } from '../../locks/index.ts';
import type { Target } from '../../mcp/index.ts';
import { naming } from '../../os/index.ts';
import type { Run } from '../commands.ts';
import { note, type RecordOptions, recorded, recordOptions } from '../receipt.ts';
import { artifactFacts, type FetchOptions, fetchOptions } from '../run/pinned.ts';
import { askKey, askYes, isAnswered } from '../terminal/ask.ts';
import {
  complain,
  EXIT,
  type Exit,
  print,
  printExact,
  type ReportOptions,
  refusing,
  say,
} from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';
import { VERSION } from '../version.ts';
import { type ChoiceOptions, choiceOptions, isChoosing, leftOutOf } from './choice.ts';
import { COMPAT } from './compat.ts';
import { painted } from './drift-formats.ts';
import { artifactFor, type Pinned, pin, refuseUnpinned } from './pin.ts';
import {
  type Scanned,
  SERVER_HELP,
  type ServerOptions,
  scanServer,
  serverOptions,
  targetFor,
} from './server.ts';
import { tell } from './summary.ts';

export type Format = NonNullable<WriteLockOptions['format']>;

export interface LockOptions
  extends ServerOptions,
    ReportOptions,
    FetchOptions,
    ChoiceOptions,
    Partial<RecordOptions> {
  output: string;
  force?: boolean;
  yes?: boolean;
  v3?: boolean;
  format?: Format;
  compatGo?: boolean;
  pin?: boolean;
}

export function define(command: Command, run: Run): void {
  recordOptions(
    fetchOptions(
      choiceOptions(
        serverOptions(
          command.argument('[server...]', 'the server, after --; without it the one of the lockfile'),
        ),
      ),
    ),
  )
    .option('-o, --output <file>', 'the lockfile', 'mcp-lock.json')
    .option('-f, --force', 'replace the lockfile even if the server changed, or if it cannot be read')
    .option('--yes', 'accept what changed without being asked')
    .option('--v3', 'the same as --format v3')
    .addOption(
      new Option(
        '--format <format>',
        'native (version 3 with every definition), or exactly what the released lock program writes',
      ).choices(['native', 'v1', 'v2', 'v3']),
    )
    .option('--compat-go', "hash numbers in schemas by the released lock program's rule")
    .option('--pin', 'pin the program too: an npm package with all that it needs, or the digest of an image')
    .option('--no-pin', 'drop what the lockfile pins of the program')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing but errors; the exit code tells')
    .addHelpText(
      'after',
      `${SERVER_HELP}
If the server changed since it was locked, the difference is shown. On a terminal you are asked: one key where only
prose changed, the word yes for anything else. Elsewhere it ends with 1, and the lockfile stays as it is.

With --only, --except or --choose only some of the tools are locked. The others are left out on purpose: the guard hides
them, and check passes while they are there. The next lock keeps the choice; --only '*' takes it back.

With --pin the package that npx, npm exec or docker run names is resolved once, and what is locked is what that very
package shows; bulla run then runs it, and nothing else.

Examples:
  $ bulla lock -- npx -y @modelcontextprotocol/server-everything
  $ bulla lock --only 'read_*' list_directory -- npx -y @modelcontextprotocol/server-filesystem /tmp
  $ bulla lock --pin -- npx -y @modelcontextprotocol/server-filesystem /tmp`,
    )
    .action(run(recorded('lock', lock)));
}

async function lock(words: string[], options: LockOptions): Promise<Exit> {
  const old = readOld(options);
  if (old !== null) note({ before: lockDigest(old) });
  const target = targetFor(words, options.env, old);
  if (COMPAT && !options.json && !options.quiet) await print('Scanning MCP server...\n');
  refuseUnpinned(old, options.pin);
  const pinned = options.pin === true ? await pin(target, options) : null;
  try {
    const scanned = await scanServer(pinned?.target ?? target, options, !options.quiet);
    return await settle(old, target, scanned, options, pinned);
  } finally {
    pinned?.release();
  }
}

/**
 * The lock that is there. One that cannot be read is not replaced unawares, and the released program looks at none when
 * it writes version 3.
 */
function readOld({ output, force, v3 }: LockOptions): Lock | null {
  if (COMPAT && v3) return null;
  const bytes = readLimited(output);
  try {
    return bytes === null ? null : naming(output, () => readLock(bytes));
  } catch (error) {
    if (force && error instanceof BullaError) return null;
    throw error;
  }
}

/** What becomes of the lockfile, now that it is known what the server shows. */
export async function settle(
  old: Lock | null,
  target: Target,
  scanned: Scanned,
  options: LockOptions,
  pinned: Pinned | null = null,
): Promise<Exit> {
  const asked = options.v3 ? 'v3' : options.format;
  const compatGo = options.compatGo ?? (COMPAT || old?.native?.profile === 'mcptrust-v1-go');
  // The released program's scripts look for what is pinned where its version 2 has it.
  const usual = COMPAT && pinned !== null ? 'v2' : 'native';
  const format = asked ?? (COMPAT && old !== null ? formatOf(old) : usual);
  const artifact = artifactFor(pinned, old, options.pin);
  const leftOut = await leftOutOf(scanned.surface, old, options);
  if (leftOut.size > 0 && format !== 'native')
    throw new BullaError(
      'LOCK_SELECTION',
      `Format ${format} cannot say which tools are left out on purpose.`,
    );
  const found = old && withoutTools(driftSince(old, target, scanned, pinned), leftOut);
  const made = written(scanned, target, old, artifact, format, compatGo, leftOut);
  const kept = keptOf(scanned.surface, leftOut);
  const warnings = [...made.warnings, ...(pinned?.warnings ?? [])];
  if (found !== null) note({ drift: { ...found.counts } });
  if (artifact !== null) note({ artifact: artifactFacts(artifact) });
  if (found !== null && found.counts.total === 0 && !asksForAnother(old!, asked, leftOut, options)) {
    const state = { state: 'unchanged', format: formatOf(old!), sha256: old!.sha256, artifact } as const;
    note({ lock: lockDigest(old!) });
    const profile = old!.native?.profile ?? null;
    await tell({ ...state, profile, target, leftOut }, kept, warnings, options);
    return EXIT.good;
  }
  if (found !== null && found.counts.total > 0 && !(await isAccepted(found, options))) {
    const head = JSON.stringify({ ok: false, code: 'LOCK_DRIFT', file: options.output }).slice(0, -1);
    if (options.json)
      await printExact(`${head},"drift":${driftJson(found, { lockfile: options.output }).trimEnd()}}\n`);
    const message =
      isAnswered() && !options.quiet
        ? 'The server changed since it was locked, and that was not accepted: nothing was written, the lock stays as it was.'
        : 'The server changed since it was locked, and the lock stays as it was. Accept it with --yes.';
    complain(new BullaError('LOCK_DRIFT', message));
    return EXIT.bad;
  }
  const bytes = toUtf8(made.text);
  note({ lock: lockDigest(readLock(bytes)) });
  replaceFile(options.output, bytes);
  const state = { state: old === null ? 'created' : 'updated', format, sha256: sha256Hex(bytes) } as const;
  const profile = compatGo ? 'mcptrust-v1-go' : 'mcptrust-v1';
  await tell({ ...state, profile, artifact, target, leftOut }, kept, warnings, options);
  return EXIT.good;
}

/** Another format, number rule or choice of tools than the file has was asked for, or a pin that it does not have. */
function asksForAnother(
  old: Lock,
  asked: Format | undefined,
  leftOut: ReadonlySet<string>,
  options: LockOptions,
): boolean {
  const { compatGo, pin } = options;
  const before = old.native?.leftOut;
  const isOtherChoice =
    isChoosing(options) &&
    (leftOut.size !== (before?.size ?? 0) || [...leftOut].some((name) => !before?.has(name)));
  const isOtherRule = compatGo === true && old.native?.profile === 'mcptrust-v1';
  const isOtherPin = pin !== undefined && pin !== (old.artifact !== null);
  return isOtherRule || isOtherPin || isOtherChoice || (asked !== undefined && asked !== formatOf(old));
}

/** A program that is pinned for the first time is no change; another than the pinned one is. */
function driftSince(
  old: Lock,
  target: Target,
  { surface, authorization }: Scanned,
  pinned: Pinned | null,
): Drift {
  const artifact = pinned !== null && old.artifact !== null ? { artifact: pinned.artifact } : {};
  return refusing('The server cannot be compared', () =>
    drift(old, surface, { identity: identityOf(target), authorization, ...artifact }),
  );
}

/** Shows what changed, and whether it is to be the new baseline. */
async function isAccepted(found: Drift, options: LockOptions): Promise<boolean> {
  const isGranted = options.force === true || options.yes === true;
  if (!options.quiet) say(`${driftText(found, painted(streams.stderr))}`);
  if (isGranted || options.quiet || !isAnswered()) return isGranted;
  const isGentle = found.items.every(({ prose, severity }) => prose === true || severity === 'info');
  return isGentle ? askKey('Only prose changed. Accept it?') : askYes('Is this the server that you want?');
}

function formatOf({ native, version }: Lock): Format {
  return native !== null ? 'native' : ({ '1.0': 'v1', '2.0': 'v2', '3.0': 'v3' } as const)[version];
}

/** What was left out of digests stays as the old lock has it. */
function written(
  { surface, authorization }: Scanned,
  target: Target,
  old: Lock | null,
  artifact: Artifact | null,
  format: Format,
  compatGo: boolean,
  leftOut: ReadonlySet<string>,
): ReturnType<typeof writeLock> {
  const updatedAt = now();
  return refusing('The server cannot be locked', () =>
    bounded(() =>
      writeLock(surface, {
        format,
        compatGo,
        generator: `bulla ${VERSION}`,
        updatedAt,
        identity: identityOf(target),
        authorization,
        leftOut,
        ...(artifact && format !== 'v1' && { artifact }),
        ...(old?.native && { exclude: old.native.excluded }),
      }),
    ),
  );
}

/** Nothing is written that would be too large to be read: deep definitions grow when they are set in lines. */
function bounded(write: () => ReturnType<typeof writeLock>): ReturnType<typeof writeLock> {
  try {
    const made = write();
    if (Buffer.byteLength(made.text) <= MAX_LOCK_BYTES) return made;
  } catch (error) {
    // A string that would be longer than the engine allows.
    if (!(error instanceof RangeError)) throw error;
  }
  throw new BullaError('LOCK_TOO_LARGE', `The lock would be larger than ${MAX_LOCK_BYTES} bytes.`);
}

/** `SOURCE_DATE_EPOCH` is what makes files that hold a time reproducible elsewhere too. */
function now(): Date {
  const epoch = process.env.SOURCE_DATE_EPOCH;
  if (!epoch) return new Date();
  if (!/^[0-9]{1,11}$/.test(epoch))
    throw new BullaError('USAGE', 'SOURCE_DATE_EPOCH is a number of seconds since 1970.');
  return new Date(Number(epoch) * 1000);
}
