import { canonicalize } from '@bulla/core/canon';
import type { Change, Decision, Grant, Prompt, Rows, Silence } from '@bulla/core/consent';
import { sha256Hex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Effect, Statements, Transaction } from '../store/index.ts';

// The statements about what people said to agents.

export type Reading = Pick<Statements, 'tenant' | 'all'>;

/** One person and one agent. */
export interface Pair {
  readonly user: string;
  readonly agent: string;
}

/** The rows of a relation as they were at one moment. */
export interface Loaded {
  /** How often the relation was written; null before the first time. */
  readonly rev: number | null;
  /** The revision of the agent's declaration that its questions were last looked at under. */
  readonly seen: number;
  /** The revision of what the agent declares; null if it declares nothing. */
  readonly declared: number | null;
  readonly rows: Omit<Rows, 'manifests'>;
  /** The last capsule about each question and decision among them, by id. */
  readonly capsules: ReadonlyMap<string, string>;
}

type Part = Exclude<keyof Rows, 'user' | 'agent' | 'manifests'>;

interface RawRow {
  readonly part: Part | 'relation' | 'agent';
  readonly rev: number;
  readonly data: string;
  readonly capsule_id: string | null;
}

const RELATION = `consent_relation r WHERE coalesce(r.tenant, '') = ? AND r.digest = ?`;

/** One statement, so that all rows are of the same moment. */
const LOAD = `
  SELECT 'relation' AS part, r.rev AS rev, CAST(r.seen AS TEXT) AS data, NULL AS capsule_id FROM ${RELATION}
  UNION ALL
  SELECT 'agent', rev, '', NULL FROM agent WHERE coalesce(tenant, '') = ? AND agent_id = ?
  UNION ALL
  SELECT w.part, w.rev, w.data, NULL FROM consent_row w
  WHERE w.relation_key = (SELECT r.relation_key FROM ${RELATION})
  UNION ALL
  SELECT m.part, m.rev, m.data, m.capsule_id FROM consent_matter m
  WHERE m.open = 1 AND m.relation_key = (SELECT r.relation_key FROM ${RELATION})
  UNION ALL
  SELECT m.part, m.rev, m.data, m.capsule_id FROM consent_matter m
  WHERE m.open = 0 AND coalesce(m.tenant, '') = ? AND m.id = ?
    AND m.relation_key = (SELECT r.relation_key FROM ${RELATION})`;

/** The rows of a relation: all but the decisions that ended, and of those the one with this id. */
export async function load({ tenant, all }: Reading, pair: Pair, id: string | null): Promise<Loaded> {
  const own = [tenant ?? '', digestOf(pair)];
  const raw = await all<RawRow>(
    LOAD,
    ...own,
    tenant ?? '',
    pair.agent,
    ...own,
    ...own,
    tenant ?? '',
    id ?? '',
    ...own,
  );
  const rows = { disclosures: [], grants: [], silences: [], prompts: [], decisions: [], approvals: [] };
  const capsules = new Map<string, string>();
  let [rev, seen, declared]: [number | null, number, number | null] = [null, 0, null];
  for (const row of raw) {
    if (row.part === 'relation') [rev, seen] = [row.rev, Number(row.data)];
    else if (row.part === 'agent') declared = row.rev;
    else {
      const value = JSON.parse(row.data) as { readonly id: string };
      (rows[row.part] as unknown[]).push(value);
      if (row.capsule_id !== null) capsules.set(value.id, row.capsule_id);
    }
  }
  return { rev, seen, declared, rows: { ...pair, ...rows }, capsules };
}

function digestOf({ user, agent }: Pair): string {
  return sha256Hex(canonicalize([user, agent], 'jcs'));
}

/** Under what the changes of a step are written. */
export interface Writing {
  readonly pair: Pair;
  readonly rev: number | null;
  readonly declared: number | null;
  readonly seen: number;
  readonly changes: readonly Change[];
  /** The capsule that tells of the questions and decisions among them. */
  readonly capsuleId: string | null;
}

/**
 * Writes changes where nothing has moved since the rows were read: neither the relation nor what the agent declares,
 * which is kept as it is until the transaction ends. Refuses with `CONSENT_CONFLICT`, and with `CONSENT_REPEATED` for
 * an id that another person or agent used.
 */
export function write({ pair, rev, declared, seen, changes, capsuleId }: Writing): Effect {
  return async (transaction) => {
    const { tenant, all, run } = transaction;
    const digest = digestOf(pair);
    const moved =
      rev === null
        ? await run(
            `INSERT INTO consent_relation (tenant, digest, user_id, agent_id, rev, seen)
             VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`,
            tenant,
            digest,
            pair.user,
            pair.agent,
            seen,
          )
        : await run(
            `UPDATE consent_relation SET rev = rev + 1, seen = ?
             WHERE coalesce(tenant, '') = ? AND digest = ? AND rev = ?`,
            seen,
            tenant ?? '',
            digest,
            rev,
          );
    if (moved === 0) throw conflict('relation');
    await assertDeclared(transaction, pair.agent, declared);
    const [relation] = await all<{ relation_key: number }>(
      `SELECT r.relation_key FROM ${RELATION}`,
      tenant ?? '',
      digest,
    );
    for (const change of changes) {
      const written = isMatter(change)
        ? await writeMatter(transaction, relation!.relation_key, change, capsuleId)
        : await writeRow(transaction, relation!.relation_key, change);
      if (written === 0) throw conflict(change.table);
    }
  };
}

async function assertDeclared(
  { tenant, all, forUpdate }: Transaction,
  agent: string,
  expected: number | null,
): Promise<void> {
  // Many people may be served at once; only a new manifest has to wait.
  const share = forUpdate === '' ? '' : ' FOR SHARE';
  const sql = `SELECT rev FROM agent WHERE coalesce(tenant, '') = ? AND agent_id = ?${share}`;
  const [row] = await all<{ rev: number }>(sql, tenant ?? '', agent);
  if ((row?.rev ?? null) !== expected) throw conflict('manifests');
}

type MatterChange = Extract<Change, { table: 'prompts' | 'decisions' }>;

function isMatter(change: Change): change is MatterChange {
  return change.table === 'prompts' || change.table === 'decisions';
}

async function writeMatter(
  { tenant, run }: Transaction,
  relation: number,
  { table, key, rev, row }: MatterChange,
  capsuleId: string | null,
): Promise<number> {
  const place = [tenant ?? '', key, relation, table, rev] as const;
  const here = "coalesce(tenant, '') = ? AND id = ? AND relation_key = ? AND part = ? AND rev = ?";
  if (row === null) return run(`DELETE FROM consent_matter WHERE ${here}`, ...place);
  const open = isOpen(row) ? 1 : 0;
  const values = [open, dueOf(row), row.holder, row.rev, capsuleId, JSON.stringify(row)] as const;
  if (rev !== null)
    return run(
      `UPDATE consent_matter SET open = ?, due = ?, holder = ?, rev = ?, capsule_id = ?, data = ? WHERE ${here}`,
      ...values,
      ...place,
    );
  const added = await run(
    `INSERT INTO consent_matter
       (tenant, id, relation_key, part, open, due, holder, rev, capsule_id, data)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    tenant,
    key,
    relation,
    table,
    ...values,
  );
  if (added === 0)
    throw new BullaError('CONSENT_REPEATED', 'This id was used before; an answer is for one call alone.');
  return added;
}

async function writeRow(
  { run }: Transaction,
  relation: number,
  { table, key, rev, row }: Exclude<Change, MatterChange>,
): Promise<number> {
  const place = [relation, table, sha256Hex(key)] as const;
  const here = 'relation_key = ? AND part = ? AND digest = ? AND rev = ?';
  if (row === null) return run(`DELETE FROM consent_row WHERE ${here}`, ...place, rev);
  const due = table === 'silences' ? (row as Silence).until : null;
  if (rev !== null)
    return run(
      `UPDATE consent_row SET due = ?, rev = ?, data = ? WHERE ${here}`,
      due,
      row.rev,
      JSON.stringify(row),
      ...place,
      rev,
    );
  return run(
    `INSERT INTO consent_row (relation_key, part, digest, due, rev, data) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    ...place,
    due,
    row.rev,
    JSON.stringify(row),
  );
}

/** What was read is no longer so. */
export function conflict(table: string): BullaError {
  return new BullaError('CONSENT_CONFLICT', `Somebody else wrote this row of ${table} meanwhile.`);
}

const isDecision = (row: Prompt | Decision): row is Decision => 'stage' in row;

function isOpen(row: Prompt | Decision): boolean {
  return !isDecision(row) || row.stage === 'allowed' || row.stage === 'running';
}

/** The first moment at which it ends by itself. */
function dueOf(row: Prompt | Decision): number | null {
  if (!isDecision(row)) return row.expires_at;
  if (row.stage === 'allowed') return row.start_before;
  return row.stage === 'running' ? row.started_at! + row.timeout_ms! : null;
}

/** A question or a decision by its id. */
export interface Matter extends Pair {
  readonly prompt: Prompt | null;
  readonly decision: Decision | null;
  /** Whether the agent has a new manifest since the questions of the relation were last looked at. */
  readonly unseen: boolean;
}

export async function findMatter({ tenant, all }: Reading, id: string): Promise<Matter | null> {
  const [row] = await all<{ part: string; data: string; unseen: number }>(
    `SELECT m.part, m.data, coalesce(a.rev, 0) - r.seen AS unseen
     FROM consent_matter m JOIN consent_relation r ON r.relation_key = m.relation_key
     LEFT JOIN agent a ON coalesce(a.tenant, '') = coalesce(r.tenant, '') AND a.agent_id = r.agent_id
     WHERE coalesce(m.tenant, '') = ? AND m.id = ?`,
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
    unseen: row.unseen > 0,
  };
}

/** Every question that is open. */
export async function openPrompts({ tenant, all }: Reading): Promise<Prompt[]> {
  const rows = await all<{ data: string }>(
    `SELECT data FROM consent_matter WHERE coalesce(tenant, '') = ? AND open = 1 AND part = 'prompts'
     ORDER BY matter_key`,
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
     FROM consent_matter m CROSS JOIN consent_relation r
     WHERE r.relation_key = m.relation_key AND coalesce(m.tenant, '') = ? AND m.open = 1 AND m.due <= ?
     UNION
     SELECT r.relation_key, r.user_id, r.agent_id FROM consent_row w CROSS JOIN consent_relation r
     WHERE r.relation_key = w.relation_key AND w.due <= ? AND coalesce(r.tenant, '') = ?
     UNION
     SELECT r.relation_key, r.user_id, r.agent_id FROM agent a
     JOIN consent_relation r ON coalesce(r.tenant, '') = coalesce(a.tenant, '')
       AND r.agent_id = a.agent_id AND r.seen < a.rev
     JOIN consent_matter m ON m.relation_key = r.relation_key AND m.open = 1
     WHERE coalesce(a.tenant, '') = ?
     ORDER BY 1`,
    tenant ?? '',
    at,
    at,
    tenant ?? '',
    tenant ?? '',
  );
  return found.map(({ user, agent }) => ({ user, agent }));
}

/** Those of whom this process holds something; all who have something open, for null. */
export async function held({ tenant, all }: Reading, holder: string | null): Promise<Pair[]> {
  return all<Pair>(
    `SELECT r.user_id AS "user", r.agent_id AS agent FROM (
       SELECT DISTINCT m.relation_key FROM consent_matter m
       WHERE coalesce(m.tenant, '') = ? AND m.open = 1 AND (CAST(? AS TEXT) IS NULL OR m.holder = ?)
     ) own JOIN consent_relation r ON r.relation_key = own.relation_key
     ORDER BY r.relation_key`,
    tenant ?? '',
    holder,
    holder,
  );
}
