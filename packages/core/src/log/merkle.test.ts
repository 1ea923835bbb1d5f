import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';
import { concat, fromHex, sha256, toHex, toUtf8 } from '../crypto/index.ts';
import {
  assemble,
  consistencyPlan,
  EMPTY_ROOT,
  Frontier,
  foldNodes,
  inclusionPlan,
  leafHash,
  type NodeAt,
  nodeHash,
  rootPlan,
  verifyConsistency,
  verifyInclusion,
} from './index.ts';

const code = (code: string) => expect.objectContaining({ code });

/** RFC 6962 §2.1, word for word. */
function mth(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256(new Uint8Array());
  if (leaves.length === 1) return sha256(concat(Uint8Array.of(0), leaves[0]!));
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return sha256(concat(Uint8Array.of(1), mth(leaves.slice(0, k)), mth(leaves.slice(k))));
}

const entry = (i: number) => toUtf8(`entry ${i}`);
const entries = (size: number) => Array.from({ length: size }, (_, i) => entry(i));

/** A tree of that many leaves with every hash that it ever had. */
function grow(size: number): {
  frontier: Frontier;
  roots: Uint8Array[];
  get: (node: NodeAt) => Uint8Array;
} {
  const frontier = new Frontier();
  const nodes = new Map<string, Uint8Array>();
  const roots = [frontier.root()];
  for (let i = 0; i < size; i++) {
    const leaf = leafHash(entry(i));
    nodes.set(`0/${i}`, leaf);
    frontier.push(leaf, (height, index, hash) => {
      expect(nodes.has(`${height}/${index}`)).toBe(false);
      nodes.set(`${height}/${index}`, hash);
    });
    roots.push(frontier.root());
  }
  const get = ({ height, index }: NodeAt) => {
    const found = nodes.get(`${height}/${index}`);
    if (found === undefined) throw new Error(`There is no node ${height}/${index}.`);
    return found;
  };
  return { frontier, roots, get };
}

const most = 600;
const { roots, get } = grow(most);

describe('the hashes of a tree', () => {
  it('are those of RFC 6962', () => {
    expect(toHex(EMPTY_ROOT)).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(toHex(leafHash(new Uint8Array()))).toBe(
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    );
    expect(leafHash(entry(1))).toEqual(sha256(concat(Uint8Array.of(0), entry(1))));
    const [a, b] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    expect(nodeHash(a, b)).toEqual(sha256(concat(Uint8Array.of(1), a, b)));
  });

  it('do not depend on the size of an entry or on what was hashed before', () => {
    for (const size of [0, 1, 68, 1022, 1023, 1024, 5000, 3]) {
      const data = new Uint8Array(size).fill(size);
      expect(leafHash(data)).toEqual(sha256(concat(Uint8Array.of(0), data)));
    }
  });

  it('have 32 bytes', () => {
    const good = new Uint8Array(32);
    for (const bad of [new Uint8Array(31), new Uint8Array(33), new Uint8Array()]) {
      expect(() => nodeHash(bad, good)).toThrow(code('LOG_HASH'));
      expect(() => nodeHash(good, bad)).toThrow(code('LOG_HASH'));
      expect(() => new Frontier().push(bad)).toThrow(code('LOG_HASH'));
    }
  });
});

describe('a frontier', () => {
  it('has the root of the naive tree at every size', () => {
    for (let size = 0; size <= 130; size++) expect(roots[size]).toEqual(mth(entries(size)));
    expect(roots[most]).toEqual(mth(entries(most)));
  });

  it('is the perfect subtrees, largest first, and goes on from its bytes', () => {
    const { frontier } = grow(6);
    expect(frontier.size).toBe(6);
    expect(frontier.toBytes()).toEqual(concat(mth(entries(4)), mth([entry(4), entry(5)])));
    const again = Frontier.fromBytes(6, frontier.toBytes());
    again.push(leafHash(entry(6)));
    expect([again.size, again.root()]).toEqual([7, roots[7]]);
    expect([frontier.size, frontier.root()]).toEqual([6, roots[6]]);
    expect(new Frontier().toBytes()).toEqual(new Uint8Array());
    expect(Frontier.fromBytes(0, new Uint8Array()).root()).toEqual(EMPTY_ROOT);
  });

  it('keeps no hold on the bytes that it was read from', () => {
    const bytes = grow(3).frontier.toBytes();
    const frontier = Frontier.fromBytes(3, bytes);
    bytes.fill(0);
    expect(frontier.root()).toEqual(roots[3]);
    new Frontier().root().fill(0);
    expect(new Frontier().root()).toEqual(EMPTY_ROOT);
    frontier.push(leafHash(entry(3)));
    frontier.root().fill(0);
    expect(frontier.root()).toEqual(roots[4]);
  });

  it('is refused when the hashes are not as many as the size says', () => {
    for (const [size, hashes] of [
      [0, 1],
      [1, 0],
      [1, 2],
      [6, 1],
      [6, 3],
      [2 ** 53 - 1, 52],
    ] as const) {
      expect(() => Frontier.fromBytes(size, new Uint8Array(32 * hashes))).toThrow(code('LOG_HASH'));
    }
    expect(() => Frontier.fromBytes(1, new Uint8Array(31))).toThrow(code('LOG_HASH'));
    for (const size of [-1, 1.5, 2 ** 53, Number.NaN])
      expect(() => Frontier.fromBytes(size, new Uint8Array(32))).toThrow(code('LOG_SIZE'));
  });

  it('holds the largest tree that can be counted, and no larger one', () => {
    const full = Frontier.fromBytes(2 ** 53 - 2, new Uint8Array(32 * 52).fill(5));
    full.push(new Uint8Array(32));
    expect([full.size, full.toBytes().length]).toEqual([2 ** 53 - 1, 32 * 53]);
    const root = full.root();
    expect(() => full.push(new Uint8Array(32))).toThrow(code('LOG_SIZE'));
    expect([full.size, full.root()]).toEqual([2 ** 53 - 1, root]);
  });

  it('names the subtrees that a leaf completes', () => {
    const frontier = Frontier.fromBytes(7, grow(7).frontier.toBytes());
    const told: [number, number, string][] = [];
    frontier.push(leafHash(entry(7)), (height, index, hash) => told.push([height, index, toHex(hash)]));
    expect(told).toEqual([
      [1, 3, toHex(mth(entries(8).slice(6)))],
      [2, 1, toHex(mth(entries(8).slice(4)))],
      [3, 0, toHex(mth(entries(8)))],
    ]);
    frontier.push(leafHash(entry(8)), () => expect.unreachable());
  });

  it('is as it was when the listener fails', () => {
    const { frontier } = grow(7);
    const fail = () => {
      throw new Error('disk full');
    };
    expect(() => frontier.push(leafHash(entry(7)), fail)).toThrow('disk full');
    expect([frontier.size, frontier.root()]).toEqual([7, roots[7]]);
    frontier.push(leafHash(entry(7)));
    expect(frontier.root()).toEqual(roots[8]);
  });
});

describe('a plan', () => {
  it('names perfect subtrees', () => {
    expect(rootPlan(0)).toEqual([]);
    expect(rootPlan(6)).toEqual([
      { height: 2, index: 0 },
      { height: 1, index: 2 },
    ]);
    // RFC 6962 §2.1.3: in a tree of seven leaves the proof of d0 is [b, h, l], of d4 [f, j, k].
    expect(inclusionPlan(0, 7)).toEqual([
      [{ height: 0, index: 1 }],
      [{ height: 1, index: 1 }],
      [
        { height: 1, index: 2 },
        { height: 0, index: 6 },
      ],
    ]);
    expect(inclusionPlan(4, 7)).toEqual([
      [{ height: 0, index: 5 }],
      [{ height: 0, index: 6 }],
      [{ height: 2, index: 0 }],
    ]);
    // The proof from three leaves is [c, d, g, l], from four [l], from six [i, j, k].
    expect(consistencyPlan(3, 7)).toEqual([
      [{ height: 0, index: 2 }],
      [{ height: 0, index: 3 }],
      [{ height: 1, index: 0 }],
      [
        { height: 1, index: 2 },
        { height: 0, index: 6 },
      ],
    ]);
    expect(consistencyPlan(4, 7)).toEqual([
      [
        { height: 1, index: 2 },
        { height: 0, index: 6 },
      ],
    ]);
    expect(consistencyPlan(6, 7)).toEqual([
      [{ height: 1, index: 2 }],
      [{ height: 0, index: 6 }],
      [{ height: 2, index: 0 }],
    ]);
    expect(consistencyPlan(0, 7)).toEqual([]);
    expect(consistencyPlan(7, 7)).toEqual([]);
  });

  it('is exact at the largest sizes', () => {
    const size = 2 ** 53 - 1;
    expect(rootPlan(size)).toEqual(
      Array.from({ length: 53 }, (_, i) => ({ height: 52 - i, index: 2 ** (i + 1) - 2 })),
    );
    expect(inclusionPlan(size - 1, size)).toHaveLength(52);
    expect(inclusionPlan(0, size)).toHaveLength(53);
    expect(consistencyPlan(2 ** 52, size)).toHaveLength(1);
    expect(consistencyPlan(2 ** 52 - 1, size)).toHaveLength(54);
  });

  it('is refused for a leaf or a tree that is not there', () => {
    expect(() => inclusionPlan(0, 0)).toThrow(code('LOG_SIZE'));
    expect(() => inclusionPlan(7, 7)).toThrow(code('LOG_SIZE'));
    expect(() => consistencyPlan(8, 7)).toThrow(code('LOG_SIZE'));
    for (const bad of [-1, 1.5, 2 ** 53, Number.NaN]) {
      expect(() => rootPlan(bad)).toThrow(code('LOG_SIZE'));
      expect(() => inclusionPlan(bad, 7)).toThrow(code('LOG_SIZE'));
      expect(() => inclusionPlan(0, bad)).toThrow(code('LOG_SIZE'));
      expect(() => consistencyPlan(bad, 7)).toThrow(code('LOG_SIZE'));
      expect(() => consistencyPlan(0, bad)).toThrow(code('LOG_SIZE'));
    }
  });

  it('folds into the root', () => {
    for (let size = 0; size <= most; size++) {
      expect(foldNodes(rootPlan(size).map(get))).toEqual(roots[size]);
    }
  });
});

/** Everything that one change can make of a list of hashes. */
function* changed(proof: readonly Uint8Array[], bit: number): Generator<Uint8Array[]> {
  for (let i = 0; i < proof.length; i++) {
    const flipped = Uint8Array.from(proof[i]!);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    yield proof.with(i, flipped);
    yield proof.toSpliced(i, 1);
    yield proof.toSpliced(i, 0, proof[i]!);
    if (i > 0) yield proof.with(i, proof[i - 1]!).with(i - 1, proof[i]!);
  }
  yield [...proof, new Uint8Array(32)];
  yield [new Uint8Array(32), ...proof];
}

describe('proofs from plans', { timeout: 120_000 * inject('soak') }, () => {
  const runs = { numRuns: 150 * inject('soak') };
  const size = fc.integer({ min: 1, max: most });
  const bit = fc.integer({ min: 0, max: 255 });

  it('of every leaf of a small tree verify', () => {
    for (const n of [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33]) {
      for (let index = 0; index < n; index++) {
        const proof = assemble(inclusionPlan(index, n), get);
        verifyInclusion({ leaf: get({ height: 0, index }), index, size: n, root: roots[n]!, proof });
      }
      for (let old = 1; old <= n; old++) {
        const proof = assemble(consistencyPlan(old, n), get);
        verifyConsistency({ oldSize: old, oldRoot: roots[old]!, size: n, root: roots[n]!, proof });
      }
    }
  });

  it('of inclusion verify, and nothing else does', () => {
    fc.assert(
      fc.property(size, fc.nat(), bit, (n, at, flip) => {
        const index = at % n;
        const proof = assemble(inclusionPlan(index, n), get);
        const claim = { leaf: get({ height: 0, index }), index, size: n, root: roots[n]!, proof };
        verifyInclusion(claim);
        const refuse = (other: Partial<typeof claim>) =>
          expect(() => verifyInclusion({ ...claim, ...other })).toThrow(code('LOG_INCLUSION'));
        for (const other of changed(proof, flip)) refuse({ proof: other });
        refuse({ leaf: leafHash(entry(most)) });
        refuse({ root: roots[n === most ? n - 1 : n + 1]! });
        for (const wrong of [index + 1, index - 1, index ^ 1, index + n].filter((i) => i >= 0))
          refuse({ index: wrong });
        // Another size with the same shape of proof cannot be told by the proof: the root's signature tells it.
        refuse({ size: index });
        refuse({ size: 2 * n + 1 });
      }),
      runs,
    );
  });

  it('of consistency verify, and nothing else does', () => {
    fc.assert(
      fc.property(size, fc.nat(), bit, (n, at, flip) => {
        const oldSize = 1 + (at % n);
        const proof = assemble(consistencyPlan(oldSize, n), get);
        const claim = { oldSize, oldRoot: roots[oldSize]!, size: n, root: roots[n]!, proof };
        verifyConsistency(claim);
        const refuse = (other: Partial<typeof claim>) =>
          expect(() => verifyConsistency({ ...claim, ...other })).toThrow(code('LOG_CONSISTENCY'));
        for (const other of changed(proof, flip)) refuse({ proof: other });
        refuse({ oldRoot: roots[oldSize - 1]! });
        refuse({ root: roots[n - 1]! });
        refuse({ oldSize: 0 });
        refuse({ oldSize: n + 1 });
        refuse({ size: oldSize - 1 });
        if (oldSize < n) refuse({ oldSize: n, size: oldSize });
      }),
      runs,
    );
  });

  it('hold for a tree that was rewritten only where it was not', () => {
    const other = new Frontier();
    const nodes = new Map<string, Uint8Array>();
    for (let i = 0; i < 64; i++) {
      const leaf = leafHash(i === 40 ? toUtf8('forged') : entry(i));
      nodes.set(`0/${i}`, leaf);
      other.push(leaf, (height, index, hash) => nodes.set(`${height}/${index}`, hash));
    }
    const forged = ({ height, index }: NodeAt) => nodes.get(`${height}/${index}`)!;
    for (let oldSize = 1; oldSize <= 64; oldSize++) {
      const proof = assemble(consistencyPlan(oldSize, 64), forged);
      const check = () =>
        verifyConsistency({ oldSize, oldRoot: roots[oldSize]!, size: 64, root: other.root(), proof });
      if (oldSize <= 40) expect(check).not.toThrow();
      else expect(check).toThrow(code('LOG_CONSISTENCY'));
    }
  });
});

it('agrees with the root that RFC 6962 implementations print for their eight test leaves', () => {
  const inputs = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ];
  const frontier = new Frontier();
  for (const input of inputs) frontier.push(leafHash(fromHex(input)));
  expect(toHex(frontier.root())).toBe('5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328');
});
