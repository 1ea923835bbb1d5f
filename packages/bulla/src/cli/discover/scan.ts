import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { type Drift, drift, NO_AUTHORIZATION } from '@bulla/core/lock';
import { type Judged, scrubbed, shownWords } from '../../discover/index.ts';
import { createDirectory } from '../../keys/index.ts';
import { identityOf } from '../../locks/index.ts';
import { bearer, scan, type Target } from '../../mcp/index.ts';
import { settle } from '../lock/lock.ts';
import type { Scanned } from '../lock/server.ts';
import { home } from '../place.ts';
import { artifactNow } from '../run/pinned.ts';
import { EXIT, type Exit, refusing } from '../terminal/io.ts';
import type { Outcome } from './text.ts';

const TIMEOUT_MS = 120_000;

/** Scans a server as its client would start it, and locks it. What fails is the outcome, and stops no other. */
export function lockServer(server: Judged, folder: string | null): Promise<Outcome> {
  return outcome(server, 'lock', async () => {
    const { lockFile: output, target } = server;
    if (server.isShared && dirname(output) !== folder) checkPlace(output, server.project!);
    // One that could not be read is not replaced unawares, and a link that leads nowhere not followed.
    if (isThere(output)) throw new BullaError('FILE_EXISTS', `${output} is there already.`);
    const scanned = await scanConfigured(server, target!);
    if (output.startsWith(home())) createDirectory(dirname(output));
    else mkdirSync(dirname(output), { recursive: true, mode: 0o755 });
    const options = { output, timeout: TIMEOUT_MS, env: [], header: [], headerEnv: [], quiet: true };
    const exit: Exit = await settle(null, target!, scanned, options);
    if (exit !== EXIT.good) throw new BullaError('LOCK_DRIFT', 'The lock was not written.');
    return null;
  });
}

/** A project that somebody else filled has locks written in its own folders, and not where a link or a path leads. */
function checkPlace(output: string, project: string): void {
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
export function checkServer(server: Judged): Promise<Outcome> {
  return outcome(server, 'check', async () => {
    const [lock, target] = [server.lock!, server.target!];
    const now = await artifactNow(lock, target);
    const { surface, authorization } = await scanConfigured(server, target);
    return refusing('The server cannot be compared', () =>
      drift(lock, surface, { identity: identityOf(target), authorization, ...now }),
    );
  });
}

async function outcome(
  server: Judged,
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

function secretsOf({ entry }: Judged): string[] {
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
async function scanConfigured(server: Judged, target: Target): Promise<Scanned> {
  const limits = { totalMs: TIMEOUT_MS, timeoutMs: TIMEOUT_MS };
  const { entry, project } = server;
  if (target.kind === 'stdio') {
    const values = [...entry.env].map(([name, value]) => [name, filled(value) ?? process.env[name]]);
    const environment = { ...process.env, ...Object.fromEntries(values) };
    // One that names another folder than its project has no target.
    return {
      surface: await scan(target, { ...limits, environment, cwd: project ?? undefined }),
      authorization: NO_AUTHORIZATION,
    };
  }
  const headers = new Map([...entry.headers].map(([name, value]) => [name.toLowerCase(), filled(value)]));
  for (const [name, variable] of entry.envHeaders)
    headers.set(name.toLowerCase(), process.env[variable] || null);
  if (entry.bearerEnv !== null) {
    const token = process.env[entry.bearerEnv];
    headers.set('authorization', token ? `Bearer ${token}` : null);
  }
  const missing = [...headers].find(([, value]) => value === null)?.[0];
  if (missing !== undefined)
    throw new BullaError(
      'MCP_TARGET_ENV',
      `The value of the header ${missing} is not set in the environment.`,
    );
  const token = /^bearer +(.+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (token !== undefined) headers.delete('authorization');
  const names = [...headers.keys()].sort();
  const scheme = token !== undefined ? 'bearer' : names.length > 0 ? 'headers' : 'none';
  // What a configuration keeps in a variable is a secret.
  const isSecret = (name: string) =>
    [...entry.envHeaders.keys()].some((other) => other.toLowerCase() === name) ||
    [...entry.headers].some(([other, value]) => other.toLowerCase() === name && value.includes('${'));
  const record = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, headers.get(name)!]));
  const surface = await scan(target, {
    ...limits,
    headers: record(names.filter((name) => !isSecret(name))),
    secretHeaders: record(names.filter(isSecret)),
    ...(token !== undefined && { authorizer: bearer(token) }),
  });
  return { surface, authorization: { ...NO_AUTHORIZATION, scheme, headers: names } };
}

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
