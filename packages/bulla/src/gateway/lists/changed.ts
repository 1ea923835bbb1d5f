import { toUtf8 } from '@bulla/core/crypto';
import { memberAt, stringify } from '@bulla/core/json';
import { LIST_KINDS, type ListKind, type Lock } from '@bulla/core/lock';
import { LISTS } from '../../mcp/index.ts';
import type { Context, Enforcement } from '../context.ts';
import { SUBSCRIPTION_ID } from '../wire/tokens.ts';

/** What decides which definitions a host may see. */
interface Seen {
  readonly lock: Lock;
  readonly enforce: Enforcement;
}

/** The lists of which a host may see something else after a change of the lock or the mode. */
export function changedLists(before: Seen, after: Seen): ListKind[] {
  return LIST_KINDS.filter((kind) => seen(before, kind) !== seen(after, kind));
}

/** The names and digests that pass; a mode that removes nothing shows everything, whatever the lock. */
function seen({ lock, enforce }: Seen, kind: ListKind): string {
  if (!enforce.lists) return '*';
  if (lock.native !== null) {
    return JSON.stringify([...lock.native[kind]].map(([key, entry]) => [key, entry.digest]).sort());
  }
  const hashes = kind === 'resources' ? [] : [...(lock[kind] ?? [])];
  return JSON.stringify(hashes.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Tells the host that lists changed, as a server would: in a session where the locked server has told that it does so,
 * and on the subscriptions that asked for it.
 */
export function tellChanged({ session, host, wire, pins }: Context, kinds: readonly ListKind[]): void {
  const told = new Set<string>();
  for (const kind of kinds) {
    const { changed, capability } = LISTS[kind];
    if (told.has(changed)) continue;
    told.add(changed);
    const message = (params: string) => toUtf8(`{"jsonrpc":"2.0","method":${stringify(changed)}${params}}`);
    if (session.isEstablished && memberAt(pins.capabilities, [capability, 'listChanged']) === true) {
      void host.write(message(''));
    }
    for (const { channel, idBytes } of wire.listening(`${capability}ListChanged`)) {
      const id = Buffer.from(idBytes).toString();
      void channel.write(message(`,"params":{"_meta":{${stringify(SUBSCRIPTION_ID)}:${id}}}`));
    }
  }
}
