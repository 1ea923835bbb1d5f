import { equalBytes } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import {
  checkSizes,
  consistencyPath,
  EMPTY_ROOT,
  floorLog2,
  HASH_BYTES,
  inclusionPath,
  nodeHash,
} from './merkle.ts';

// Proofs and roots come from anybody. Each check throws when it fails, so that none can be forgotten.

/** The claim that the leaf with this hash is at this place of a tree. */
interface Inclusion {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** The claim that a leaf is at this place of a subtree; `index` counts from the first leaf of the whole tree. */
interface SubtreeInclusion extends Omit<Inclusion, 'size'> {
  readonly start: number;
  readonly end: number;
}

/** The claim that a tree begins with the leaves of an older one. */
interface Consistency {
  readonly oldSize: number;
  readonly oldRoot: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** The claim that a tree has this subtree over the leaves from `start` to before `end`. */
interface SubtreeConsistency extends Omit<Consistency, 'oldSize' | 'oldRoot'> {
  readonly start: number;
  readonly end: number;
  readonly subtreeRoot: Uint8Array;
}

/**
 * Checks a proof that a leaf is in a tree (RFC 9162 §2.1.3.2). Throws `LOG_INCLUSION` unless it shows exactly that,
 * and `LOG_SIZE` for an index or size that is no safe integer.
 */
export function verifyInclusion({ size, ...claim }: Inclusion): void {
  verifySubtreeInclusion({ ...claim, start: 0, end: size });
}

/**
 * The same within a subtree, as Merkle tree certificates define it: its first index is a multiple of the smallest
 * power of two that is not below its size. Throws as {@link verifyInclusion}.
 */
export function verifySubtreeInclusion(claim: SubtreeInclusion): void {
  const { leaf, index, start, end, root, proof } = claim;
  checkSizes(index, start, end);
  const fail = (message: string) => new BullaError('LOG_INCLUSION', message);
  if (!isSubtree(start, end)) throw fail(`The leaves ${start} to ${end} are no subtree.`);
  if (index < start || index >= end)
    throw fail(`Leaf ${index} is not among the leaves from ${start} to before ${end}.`);
  const steps = inclusionPath(index, { from: start, to: end });
  if (proof.length !== steps.length)
    throw fail(`The proof has ${steps.length} hashes if it is right, not ${proof.length}.`);
  if (![leaf, ...proof].every(isHash)) throw fail(`A leaf's hash and all of its proof have 32 bytes.`);
  let hash = leaf;
  for (const [i, { left }] of steps.entries())
    hash = left ? nodeHash(proof[i]!, hash) : nodeHash(hash, proof[i]!);
  if (!equalBytes(hash, root)) throw fail('The leaf is not at that place of the tree with this root.');
}

/**
 * Checks a proof that a tree only grew (RFC 9162 §2.1.4.2). Trees of one size must have one root, and the proof is
 * empty. Throws `LOG_CONSISTENCY` unless it shows exactly that, and `LOG_SIZE` for a size that is no safe integer.
 * It also throws for an old tree without leaves and a new one with some: every tree begins with nothing, so no
 * proof says anything about it, and who accepts that must say so.
 */
export function verifyConsistency(claim: Consistency): void {
  const { oldSize, oldRoot, size, root, proof } = claim;
  checkSizes(oldSize, size);
  if (oldSize === 0 && !(size === 0 && equalBytes(oldRoot, root))) {
    throw new BullaError('LOG_CONSISTENCY', 'Nothing can be shown from a tree without leaves.');
  }
  verifySubtreeConsistency({ start: 0, end: oldSize, subtreeRoot: oldRoot, size, root, proof });
}

/**
 * Checks a proof that a tree has a subtree, as Merkle tree certificates define them. Of no leaves there is one
 * subtree, {@link EMPTY_ROOT}, in every tree. Throws as {@link verifyConsistency}.
 */
export function verifySubtreeConsistency(claim: SubtreeConsistency): void {
  const { start, end, subtreeRoot, size, root, proof } = claim;
  checkSizes(start, end, size);
  const fail = (message: string) => new BullaError('LOG_CONSISTENCY', message);
  if (end > size) throw fail(`A tree of ${size} leaves has no leaves up to ${end}.`);
  if (start === end) {
    if (proof.length === 0 && equalBytes(subtreeRoot, EMPTY_ROOT)) return;
    throw fail('Of no leaves the root is the hash of nothing, and the proof is empty.');
  }
  if (!isSubtree(start, end)) throw fail(`The leaves ${start} to ${end} are no subtree.`);
  const { base, steps } = consistencyPath({ from: start, to: end }, size);
  const known = base === null ? [subtreeRoot, ...proof] : proof;
  if (known.length !== steps.length + 1) {
    const right = steps.length + (base === null ? 0 : 1);
    throw fail(`The proof has ${right} hashes if it is right, not ${proof.length}.`);
  }
  if (steps.length > 0 && !known.every(isHash)) throw fail('A root and all hashes of a proof have 32 bytes.');
  let older = known[0]!;
  let newer = older;
  for (const [i, { left, shared }] of steps.entries()) {
    const hash = known[i + 1]!;
    if (shared) older = nodeHash(hash, older);
    newer = left ? nodeHash(hash, newer) : nodeHash(newer, hash);
  }
  if (!equalBytes(older, subtreeRoot)) throw fail('The proof does not lead to the older root.');
  if (!equalBytes(newer, root)) throw fail('The proof does not lead to the newer root.');
}

function isSubtree(start: number, end: number): boolean {
  if (start >= end) return false;
  const leaves = end - start;
  return leaves === 1 || start % 2 ** (floorLog2(leaves - 1) + 1) === 0;
}

function isHash(hash: Uint8Array): boolean {
  return hash.length === HASH_BYTES;
}
