import type pg from 'pg';
import type { Driver, StoredCheckpoint } from './driver.ts';
import { LONG, retried, transaction, write } from './postgres-connections.ts';
import { type Ask, OURS, type RawTip, TIP } from './postgres-statements.ts';

/** The hashes of the tree, and the checkpoints. */
export function treeOf(
  pool: pg.Pool,
  tenant: string | null,
  query: Ask,
): Pick<Driver, 'plant' | 'hashes' | 'putCheckpoint' | 'checkpoints'> {
  const key = `(SELECT chain_key FROM chain WHERE ${OURS} AND name = $2)`;
  return {
    plant: (name, length, { leaves, tree, nodes, origin }) =>
      retried(() =>
        transaction(pool, async (client) => {
          const { rows } = await client.query<RawTip>(`${TIP} WHERE ${OURS} AND name = $2 FOR UPDATE`, [
            tenant,
            name,
          ]);
          const chain = rows[0];
          if (chain === undefined || chain.length !== length || chain.tree !== null) return;
          await client.query({
            ...LONG,
            text: `UPDATE record SET leaf = planted.leaf
             FROM unnest($2::bytea[]) WITH ORDINALITY AS planted (leaf, place)
             WHERE record.chain_key = $1 AND record.sequence = planted.place - 1`,
            values: [chain.chain_key, leaves.map((leaf) => Buffer.from(leaf))],
          });
          await client.query(
            `INSERT INTO node (chain_key, level, number, hash)
             SELECT $1, level, number, hash FROM unnest($2::integer[], $3::bigint[], $4::bytea[]) AS filled (level, number, hash)`,
            [
              chain.chain_key,
              nodes.map((node) => node.level),
              nodes.map((node) => node.index),
              nodes.map((node) => Buffer.from(node.hash)),
            ],
          );
          await client.query(
            'UPDATE chain SET tree = $2, origin = coalesce(origin, $3) WHERE chain_key = $1',
            [chain.chain_key, Buffer.from(tree), origin],
          );
        }),
      ),
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
