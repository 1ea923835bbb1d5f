import { lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { BullaError } from '@bulla/core/error';
import type { Drift } from '@bulla/core/lock';
import { type CheckedServer, scrubbed, shownWords } from '../discover/index.ts';
import type { Target } from '../mcp/index.ts';
import { createDirectory, makeDirectories } from '../os/index.ts';
import { compareScanned } from './check.ts';
import type { DiscoverInput } from './discover.ts';
import { writeScanned } from './lock.ts';
import { pathsOf } from './paths.ts';
import { artifactNow } from './pinned.ts';
import { type Scanned, scanServer } from './server.ts';

/** What became of one server that was started. */
export interface Outcome {
  readonly action: 'lock' | 'check';
  readonly error: BullaError | null;
  /** What changed since it was locked. */
  readonly drift: Drift | null;
}

const TIMEOUT_MS = 120_000;

/** Scans a server as its client would start it, and locks it. What fails is the outcome, and stops no other. */
export function lockConfigured(
  server: CheckedServer,
  { locks: folder = null, home, compat }: Pick<DiscoverInput, 'locks' | 'home' | 'compat'>,
): Promise<Outcome> {
  return outcome(server, 'lock', async () => {
    const { lockFile: output, target } = server;
    if (server.isShared && dirname(output) !== folder) checkLockFolder(output, server.project!);
    // One that could not be read is not replaced unawares, and a link that leads nowhere not followed.
    if (isThere(output)) throw new BullaError('FILE_EXISTS', `${output} is there already.`);
    const scanned = await scanConfigured(server, target!);
    if (output.startsWith(pathsOf(home).home)) createDirectory(dirname(output));
    else makeDirectories(dirname(output), 0o755);
    await writeScanned(null, target!, scanned, { output, compat });
    return null;
  });
}

/** A project that somebody else filled has locks written in its own folders, and not where a link or a path leads. */
function checkLockFolder(output: string, project: string): void {
  let folder = dirname(output);
  while (!isThere(folder)) folder = dirname(folder);
  const real = realpathSync(project);
  const isIn = (base: string) => {
    const inside = relative(base, folder);
    const isOut = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
    return !isOut && realPath(folder) === join(real, inside);
  };
  if (isIn(project) || isIn(real)) return;
  throw new BullaError(
    'DISCOVER_LOCK_PLACE',
    `${output} lies behind a link or outside of the project; "--locks FOLDER" names where locks are to lie.`,
  );
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** Scans a server as its client would start it, and compares it with its lock. */
export function checkConfigured(server: CheckedServer): Promise<Outcome> {
  return outcome(server, 'check', async () => {
    const [lock, target] = [server.lock!, server.target!];
    const now = await artifactNow(lock, target);
    return compareScanned(lock, target, await scanConfigured(server, target), now);
  });
}

async function outcome(
  server: CheckedServer,
  action: Outcome['action'],
  work: () => Promise<Drift | null>,
): Promise<Outcome> {
  try {
    return { action, error: null, drift: await work() };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    // A server may say anything with its last words, its secrets too.
    const message = scrubbed(error.message, secretsOf(server));
    const { code, kind } = error;
    return { action, error: new BullaError(code, message, { cause: error, kind }), drift: null };
  }
}

function secretsOf({ entry }: CheckedServer): string[] {
  const words = [entry.command, ...entry.args];
  const shown = shownWords(entry.command, entry.args);
  return [
    ...[...entry.env.values()].filter((value) => value !== null),
    ...[...entry.headers.values()].flatMap((value) => [value, ...value.split(' ')]),
    ...words.filter((word, i) => shown[i] !== word),
    ...words.flatMap((word) => word.split(/[=:]/).slice(1)),
  ];
}

/** The values come from the configuration, where the client would take them, else from this environment. */
function scanConfigured({ entry, project }: CheckedServer, target: Target): Promise<Scanned> {
  const timeoutMs = TIMEOUT_MS;
  if (target.kind === 'stdio') {
    const values = [...entry.env].map(([name, value]) => [name, filled(value) ?? process.env[name]]);
    const environment = { ...process.env, ...Object.fromEntries(values) };
    // One that names another folder than its project has no target.
    return scanServer(target, { timeoutMs, environment, cwd: project ?? undefined });
  }
  // What a configuration keeps in a variable is a secret.
  const headers = new Map(
    [...entry.headers].map(([name, value]) => [
      name.toLowerCase(),
      { value: filled(value), isSecret: value.includes('${') },
    ]),
  );
  const fromVariable = (name: string, value: string | null) => headers.set(name, { value, isSecret: true });
  for (const [name, variable] of entry.envHeaders)
    fromVariable(name.toLowerCase(), process.env[variable] || null);
  if (entry.bearerEnv !== null) {
    const token = process.env[entry.bearerEnv];
    fromVariable('authorization', token ? `Bearer ${token}` : null);
  }
  const given = [...headers].map(([name, { value, isSecret }]) => {
    if (value !== null) return { name, value, isSecret };
    throw new BullaError('MCP_TARGET_ENV', `The value of the header ${name} is not set in the environment.`);
  });
  const bearer = given.find(({ name, value }) => name === 'authorization' && BEARER.test(value));
  const others = given.filter((header) => header !== bearer);
  return scanServer(target, {
    timeoutMs,
    headers: others.filter(({ isSecret }) => !isSecret),
    secretHeaders: others.filter(({ isSecret }) => isSecret),
    token: bearer && BEARER.exec(bearer.value)![1],
  });
}

const BEARER = /^bearer +(.+)$/i;

/** A value with the variables of the environment that it names; null where one is not set, or only the client knows it. */
function filled(value: string | null): string | null {
  if (value === null) return null;
  let isWhole = true;
  const text = value.replace(/\$\{(?:env:)?([^}]*)\}/g, (_, body: string) => {
    const [, name, other] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(body) ?? [];
    const found = name === undefined ? undefined : process.env[name] || other;
    if (found === undefined) isWhole = false;
    return found ?? '';
  });
  return isWhole ? text : null;
}
