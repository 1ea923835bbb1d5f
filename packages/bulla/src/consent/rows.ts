import { canonicalize } from '@bulla/core/canon';
import type { Change, Decision, Prompt, Rows, Silence } from '@bulla/core/consent';
import { sha256Hex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Door, frozenCopy } from '../record/index.ts';
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
  /** Where each question and decision among them came from and is recorded, by id. */
  readonly sealed: ReadonlyMap<string, Sealed>;
  /** The rows with their texts, for the next time. */
  readonly texts: Texts;
}

/** Rows that were parsed, by their keys in the database. */
export type Texts = ReadonlyMap<string, { readonly data: string; readonly value: unknown }>;

/** The records of a question and of its answer, where there are any. */
export interface Sealed {
  readonly door: Door;
  readonly asked: string | null;
  readonly answered: string | null;
}

type Part = Exclude<keyof Rows, 'user' | 'agent' | 'manifests'>;

interface RawRow {
  readonly part: Part | 'relation' | 'agent';
  readonly id: string;
  readonly rev: number;
  readonly data: string;
  readonly door: Door | null;
  readonly asked: string | null;
  readonly answered: string | null;
}

const RELATION = `consent_relation r WHERE coalesce(r.tenant, '') = ? AND r.digest = ?`;

/** One statement, so that all rows are of the same moment. */
const LOAD = `
  SELECT 'relation' AS part, '' AS id, r.rev AS rev, CAST(r.seen AS TEXT) AS data, NULL AS door, NULL AS asked,
    NULL AS answered FROM ${RELATION}
  UNION ALL
  SELECT 'agent', '', rev, '', NULL, NULL, NULL FROM agent WHERE coalesce(tenant, '') = ? AND agent_id = ?
  UNION ALL
  SELECT w.part, w.digest, w.rev, w.data, NULL, NULL, NULL FROM consent_row w
  WHERE w.relation_key = (SELECT r.relation_key FROM ${RELATION})
  UNION ALL
  SELECT s.part, s.id, s.rev, s.data, s.door, s.asked, s.answered FROM consent_subject s
  WHERE s.open = 1 AND s.relation_key = (SELECT r.relation_key FROM ${RELATION})
  UNION ALL
  SELECT s.part, s.id, s.rev, s.data, s.door, s.asked, s.answered FROM consent_subject s
  WHERE s.open = 0 AND coalesce(s.tenant, '') = ? AND s.id = ?
    AND s.relation_key = (SELECT r.relation_key FROM ${RELATION})`;

/**
 * The rows of a relation: all but the decisions that ended, and of those the one with this id. A row with the
 * text that is `known` of it is the same object again.
 */
export async function load(
  { tenant, all }: Reading,
  pair: Pair,
  id: string | null,
  known?: Texts,
): Promise<Loaded> {
  const whose = tenant ?? '';
  const own = [whose, digestOf(pair)];
  const raw = await all<RawRow>(LOAD, ...own, whose, pair.agent, ...own, ...own, whose, id ?? '', ...own);
  const rows = { disclosures: [], grants: [], silences: [], prompts: [], decisions: [], approvals: [] };
  const sealed = new Map<string, Sealed>();
  const texts = new Map<string, { readonly data: string; readonly value: unknown }>();
  let [rev, seen, declared]: [number | null, number, number | null] = [null, 0, null];
  for (const row of raw) {
    if (row.part === 'relation') [rev, seen] = [row.rev, Number(row.data)];
    else if (row.part === 'agent') declared = row.rev;
    else {
      // Compared and not only looked up: a text is long to hash, and what a row says counts, not its revision.
      const before = known?.get(row.id);
      const same = before !== undefined && before.data === row.data;
      const value = (same ? before.value : frozenCopy(JSON.parse(row.data))) as { readonly id: string };
      texts.set(row.id, same ? before : { data: row.data, value });
      (rows[row.part] as unknown[]).push(value);
      if (row.door !== null)
        sealed.set(value.id, { door: row.door, asked: row.asked, answered: row.answered });
    }
  }
  return { rev, seen, declared, rows: { ...pair, ...rows }, sealed, texts };
}

function digestOf({ user, agent }: Pair): string {
  return sha256Hex(canonicalize([user, agent], 'jcs'));
}

/** Under what the changes of a step are written. */
interface Writing {
  readonly pair: Pair;
  readonly rev: number | null;
  readonly declared: number | null;
  readonly seen: number;
  readonly changes: readonly Change[];
  /** Where a question or a decision that is new among them came from, and its records. */
  sealed(id: string): Sealed;
}

/** Makes sure of the relation, and lets nobody else write it or the agent's declaration before the transaction ends. */
export async function hold(transaction: Transaction, pair: Pair): Promise<void> {
  const { tenant, all, run, forUpdate } = transaction;
  const digest = digestOf(pair);
  const found = `SELECT r.rev FROM ${RELATION}${forUpdate}`;
  if ((await all(found, tenant ?? '', digest)).length === 0) {
    await run(
      `INSERT INTO consent_relation (tenant, digest, user_id, agent_id, rev, seen)
       VALUES (?, ?, ?, ?, 0, 0) ON CONFLICT DO NOTHING`,
      ...[tenant, digest, pair.user, pair.agent],
    );
    await all(found, tenant ?? '', digest);
  }
  await declaredRev(transaction, pair.agent);
}

/**
 * Writes changes where nothing has moved since the rows were read: neither the relation nor what the agent declares,
 * which is kept as it is until the transaction ends. Refuses with `CONSENT_CONFLICT`, and with `CONSENT_REPEATED` for
 * an id that another person or agent used.
 */
export function write({ pair, rev, declared, seen, changes, sealed }: Writing): Effect {
  return async (transaction) => {
    const { tenant, all, run } = transaction;
    const digest = digestOf(pair);
    const moved =
      rev === null
        ? await run(
            `INSERT INTO consent_relation (tenant, digest, user_id, agent_id, rev, seen)
             VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`,
            ...[tenant, digest, pair.user, pair.agent, seen],
          )
        : await run(
            `UPDATE consent_relation SET rev = rev + 1, seen = ?
             WHERE coalesce(tenant, '') = ? AND digest = ? AND rev = ?`,
            ...[seen, tenant ?? '', digest, rev],
          );
    if (moved === 0) throw conflict('relation');
    if ((await declaredRev(transaction, pair.agent)) !== declared) throw conflict('manifests');
    const [relation] = await all<{ relation_key: number }>(
      `SELECT r.relation_key FROM ${RELATION}`,
      tenant ?? '',
      digest,
    );
    for (const change of changes) {
      const written = isSubject(change)
        ? await writeSubject(transaction, relation!.relation_key, change, sealed)
        : await writeRow(transaction, relation!.relation_key, change);
      if (written === 0) throw conflict(change.table);
    }
  };
}

/** The revision of what the agent declares, which stays as it is until the transaction ends; null if nothing. */
async function declaredRev({ tenant, all, forUpdate }: Transaction, agent: string): Promise<number | null> {
  // Many people may be served at once; only a new manifest has to wait.
  const share = forUpdate === '' ? '' : ' FOR SHARE';
  const sql = `SELECT rev FROM agent WHERE coalesce(tenant, '') = ? AND agent_id = ?${share}`;
  const [row] = await all<{ rev: number }>(sql, tenant ?? '', agent);
  return row?.rev ?? null;
}

type SubjectChange = Extract<Change, { table: 'prompts' | 'decisions' }>;

function isSubject(change: Change): change is SubjectChange {
  return change.table === 'prompts' || change.table === 'decisions';
}

async function writeSubject(
  { tenant, run }: Transaction,
  relation: number,
  { table, key, rev, row }: SubjectChange,
  sealed: Writing['sealed'],
): Promise<number> {
  const which = [tenant ?? '', key, relation, table, rev] as const;
  const here = "coalesce(tenant, '') = ? AND id = ? AND relation_key = ? AND part = ? AND rev = ?";
  if (row === null) return run(`DELETE FROM consent_subject WHERE ${here}`, ...which);
  const open = isOpen(row) ? 1 : 0;
  const values = [open, dueOf(row), row.holder, row.rev, JSON.stringify(row)] as const;
  if (rev !== null)
    return run(
      `UPDATE consent_subject SET open = ?, due = ?, holder = ?, rev = ?, data = ? WHERE ${here}`,
      ...values,
      ...which,
    );
  const { door, asked, answered } = sealed(key);
  const added = await run(
    `INSERT INTO consent_subject
       (tenant, id, relation_key, part, open, due, holder, rev, data, door, asked, answered)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ...[tenant, key, relation, table, ...values, door, asked, answered],
  );
  if (added === 0)
    throw new BullaError('CONSENT_REPEATED', 'This id was used before; an answer is for one call alone.');
  return added;
}

async function writeRow(
  { run }: Transaction,
  relation: number,
  { table, key, rev, row }: Exclude<Change, SubjectChange>,
): Promise<number> {
  const which = [relation, table, sha256Hex(key)] as const;
  const here = 'relation_key = ? AND part = ? AND digest = ? AND rev = ?';
  if (row === null) return run(`DELETE FROM consent_row WHERE ${here}`, ...which, rev);
  const values = [table === 'silences' ? (row as Silence).until : null, row.rev, JSON.stringify(row)];
  if (rev !== null)
    return run(`UPDATE consent_row SET due = ?, rev = ?, data = ? WHERE ${here}`, ...values, ...which, rev);
  return run(
    `INSERT INTO consent_row (relation_key, part, digest, due, rev, data) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    ...which,
    ...values,
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
