import { basename } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { isExactVersion, isPackageName } from '@bulla/core/lock';
import { type DockerCommand, parseDocker } from './docker-command.ts';

/** A command that runs an npm package. */
export interface NpmCommand {
  readonly kind: 'npm';
  readonly name: string;
  /** A version, a range or a tag; null when none is said. */
  readonly spec: string | null;
  /** The program of the package that is named; null when npm would choose it. */
  readonly bin: string | null;
  readonly args: readonly string[];
}

type PinCommand = NpmCommand | DockerCommand;

/**
 * Reads a command whose program can be pinned: `npx PACKAGE …`, `npm exec PACKAGE …`, `docker run … IMAGE …`. Every
 * option must be known, because an unknown one could name another program. Throws `PIN_COMMAND` for what is none of
 * them, and `PIN_COMMAND` for a package that does not come from a registry.
 */
export function parsePinCommand(command: string, args: readonly string[]): PinCommand {
  const program = basename(command).replace(/\.(?:cmd|exe)$/i, '');
  if (program === 'npx') return parseExec(args);
  if (program === 'npm' && (args[0] === 'exec' || args[0] === 'x')) return parseExec(args.slice(1));
  if ((program === 'docker' || program === 'podman') && args[0] === 'run') return parseDocker(args);
  throw cannot('Only npx, npm exec and docker run name a program that can be pinned.');
}

/** Whether words begin as a command that names an npm package does. */
export function isExecCommand(words: readonly string[]): boolean {
  const program = basename(words[0] ?? '').replace(/\.(?:cmd|exe)$/i, '');
  return program === 'npx' || (program === 'npm' && (words[1] === 'exec' || words[1] === 'x'));
}

function cannot(message: string): BullaError {
  return new BullaError('PIN_COMMAND', message);
}

const QUIET = ['-y', '--yes', '-q', '--quiet', '--silent', '-s', '--prefer-online', '--prefer-offline'];

/** What stands behind `npx`, or behind `npm exec`; both take the same. */
function parseExec(args: readonly string[]): NpmCommand {
  const packages: string[] = [];
  let at = 0;
  for (; at < args.length && args[at]!.startsWith('-'); at++) {
    const word = args[at]!;
    const [, named] = /^--package=(.*)$/s.exec(word) ?? [];
    if (QUIET.includes(word)) continue;
    if (word === '--') {
      at++;
      break;
    }
    if (named !== undefined) packages.push(named);
    else if (word === '-p' || word === '--package') packages.push(args[++at] ?? '');
    else throw cannot(`The option ${JSON.stringify(word)} of npx is not understood, so nothing is pinned.`);
  }
  const [first, ...rest] = args.slice(at);
  if (first === undefined) throw cannot('The command names no package.');
  // `npm exec PACKAGE -- ARGS` hides the arguments from npm.
  const passed = rest[0] === '--' ? rest.slice(1) : rest;
  if (packages.length > 1) throw cannot('More than one --package cannot be pinned.');
  const [spec] = packages;
  if (spec === undefined) return { kind: 'npm', ...parseSpec(first), bin: null, args: passed };
  return { kind: 'npm', ...parseSpec(spec), bin: first, args: passed };
}

/** `name`, `name@1.2.3`, `name@^1`, `name@next`. Throws `PIN_COMMAND` for folders, addresses, repositories and aliases. */
function parseSpec(text: string): { name: string; spec: string | null } {
  const at = text.indexOf('@', 1);
  const [name, spec] = at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
  const isPlain = spec === null || /^[A-Za-z0-9.+~^<>=|* -]+$/.test(spec);
  if (isPackageName(name) && isPlain) return { name, spec };
  throw new BullaError(
    'PIN_COMMAND',
    `${JSON.stringify(text)} is not a package of a registry, with a version, a range or a tag.`,
  );
}

/** Whether a command can only mean this version of this package. */
export function matches(command: NpmCommand, name: string, version: string): boolean {
  if (command.name !== name) return false;
  return command.spec === null || !isExactVersion(command.spec) || command.spec === version;
}
