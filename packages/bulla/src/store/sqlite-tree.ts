import type { Driver, StoredCheckpoint } from './driver.ts';
import type { Connection } from './sqlite-connection.ts';
import type { Patiently } from './sqlite-statements.ts';

const LEAVES =
  'SELECT leaf AS hash FROM record WHERE chain_key = ? AND sequence >= ? ORDER BY sequence LIMIT ?';
const NODES =
  'SELECT hash FROM node WHERE chain_key = ? AND level = ? AND number >= ? ORDER BY number LIMIT ?';
const PUT = `INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (?, ?, ?, ?)
  ON CONFLICT (chain_key, origin, size) DO UPDATE SET note = excluded.note
  WHERE length(excluded.note) > length(checkpoint.note)`;
const LIST =
  'SELECT origin, size, note FROM checkpoint WHERE chain_key = ? ORDER BY checkpoint_key DESC LIMIT ?';

/** The hashes of the tree, and the checkpoints. */
export function treeOf(
  { use, sql }: Connection,
  keyOf: (name: string) => number | undefined,
  patiently: Patiently,
): Pick<Driver, 'hashes' | 'putCheckpoint' | 'checkpoints'> {
  return {
    hashes: async (name, level, from, count) =>
      use(() => {
        const key = keyOf(name);
        if (key === undefined) return [];
        const rows =
          level === 0 ? sql(LEAVES).all(key, from, count) : sql(NODES).all(key, level, from, count);
        return (rows as { hash: Uint8Array }[]).map(({ hash }) => hash);
      }),
    putCheckpoint: (name, { origin, size, note }) =>
      patiently.alone(() =>
        use((db) => {
          // It does not wait for the disk: the file outside the database has it, and the next append waits for both.
          db.pragma('synchronous = NORMAL');
          try {
            sql(PUT).run(keyOf(name), origin, size, note);
          } finally {
            db.pragma('synchronous = FULL');
          }
        }),
      ),
    checkpoints: async (name, limit) =>
      use(() => {
        const key = keyOf(name);
        return key === undefined ? [] : (sql(LIST).all(key, limit) as StoredCheckpoint[]);
      }),
  };
}
