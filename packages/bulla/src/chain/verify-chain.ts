import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import {
  type ChainFailure,
  type ChainReport,
  type ChainState,
  createChainVerifier,
  type KeyFacts,
} from '@bulla/core/capsule';
import { type PublicKey, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { AnchorReport } from '@bulla/core/log';
import { Anchoring, type AnchorSources, originIn } from './anchoring.ts';
import { createHistory, type History } from './history.ts';
import { judged, type Revocation } from './judged.ts';
import { type PackedResults, pack, unpackResults } from './packed.ts';
import { linkOf, type RecordResult, verifyRecords, type WorkerOptions } from './records.ts';
import type { ChainSource, SourceRecord } from './source.ts';

export interface VerifyChainOptions {
  /** `structural` trusts the stored hashes; `cryptographic`, the default, recomputes them and checks signatures. */
  readonly mode?: 'structural' | 'cryptographic';
  readonly keys: readonly PublicKey[];
  readonly pqKeys?: readonly PublicKey[];
  /** What else is known of the keys: when they are valid, and which post-quantum key signs with them. */
  readonly facts?: readonly KeyFacts[];
  /** What these keys signed fails with `key_revoked`, unless witnesses saw it before. */
  readonly revoked?: readonly Revocation[];
  /** Checkpoints to compare the chain with. Not together with `from`, which knows nothing of the tree. */
  readonly anchors?: AnchorSources | undefined;
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
  /** Threads; 0 works on this one. Default: one for each core, and none for a short chain. */
  readonly threads?: number;
  readonly progress?: (done: number) => void;
}

/** More than wait for each other help nobody. */
const MAX_THREADS = 4 * availableParallelism();
const BATCH = 64;
/** So many batches a thread are under way at most, so that memory stays the same however long the chain is. */
const AHEAD = 3;

/** What was found, and which records are anchored; null where no checkpoints were given. */
export interface VerifiedChain extends ChainReport {
  readonly state: ChainState;
  readonly anchors: AnchorReport | null;
  /** What happened besides, as far as the records of this run tell. */
  readonly history: History;
}

/**
 * Verifies a chain from its source, in constant memory and on all cores. All failures are counted, and the first
 * thousand are told. Never throws for a bad record; throws what the source throws when it cannot be read, and
 * `USAGE` for anchors together with `from`, and `USAGE` for more threads than four a core.
 */
export async function verifyChain(source: ChainSource, options: VerifyChainOptions): Promise<VerifiedChain> {
  const mode = options.mode ?? 'cryptographic';
  if (options.from !== undefined && options.anchors !== undefined)
    throw new BullaError('USAGE', 'A chain is compared with checkpoints from its beginning on.');
  const send = (keys: readonly PublicKey[]) =>
    keys.map(({ algorithm, bytes }) => ({ algorithm, hex: toHex(bytes) }));
  const workerOptions: WorkerOptions = {
    mode,
    keys: send(options.keys),
    pqKeys: send(options.pqKeys ?? []),
    facts: options.facts ?? [],
    requirePq: options.requirePq ?? false,
    allowNonFinite: options.allowNonFinite ?? false,
    leaves: options.anchors !== undefined,
    hashOnlyBelow: options.byCheckpoint ? sizeOf(options.anchors) : 0,
  };
  const verifier = createChainVerifier({
    mode,
    keys: options.keys,
    ...(options.expectLength === undefined ? {} : { expectLength: options.expectLength }),
    ...(options.expectHead === undefined ? {} : { expectHead: options.expectHead }),
    ...(options.from === undefined ? {} : { from: options.from }),
  });
  if (options.threads !== undefined && options.threads > MAX_THREADS)
    throw new BullaError('USAGE', `There are at most ${MAX_THREADS} threads to verify on here.`);
  const threads = options.threads ?? (mode === 'structural' || isSmall(source) ? 0 : availableParallelism());
  const start = options.from?.count ?? 0;
  const skipped: Skipped = { count: 0, last: undefined };
  const records = skip(source.records(options.progress), start, skipped);
  const history = createHistory();
  let anchoring: Anchoring | undefined;
  let index = start;
  const take = (results: readonly RecordResult[]) => {
    for (const { link, verdict, leaf, story } of results) {
      const place = index++;
      history.add(story, place);
      anchoring?.push(leaf);
      const seen = (seconds: number) => anchoring?.seenBefore(place, seconds) ?? false;
      verifier.pushLink(link, verdict && judged(verdict, options.revoked ?? [], seen));
    }
  };
  const first = (record: SourceRecord | undefined) => {
    if (options.anchors === undefined) return;
    anchoring = new Anchoring(options.anchors, record === undefined ? undefined : originIn(record));
  };
  if (threads === 0) {
    let place = start;
    for await (const batch of batches(records, first)) {
      take(verifyRecords(batch, place, workerOptions));
      place += batch.length;
    }
  } else {
    await onThreads(batches(records, first), start, threads, workerOptions, take);
  }
  const state = verifier.state();
  const report = withFailures(verifier.finish(), sameAsBefore(options.from, skipped));
  const more = { state, history: history.finish() };
  if (anchoring === undefined) return { ...report, ...more, anchors: null };
  return { ...withAnchors(report, await anchoring.finish()), ...more };
}

function sizeOf(sources: AnchorSources | undefined): number {
  return (sources?.anchors ?? []).reduce((most, { checkpoint }) => Math.max(most, checkpoint.size), 0);
}

/** A chain is good only if it is also the one that the checkpoints are of; a checkpoint of nothing is one too. */
function withAnchors(report: ChainReport, anchors: AnchorReport): ChainReport & { anchors: AnchorReport } {
  const failures = anchors.failures.map(({ code, index, error }) => ({
    ...{ index, sequence: index, id: null },
    ...{ code, error },
  }));
  return { ...withFailures(report, failures), anchors };
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
  last: SourceRecord | undefined;
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
  if (last === undefined || from.failureCount > 0 || linkOf(last).hash === from.head?.hash) return [];
  const error = `The saved state is of another chain: record ${count - 1} has another hash`;
  return [{ ...whole, code: 'rewritten', error }];
}

/** Too little to be worth the start of a thread. */
function isSmall({ size }: ChainSource): boolean {
  return size !== null && size.total < (size.unit === 'records' ? 2000 : 4_000_000);
}

async function* skip(
  items: AsyncIterable<SourceRecord>,
  count: number,
  skipped: Skipped,
): AsyncGenerator<SourceRecord> {
  for await (const item of items) {
    if (skipped.count >= count) yield item;
    else {
      skipped.count++;
      skipped.last = item;
    }
  }
}

/** Batches of records; `first` is told the first of all before any batch, or that there is none. */
async function* batches(
  records: AsyncIterable<SourceRecord>,
  first: (record: SourceRecord | undefined) => void,
): AsyncGenerator<SourceRecord[]> {
  let batch: SourceRecord[] = [];
  let told = false;
  for await (const record of records) {
    if (!told) first(record);
    told = true;
    batch.push(record);
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (!told) first(undefined);
  if (batch.length > 0) yield batch;
}

/** Lets threads do the work and takes the results in the order of the batches. */
async function onThreads(
  source: AsyncIterable<SourceRecord[]>,
  start: number,
  threads: number,
  workerData: WorkerOptions,
  take: (results: readonly RecordResult[]) => void,
): Promise<void> {
  const workers = Array.from({ length: threads }, () => startWorker(workerData));
  const waiting = new Map<number, { resolve(results: RecordResult[]): void; reject(error: unknown): void }>();
  let failure: unknown;
  for (const worker of workers) {
    worker.on('message', ({ batch, results }: { batch: number; results: PackedResults }) => {
      waiting.get(batch)!.resolve(unpackResults(results));
      waiting.delete(batch);
    });
    worker.on('error', (error) => {
      failure = error;
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    });
  }
  try {
    const underWay: Promise<RecordResult[]>[] = [];
    let next = 0;
    let first = start;
    for await (const records of source) {
      if (failure !== undefined) throw failure;
      const batch = next++;
      const result = new Promise<RecordResult[]>((resolve, reject) =>
        waiting.set(batch, { resolve, reject }),
      );
      result.catch(() => undefined);
      underWay.push(result);
      const packed = pack(records);
      workers[batch % threads]!.postMessage({ batch, first, packed }, [packed.bytes.buffer]);
      first += records.length;
      if (underWay.length >= threads * AHEAD) take(await underWay.shift()!);
    }
    for (const result of underWay) take(await result);
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** The thread's code lies beside this file: as a source under test, as a bundle when it is built. */
function startWorker(workerData: WorkerOptions): Worker {
  const fromSource = import.meta.url.endsWith('.ts');
  const script = new URL(fromSource ? './worker.ts' : './chain-worker.js', workerBase());
  return new Worker(script, {
    workerData,
    execArgv: fromSource ? ['--conditions=bulla-source'] : [],
    // Records live for a moment; without a limit a thread would let them pile up before it clears them away.
    resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 256 },
  });
}

function workerBase(): string {
  // Bundled code lies in chunks/, its threads one folder up.
  return import.meta.url.includes('/chunks/') ? new URL('../', import.meta.url).href : import.meta.url;
}
