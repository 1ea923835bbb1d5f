import { BullaError } from '@bulla/core/error';
import type { Effect, Reading } from './driver.ts';

/** A kill switch that stands; a null agent means all of them. */
export interface StandingKill {
  readonly agentId: string | null;
  readonly reason: string;
  readonly capsuleId: string;
}

/** The kill switch stands from now on, in the place of one that stood for the same agent. */
export function setKill({ agentId, reason, capsuleId }: StandingKill): Effect {
  return async (transaction) => {
    await liftKill(agentId)(transaction);
    await transaction.run(
      'INSERT INTO standing_kill (tenant, agent_id, reason, capsule_id) VALUES (?, ?, ?, ?)',
      transaction.tenant,
      agentId,
      reason,
      capsuleId,
    );
  };
}

/** The kill switch for this agent stands no longer. */
export function liftKill(agentId: string | null): Effect {
  return async ({ tenant, run }) => {
    await run(
      "DELETE FROM standing_kill WHERE coalesce(tenant, '') = ? AND coalesce(agent_id, '') = ?",
      tenant ?? '',
      agentId ?? '',
    );
  };
}

/** Those that stand, the one for all first. */
export function standingKills({ tenant, all }: Reading): Promise<StandingKill[]> {
  return all<StandingKill>(
    `SELECT agent_id AS "agentId", reason, capsule_id AS "capsuleId" FROM standing_kill
     WHERE coalesce(tenant, '') = ? ORDER BY agent_id NULLS FIRST`,
    tenant ?? '',
  );
}

/** Throws `KILLED` while a kill switch stands for this agent or for all. */
export async function assertNotKilled(statements: Reading, agentId: string): Promise<void> {
  const standing = (await standingKills(statements)).find(
    (kill) => kill.agentId === null || kill.agentId === agentId,
  );
  if (standing === undefined) return;
  const whom = standing.agentId === null ? 'everything' : `agent ${standing.agentId}`;
  throw new BullaError('KILLED', `A kill switch stands for ${whom}: ${standing.reason}`);
}
