import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import type { SealedCapsule } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { createManifests } from '../manifest/index.ts';
import { liftKill, type Store, setKill } from '../store/index.ts';
import type { Opened } from './open.ts';

/** A kill switch that is to stand, or to be lifted. */
interface KillChange {
  /** Null for everything. */
  readonly agentId: string | null;
  readonly reason: string;
  readonly lift?: boolean;
}

interface KillChanged {
  readonly summary: string;
  /** The record of it. */
  readonly capsule: SealedCapsule;
  /** Whether anything but kill switches tells of the agent; null where none is named, or it was lifted. */
  readonly isKnown: boolean | null;
}

/**
 * Sets or lifts a kill switch and records that, in one transaction. Throws `KILL_NOT_STANDING` for one that cannot be
 * lifted.
 */
export async function changeKill(
  { store, record }: Pick<Opened, 'store' | 'record'>,
  { agentId, reason, lift = false }: KillChange,
): Promise<KillChanged> {
  const whom = agentId === null ? 'everything' : `agent ${agentId}`;
  const stands = (await store.kills()).some((kill) => kill.agentId === agentId);
  if (lift && !stands) throw new BullaError('KILL_NOT_STANDING', `No kill switch stands for ${whom}.`);
  const id = randomUUID();
  const summary = lift ? `Kill switch lifted for ${whom}` : `Kill switch for ${whom}`;
  const capsule = await record.act({
    ...{ id, type: 'kill', trigger: 'user_request', door: 'admin', agentId: agentId ?? '' },
    ...{ source: userInfo().username, request: summary, status: lift ? 'success' : 'blocked' },
    summary: `${summary}: ${reason}`,
    effect: lift ? liftKill(agentId) : setKill({ agentId, reason, capsuleId: id }),
  });
  const isKnown = agentId === null || lift ? null : await isAgent(store, agentId);
  return { summary, capsule, isKnown };
}

/** The switch stands already, whatever fails here. */
async function isAgent(store: Store, agentId: string): Promise<boolean> {
  try {
    if ((await createManifests(store).agents()).includes(agentId)) return true;
    const all = await store.find({ agentId, limit: 1000 });
    return all.length > (await store.find({ agentId, type: 'kill', limit: 1000 })).length;
  } catch {
    return true;
  }
}
