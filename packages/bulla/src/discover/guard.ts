import { realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** This very program, by which a guard is known. Paths are real ones. */
export interface OwnProgram {
  /** What starts it: its script, and the launcher of a clone. */
  readonly files: readonly string[];
  /** The Node that runs it. */
  readonly node: string;
  /** Where a program without a folder is looked for, as `PATH` has it. */
  readonly path: string;
  readonly home: string;
}

export interface Guard {
  readonly lock: string;
  /** Whether the guard names the server, and does not take it from the lock. */
  readonly namesServer: boolean;
  /** Whether it is known to be this very program; not of a plain `bulla` that the path leads elsewhere or nowhere. */
  readonly isThis: boolean;
}

interface GuardWords {
  readonly guard: Guard;
  readonly server: readonly string[];
  readonly env: readonly string[];
  /** Why it does not hold the server to its lock, as a sentence; null where it does. */
  readonly obstacle: string | null;
}

/** The options of `bulla guard`: with a value, with one or more, with none, and those with which it guards less. */
export const guardOptions = {
  valued: new Set(
    (
      '-l --lock --agent --name --env --keys -t --timeout --recheck --store --tenant --chain ' +
      '-k --key --keyring -s --signature --header --header-env --bearer-env --auth-server --config ' +
      '--fail-on -P --policy --manifest --bindings --user --park'
    ).split(' '),
  ),
  listed: new Set(['--only', '--pass', '--confine-read', '--confine-write', '--rules', '--server']),
  plain: new Set([
    '--pinned',
    '--confine',
    '--confine-network',
    '--require-signature',
    '--allow-private-registry',
    '--sign-in',
    '--restart',
    '--allow-private-uris',
    '--allow-escapes',
    '--strict-interop',
    '--telemetry',
    '--quiet',
  ]),
  weaker: new Set([
    '--audit-only',
    '--filter-only',
    '--no-record',
    '--allow-other-command',
    '--print-effective-allowlist',
    '--allow-static-resources',
    '--listen',
    '--no-token',
  ]),
} as const;

/** What leads a guard to other records, keys and kill switches than those here, unless it is told what it would use anyway. */
function isElsewhere(option: string, value: string, home: string): boolean {
  if (option === '--store') return value !== join(home, 'store.db');
  if (option === '--keys') return value !== join(home, 'keys');
  return option === '--tenant';
}

/**
 * Reads the words of a command that starts a guard, however it is started; null for any other command. Which program it
 * is, only its own file tells, or the word `bulla` alone, which the path of the machine leads somewhere and no
 * configuration does. Options are read as the command line reads them; what is not understood is an obstacle.
 */
export function readGuard(words: readonly string[], own: OwnProgram): GuardWords | null {
  const start = startOf(words, own);
  if (start !== null && isGuard(words[start.length]))
    return readOptions(words, start.length + 1, start.isThis, own);
  const at = words.findIndex((word, i) => i > 0 && isGuard(word) && NAMED.test(words[i - 1]!));
  if (at < 0) return null;
  const obstacle =
    'It names a guard, but neither by the file of this Bulla nor as plain bulla: what it starts cannot be told.';
  return { ...readOptions(words, at + 1, false, own), obstacle };
}

/** What may be meant for Bulla. */
const NAMED = /(?:^|[\\/])bulla(?:\.\w+|@.*)?$/s;

function isGuard(word: string | undefined): boolean {
  return word === 'guard' || word === 'proxy';
}

/** How many words start Bulla, and whether that is this one. */
function startOf(words: readonly string[], own: OwnProgram): { length: number; isThis: boolean } | null {
  const [first, second] = words;
  const isOwn = (file: string | null) => file !== null && own.files.includes(file);
  if (first === 'bulla') return { length: 1, isThis: isOwn(fileOf(first, own)) };
  if (isOwn(fileOf(first!, own))) return { length: 1, isThis: true };
  const isScript = second !== undefined && isAbsolute(second) && isOwn(fileOf(second, own));
  return isScript && fileOf(first!, own) === own.node ? { length: 2, isThis: true } : null;
}

/** The file of a program; null for a relative path, which is in a folder that only the client knows. */
function fileOf(word: string, { path }: OwnProgram): string | null {
  if (isAbsolute(word)) return realPath(word);
  if (/[\\/]/.test(word)) return null;
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => realPath(join(folder, word))).find((file) => file !== null) ?? null;
}

/** Null for what is not there. */
export function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function readOptions(
  words: readonly string[],
  from: number,
  isThis: boolean,
  { home }: OwnProgram,
): GuardWords {
  const { valued, listed, plain, weaker } = guardOptions;
  let lock = 'mcp-lock.json';
  let obstacle: string | null = null;
  const env: string[] = [];
  let at = from;
  for (; at < words.length && words[at] !== '--'; at++) {
    const [, option = words[at]!, joined] = /^(--[a-z-]+)=(.*)$/s.exec(words[at]!) ?? [];
    const takesValue = valued.has(option) || listed.has(option);
    // As on the command line, the next word is the value whatever it is, also --.
    const value = joined ?? (takesValue ? words[++at] : undefined);
    if (listed.has(option) && joined === undefined)
      while (at + 1 < words.length && !words[at + 1]!.startsWith('-')) at++;
    if (option === '-l' || option === '--lock') lock = value ?? lock;
    if (option === '--env' && value !== undefined) env.push(value);
    const isUnderstood = takesValue ? value !== undefined : plain.has(option) && joined === undefined;
    if (weaker.has(option))
      obstacle ??=
        option === '--no-record'
          ? `Its guard is told ${option}: nothing is recorded, and kill switches do not hold.`
          : `Its guard is told ${option}: it does not hold the server to its lock.`;
    else if (option === '--config')
      obstacle ??= 'Its guard takes its servers from a configuration, which is not read here.';
    else if (!isUnderstood) obstacle ??= 'Its guard is told something that is not understood here.';
    else if (value !== undefined && isElsewhere(option, value, home))
      obstacle ??= `Its guard is told ${option}: kill switches and records are not those of here.`;
  }
  const server = words.slice(at + 1);
  return { guard: { lock, namesServer: server.length > 0, isThis }, server, env, obstacle };
}
