import { BullaError } from '@bulla/core/error';
import type { Identity, Lock } from '@bulla/core/lock';
import { parseTarget, type Target } from '../mcp/index.ts';

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
  return identity.transport === 'http'
    ? parseTarget([identity.url])
    : { kind: 'stdio', command: identity.command, args: identity.args, env: identity.env };
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
