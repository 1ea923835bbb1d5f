import type { Decision, Grant, Prompt } from '@bulla/core/consent';
import type { Pair, Reading, Sealed } from './rows.ts';

// The statements that find questions, decisions and grants.

/** A question or a decision by its id. */
export interface Found extends Pair {
  readonly prompt: Prompt | null;
  readonly decision: Decision | null;
  readonly sealed: Sealed;
  /** Whether the agent has a new manifest since the questions of the relation were last looked at. */
  readonly unseen: boolean;
}

export async function findSubject({ tenant, all }: Reading, id: string): Promise<Found | null> {
  const [row] = await all<Sealed & { part: string; data: string; unseen: number }>(
    `SELECT s.part, s.data, s.door, s.asked, s.answered, coalesce(a.rev, 0) - r.seen AS unseen
     FROM consent_subject s JOIN consent_relation r ON r.relation_key = s.relation_key
     LEFT JOIN agent a ON coalesce(a.tenant, '') = coalesce(r.tenant, '') AND a.agent_id = r.agent_id
     WHERE coalesce(s.tenant, '') = ? AND s.id = ?`,
    tenant ?? '',
    id,
  );
  if (row === undefined) return null;
  const value = JSON.parse(row.data) as Prompt & Decision;
  return {
    user: value.user,
    agent: value.agent,
    prompt: row.part === 'prompts' ? value : null,
    decision: row.part === 'decisions' ? value : null,
    sealed: { door: row.door, asked: row.asked, answered: row.answered },
    unseen: row.unseen > 0,
  };
}

/** Every question that is open. */
export async function openPrompts({ tenant, all }: Reading): Promise<Prompt[]> {
  const rows = await all<{ data: string }>(
    `SELECT data FROM consent_subject WHERE coalesce(tenant, '') = ? AND open = 1 AND part = 'prompts'
     ORDER BY subject_key`,
    tenant ?? '',
  );
  return rows.map(({ data }) => JSON.parse(data) as Prompt);
}

/** What a person last said of a scope. */
export interface PersonsGrant extends Pair, Grant {}

export async function allGrants({ tenant, all }: Reading): Promise<PersonsGrant[]> {
  const rows = await all<Pair & { data: string }>(
    `SELECT r.user_id AS "user", r.agent_id AS agent, w.data
     FROM consent_relation r JOIN consent_row w ON w.relation_key = r.relation_key AND w.part = 'grants'
     WHERE coalesce(r.tenant, '') = ? ORDER BY r.relation_key, w.digest`,
    tenant ?? '',
  );
  return rows.map(({ user, agent, data }) => ({ user, agent, ...(JSON.parse(data) as Grant) }));
}

/** Those in whose rows something has ended by itself, or who have questions from before the agent's last manifest. */
export async function overdue({ tenant, all }: Reading, at: number): Promise<Pair[]> {
  // CROSS JOIN, so that SQLite begins with what is due and not with all relations.
  const found = await all<Pair>(
    `SELECT r.relation_key, r.user_id AS "user", r.agent_id AS agent
     FROM consent_subject s CROSS JOIN consent_relation r
     WHERE r.relation_key = s.relation_key AND coalesce(s.tenant, '') = ? AND s.open = 1 AND s.due <= ?
     UNION
     SELECT r.relation_key, r.user_id, r.agent_id FROM consent_row w CROSS JOIN consent_relation r
     WHERE r.relation_key = w.relation_key AND w.due <= ? AND coalesce(r.tenant, '') = ?
     UNION
     SELECT r.relation_key, r.user_id, r.agent_id FROM agent a
     JOIN consent_relation r ON coalesce(r.tenant, '') = coalesce(a.tenant, '')
       AND r.agent_id = a.agent_id AND r.seen < a.rev
     JOIN consent_subject s ON s.relation_key = r.relation_key AND s.open = 1
     WHERE coalesce(a.tenant, '') = ?
     ORDER BY 1`,
    ...[tenant ?? '', at, at, tenant ?? '', tenant ?? ''],
  );
  return found.map(({ user, agent }) => ({ user, agent }));
}

/** Those of whom this process holds something; all who have something open, for null. */
export async function held({ tenant, all }: Reading, holder: string | null): Promise<Pair[]> {
  return all<Pair>(
    `SELECT r.user_id AS "user", r.agent_id AS agent FROM (
       SELECT DISTINCT s.relation_key FROM consent_subject s
       WHERE coalesce(s.tenant, '') = ? AND s.open = 1 AND (CAST(? AS TEXT) IS NULL OR s.holder = ?)
     ) own JOIN consent_relation r ON r.relation_key = own.relation_key
     ORDER BY r.relation_key`,
    ...[tenant ?? '', holder, holder],
  );
}

/** The processes that hold something that is open. */
export async function openHolders({ tenant, all }: Reading): Promise<string[]> {
  const rows = await all<{ holder: string }>(
    `SELECT DISTINCT holder FROM consent_subject
     WHERE coalesce(tenant, '') = ? AND open = 1 AND holder IS NOT NULL ORDER BY holder`,
    tenant ?? '',
  );
  return rows.map(({ holder }) => holder);
}
