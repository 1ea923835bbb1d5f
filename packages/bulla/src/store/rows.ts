import type { Driver, Reading, Row, StoredCheckpoint, Tip } from './driver.ts';
import { EMPTY } from './driver.ts';

// Chains, their trees and checkpoints, as both databases read them.

/** The tenant, as the indexes begin. */
export const OURS = "coalesce(tenant, '') = ?";
/** The key of a chain, by tenant and name. */
export const CHAIN_KEY = `(SELECT chain_key FROM chain WHERE ${OURS} AND name = ?)`;
export const TIP = `SELECT chain_key, length, head_hash, tree, origin, fence FROM chain WHERE ${OURS} AND name = ?`;
export const READ = `SELECT sequence, hash, data FROM record WHERE chain_key = ${CHAIN_KEY} AND sequence >= ?
  ORDER BY sequence LIMIT ?`;
export const PUT_CHECKPOINT = `INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (${CHAIN_KEY}, ?, ?, ?)
  ON CONFLICT (chain_key, origin, size) DO UPDATE SET note = excluded.note
  WHERE length(excluded.note) > length(checkpoint.note)`;
const LEAVES = `SELECT leaf AS hash FROM record WHERE chain_key = ${CHAIN_KEY} AND sequence >= ?
  ORDER BY sequence LIMIT ?`;
const NODES = `SELECT hash FROM node WHERE chain_key = ${CHAIN_KEY} AND level = ? AND number >= ?
  ORDER BY number LIMIT ?`;
const CHECKPOINTS = `SELECT origin, size, note FROM checkpoint WHERE chain_key = ${CHAIN_KEY}
  ORDER BY checkpoint_key DESC LIMIT ?`;
const CHAINS = `SELECT name, length, head_hash, indexed FROM chain WHERE ${OURS}`;

/** The row of a chain that `TIP` gives. */
export interface ChainRow {
  readonly chain_key: number;
  readonly length: number;
  readonly head_hash: string | null;
  readonly tree: Uint8Array | null;
  readonly origin: string | null;
  readonly fence: number;
}

export function tipOf(row: ChainRow | undefined): Tip {
  if (row === undefined) return EMPTY;
  const { length, head_hash: hash, tree, origin } = row;
  return { length, hash, tree: tree ?? EMPTY.tree, origin };
}

export function readingRows({
  tenant,
  all,
}: Reading): Pick<Driver, 'tip' | 'read' | 'hashes' | 'checkpoints' | 'chains'> {
  const ours = tenant ?? '';
  return {
    tip: async (name) => tipOf((await all<ChainRow>(TIP, ours, name))[0]),
    read: (name, from, limit) => all<Row>(READ, ours, name, from, limit),
    async hashes(name, level, from, count) {
      const rows = await (level === 0
        ? all<{ hash: Uint8Array }>(LEAVES, ours, name, from, count)
        : all<{ hash: Uint8Array }>(NODES, ours, name, level, from, count));
      return rows.map(({ hash }) => hash);
    },
    checkpoints: (name, limit) => all<StoredCheckpoint>(CHECKPOINTS, ours, name, limit),
    async chains() {
      const rows = await all<ChainRow & { name: string; indexed: number }>(CHAINS, ours);
      return rows
        .map(({ name, length, head_hash: hash, indexed }) => ({ name, head: { length, hash }, indexed }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
  };
}
