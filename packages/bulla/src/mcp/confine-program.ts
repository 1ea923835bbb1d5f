import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { followed, isInside, isReplaceable } from './confine-folders.ts';
import { quote } from './transport.ts';

/** Programs that fetch what they start. */
const FETCH = /^(?:npx|npm|pnpm|pnpx|yarn|bunx|uv|uvx|pipx)$/;
/** Programs that ask a daemon to start something, which then runs outside. */
const DAEMON = /^(?:docker|podman|nerdctl|systemd-run|flatpak|snap)$/;

/** Throws `CONFINE_COMMAND` for a command that cannot do its work confined, or would do it outside. */
export function refuseRunner(command: string, network: boolean): void {
  const name = basename(command);
  if (DAEMON.test(name))
    throw new BullaError(
      'CONFINE_COMMAND',
      `${name} does not run the server itself, so that only ${name} would be confined. Confine it by ${name}'s own options.`,
    );
  if (FETCH.test(name) && !network)
    throw new BullaError(
      'CONFINE_COMMAND',
      `${name} fetches packages, and a confined server has no network. Pin the program ('bulla lock --pin') and start what is pinned ('bulla guard --pinned'), name the installed program itself, or permit the network (--confine-network).`,
    );
}

/** The file of a command, by the server's own `PATH`. Throws `MCP_SPAWN_FAILED`. */
export function executable(command: string, path: string | undefined, cwd: string): string {
  const found = findExecutable(command, path, cwd);
  if (found !== null) return found;
  throw new BullaError('MCP_SPAWN_FAILED', `The server ${quote(command)} cannot be started (ENOENT).`);
}

function findExecutable(command: string, path = '/usr/bin:/bin', cwd: string): string | null {
  const files = command.includes('/')
    ? [resolve(cwd, command)]
    : path.split(':').flatMap((folder) => (folder.startsWith('/') ? [join(folder, command)] : []));
  return files.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

interface Surroundings {
  readonly path: string | undefined;
  readonly cwd: string;
  /** Folders of people, which are never part of a program. */
  readonly homes: readonly string[];
  readonly hidden: readonly string[];
  /** Folders that the server may write. What it could put there must open nothing to it at its next start. */
  readonly written: readonly string[];
}

/** Programs that run a script, and their options that are followed by one more. */
const INTERPRETER = /^(?:node|nodejs|bun|deno|tsx|python[\d.]*|pypy[\d.]*|ruby|perl|bash|dash|sh)$/;
const LOADS = ['-r', '--require', '--import', '--loader', '--experimental-loader'];

/** What must be readable to start a program: its file, what is installed with it, its script, its interpreter. */
export function programPaths(file: string, args: readonly string[], around: Surroundings): string[] {
  const scripts = INTERPRETER.test(basename(file)) ? scriptsIn(args, around.cwd) : [];
  return [file, ...scripts].flatMap((each) => pathsFor(each, around, true));
}

/** The script among the arguments of an interpreter, and those that it loads before. */
function scriptsIn(args: readonly string[], cwd: string): string[] {
  const scripts: string[] = [];
  for (const [i, word] of args.entries()) {
    if (word.startsWith('-')) continue;
    const script = resolve(cwd, word);
    if (existsSync(script)) scripts.push(script);
    if (!LOADS.includes(args[i - 1] ?? '')) break;
  }
  return scripts;
}

function pathsFor(file: string, around: Surroundings, isFirst: boolean): string[] {
  if (isReplaceable(file, around.written)) return [];
  const { real } = followed(file);
  const paths = [file, real].flatMap((each) => [each, ...foldersFor(each, around)]);
  const interpreter = isFirst ? interpreterOf(real, around) : null;
  return [
    ...paths.filter((path) => !isReplaceable(path, around.written)),
    ...(interpreter === null ? [] : pathsFor(interpreter, around, false)),
  ];
}

const PROJECT = ['package.json', 'pyproject.toml'];

/** The folders that belong to an installed program or to a script. */
function foldersFor(file: string, around: Surroundings): string[] {
  const isFit = (path: string) => existsSync(path) && !isTooWide(followed(path).real, around);
  const packages = file.indexOf('/node_modules/');
  if (packages >= 0) return [`${file.slice(0, packages)}/node_modules`].filter(isFit);
  const folder = dirname(file);
  const above = foldersAbove(folder);
  if (basename(folder) === 'bin' && !around.homes.includes(dirname(folder))) {
    // An installation: of Node, of Python, a virtual environment.
    const prefix = dirname(folder);
    return ['bin', 'lib', 'lib64', 'pyvenv.cfg'].map((name) => join(prefix, name)).filter(isFit);
  }
  const project = above.find((each) => isFit(each) && PROJECT.some((name) => existsSync(join(each, name))));
  // Node looks for packages in all folders above.
  const modules = above.map((each) => join(each, 'node_modules'));
  return [project ?? folder, ...modules].filter(isFit);
}

function foldersAbove(folder: string): string[] {
  return folder === '/' ? [] : [folder, ...foldersAbove(dirname(folder))];
}

/** Whether a folder holds more than a program: a folder at the root, a person's home, what is hidden. */
function isTooWide(folder: string, { homes, hidden }: Surroundings): boolean {
  return (
    dirname(folder) === '/' ||
    homes.some((home) => isInside(home, folder) || dirname(home) === dirname(folder)) ||
    hidden.some((path) => isInside(path, folder) || isInside(folder, path))
  );
}

/** The program that the first line of a script names. */
function interpreterOf(file: string, { path, cwd }: Surroundings): string | null {
  const [, program, word] = /^#! *(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(firstBytes(file)) ?? [];
  if (program === undefined) return null;
  return basename(program) === 'env' && word !== undefined ? findExecutable(word, path, cwd) : program;
}

function firstBytes(file: string): string {
  const bytes = Buffer.alloc(256);
  const descriptor = openSync(file, 'r');
  try {
    return bytes.toString('latin1', 0, readSync(descriptor, bytes));
  } catch {
    return '';
  } finally {
    closeSync(descriptor);
  }
}
