import {
  type ChainFailure,
  type ChainReport,
  type ChainState,
  createChainVerifier,
  type KeyFacts,
  type StoredRecord,
} from '../capsule/index.ts';
import type { PublicKey } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { claimsOf } from '../evidence/index.ts';
import { type AnchorReport, coveredBefore, createAnchorVerifier } from '../log/index.ts';
import { type AnchorSources, Comparison } from './anchoring.ts';
import { createHistory, type History } from './history.ts';
import { type RecordOptions, type RecordResult, readRecord, verifyRecords } from './records.ts';
import { batchesOf, type ChainSource } from './source.ts';
import { type Revocation, withRevocations } from './trust.ts';

export interface VerifyChainOptions {
  /**
   * `structural` trusts the stored hashes; `hashes` recomputes them and checks no signature; `cryptographic`, the
   * default, does both.
   */
  readonly mode?: ChainState['mode'];
  readonly keys: readonly PublicKey[];
  readonly pqKeys?: readonly PublicKey[];
  /** What else is known of the keys: when they are valid, and which post-quantum key signs with them. */
  readonly facts?: readonly KeyFacts[];
  /** What these keys signed fails with `key_revoked`, unless witnesses saw it before. */
  readonly revoked?: readonly Revocation[];
  /**
   * Checkpoints to compare the chain with, or what gives those of a log, by the origin that the first record names. Not
   * together with `from`, which knows nothing of the tree.
   */
  readonly anchors?: AnchorSources | ((origin: string | undefined) => AnchorSources | undefined) | undefined;
  /**
   * Leave out the signatures of the records that a checkpoint covers: the one under the checkpoint stands for all
   * of them, because its signer verified them. Every hash is still checked, and that the signer named in each record
   * is known, valid then, and not revoked. Default false.
   */
  readonly byCheckpoint?: boolean;
  readonly requirePq?: boolean;
  readonly allowNonFinite?: boolean;
  readonly expectLength?: number;
  readonly expectHead?: string;
  /** Go on from what an earlier run of the same check has seen. */
  readonly from?: ChainState;
  readonly progress?: (done: number) => void;
}

/**
 * Verifies the segments of a chain, of which the first begins at place `start`, and gives the results of each to
 * `take`, in their order. With it a shell uses its threads; each of them calls `verifyRecords`.
 */
export type SegmentRunner = (
  segments: AsyncIterable<readonly StoredRecord[]>,
  start: number,
  options: RecordOptions,
  take: (results: Iterable<RecordResult>) => void,
) => Promise<void>;

/** Verifies segments here, one after the other. */
export const inOrder: SegmentRunner = async (segments, start, options, take) => {
  let place = start;
  for await (const segment of segments) {
    take(verifyRecords(segment, place, options));
    place += segment.length;
  }
};

/** What was found, and which records are anchored; null where no checkpoints were given. */
export interface VerifiedChain extends ChainReport {
  readonly state: ChainState;
  readonly anchors: AnchorReport | null;
  /** What happened besides, as far as the records of this run tell. */
  readonly history: History;
}

/**
 * Verifies a chain from its source, in constant memory. All failures are counted, and the first thousand are told.
 * Never throws for a bad record; throws what the source throws when it cannot be read, and `USAGE` for
 * anchors together with `from`.
 */
export async function verifyChain(
  source: ChainSource,
  options: VerifyChainOptions,
  run: SegmentRunner = inOrder,
): Promise<VerifiedChain> {
  const { mode = 'cryptographic', from, anchors, revoked = [], expectLength, expectHead } = options;
  if (from !== undefined && anchors !== undefined)
    throw new BullaError('USAGE', 'A chain is compared with checkpoints from its beginning on.');
  const verifier = createChainVerifier({ mode, expectLength, expectHead, from });
  const start = from?.count ?? 0;
  const skipped: Skipped = { count: 0, last: undefined };
  const { first, segments } = await segmentsOf(skip(batchesOf(source, options.progress), start, skipped));
  // The name that the first record gives its log.
  const content = first === undefined ? null : readRecord(first).content;
  const origin = claimsOf(content).origin ?? undefined;
  const found = typeof anchors === 'function' ? anchors(origin) : anchors;
  const tree = found && createAnchorVerifier(found.anchors, origin);
  const comparison = found?.published && new Comparison(found.published);
  const seen = new Map<number, number>();
  const seenBefore = (place: number, seconds: number) => {
    const known = seen.get(seconds) ?? coveredBefore(found?.anchors ?? [], seconds);
    seen.set(seconds, known);
    return place < known;
  };
  const history = createHistory();
  let index = start;
  const take = (results: Iterable<RecordResult>) => {
    for (const { link, verdict, leaf, story } of results) {
      const place = index++;
      history.add(story, place);
      tree?.push(leaf);
      comparison?.push(leaf);
      verifier.push(
        link,
        verdict && withRevocations(verdict, revoked, (seconds) => seenBefore(place, seconds)),
      );
    }
  };
  const { keys, pqKeys, facts, requirePq, allowNonFinite, byCheckpoint } = options;
  const how = { keys, pqKeys, facts, requirePq, allowNonFinite };
  const covered = (found?.anchors ?? []).reduce((most, { checkpoint }) => Math.max(most, checkpoint.size), 0);
  const hashOnlyBelow = byCheckpoint ? covered : 0;
  await run(segments, start, { ...how, mode, leaves: found !== undefined, hashOnlyBelow }, take);
  const state = verifier.state();
  const report = withFailures(verifier.finish(), sameAsBefore(from, skipped));
  const more = { state, history: history.finish() };
  if (tree === undefined) return { ...report, ...more, anchors: null };
  const anchored = tree.finish(await comparison?.finish());
  // A chain is good only if it is also the one that the checkpoints are of; a checkpoint of nothing is one too.
  const failures = anchored.failures.map((failure) => ({ ...failure, sequence: failure.index, id: null }));
  return { ...withFailures(report, failures), ...more, anchors: anchored };
}

function withFailures(report: ChainReport, failures: readonly ChainFailure[]): ChainReport {
  if (failures.length === 0) return report;
  return {
    ...report,
    ...{ ok: false, outcome: 'failed' },
    failureCount: report.failureCount + failures.length,
    failures: [...failures, ...report.failures],
  };
}

/** What was passed over because an earlier run verified it. */
interface Skipped {
  count: number;
  last: StoredRecord | undefined;
}

/** Whether the records that were passed over can be those of the earlier run: as many, and the last with its hash. */
function sameAsBefore(from: ChainState | undefined, { count, last }: Skipped): ChainFailure[] {
  if (from === undefined) return [];
  const whole = { index: null, sequence: null, id: null };
  if (count < from.count) {
    const error = `The saved state is of ${from.count} records, and the chain has ${count}`;
    return [{ ...whole, code: 'truncated', error }];
  }
  // After a failure the last record need not be the one that the chain goes on from.
  if (last === undefined || from.failureCount > 0 || readRecord(last).link.hash === from.head?.hash)
    return [];
  const error = `The saved state is of another chain: record ${count - 1} has another hash`;
  return [{ ...whole, code: 'rewritten', error }];
}

async function* skip(
  batches: AsyncIterable<readonly StoredRecord[]>,
  count: number,
  skipped: Skipped,
): AsyncGenerator<readonly StoredRecord[]> {
  for await (const batch of batches) {
    const known = Math.min(count - skipped.count, batch.length);
    if (known > 0) {
      skipped.count += known;
      skipped.last = batch[known - 1];
    }
    if (known < batch.length) yield known > 0 ? batch.slice(known) : batch;
  }
}

/** The segments of a chain, and the first record of all; undefined if there is none. */
async function segmentsOf(batches: AsyncGenerator<readonly StoredRecord[]>): Promise<{
  first: StoredRecord | undefined;
  segments: AsyncGenerator<readonly StoredRecord[]>;
}> {
  const { value: head, done } = await batches.next();
  async function* segments() {
    if (done) return;
    yield head;
    yield* batches;
  }
  return { first: done ? undefined : head[0], segments: segments() };
}
