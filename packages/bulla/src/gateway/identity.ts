import { digest } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import type { Identity, Lock } from '@bulla/core/lock';
import type { StdioTarget } from '../mcp/index.ts';

/**
 * Makes sure that a lock is of the server that is about to be started: the same command, arguments and names of
 * environment variables. Throws `GATEWAY_OTHER_SERVER`. A lock that names no server tells nothing, which is not checked.
 */
export function checkIdentity({ native, serverCommand }: Lock, target: StdioTarget): void {
  const text = [target.command, ...target.args].join(' ');
  const isSame =
    native === null ? serverCommand === null || serverCommand === text : sameServer(native.identity, target);
  if (isSame) return;
  throw new BullaError(
    'GATEWAY_OTHER_SERVER',
    'The lock is of another server: its command, arguments or environment differ.',
  );
}

function sameServer(identity: Identity, { command, args, env }: StdioTarget): boolean {
  if (identity.transport !== 'stdio' || identity.command !== command) return false;
  return sameWords(identity.args, args) && sameWords(identity.env.toSorted(), env.toSorted());
}

function sameWords(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, i) => word === b[i]);
}

/** The digest by which capsules name how a server is reached. */
export function serverDigest({ command, args, env }: StdioTarget): string {
  return `sha256:${digest({ transport: 'stdio', command, args, env }, 'jcs')}`;
}

/** What a server is called in records: as it called itself when it was locked, else by its program. */
export function serverName({ serverName }: Lock, { command }: StdioTarget): string {
  return serverName || command.split(/[\\/]/).at(-1)!;
}
