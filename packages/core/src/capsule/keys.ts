import { keyId, type PublicKey, qpLabel, shortLabel } from '../crypto/index.ts';

/** The keys to try, or a function that finds them by the label in `signed_by`. */
export type KeySource = readonly PublicKey[] | ((signedBy: string) => readonly PublicKey[]);

interface Names {
  readonly id: string;
  readonly labels: readonly string[];
}

const names = new WeakMap<PublicKey, Names>();

/** The full id of a key and the labels that may stand for it, worked out once a key. */
export function namesOf(key: PublicKey): Names {
  let found = names.get(key);
  if (found === undefined) {
    found = { id: keyId(key), labels: [shortLabel(key), qpLabel(key)] };
    names.set(key, found);
  }
  return found;
}

/**
 * The keys of one algorithm in the order in which they are tried: every one that the label fits, then all others,
 * because the label is not authenticated and short ones collide.
 */
export function candidates(
  source: KeySource,
  signedBy: string,
  algorithm: PublicKey['algorithm'],
): { named: readonly PublicKey[]; others: readonly PublicKey[]; foreign: boolean } {
  const given = typeof source === 'function' ? source(signedBy) : source;
  const fitting = given.filter((key) => key.algorithm === algorithm);
  const named = fitting.filter((key) => namesOf(key).labels.includes(signedBy));
  const others = fitting.filter((key) => !named.includes(key));
  return { named, others, foreign: given.length > 0 && fitting.length === 0 };
}
