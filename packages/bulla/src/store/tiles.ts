import {
  assemble,
  consistencyPlan,
  Frontier,
  inclusionPlan,
  type NodeAt,
  nodeFromTile,
  rootPlan,
  tileOf,
  tileWidth,
} from '@bulla/core/log';

/** Where the hashes of a tree come from: a store, a folder or a web server. */
export interface TileSource {
  /** The first `width` hashes of a tile, one behind the other. */
  tile(level: number, index: number, width: number): Promise<Uint8Array>;
}

/** The root of the tree when it had `size` leaves. */
export async function rootAt(source: TileSource, size: number): Promise<Uint8Array> {
  return (await frontierAt(source, size)).root();
}

/** The tree when it had `size` leaves, so that it can grow from there. */
export async function frontierAt(source: TileSource, size: number): Promise<Frontier> {
  const plan = rootPlan(size);
  const get = await nodesOf(source, plan, size);
  return Frontier.fromBytes(size, Buffer.concat(plan.map(get)));
}

/** The proof that the leaf at `index` is in the tree of `size` leaves. */
export async function proveInclusion(source: TileSource, index: number, size: number): Promise<Uint8Array[]> {
  const plan = inclusionPlan(index, size);
  return assemble(plan, await nodesOf(source, plan.flat(), size));
}

/** The proof that the tree of `size` leaves continues the one of `oldSize`. */
export async function proveConsistency(
  source: TileSource,
  oldSize: number,
  size: number,
): Promise<Uint8Array[]> {
  const plan = consistencyPlan(oldSize, size);
  return assemble(plan, await nodesOf(source, plan.flat(), size));
}

/** Fetches each tile that the nodes need once, all at the same time. */
async function nodesOf(
  source: TileSource,
  nodes: readonly NodeAt[],
  size: number,
): Promise<(node: NodeAt) => Uint8Array> {
  const wanted = new Map(nodes.map((node) => [keyOf(node), tileOf(node)]));
  const tiles = new Map<string, Uint8Array>();
  await Promise.all(
    [...wanted].map(async ([key, { level, index }]) => {
      tiles.set(key, await source.tile(level, index, tileWidth(level, index, size)));
    }),
  );
  return (node) => nodeFromTile(node, tiles.get(keyOf(node))!);
}

function keyOf(node: NodeAt): string {
  const { level, index } = tileOf(node);
  return `${level}/${index}`;
}
