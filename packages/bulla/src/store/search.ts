import type { Driver, Found, Reading } from './driver.ts';
import { conditions } from './query.ts';
import { CHAIN_KEY, OURS } from './rows.ts';

/** What differs between the databases in searching. */
export interface SearchDialect {
  /** The table `added`, out of one value: a JSON list of objects that have a sequence, and any of these texts. */
  rows(members: readonly string[]): string;
  /** The column of `found_text` that holds the key of the record. */
  readonly textKey: string;
  /** What `found_text` holds of `added.summary`. */
  readonly summary: string;
  /** Whether a row of `found_text` has the words of the one value. */
  readonly matches: string;
  /** The words as the full-text search wants them. */
  words(text: string): string;
}

/** The texts of the rows that are added, as the indexer calls them; each row has those of its table. */
const MEMBERS = [
  ...['id', 'hash', 'type', 'domain', 'parentId', 'agentId', 'sessionId', 'correlationId', 'timestamp'],
  ...['status', 'summary', 'tool', 'kind', 'commitment'],
];

/** The search tables. */
export function searching(
  dialect: SearchDialect,
  { tenant, all }: Reading,
  transaction: Driver['transaction'],
): Pick<Driver, 'indexed' | 'addToIndex' | 'dropIndex' | 'find'> {
  const ours = tenant ?? '';
  const { textKey } = dialect;
  /** Adds rows to a table, each with the key of its record. `CROSS JOIN` has SQLite look each record up by its index. */
  const insert = (table: string, key: string, columns: Readonly<Record<string, string>>) =>
    `INSERT INTO ${table} (${[key, ...Object.keys(columns)].join(', ')})
     SELECT record.record_key, ${Object.values(columns).join(', ')} FROM ${dialect.rows(MEMBERS)}
     CROSS JOIN record WHERE record.sequence = added.sequence AND record.chain_key = ${CHAIN_KEY}`;
  const addRecords = insert('found', 'record_key', {
    chain_key: 'record.chain_key',
    sequence: 'record.sequence',
    id: 'added.id',
    hash: 'added.hash',
    type: 'added.type',
    domain: 'added.domain',
    parent_id: 'added."parentId"',
    agent_id: 'added."agentId"',
    session_id: 'added."sessionId"',
    correlation_id: 'added."correlationId"',
    timestamp: 'added.timestamp',
    status: 'added.status',
  });
  const addTexts = insert('found_text', textKey, { summary: dialect.summary });
  const addTools = insert('found_tool', 'record_key', { tool: 'added.tool' });
  const addCommitments = insert('found_commitment', 'record_key', {
    kind: 'added.kind',
    commitment: 'added.commitment',
  });
  return {
    async indexed(name) {
      const text = `SELECT indexed FROM chain WHERE ${OURS} AND name = ?`;
      return (await all<{ indexed: number }>(text, ours, name))[0]?.indexed ?? 0;
    },
    addToIndex: (name, from, entries) =>
      transaction(async ({ run }) => {
        const moved = await run(
          `UPDATE chain SET indexed = ? WHERE ${OURS} AND name = ? AND indexed = ?`,
          entries.at(-1)!.sequence + 1,
          ours,
          name,
          from,
        );
        if (moved === 0) return false;
        const add = (text: string, rows: readonly object[]) => run(text, JSON.stringify(rows), ours, name);
        await add(addRecords, entries);
        await add(addTexts, entries);
        await add(
          addTools,
          entries.flatMap(({ sequence, tools }) => tools.map((tool) => ({ sequence, tool }))),
        );
        await add(
          addCommitments,
          entries.flatMap(({ sequence, commitments }) => commitments.map((one) => ({ sequence, ...one }))),
        );
        return true;
      }),
    dropIndex: () =>
      transaction(async ({ run }) => {
        const chains = `SELECT chain_key FROM chain WHERE ${OURS}`;
        const records = `SELECT record_key FROM found WHERE chain_key IN (${chains})`;
        await run(`DELETE FROM found_text WHERE ${textKey} IN (${records})`, ours);
        await run(`DELETE FROM found_tool WHERE record_key IN (${records})`, ours);
        await run(`DELETE FROM found_commitment WHERE record_key IN (${records})`, ours);
        await run(`DELETE FROM found WHERE chain_key IN (${chains})`, ours);
        await run(`UPDATE chain SET indexed = 0 WHERE ${OURS}`, ours);
      }),
    find(query) {
      const { where, values } = conditions(query, dialect);
      return all<Found>(
        `SELECT chain.name AS chain, record.sequence, record.hash, record.data FROM found
         JOIN record ON record.record_key = found.record_key JOIN chain ON chain.chain_key = found.chain_key
         WHERE coalesce(chain.tenant, '') = ? AND ${where} ORDER BY found.record_key DESC LIMIT ? OFFSET ?`,
        ours,
        ...values,
      );
    },
  };
}
