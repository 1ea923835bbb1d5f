import { concat, EMPTY_ROOT, sha256 } from '../crypto/index.ts';
import { BullaError } from '../error.ts';

// The Merkle tree of RFC 6962 §2.1 over SHA-256. Sizes and indexes are safe integers; a tree of n leaves is known
// by the roots of its perfect subtrees, whose sizes are the powers of two in n, largest first.

export const HASH_BYTES = 32;

export { EMPTY_ROOT };

// The hash reads them before it returns, so each call may overwrite them.
const leafScratch = new Uint8Array(1024);
const nodeScratch = new Uint8Array(1 + 2 * HASH_BYTES).fill(1, 0, 1);

/** The hash of a leaf: SHA-256 of a zero byte and the data. */
export function leafHash(data: Uint8Array): Uint8Array {
  if (data.length >= leafScratch.length) return sha256(concat(Uint8Array.of(0), data));
  leafScratch.set(data, 1);
  return sha256(leafScratch.subarray(0, data.length + 1));
}

/** The hash of two subtrees: SHA-256 of a one byte and both hashes. Throws `LOG_HASH` unless both have 32 bytes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  checkHash(left);
  checkHash(right);
  nodeScratch.set(left, 1);
  nodeScratch.set(right, 1 + HASH_BYTES);
  return sha256(nodeScratch);
}

function checkHash(hash: Uint8Array): void {
  if (hash.length === HASH_BYTES) return;
  throw new BullaError('LOG_HASH', `A hash of the tree has ${HASH_BYTES} bytes, not ${hash.length}.`);
}

/** Throws `LOG_SIZE` unless each is an integer from 0 to 2⁵³−1. */
export function checkSizes(...sizes: readonly number[]): void {
  for (const size of sizes) {
    if (Number.isSafeInteger(size) && size >= 0) continue;
    throw new BullaError('LOG_SIZE', `A size or index is an integer from 0 to 2^53 - 1, not ${size}.`);
  }
}

/** A tree that grows, kept as the roots of its perfect subtrees: at most 53 hashes, however many leaves. */
export class Frontier {
  #size = 0;
  #roots: Uint8Array[] = [];

  /**
   * Goes on from what {@link toBytes} wrote for a tree of that size. Throws `LOG_SIZE`, or `LOG_HASH` when
   * these are not as many hashes as such a tree has perfect subtrees. The bytes are copied.
   */
  static fromBytes(size: number, bytes: Uint8Array): Frontier {
    const count = rootPlan(size).length;
    if (bytes.length !== count * HASH_BYTES) {
      throw new BullaError(
        'LOG_HASH',
        `A tree of ${size} leaves is kept as ${count} hashes, not as ${bytes.length} bytes.`,
      );
    }
    const frontier = new Frontier();
    frontier.#size = size;
    for (let at = 0; at < bytes.length; at += HASH_BYTES) {
      frontier.#roots.push(new Uint8Array(bytes.subarray(at, at + HASH_BYTES)));
    }
    return frontier;
  }

  get size(): number {
    return this.#size;
  }

  /** The hashes of the perfect subtrees, largest first. */
  toBytes(): Uint8Array {
    return concat(...this.#roots);
  }

  /**
   * Adds a leaf by its hash. `node` is told of each perfect subtree of two or more leaves that it completes, smallest
   * first; `index` counts among the subtrees of that height. Nobody may change these hashes afterwards. Throws
   * `LOG_HASH`, `LOG_SIZE` beyond 2⁵³−1 leaves, and what `node` throws; the tree is then as it was.
   */
  push(leaf: Uint8Array, node?: (height: number, index: number, hash: Uint8Array) => void): void {
    checkHash(leaf);
    checkSizes(this.#size + 1);
    let hash = leaf;
    let index = this.#size;
    let kept = this.#roots.length;
    for (let height = 1; index % 2 === 1; height++) {
      index = (index - 1) / 2;
      hash = nodeHash(this.#roots[--kept]!, hash);
      node?.(height, index, hash);
    }
    this.#roots.length = kept;
    this.#roots.push(hash);
    this.#size++;
  }

  /** The root of the tree; of one without leaves {@link EMPTY_ROOT}. */
  root(): Uint8Array {
    return new Uint8Array(foldNodes(this.#roots));
  }
}

/** The place of a perfect subtree: `height` 0 is a leaf's hash, and `index` counts within the height. */
export interface NodeAt {
  readonly height: number;
  readonly index: number;
}

/** Folds the hashes of perfect subtrees, left to right, into the root over them. Throws `LOG_HASH`. */
export function foldNodes(nodes: readonly Uint8Array[]): Uint8Array {
  if (nodes.length === 0) return EMPTY_ROOT.slice();
  return nodes.reduceRight((right, left) => nodeHash(left, right));
}

/** Computes the hashes that a plan asks for, from wherever the hashes of perfect subtrees are kept. */
export function assemble(
  plan: readonly (readonly NodeAt[])[],
  get: (node: NodeAt) => Uint8Array,
): Uint8Array[] {
  return plan.map((nodes) => foldNodes(nodes.map(get)));
}

/** The perfect subtrees of a tree, left to right. Throws `LOG_SIZE`. */
export function rootPlan(size: number): NodeAt[] {
  checkSizes(size);
  return perfectNodes({ from: 0, to: size });
}

/**
 * The hashes of the proof that a leaf is in a tree (RFC 6962 §2.1.1), each as the perfect subtrees that fold into
 * it. Throws `LOG_SIZE`, and `LOG_SIZE` when there is no such leaf.
 */
export function inclusionPlan(index: number, size: number): NodeAt[][] {
  checkSizes(index, size);
  if (index >= size) {
    throw new BullaError('LOG_SIZE', `There is no leaf ${index} in a tree of ${size} leaves.`);
  }
  return inclusionPath(index, size).map(perfectNodes);
}

/**
 * The hashes of the proof that a tree begins with another (RFC 6962 §2.1.2), each as the perfect subtrees that
 * fold into it. From a tree without leaves or to one of the same size there are none. Throws `LOG_SIZE`, also when
 * the old tree is the larger one.
 */
export function consistencyPlan(oldSize: number, size: number): NodeAt[][] {
  checkSizes(oldSize, size);
  if (oldSize > size) {
    throw new BullaError('LOG_SIZE', `A tree of ${size} leaves does not begin with one of ${oldSize}.`);
  }
  if (oldSize === 0) return [];
  const { base, steps } = consistencyPath(oldSize, size);
  return (base === null ? steps : [base, ...steps]).map(perfectNodes);
}

/** The leaves from `from` to before `to`. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** One hash of a proof: the subtree over these leaves stands on the left or right of what is known so far. */
interface Step extends Range {
  readonly left: boolean;
}

/** The siblings on the way from a leaf up to the root. */
export function inclusionPath(index: number, size: number): Step[] {
  const steps: Step[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + split(to - from);
    const left = index >= middle;
    steps.push(left ? { from, to: middle, left } : { from: middle, to, left });
    if (left) from = middle;
    else to = middle;
  }
  return steps.reverse();
}

/**
 * The way up from the last part of an old tree that is whole in the larger tree too (`base`; null when that is the old
 * tree itself, whose hash is known) to the root of the tree.
 */
export function consistencyPath(oldSize: number, size: number): { base: Range | null; steps: Step[] } {
  const steps: Step[] = [];
  let [from, to] = [0, size];
  while (to > oldSize) {
    const middle = from + split(to - from);
    const left = oldSize > middle;
    steps.push(left ? { from, to: middle, left } : { from: middle, to, left });
    if (left) from = middle;
    else to = middle;
  }
  return { base: from > 0 ? { from, to } : null, steps: steps.reverse() };
}

/** How many leaves the left half of a tree of two or more leaves has: the largest power of two below their number. */
function split(leaves: number): number {
  return 2 ** floorLog2(leaves - 1);
}

/** The perfect subtrees of a subtree; it begins at a multiple of a power of two that is not below its size. */
function perfectNodes({ from, to }: Range): NodeAt[] {
  const nodes: NodeAt[] = [];
  for (let at = from; at < to; ) {
    const height = floorLog2(to - at);
    nodes.push({ height, index: at / 2 ** height });
    at += 2 ** height;
  }
  return nodes;
}

/** Exact, unlike `Math.log2`, which rounds near the largest integers. */
function floorLog2(n: number): number {
  return n < 2 ** 32 ? 31 - Math.clz32(n) : 63 - Math.clz32(n / 2 ** 32);
}
