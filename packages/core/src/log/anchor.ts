import type { Code } from '../codes.ts';
import {
  type Checkpoint,
  equalBytes,
  type PublicKey,
  parseCheckpointBody,
  parseNote,
  toHex,
} from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { logVerifiers } from './checkpoint.ts';
import { Frontier, HASH_BYTES } from './merkle.ts';
import { evaluatePolicy, type Policy, type PolicyResult } from './policy.ts';

// A chain proves its order and that nothing inside it was changed. It proves nothing about its end, and nothing
// against whoever holds the key. Checkpoints that others kept do: what they cover can be neither cut off nor replaced.

/** A checkpoint whose signatures were verified. */
export interface Anchor {
  readonly checkpoint: Checkpoint;
  /** The witnesses that cosigned it, and when, in seconds since 1970. */
  readonly witnesses: readonly { readonly name: string; readonly time: number }[];
  /** Whether they are as many, and those, that the policy asks for. */
  readonly witnessed: boolean;
  /** Whether those who cosigned before this moment, in seconds since 1970, are enough. */
  witnessedBefore(seconds: number): boolean;
}

export interface AnchorTrust {
  readonly keys: readonly PublicKey[];
  /** Which witnesses are known, and which of them together are enough. Default: none is known. */
  readonly policy?: Policy | undefined;
  /** Since when a key is revoked, in seconds since 1970; undefined for one that is not. */
  readonly revokedAt?: (key: PublicKey) => number | undefined;
}

/**
 * Opens a checkpoint. Throws as `openCheckpoint`; `LOG_UNSIGNED` when none of the keys is the log's; and
 * `LOG_KEY_REVOKED` when the log's key is revoked and no quorum cosigned the checkpoint before that, so that whoever
 * stole the key may have made it.
 */
export function readAnchor(
  note: string | Uint8Array,
  { keys, policy = NOBODY, revokedAt }: AnchorTrust,
): Anchor {
  const { origin } = parseCheckpointBody(parseNote(note).text);
  const logs = logVerifiers(origin, keys);
  const policyResult = (before?: number) =>
    evaluatePolicy(policy, note, { logs, ...(before === undefined ? {} : { before }) });
  const isEnough = ({ quorum, witnesses }: PolicyResult) => quorum && witnesses.length > 0;
  const result = policyResult();
  if (result.log === null)
    throw new BullaError('LOG_UNSIGNED', `No known key of ${origin} signed the checkpoint.`);
  const anchor: Anchor = {
    checkpoint: result.checkpoint,
    witnesses: result.witnesses,
    witnessed: isEnough(result),
    witnessedBefore: (seconds) => isEnough(policyResult(seconds)),
  };
  const revoked = revokedAt?.(result.log.publicKey);
  if (revoked === undefined || anchor.witnessedBefore(revoked)) return anchor;
  throw new BullaError(
    'LOG_KEY_REVOKED',
    'The key that signed the checkpoint is revoked, and it was not witnessed before that.',
  );
}

const NOBODY: Policy = { logs: [], witnesses: [], groups: [], quorum: 'none' };

/** Records from `from` to before `to`, and what vouches for them. */
export interface AnchoredRange {
  readonly from: number;
  readonly to: number;
  /**
   * `anchored`: a checkpoint covers them that a quorum of witnesses cosigned; `local`: only the log's own signature
   * stands under it; `unanchored`: none covers them, so that whoever holds the key can still cut them off or
   * replace them.
   */
  readonly kind: 'anchored' | 'local' | 'unanchored';
  /** Those who cosigned the first checkpoint that covers them. */
  readonly witnesses: Anchor['witnesses'];
}

interface AnchorFailure {
  /** `truncated`, `rewritten`, `split_view` or `foreign_checkpoint`. */
  readonly code: Code;
  /** The first record that is missing or differs, where that is known; else the first that can. */
  readonly index: number | null;
  readonly error: string;
}

export interface AnchorReport {
  readonly ranges: readonly AnchoredRange[];
  readonly failures: readonly AnchorFailure[];
  /** How many records the tree has, and its root: what a checkpoint of the chain would say now. */
  readonly size: number;
  readonly root: Uint8Array;
}

/** A chain as far as it is covered by witnesses that saw it before `seconds`; what a revoked key signed counts there. */
export function coveredBefore(anchors: readonly Anchor[], seconds: number): number {
  return anchors
    .filter((anchor) => anchor.witnessedBefore(seconds))
    .reduce((most, { checkpoint }) => Math.max(most, checkpoint.size), 0);
}

interface AnchorVerifier {
  /** Takes the hash of the next record's leaf; null for a record that has none. */
  push(leaf: Uint8Array | null): void;
  /** The result; `firstDifference` is known when the leaves that the log published were compared too. */
  finish(firstDifference?: number): AnchorReport;
}

/** No record has it. */
const NO_LEAF = new Uint8Array(HASH_BYTES);

/**
 * Compares a chain, leaf by leaf, with checkpoints of it. `origin` is the name that the chain's first record gives
 * its log; where it is given, a checkpoint of another log is told and not used. After a recovery a chain goes on
 * under the same name with `~2`, `~3` and so on behind it.
 */
export function createAnchorVerifier(anchors: readonly Anchor[], origin?: string): AnchorVerifier {
  const failures: AnchorFailure[] = [];
  const waiting = anchors
    .filter(({ checkpoint }) => {
      if (origin === undefined || isLogOf(checkpoint.origin, origin)) return true;
      const error = `A checkpoint is of the log ${checkpoint.origin}, but the chain's is ${origin}.`;
      failures.push({ code: 'foreign_checkpoint', index: null, error });
      return false;
    })
    .toSorted((a, b) => a.checkpoint.size - b.checkpoint.size);
  for (const failure of splitViews(waiting)) failures.push(failure);

  const tree = new Frontier();
  const good: Anchor[] = [];
  const bad: { anchor: Anchor; matched: number }[] = [];
  let next = 0;
  const compare = () => {
    for (; next < waiting.length && waiting[next]!.checkpoint.size === tree.size; next++) {
      const anchor = waiting[next]!;
      if (equalBytes(tree.root(), anchor.checkpoint.root)) good.push(anchor);
      else bad.push({ anchor, matched: good.at(-1)?.checkpoint.size ?? 0 });
    }
  };
  compare();

  return {
    push(leaf) {
      tree.push(leaf ?? NO_LEAF);
      compare();
    },
    finish(firstDifference) {
      const all = [...failures];
      for (const { anchor, matched } of bad)
        all.push(rewritten(anchor.checkpoint.size, matched, firstDifference));
      for (const { checkpoint } of waiting.slice(next)) all.push(truncated(checkpoint.size, tree.size));
      return { ranges: rangesOf(good, tree.size), failures: all, size: tree.size, root: tree.root() };
    },
  };
}

/** Whether a log of this origin is the one that a chain names, also after recoveries. */
export function isLogOf(origin: string, chain: string): boolean {
  return (
    origin === chain || (origin.startsWith(`${chain}~`) && /^[1-9]\d*$/.test(origin.slice(chain.length + 1)))
  );
}

/** A log that shows different trees of one size to different people. */
function splitViews(sorted: readonly Anchor[]): AnchorFailure[] {
  const found: AnchorFailure[] = [];
  for (let i = 1; i < sorted.length; i++) {
    const [a, b] = [sorted[i - 1]!.checkpoint, sorted[i]!.checkpoint];
    if (a.size !== b.size || a.origin !== b.origin || equalBytes(a.root, b.root)) continue;
    const roots = [a, b].map(({ root }) => toHex(root).slice(0, 16)).join('… and ');
    const error = `The log signed two different trees of ${a.size} records: ${roots}….`;
    found.push({ code: 'split_view', index: null, error });
  }
  return found;
}

function truncated(size: number, length: number): AnchorFailure {
  const missing = size - length === 1 ? `record ${length} is` : `records ${length} to ${size - 1} are`;
  const error = `A checkpoint covers ${size} records, and the chain has ${length}: ${missing} missing.`;
  return { code: 'truncated', index: length, error };
}

function rewritten(size: number, matched: number, first: number | undefined): AnchorFailure {
  const known = first !== undefined && first >= matched && first < size;
  const where = known
    ? `record ${first} is the first that differs`
    : size - matched === 1
      ? `record ${matched} differs`
      : `the first that differs is one of records ${matched} to ${size - 1}`;
  const error = `The first ${size} records are not those that a checkpoint covers: ${where}.`;
  return { code: 'rewritten', index: known ? first : matched, error };
}

/** The parts of a chain by the first witnessed checkpoint that covers them, then what the log alone signed. */
function rangesOf(good: readonly Anchor[], length: number): AnchoredRange[] {
  const ranges: AnchoredRange[] = [];
  let from = 0;
  const add = (to: number, kind: AnchoredRange['kind'], witnesses: Anchor['witnesses']) => {
    if (to > from) ranges.push({ from, to, kind, witnesses });
    from = Math.max(from, to);
  };
  for (const { checkpoint, witnessed, witnesses } of good)
    if (witnessed) add(checkpoint.size, 'anchored', witnesses);
  add(good.at(-1)?.checkpoint.size ?? 0, 'local', []);
  add(length, 'unanchored', []);
  return ranges;
}
