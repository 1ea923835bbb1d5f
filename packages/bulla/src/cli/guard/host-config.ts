import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultHome } from '../../app/index.ts';
import type { OwnProgram } from '../../discover/index.ts';
import { quoteWords } from '../../locks/index.ts';
import type { StdioTarget, Target } from '../../mcp/index.ts';
import { dataDirectory } from '../../os/index.ts';
import { escaped } from '../terminal/indented.ts';

/** What a host is configured with to reach a server through the guard, in the form that hosts share. */
export interface HostConfig {
  readonly mcpServers: Readonly<Record<string, HostServer>>;
}

interface HostServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface GuardedServer {
  /** What the server calls itself; it becomes a label, and nothing rests on it. */
  readonly name: string;
  readonly target: Target;
  readonly lock: string;
  readonly pinned: boolean;
  /** What the guard is told besides. */
  readonly options?: readonly string[];
  /** The variables that these options name. */
  readonly variables?: readonly string[];
}

/** A host starts programs in a folder and with an environment of its own, so that nothing here depends on either. */
export function hostConfig(guarded: GuardedServer): HostConfig {
  const { name, target, lock, pinned, options = [], variables = [] } = guarded;
  const [command, ...own] = ownCommand();
  const words = ['guard', '--lock', resolve(lock), ...(pinned ? ['--pinned'] : []), ...options];
  const [server, seen] =
    target.kind === 'stdio' ? [[target.command, ...target.args], target.env] : [[target.url], []];
  const values = [...seen, ...variables].map((key) => [key, PLACEHOLDER]);
  const env = { ...homeFor(process.env), ...Object.fromEntries(values) };
  const host = {
    command: command!,
    args: [...own, ...words, '--', ...server],
    ...(Object.keys(env).length > 0 && { env }),
  };
  return { mcpServers: { [labelOf(name)]: host } };
}

/** Values of variables are secrets more often than not; a lock never has them, and neither has what is printed. */
const PLACEHOLDER = '<its value>';

/** A host that sets other variables must find the same keys and the same store. */
function homeFor({ HOME, LOCALAPPDATA }: NodeJS.ProcessEnv): Record<string, string> {
  // Without a home folder there is no usual place.
  const usual = isAbsolute(homedir())
    ? dataDirectory({ HOME, LOCALAPPDATA }, process.platform, homedir())
    : null;
  return defaultHome() === usual ? {} : { BULLA_HOME: defaultHome() };
}

function labelOf(name: string): string {
  const label = name
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return label === '' ? 'server' : label;
}

/** How to type a command of this very program: as `bulla` where the path leads to it, else by its file. */
export function typed(words: readonly string[]): string {
  const own = ownCommand();
  const found = onPath(() => true);
  const isPlain = found !== undefined && own.some((file) => realpathSync(found) === realpathSync(file));
  return quoteWords([...(isPlain ? ['bulla'] : own), ...words]);
}

function onPath(isMeant: (folder: string) => boolean): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isMeant);
  return folders.map((folder) => join(folder, 'bulla')).find((file) => existsSync(file));
}

/** How this very program is started from anywhere: by its file in a clone or on the path, else by Node. */
function ownCommand(): string[] {
  const script = realpathSync(ownScript());
  if (process.platform !== 'win32') {
    const inClone = launcher(script);
    if (inClone !== null) return [inClone];
    const found = onPath(isAbsolute);
    if (found !== undefined && realpathSync(found) === script) return [found];
  }
  return [process.execPath, script];
}

function launcher(script: string): string | null {
  const inClone = resolve(dirname(script), '../../../bin/bulla');
  return script.endsWith('/packages/bulla/dist/bulla.js') && existsSync(inClone) ? inClone : null;
}

/** By what a configuration is known to start this very program. */
export function ownProgram(): OwnProgram {
  const script = realpathSync(ownScript());
  const inClone = launcher(script);
  return {
    files: [script, ...(inClone === null ? [] : [realpathSync(inClone)])],
    node: realpathSync(process.execPath),
    path: process.env.PATH ?? '',
    home: defaultHome(),
  };
}

/** The program that this module was built into; from the sources, what was started. */
function ownScript(): string {
  const built = ['./bulla.js', '../bulla.js'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  return built.find((path) => existsSync(path)) ?? process.argv[1]!;
}

/** The words of a command that name something in this folder: a host, which starts in another, does not find it. */
export function relativePaths({ command, args }: StdioTarget): string[] {
  const isProgram = command.includes('/') && !isAbsolute(command);
  return [
    ...(isProgram ? [command] : []),
    ...args.filter((word) => word !== '' && !word.startsWith('-') && !isAbsolute(word) && existsSync(word)),
  ];
}

/** As JSON to paste; what a terminal would obey or hide is escaped. */
export function hostConfigText(config: HostConfig): string {
  return escaped(JSON.stringify(config, null, 2));
}
