import type Database from 'better-sqlite3';
import type { Driver, Found, IndexEntry, Query } from './driver.ts';
import { conditions } from './query.ts';
import { guarded, OURS, type Patiently } from './sqlite-statements.ts';

type Searching = Pick<Driver, 'indexed' | 'addToIndex' | 'dropIndex' | 'find'>;

/** The search tables. */
export function searching(db: Database.Database, tenant: string | null, patiently: Patiently): Searching {
  const state = db.prepare(`SELECT chain_key, indexed FROM chain WHERE ${OURS} AND name = ?`);
  const recordKey = db.prepare('SELECT record_key FROM record WHERE chain_key = ? AND sequence = ?');
  const add = db.prepare('INSERT INTO found VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const addTool = db.prepare('INSERT INTO found_tool (record_key, tool) VALUES (?, ?)');
  const addText = db.prepare('INSERT INTO found_text (rowid, summary) VALUES (?, ?)');
  const advance = db.prepare('UPDATE chain SET indexed = ? WHERE chain_key = ?');
  const addAll = db.transaction((name: string, from: number, entries: readonly IndexEntry[]) => {
    const chain = state.get(tenant, name) as { chain_key: number; indexed: number };
    if (chain.indexed !== from) return false;
    for (const entry of entries) {
      const { record_key } = recordKey.get(chain.chain_key, entry.sequence) as { record_key: number };
      const { id, hash, type, domain, parentId, agentId, sessionId, correlationId, timestamp, status } =
        entry;
      add.run(
        record_key,
        chain.chain_key,
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
      for (const tool of entry.tools) addTool.run(record_key, tool);
      addText.run(record_key, entry.summary);
    }
    advance.run(from + entries.length, chain.chain_key);
    return true;
  });
  return {
    indexed: async (name) =>
      guarded(() => (state.get(tenant, name) as { indexed: number } | undefined)?.indexed ?? 0),
    addToIndex: (name, from, entries) => patiently(() => addAll.immediate(name, from, entries)),
    dropIndex: () =>
      patiently(() =>
        db
          .transaction(() => {
            const ours = `SELECT chain_key FROM chain WHERE ${OURS}`;
            const keys = `SELECT record_key FROM found WHERE chain_key IN (${ours})`;
            db.prepare(`DELETE FROM found_text WHERE rowid IN (${keys})`).run(tenant);
            db.prepare(`DELETE FROM found_tool WHERE record_key IN (${keys})`).run(tenant);
            db.prepare(`DELETE FROM found WHERE chain_key IN (${ours})`).run(tenant);
            db.prepare(`UPDATE chain SET indexed = 0 WHERE ${OURS}`).run(tenant);
          })
          .immediate(),
      ),
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
      return guarded(
        () =>
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
