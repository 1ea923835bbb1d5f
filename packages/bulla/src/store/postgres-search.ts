import type pg from 'pg';
import type { Driver, Found, Query } from './driver.ts';
import { LONG, retried, transaction } from './postgres-connections.ts';
import { type Ask, OURS } from './postgres-statements.ts';
import { conditions } from './query.ts';

/** The search tables. */
export function searching(
  pool: pg.Pool,
  tenant: string | null,
  query: Ask,
): Pick<Driver, 'indexed' | 'addToIndex' | 'dropIndex' | 'find'> {
  const ours = `SELECT chain_key FROM chain WHERE ${OURS}`;
  return {
    async indexed(name) {
      const rows = await query<{ indexed: number }>(`SELECT indexed FROM chain WHERE ${OURS} AND name = $2`, [
        tenant,
        name,
      ]);
      return rows[0]?.indexed ?? 0;
    },
    addToIndex: (name, from, entries) =>
      retried(() =>
        transaction(pool, async (client) => {
          const { rows } = await client.query(
            `UPDATE chain SET indexed = $4 WHERE ${OURS} AND name = $2 AND indexed = $3 RETURNING chain_key`,
            [tenant, name, from, entries.at(-1)!.sequence + 1],
          );
          if (rows.length === 0) return false;
          const key = rows[0].chain_key;
          const column = (pick: (entry: (typeof entries)[number]) => unknown) => entries.map(pick);
          await client.query(
            `INSERT INTO found SELECT record.record_key, $1, added.sequence, added.id, added.hash, added.type, added.domain, added.parent_id,
               added.agent_id, added.session_id, added.correlation_id, added.timestamp, added.status
             FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
               AS added (sequence, id, hash, type, domain, parent_id, agent_id, session_id, correlation_id, timestamp, status)
             JOIN record ON record.chain_key = $1 AND record.sequence = added.sequence`,
            [
              key,
              column((e) => e.sequence),
              column((e) => e.id),
              column((e) => e.hash),
              column((e) => e.type),
              column((e) => e.domain),
              column((e) => e.parentId),
              column((e) => e.agentId),
              column((e) => e.sessionId),
              column((e) => e.correlationId),
              column((e) => e.timestamp),
              column((e) => e.status),
            ],
          );
          await client.query(
            `INSERT INTO found_text SELECT record.record_key, to_tsvector('simple', added.summary)
             FROM unnest($2::bigint[], $3::text[]) AS added (sequence, summary)
             JOIN record ON record.chain_key = $1 AND record.sequence = added.sequence`,
            [key, column((e) => e.sequence), column((e) => e.summary)],
          );
          const tools = entries.flatMap((entry) =>
            entry.tools.map((tool) => ({ sequence: entry.sequence, tool })),
          );
          await client.query(
            `INSERT INTO found_tool SELECT record.record_key, added.tool FROM unnest($2::bigint[], $3::text[]) AS added (sequence, tool)
             JOIN record ON record.chain_key = $1 AND record.sequence = added.sequence`,
            [key, tools.map((t) => t.sequence), tools.map((t) => t.tool)],
          );
          const commitments = entries.flatMap(({ sequence, commitments }) =>
            commitments.map((one) => ({ sequence, ...one })),
          );
          await client.query(
            `INSERT INTO found_commitment SELECT record.record_key, added.kind, added.commitment
             FROM unnest($2::bigint[], $3::text[], $4::text[]) AS added (sequence, kind, commitment)
             JOIN record ON record.chain_key = $1 AND record.sequence = added.sequence`,
            [
              key,
              commitments.map((c) => c.sequence),
              commitments.map((c) => c.kind),
              commitments.map((c) => c.commitment),
            ],
          );
          return true;
        }),
      ),
    dropIndex: () =>
      retried(() =>
        transaction(pool, async (client) => {
          const keys = `SELECT record_key FROM found WHERE chain_key IN (${ours})`;
          const run = (text: string) => client.query({ ...LONG, text, values: [tenant] });
          await run(`DELETE FROM found_text WHERE record_key IN (${keys})`);
          await run(`DELETE FROM found_tool WHERE record_key IN (${keys})`);
          await run(`DELETE FROM found_commitment WHERE record_key IN (${keys})`);
          await run(`DELETE FROM found WHERE chain_key IN (${ours})`);
          await client.query(`UPDATE chain SET indexed = 0 WHERE ${OURS}`, [tenant]);
        }),
      ),
    find(asked: Query) {
      const { where, values } = conditions(asked, {
        placeholder: (position) => `$${position + 1}`,
        text: "found.record_key IN (SELECT record_key FROM found_text WHERE summary @@ plainto_tsquery('simple', ?))",
        words: (text) => text,
      });
      return query<Found>(
        `SELECT chain.name AS chain, record.sequence, record.hash, record.data FROM found
         JOIN record ON record.record_key = found.record_key JOIN chain ON chain.chain_key = found.chain_key
         WHERE coalesce(chain.tenant, '') = coalesce($1, '') AND ${where}
         ORDER BY found.record_key DESC LIMIT $${values.length} OFFSET $${values.length + 1}`,
        [tenant, ...values],
        LONG,
      );
    },
  };
}
