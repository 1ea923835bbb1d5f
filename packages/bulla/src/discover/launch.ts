import { BullaError } from '@bulla/core/error';
import { parseUrl, type Target } from '../mcp/index.ts';
import type { Entry } from './entry.ts';
import type { Place } from './place.ts';

/** What is started or called for a server, as `bulla lock` names it. */
export interface Launch {
  /** Null where it cannot be told; then `why` says so. */
  readonly target: Target | null;
  readonly why: BullaError | null;
  /** The guard that stands before it, with the lock that it names. */
  readonly guard: Guard | null;
}

export interface Guard {
  readonly lock: string;
  /** Whether the guard names the server, and does not take it from the lock. */
  readonly namesServer: boolean;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * What a client starts for this entry. A guard is looked through: its server is meant. What holds a variable that only
 * the client can fill in names no command: `why` is then `DISCOVER_VARIABLE`, and `DISCOVER_BY_CLIENT` for a server that
 * the client starts in a way of its own, `MCP_TARGET_URL` and `MCP_TARGET_ENV` for what cannot be locked at all.
 */
export function launchOf(entry: Entry, place: Place, isEditor: boolean): Launch {
  const none = (code: string, message: string, guard: Guard | null = null) => ({
    target: null,
    why: new BullaError(code, message),
    guard,
  });
  if (entry.transport === 'client')
    return none('DISCOVER_BY_CLIENT', 'The client starts it in a way of its own; it cannot be locked.');
  const filled = (text: string) => fill(text, place, isEditor);
  const words = entry.transport === 'http' ? [entry.url!] : [entry.command, ...entry.args];
  const exact = words.map(filled);
  if (exact.some((word) => VARIABLE.test(word)))
    return none(
      'DISCOVER_VARIABLE',
      'Its command or address holds a variable that the client fills in, so that it names no exact server.',
    );
  if (entry.transport === 'http') {
    try {
      return { target: { kind: 'http', url: parseUrl(exact[0]!).href }, why: null, guard: null };
    } catch {
      return none('MCP_TARGET_URL', 'Its address is none, or holds a user name, a password or a fragment.');
    }
  }
  const names = [...entry.env.keys()];
  const bad = names.find((name) => !NAME.test(name));
  if (bad !== undefined)
    return none('MCP_TARGET_ENV', `${JSON.stringify(bad)} is not the name of an environment variable.`);
  const [command, ...args] = exact as [string, ...string[]];
  const guarded = readGuard(command, args);
  if (guarded === null)
    return { target: { kind: 'stdio', command, args, env: names.sort() }, why: null, guard: null };
  const { guard, server, env } = guarded;
  const [program, ...rest] = server;
  if (program === undefined) return { target: null, why: null, guard };
  return {
    target: { kind: 'stdio', command: program, args: rest, env: [...new Set(env)].sort() },
    why: null,
    guard,
  };
}

/** What is left for the client to fill in: `${…}`, and `{env:…}` and `{file:…}` of OpenCode. */
const VARIABLE = /\$\{|\{(?:env|file):/;

function fill(text: string, { home, project }: Place, isEditor: boolean): string {
  if (!isEditor) return text;
  return text.replace(/\$\{(userHome|workspaceFolder)\}/g, (_, name) =>
    name === 'userHome' ? home : project,
  );
}

/** The options of `bulla guard` that take a value. */
const VALUED = new Set(
  (
    '-l --lock --agent --name --env --keys --pass -t --timeout --recheck --store --tenant --chain ' +
    '-k --key --keyring -s --signature'
  ).split(' '),
);

/** Reads `bulla guard … -- server`, however Bulla is started; null for any other command. */
function readGuard(
  command: string,
  args: readonly string[],
): { guard: Guard; server: readonly string[]; env: readonly string[] } | null {
  const words = [command, ...args];
  const end = words.indexOf('--');
  const own = end < 0 ? words : words.slice(0, end);
  const at = own.findIndex(
    (word, i) =>
      (word === 'guard' || word === 'proxy') && i > 0 && /(?:^|[\\/])bulla(?:\.\w+)?$/.test(own[i - 1]!),
  );
  if (at < 0) return null;
  let lock = 'mcp-lock.json';
  const env: string[] = [];
  for (let i = at + 1; i < own.length; i++) {
    const [, option = own[i]!, joined] = /^(--[a-z-]+)=(.*)$/s.exec(own[i]!) ?? [];
    const value = joined ?? (VALUED.has(option) ? own[++i] : undefined);
    if (value === undefined) continue;
    if (option === '-l' || option === '--lock') lock = value;
    if (option === '--env') env.push(value);
  }
  const server = end < 0 ? [] : words.slice(end + 1);
  return { guard: { lock, namesServer: server.length > 0 }, server, env };
}
