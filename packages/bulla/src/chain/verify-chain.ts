import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import {
  type ChainReport,
  type ChainState,
  type ChainVerifier,
  createChainVerifier,
} from '@bulla/core/capsule';
import { type PublicKey, toHex } from '@bulla/core/crypto';
import { type PackedResults, pack, unpackResults } from './packed.ts';
import { type RecordResult, verifyRecords, type WorkerOptions } from './records.ts';
import type { ChainSource, SourceRecord } from './source.ts';

export interface VerifyChainOptions {
  /** `structural` trusts the stored hashes; `cryptographic`, the default, recomputes them and checks signatures. */
  readonly mode?: 'structural' | 'cryptographic';
  readonly keys: readonly PublicKey[];
  readonly pqKeys?: readonly PublicKey[];
  /** The full ids of keys that are revoked: what they signed fails with `key_revoked`. */
  readonly revoked?: readonly string[];
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

const BATCH = 64;
/** So many batches a thread are under way at most, so that memory stays the same however long the chain is. */
const AHEAD = 3;

/**
 * Verifies a chain from its source, in constant memory and on all cores. All failures are counted, and the first
 * thousand are told. Never throws for a bad record; throws what the source throws when it cannot be read.
 */
export async function verifyChain(
  source: ChainSource,
  options: VerifyChainOptions,
): Promise<ChainReport & { state: ChainState }> {
  const mode = options.mode ?? 'cryptographic';
  const send = (keys: readonly PublicKey[]) =>
    keys.map(({ algorithm, bytes }) => ({ algorithm, hex: toHex(bytes) }));
  const workerOptions: WorkerOptions = {
    mode,
    keys: send(options.keys),
    pqKeys: send(options.pqKeys ?? []),
    revoked: options.revoked ?? [],
    requirePq: options.requirePq ?? false,
    allowNonFinite: options.allowNonFinite ?? false,
  };
  const verifier = createChainVerifier({
    mode,
    keys: options.keys,
    ...(options.expectLength === undefined ? {} : { expectLength: options.expectLength }),
    ...(options.expectHead === undefined ? {} : { expectHead: options.expectHead }),
    ...(options.from === undefined ? {} : { from: options.from }),
  });
  const threads = options.threads ?? (mode === 'structural' || isSmall(source) ? 0 : availableParallelism());
  const records = skip(source.records(options.progress), options.from?.count ?? 0);
  if (threads === 0) {
    for await (const batch of batches(records)) push(verifier, verifyRecords(batch, workerOptions));
  } else {
    await onThreads(batches(records), threads, workerOptions, (results) => push(verifier, results));
  }
  const state = verifier.state();
  return { ...verifier.finish(), state };
}

/** Too little to be worth the start of a thread. */
function isSmall({ size }: ChainSource): boolean {
  return size !== null && size.total < (size.unit === 'records' ? 2000 : 4_000_000);
}

function push(verifier: ChainVerifier, results: readonly RecordResult[]): void {
  for (const { link, verdict } of results) verifier.pushLink(link, verdict);
}

async function* skip<T>(items: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let seen = 0;
  for await (const item of items) if (seen++ >= count) yield item;
}

async function* batches(records: AsyncIterable<SourceRecord>): AsyncGenerator<SourceRecord[]> {
  let batch: SourceRecord[] = [];
  for await (const record of records) {
    batch.push(record);
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** Lets threads do the work and takes the results in the order of the batches. */
async function onThreads(
  source: AsyncIterable<SourceRecord[]>,
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
    for await (const records of source) {
      if (failure !== undefined) throw failure;
      const batch = next++;
      const result = new Promise<RecordResult[]>((resolve, reject) =>
        waiting.set(batch, { resolve, reject }),
      );
      result.catch(() => undefined);
      underWay.push(result);
      const packed = pack(records);
      workers[batch % threads]!.postMessage({ batch, packed }, [packed.bytes.buffer]);
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
