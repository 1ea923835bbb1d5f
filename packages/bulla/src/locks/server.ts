import { digest } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import type { Identity, Lock } from '@bulla/core/lock';
import { parseTarget, quote, type Target } from '../mcp/index.ts';

/** How a lock names a server that is reached so. */
export function identityOf(target: Target): Identity {
  return target.kind === 'http'
    ? { transport: 'http', url: target.url }
    : { transport: 'stdio', command: target.command, args: target.args, env: target.env };
}

/**
 * The server that a lock names. Versions 1 and 2 hold its command as one string, which is split as a shell would.
 * Throws `LOCK_NO_SERVER` for one that names none, as version 3 does without our key, and the `MCP_TARGET_…` codes.
 */
export function targetOf({ native, serverCommand }: Lock): Target {
  if (native === null) {
    if (serverCommand !== null && serverCommand.trim() !== '') return parseTarget([serverCommand]);
    throw new BullaError(
      'LOCK_NO_SERVER',
      'The lock does not say which server it is of; name the server after --.',
    );
  }
  const { identity } = native;
  if (identity.transport === 'http') return parseTarget([identity.url]);
  const { command, args, env } = identity;
  return { kind: 'stdio', command, args, env };
}

/** A server in a line, as one would type it. */
export function describeTarget(target: Target): string {
  return target.kind === 'http' ? target.url : quoteWords([target.command, ...target.args]);
}

/** Words as a shell takes them literally. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The same text for the same server: what is started or where it is, and, unless `env` is false, the names of the
 * variables that it sees, in any order.
 */
export function serverKey(target: Target, { env = true } = {}): string {
  if (target.kind === 'http') return JSON.stringify([target.url]);
  return JSON.stringify([target.command, target.args, env ? [...target.env].sort() : []]);
}

/** Whether two ways to reach a server are of the same one. */
export function isSameServer(a: Target, b: Target, compared: { readonly env?: boolean } = {}): boolean {
  return serverKey(a, compared) === serverKey(b, compared);
}

/**
 * Makes sure that a lock is of the server that is about to be used: the same address, or the same command, arguments and
 * names of environment variables. Throws `GATEWAY_OTHER_SERVER`, which says what differs. A lock that names no server tells
 * nothing, which is not checked.
 */
export function checkIdentity(lock: Lock, target: Target): void {
  const { native, serverCommand } = lock;
  const differences =
    native === null ? commandDifference(serverCommand, target) : differencesOf(targetOf(lock), target);
  if (differences.length === 0) return;
  throw new BullaError('GATEWAY_OTHER_SERVER', `The lock is of another server: ${differences.join('; ')}.`);
}

/** Versions 1 and 2 hold the command as one text. */
function commandDifference(locked: string | null, target: Target): string[] {
  if (locked === null) return [];
  if (target.kind === 'http') return ['it is started by a command, not reached at an address'];
  const { command, args } = target;
  if (locked === [command, ...args].join(' ')) return [];
  const word = firstDifference(locked.split(' '), [command, ...args].join(' ').split(' '));
  return [word === 0 ? 'its command is another one' : `argument ${word} of its command differs`];
}

/** What differs, in words. Arguments are told by their place: they may hold secrets. */
function differencesOf(locked: Target, target: Target): string[] {
  if (locked.kind === 'http') {
    if (target.kind === 'http') return locked.url === target.url ? [] : ['its address is another one'];
    return ['it is reached at an address, not by a command'];
  }
  if (target.kind === 'http') return ['it is started by a command, not reached at an address'];
  const { command, args, env } = target;
  const found: string[] = [];
  if (locked.command !== command)
    found.push(`its command is ${quote(locked.command)}, not ${quote(command)}`);
  const argument = firstDifference(locked.args, args);
  if (argument !== null) {
    const [here, there] = [argument < args.length, argument < locked.args.length];
    const what = here && there ? 'differs' : here ? 'is not in the lock' : 'is missing';
    found.push(`argument ${argument + 1} ${what}`);
  }
  const more = env.filter((name) => !locked.env.includes(name));
  const fewer = locked.env.filter((name) => !env.includes(name));
  if (more.length > 0) found.push(`it does not see the environment variable ${more.map(quote).join(', ')}`);
  if (fewer.length > 0) found.push(`it sees the environment variable ${fewer.map(quote).join(', ')} as well`);
  return found;
}

function firstDifference(a: readonly string[], b: readonly string[]): number | null {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return i;
  return null;
}

/** The digest by which capsules name how a server is reached. */
export function serverDigest(target: Target): string {
  return `sha256:${digest({ ...identityOf(target) }, 'jcs')}`;
}

/** What a server is called in records: as it called itself when it was locked, else by its program or host. */
export function serverName({ serverName }: Lock, target: Target): string {
  if (serverName) return serverName;
  return target.kind === 'http' ? new URL(target.url).host : target.command.split(/[\\/]/).at(-1)!;
}
