import type { Driver, Found, IndexEntry, Query } from './driver.ts';
import { conditions } from './query.ts';
import type { Connection } from './sqlite-connection.ts';
import { OURS, type Patiently } from './sqlite-statements.ts';

type Searching = Pick<Driver, 'indexed' | 'addToIndex' | 'dropIndex' | 'find'>;

const STATE = `SELECT chain_key, indexed FROM chain WHERE ${OURS} AND name = ?`;
const RECORD_KEY = 'SELECT record_key FROM record WHERE chain_key = ? AND sequence = ?';
const ADD = 'INSERT INTO found VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
const ADD_TOOL = 'INSERT INTO found_tool (record_key, tool) VALUES (?, ?)';
const ADD_COMMITMENT = 'INSERT INTO found_commitment (record_key, kind, commitment) VALUES (?, ?, ?)';
const ADD_TEXT = 'INSERT INTO found_text (rowid, summary) VALUES (?, ?)';
const ADVANCE = 'UPDATE chain SET indexed = ? WHERE chain_key = ?';

/** The search tables. */
export function searching({ use, sql }: Connection, tenant: string | null, patiently: Patiently): Searching {
  const addEntry = (chainKey: number, entry: IndexEntry) => {
    const { record_key } = sql(RECORD_KEY).get(chainKey, entry.sequence) as { record_key: number };
    const { id, hash, type, domain, parentId, agentId, sessionId, correlationId, timestamp, status } = entry;
    sql(ADD).run(
      record_key,
      chainKey,
      entry.sequence,
      id,
      hash,
      type,
      domain,
      parentId,
      agentId,
      sessionId,
      correlationId,
      timestamp,
      status,
    );
    for (const tool of entry.tools) sql(ADD_TOOL).run(record_key, tool);
    for (const { kind, commitment } of entry.commitments)
      sql(ADD_COMMITMENT).run(record_key, kind, commitment);
    sql(ADD_TEXT).run(record_key, entry.summary);
  };
  return {
    indexed: async (name) =>
      use(() => (sql(STATE).get(tenant, name) as { indexed: number } | undefined)?.indexed ?? 0),
    addToIndex: (name, from, entries) =>
      patiently.transaction(() => {
        const chain = sql(STATE).get(tenant, name) as { chain_key: number; indexed: number } | undefined;
        if (chain === undefined || chain.indexed !== from) return false;
        for (const entry of entries) addEntry(chain.chain_key, entry);
        sql(ADVANCE).run(entries.at(-1)!.sequence + 1, chain.chain_key);
        return true;
      }),
    dropIndex: () =>
      patiently.transaction(() => {
        const ours = `SELECT chain_key FROM chain WHERE ${OURS}`;
        const keys = `SELECT record_key FROM found WHERE chain_key IN (${ours})`;
        sql(`DELETE FROM found_text WHERE rowid IN (${keys})`).run(tenant);
        sql(`DELETE FROM found_tool WHERE record_key IN (${keys})`).run(tenant);
        sql(`DELETE FROM found_commitment WHERE record_key IN (${keys})`).run(tenant);
        sql(`DELETE FROM found WHERE chain_key IN (${ours})`).run(tenant);
        sql(`UPDATE chain SET indexed = 0 WHERE ${OURS}`).run(tenant);
      }),
    async find(query: Query) {
      const { where, values } = conditions(query, {
        placeholder: () => '?',
        text: 'found.record_key IN (SELECT rowid FROM found_text WHERE found_text MATCH ?)',
        words: (text) =>
          text
            .trim()
            .split(/\s+/)
            .map((word) => `"${word.replaceAll('"', '""')}"`)
            .join(' '),
      });
      return use(
        (db) =>
          db
            .prepare(
              `SELECT chain.name AS chain, record.sequence, record.hash, record.data FROM found
               JOIN record ON record.record_key = found.record_key JOIN chain ON chain.chain_key = found.chain_key
               WHERE coalesce(chain.tenant, '') = coalesce(?, '') AND ${where} ORDER BY found.record_key DESC LIMIT ? OFFSET ?`,
            )
            .all(tenant, ...values) as Found[],
      );
    },
  };
}
