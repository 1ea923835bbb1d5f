import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';
import { concat, toUtf8 } from '../crypto/index.ts';
import {
  assemble,
  consistencyPlan,
  entriesPath,
  entryBundle,
  Frontier,
  foldNodes,
  inclusionPlan,
  leafHash,
  type NodeAt,
  nodeFromTile,
  rootPlan,
  TILE_WIDTH,
  tileOf,
  tilePath,
  tilesSince,
  tileWidth,
} from './index.ts';

const code = (code: string) => expect.objectContaining({ code });

describe('the path of a tile', () => {
  it.each([
    [0, 0, 256, 'tile/0/000'],
    [0, 273, 112, 'tile/0/273.p/112'],
    [1, 1234067, 256, 'tile/1/x001/x234/067'],
    [63, 1000, 1, 'tile/63/x001/000.p/1'],
    [0, 999, 255, 'tile/0/999.p/255'],
    [2, Number.MAX_SAFE_INTEGER, 256, 'tile/2/x009/x007/x199/x254/x740/991'],
  ])('of level %i, index %i and width %i is %s', (level, index, width, path) => {
    expect(tilePath(level, index, width)).toBe(path);
    const bundle = path.replace(/^tile\/\d+/, 'tile/entries');
    expect(entriesPath(index, width)).toBe(bundle);
  });

  it('is that of a full tile where no width is given', () => {
    expect(tilePath(0, 5)).toBe('tile/0/005');
    expect(entriesPath(5)).toBe('tile/entries/005');
  });

  it('is not written for a tile that cannot be', () => {
    for (const level of [-1, 64, 0.5, Number.NaN]) expect(() => tilePath(level, 0)).toThrow(code('LOG_TILE'));
    for (const index of [-1, 0.5, 2 ** 53]) {
      expect(() => tilePath(0, index)).toThrow(code('LOG_TILE'));
      expect(() => entriesPath(index)).toThrow(code('LOG_TILE'));
    }
    for (const width of [0, -1, 257, 1.5]) expect(() => tilePath(0, 0, width)).toThrow(code('LOG_TILE'));
  });
});

describe('the tiles of a tree', () => {
  const all = (size: number) => [...tilesSince(0, size)];

  it('are those of the examples in the specification', () => {
    const tiles = all(70000);
    expect(tiles.filter(({ level, width }) => level === 0 && width === 256)).toHaveLength(273);
    expect(tiles.slice(273)).toEqual([
      { level: 0, index: 273, width: 112 },
      { level: 1, index: 0, width: 256 },
      { level: 1, index: 1, width: 17 },
      { level: 2, index: 0, width: 1 },
    ]);
    expect(all(256)).toEqual([
      { level: 0, index: 0, width: 256 },
      { level: 1, index: 0, width: 1 },
    ]);
    expect(all(0)).toEqual([]);
    expect(all(1)).toEqual([{ level: 0, index: 0, width: 1 }]);
  });

  it('since an older size are those that it did not have', () => {
    const size = fc.nat(70000);
    fc.assert(
      fc.property(size, size, (a, b) => {
        const [old, now] = a < b ? [a, b] : [b, a];
        const paths = (tiles: Iterable<{ level: number; index: number; width: number }>) =>
          Array.from(tiles, ({ level, index, width }) => tilePath(level, index, width));
        const before = new Set(paths(all(old)));
        expect(paths(tilesSince(old, now))).toEqual(paths(all(now)).filter((path) => !before.has(path)));
      }),
      { numRuns: 40 * inject('soak') },
    );
    expect([...tilesSince(5, 5)]).toEqual([]);
    expect(() => [...tilesSince(6, 5)]).toThrow(code('LOG_SIZE'));
    expect(() => [...tilesSince(0, -1)]).toThrow(code('LOG_SIZE'));
  });

  it('are few at the edge of the largest tree', () => {
    const largest = Number.MAX_SAFE_INTEGER;
    expect([...tilesSince(largest - 1, largest)]).toEqual([{ level: 0, index: 2 ** 45 - 1, width: 255 }]);
    expect(tileWidth(6, 0, largest)).toBe(31);
    expect([tileWidth(0, 0, 5), tileWidth(0, 1, 5), tileWidth(1, 0, 255)]).toEqual([5, 0, 0]);
    expect(tileWidth(7, 0, largest)).toBe(0);
  });
});

const most = 70000;
const frontier = new Frontier();
/** The hashes of each level, and what every node was when it was made. */
const levels: Uint8Array[][] = [[], [], []];
const nodes = new Map<string, Uint8Array>();
for (let i = 0; i < most; i++) {
  const leaf = leafHash(toUtf8(`${i}`));
  levels[0]!.push(leaf);
  frontier.push(leaf, (height, index, hash) => {
    nodes.set(`${height}/${index}`, hash);
    if (height % 8 === 0) levels[height / 8]!.push(hash);
  });
}
const fromLeaves = ({ height, index }: NodeAt) =>
  height === 0 ? levels[0]![index]! : nodes.get(`${height}/${index}`)!;
const fromTiles = (size: number) => (node: NodeAt) => {
  const { level, index } = tileOf(node);
  const first = index * TILE_WIDTH;
  const width = tileWidth(level, index, size);
  return nodeFromTile(node, concat(...levels[level]!.slice(first, first + width)));
};

describe('hashes from tiles', () => {
  it('are found here', () => {
    expect(tileOf({ height: 0, index: 300 })).toEqual({ level: 0, index: 1, from: 44, count: 1 });
    expect(tileOf({ height: 3, index: 33 })).toEqual({ level: 0, index: 1, from: 8, count: 8 });
    expect(tileOf({ height: 7, index: 1 })).toEqual({ level: 0, index: 0, from: 128, count: 128 });
    expect(tileOf({ height: 8, index: 257 })).toEqual({ level: 1, index: 1, from: 1, count: 1 });
    expect(() => tileOf({ height: -1, index: 0 })).toThrow(code('LOG_SIZE'));
    expect(() => tileOf({ height: 7, index: 2 ** 52 })).toThrow(code('LOG_SIZE'));
  });

  it('give the root and the proofs that leaves give, for every size', () => {
    expect(foldNodes(rootPlan(most).map(fromTiles(most)))).toEqual(frontier.root());
    fc.assert(
      fc.property(fc.integer({ min: 1, max: most }), fc.nat(), (size, at) => {
        const get = fromTiles(size);
        const inclusion = inclusionPlan(at % size, size);
        expect(assemble(inclusion, get)).toEqual(assemble(inclusion, fromLeaves));
        const consistency = consistencyPlan(at % (size + 1), size);
        expect(assemble(consistency, get)).toEqual(assemble(consistency, fromLeaves));
      }),
      { numRuns: 60 * inject('soak') },
    );
  });

  it('are refused from bytes that are no tile, or one too narrow', () => {
    const tile = new Uint8Array(32 * 5);
    for (const bytes of [0, 31, 33, 32 * 257, 32 * 5 + 1])
      expect(() => nodeFromTile({ height: 0, index: 0 }, new Uint8Array(bytes))).toThrow(code('LOG_TILE'));
    expect(nodeFromTile({ height: 0, index: 4 }, tile)).toEqual(new Uint8Array(32));
    expect(() => nodeFromTile({ height: 0, index: 5 }, tile)).toThrow(code('LOG_TILE'));
    expect(() => nodeFromTile({ height: 1, index: 2 }, tile)).toThrow(code('LOG_TILE'));
  });
});

describe('a bundle of entries', () => {
  it('has these bytes', () => {
    const bundle = entryBundle([toUtf8('ab'), new Uint8Array(), toUtf8('c')]);
    expect([...bundle]).toEqual([0, 2, 0x61, 0x62, 0, 0, 0, 1, 0x63]);
  });

  it('holds 1 to 256 entries of up to 65,535 bytes', () => {
    const large = new Uint8Array(65535).fill(1);
    expect(entryBundle([large])).toEqual(Uint8Array.of(0xff, 0xff, ...large));
    expect(() => entryBundle([new Uint8Array(65536)])).toThrow(code('LOG_TILE'));
    const of = (count: number) => Array.from({ length: count }, () => new Uint8Array());
    expect(entryBundle(of(256))).toEqual(new Uint8Array(512));
    for (const count of [0, 257]) expect(() => entryBundle(of(count))).toThrow(code('LOG_TILE'));
  });
});
