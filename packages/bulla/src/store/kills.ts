import type { Effect, Statements } from './driver.ts';

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
      'DELETE FROM standing_kill WHERE tenant IS NOT DISTINCT FROM ? AND agent_id IS NOT DISTINCT FROM ?',
      tenant,
      agentId,
    );
  };
}

/** Those that stand, the one for all first. */
export function standingKills({ tenant, all }: Pick<Statements, 'tenant' | 'all'>): Promise<StandingKill[]> {
  return all<StandingKill>(
    `SELECT agent_id AS "agentId", reason, capsule_id AS "capsuleId" FROM standing_kill
     WHERE tenant IS NOT DISTINCT FROM ? ORDER BY agent_id NULLS FIRST`,
    tenant,
  );
}
