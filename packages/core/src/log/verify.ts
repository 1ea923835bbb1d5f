import { equalBytes } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { checkSizes, consistencyPath, EMPTY_ROOT, HASH_BYTES, inclusionPath, nodeHash } from './merkle.ts';

// Proofs and roots come from anybody. Each check throws when it fails, so that none can be forgotten.

/** The claim that the leaf with this hash is at this place of a tree. */
interface Inclusion {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** The claim that a tree begins with the leaves of an older one. */
interface Consistency {
  readonly oldSize: number;
  readonly oldRoot: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/**
 * Checks a proof that a leaf is in a tree (RFC 9162 §2.1.3.2). Throws `LOG_INCLUSION` unless it shows exactly that,
 * and `LOG_SIZE` for an index or size that is no safe integer.
 */
export function verifyInclusion({ leaf, index, size, root, proof }: Inclusion): void {
  checkSizes(index, size);
  const fail = (message: string) => new BullaError('LOG_INCLUSION', message);
  if (index >= size) throw fail(`Leaf ${index} is not among the ${size} leaves of the tree.`);
  const steps = inclusionPath(index, size);
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
export function verifyConsistency({ oldSize, oldRoot, size, root, proof }: Consistency): void {
  checkSizes(oldSize, size);
  const fail = (message: string) => new BullaError('LOG_CONSISTENCY', message);
  if (oldSize > size) throw fail(`A tree of ${size} leaves has no leaves up to ${oldSize}.`);
  if (oldSize === 0) {
    const isSame = size === 0 && [oldRoot, root].every((each) => equalBytes(each, EMPTY_ROOT));
    if (isSame && proof.length === 0) return;
    throw fail('Nothing can be shown from a tree without leaves.');
  }
  const { base, steps } = consistencyPath(oldSize, size);
  const known = base === null ? [oldRoot, ...proof] : proof;
  if (known.length !== steps.length + 1) {
    const right = steps.length + (base === null ? 0 : 1);
    throw fail(`The proof has ${right} hashes if it is right, not ${proof.length}.`);
  }
  if (steps.length > 0 && !known.every(isHash)) throw fail('A root and all hashes of a proof have 32 bytes.');
  let older = known[0]!;
  let newer = older;
  for (const [i, { left }] of steps.entries()) {
    const hash = known[i + 1]!;
    // What stands on the left is part of the old tree as well.
    if (left) older = nodeHash(hash, older);
    newer = left ? nodeHash(hash, newer) : nodeHash(newer, hash);
  }
  if (!equalBytes(older, oldRoot)) throw fail('The proof does not lead to the older root.');
  if (!equalBytes(newer, root)) throw fail('The proof does not lead to the newer root.');
}

function isHash(hash: Uint8Array): boolean {
  return hash.length === HASH_BYTES;
}
