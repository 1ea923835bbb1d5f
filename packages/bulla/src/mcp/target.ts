import { BullaError } from '@bulla/core/error';
import { splitWords } from './words.ts';

/** A server that is started here, and what of the environment it may see beside {@link INHERITED}. */
export interface StdioTarget {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Names, not values: this is what a lock holds. */
  readonly env: readonly string[];
}

export interface HttpTarget {
  readonly kind: 'http';
  readonly url: string;
}

export type Target = StdioTarget | HttpTarget;

/**
 * Reads what stands after `--`: an address, or a command and its arguments as they are, or one string that is split
 * as a shell would. Throws `MCP_TARGET`, also for an address that cannot be used, the codes of
 * {@link splitWords}, and `MCP_TARGET_ENV` for what cannot be the name of a variable.
 */
export function parseTarget(argv: readonly string[], env: readonly string[] = []): Target {
  for (const name of env) checkName(name);
  const [first, ...rest] = argv;
  if (first !== undefined && /^https?:/i.test(first)) {
    if (rest.length > 0) throw badUrl('An address stands alone.');
    if (env.length > 0) throw badUrl('A server at an address has no environment to pass on.');
    return { kind: 'http', url: parseUrl(first).href };
  }
  const [command, ...args] = argv.length === 1 ? splitWords(first!) : argv;
  if (!command) throw new BullaError('MCP_TARGET', 'There is no command to start.');
  return { kind: 'stdio', command, args, env: [...new Set(env)].sort() };
}

/** Reads the address of a server. Throws `MCP_TARGET`. */
export function parseUrl(text: string): URL {
  const url = URL.parse(text);
  // The text is not shown: what does not parse may hold a secret anywhere.
  if (url === null) throw badUrl('The address of the server cannot be read as a URL.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw badUrl('An address begins with https: or http:.');
  if (url.username !== '' || url.password !== '') {
    throw badUrl('An address holds no user name and no password; give them as a header.');
  }
  if (text.includes('#')) throw badUrl('An address has no fragment.');
  return url;
}

function badUrl(message: string): BullaError {
  return new BullaError('MCP_TARGET', message);
}

function badEnv(message: string): BullaError {
  return new BullaError('MCP_TARGET_ENV', message);
}

function checkName(name: string): void {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return;
  throw badEnv(`${JSON.stringify(name)} is not the name of an environment variable.`);
}

/** What every server sees of the environment: what programs need to run at all, and nothing that holds a secret. */
export const INHERITED: readonly string[] =
  process.platform === 'win32'
    ? (
        'APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES ' +
        'SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE'
      ).split(' ')
    : ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

/**
 * Whether a variable leads to the runner of a CI job: to files by which a step changes the environment, the path, the
 * outputs and the summary of the others, or to the services and tokens of the job. No server has any use for them.
 */
export function leadsToRunner(name: string): boolean {
  return /^(?:GITHUB_(?:ENV|PATH|OUTPUT|STATE|STEP_SUMMARY|ACTION_PATH)$|RUNNER_|ACTIONS_)/i.test(name);
}

/**
 * The environment of a server. Throws `MCP_TARGET_ENV` when one of the names is not set, or is of a variable that leads
 * to the runner of a CI job.
 */
export function environmentOf(
  target: StdioTarget,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = environment[name];
    // A function that a shell exported is code, not a value.
    if (value !== undefined && !value.startsWith('()')) out[name] = value;
  }
  for (const name of target.env) {
    if (leadsToRunner(name))
      throw badEnv(`The environment variable ${name} is for the runner of a CI job, and for no server.`);
    const value = environment[name];
    if (value === undefined) throw badEnv(`The environment variable ${name} is not set.`);
    out[name] = value;
  }
  return out;
}
