import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Addition, Head } from './driver.ts';

/** Records for a chain whose head and fence are believed to be these. */
interface Append {
  readonly chain: string;
  readonly fence: number;
  readonly expected: Head;
  readonly addition: Addition;
}

interface Waiting extends Append {
  resolve(appended: boolean): void;
  reject(error: unknown): void;
}

/** Limit on concurrent statements; appends that arrive meanwhile share the next one. */
const UNDER_WAY = 2;

/**
 * Moves the heads that are still as expected and were not settled meanwhile, of chains where every intent is open that
 * is closed, and stores the rows of those chains alone. Who marks an intent moves the head: no mark is overlooked
 * because it came after the snapshot. Chains are locked in the order of their keys, so that two such statements cannot wait for each other; a head that moved while the statement
 * waited is looked at again before it is changed.
 */
const APPEND = `
  WITH asked AS (
    SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bytea[], $8::text[],
      $18::bigint[]) AS asked (name, old_length, old_hash, new_length, new_hash, tree, origin, fence)
  ), locked AS (
    SELECT chain_key FROM chain WHERE coalesce(tenant, '') = coalesce($1, '') AND name = ANY ($2::text[])
    ORDER BY chain_key FOR UPDATE
  ), moved AS (
    UPDATE chain SET length = asked.new_length, head_hash = asked.new_hash, tree = asked.tree,
      origin = asked.origin
    FROM asked, locked
    WHERE chain.chain_key = locked.chain_key AND chain.name = asked.name
      AND chain.length = asked.old_length AND chain.head_hash IS NOT DISTINCT FROM asked.old_hash
      AND chain.fence = asked.fence
      AND NOT EXISTS (
        SELECT 1 FROM unnest($27::text[], $28::bigint[]) AS closing (name, sequence)
        WHERE closing.name = asked.name AND NOT EXISTS (
          SELECT 1 FROM open_intent
          WHERE open_intent.chain_key = locked.chain_key AND open_intent.sequence = closing.sequence))
    RETURNING chain.chain_key, chain.name
  ), added AS (
    INSERT INTO record (chain_key, sequence, hash, data, leaf)
    SELECT moved.chain_key, added.sequence, added.hash, added.data, added.leaf
    FROM moved JOIN unnest($9::text[], $10::bigint[], $11::text[], $12::text[], $13::bytea[])
      AS added (name, sequence, hash, data, leaf) ON added.name = moved.name
  ), filled AS (
    INSERT INTO node (chain_key, level, number, hash)
    SELECT moved.chain_key, filled.level, filled.number, filled.hash
    FROM moved JOIN unnest($14::text[], $15::integer[], $16::bigint[], $17::bytea[])
      AS filled (name, level, number, hash) ON filled.name = moved.name
  ), opened AS (
    INSERT INTO opening (chain_key, sequence, kind, salt, payload)
    SELECT moved.chain_key, opened.sequence, opened.kind, opened.salt, opened.payload
    FROM moved JOIN unnest($19::text[], $20::bigint[], $21::text[], $22::bytea[], $23::text[])
      AS opened (name, sequence, kind, salt, payload) ON opened.name = moved.name
  ), begun AS (
    INSERT INTO open_intent (chain_key, sequence, instance)
    SELECT moved.chain_key, begun.sequence, begun.instance
    FROM moved JOIN unnest($24::text[], $25::bigint[], $26::text[])
      AS begun (name, sequence, instance) ON begun.name = moved.name
  ), ended AS (
    DELETE FROM open_intent USING moved, unnest($27::text[], $28::bigint[]) AS closing (name, sequence)
    WHERE closing.name = moved.name AND open_intent.chain_key = moved.chain_key
      AND open_intent.sequence = closing.sequence
  )
  SELECT name FROM moved`;

/** Named by its text: where connections are shared, the name must not mean another version's statement. */
const NAME = `bulla-append-${createHash('sha256').update(APPEND).digest('hex').slice(0, 16)}`;

/** The statement that appends to several chains; where it is named, each connection plans it once. */
export function appendStatement(
  tenant: string | null,
  batch: readonly Append[],
  named: boolean,
): pg.QueryConfig {
  const last = batch.map(({ addition }) => addition.rows.at(-1)!);
  const rows = batch.flatMap(({ chain, addition }) => addition.rows.map((row) => ({ chain, ...row })));
  const openings = rows.flatMap(({ chain, sequence, openings = [] }) =>
    openings.map((opening) => ({ chain, sequence, ...opening })),
  );
  const begun = rows.filter(({ opens }) => opens !== undefined);
  const ended = rows.filter(({ closes }) => closes !== undefined);
  const nodes = batch.flatMap(({ chain, addition }) => addition.nodes.map((node) => ({ chain, ...node })));
  return {
    ...(named && { name: NAME }),
    text: APPEND,
    values: [
      tenant,
      batch.map(({ chain }) => chain),
      batch.map(({ expected }) => expected.length),
      batch.map(({ expected }) => expected.hash),
      last.map((row) => row.sequence + 1),
      last.map((row) => row.hash),
      batch.map(({ addition }) => Buffer.from(addition.tree)),
      batch.map(({ addition }) => addition.origin),
      rows.map((row) => row.chain),
      rows.map((row) => row.sequence),
      rows.map((row) => row.hash),
      rows.map((row) => row.data),
      rows.map((row) => Buffer.from(row.leaf)),
      nodes.map((node) => node.chain),
      nodes.map((node) => node.level),
      nodes.map((node) => node.index),
      nodes.map((node) => Buffer.from(node.hash)),
      batch.map(({ fence }) => fence),
      openings.map(({ chain }) => chain),
      openings.map(({ sequence }) => sequence),
      openings.map(({ kind }) => kind),
      openings.map(({ salt }) => Buffer.from(salt)),
      openings.map(({ payload }) => payload),
      begun.map(({ chain }) => chain),
      begun.map(({ sequence }) => sequence),
      begun.map(({ opens }) => opens),
      ended.map(({ chain }) => chain),
      ended.map(({ closes }) => closes),
    ],
  };
}

/** Appends to many chains share a statement, and so a transaction and a wait for the disk. */
export function createGroupAppend(
  run: (batch: readonly Append[]) => Promise<{ rows: { name: string }[] }>,
): (append: Append) => Promise<boolean> {
  let queue: Waiting[] = [];
  let underWay = 0;

  const flush = async () => {
    if (underWay >= UNDER_WAY || queue.length === 0) return;
    // A chain has one writer here at a time; should two come, the second waits for the next statement.
    const batch = [...new Map(queue.toReversed().map((waiting) => [waiting.chain, waiting])).values()];
    queue = queue.filter((waiting) => !batch.includes(waiting));
    underWay++;
    try {
      const moved = new Set((await run(batch)).rows.map((row) => row.name));
      for (const waiting of batch) waiting.resolve(moved.has(waiting.chain));
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
    underWay--;
    void flush();
  };

  return (append) =>
    new Promise((resolve, reject) => {
      queue.push({ ...append, resolve, reject });
      setImmediate(() => void flush());
    });
}
