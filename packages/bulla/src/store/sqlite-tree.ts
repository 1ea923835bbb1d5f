import type Database from 'better-sqlite3';
import type { Driver, StoredCheckpoint } from './driver.ts';
import { guarded, type Patiently } from './sqlite-statements.ts';

/** The hashes of the tree, and the checkpoints. */
export function treeOf(
  db: Database.Database,
  keyOf: (name: string) => number | undefined,
  patiently: Patiently,
): Pick<Driver, 'hashes' | 'putCheckpoint' | 'checkpoints'> {
  const leaves = db.prepare(
    'SELECT leaf AS hash FROM record WHERE chain_key = ? AND sequence >= ? ORDER BY sequence LIMIT ?',
  );
  const nodes = db.prepare(
    'SELECT hash FROM node WHERE chain_key = ? AND level = ? AND number >= ? ORDER BY number LIMIT ?',
  );
  const put = db.prepare(
    `INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (?, ?, ?, ?)
     ON CONFLICT (chain_key, origin, size) DO UPDATE SET note = excluded.note
         WHERE length(excluded.note) > length(checkpoint.note)`,
  );
  const list = db.prepare(
    'SELECT origin, size, note FROM checkpoint WHERE chain_key = ? ORDER BY checkpoint_key DESC LIMIT ?',
  );
  return {
    async hashes(name, level, from, count) {
      const key = keyOf(name);
      if (key === undefined) return [];
      const rows = guarded(() =>
        level === 0 ? leaves.all(key, from, count) : nodes.all(key, level, from, count),
      ) as { hash: Uint8Array }[];
      return rows.map(({ hash }) => hash);
    },
    putCheckpoint: (name, { origin, size, note }) =>
      patiently(() => {
        // It does not wait for the disk: the file outside the database has it, and the next append waits for both.
        db.pragma('synchronous = NORMAL');
        try {
          put.run(keyOf(name), origin, size, note);
        } finally {
          db.pragma('synchronous = FULL');
        }
      }),
    async checkpoints(name, limit) {
      const key = keyOf(name);
      return key === undefined ? [] : guarded(() => list.all(key, limit) as StoredCheckpoint[]);
    },
  };
}
