import type pg from 'pg';
import type { Driver, StoredCheckpoint } from './driver.ts';
import { retried, write } from './postgres-connections.ts';
import { type Ask, OURS } from './postgres-statements.ts';

/** The hashes of the tree, and the checkpoints. */
export function treeOf(
  pool: pg.Pool,
  tenant: string | null,
  query: Ask,
): Pick<Driver, 'hashes' | 'putCheckpoint' | 'checkpoints'> {
  const key = `(SELECT chain_key FROM chain WHERE ${OURS} AND name = $2)`;
  return {
    async hashes(name, level, from, count) {
      const rows = await (level === 0
        ? query<{ hash: Uint8Array }>(
            `SELECT leaf AS hash FROM record WHERE chain_key = ${key} AND sequence >= $3 ORDER BY sequence LIMIT $4`,
            [tenant, name, from, count],
          )
        : query<{ hash: Uint8Array }>(
            `SELECT hash FROM node WHERE chain_key = ${key} AND level = $5 AND number >= $3 ORDER BY number LIMIT $4`,
            [tenant, name, from, count, level],
          ));
      return rows.map(({ hash }) => hash);
    },
    async putCheckpoint(name, { origin, size, note }) {
      await retried(() =>
        write(pool, {
          text: `INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (${key}, $3, $4, $5)
           ON CONFLICT (chain_key, origin, size) DO UPDATE SET note = excluded.note
           WHERE length(excluded.note) > length(checkpoint.note)`,
          values: [tenant, name, origin, size, note],
        }),
      );
    },
    checkpoints: (name, limit) =>
      query<StoredCheckpoint>(
        `SELECT origin, size, note FROM checkpoint WHERE chain_key = ${key} ORDER BY checkpoint_key DESC LIMIT $3`,
        [tenant, name, limit],
      ),
  };
}
