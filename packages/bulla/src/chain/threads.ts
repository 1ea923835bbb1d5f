import { Worker } from 'node:worker_threads';
import type { RecordOptions, SegmentRunner } from '@bulla/core/verify';
import { newSlot, type PackedResults, pack, unpackResults } from './packed.ts';

/** Limit on segments in flight per thread, so that memory does not grow with the chain. */
const AHEAD = 3;

/** Lets threads verify segments, and takes the results in the order of the segments. */
export const onThreads =
  (threads: number): SegmentRunner =>
  async (segments, start, options, take) => {
    const workers = Array.from({ length: threads }, () => startWorker(options));
    const waiting = new Map<number, PromiseWithResolvers<PackedResults>>();
    let failure: unknown;
    for (const worker of workers) {
      worker.on('message', ({ batch, results }: { batch: number; results: PackedResults }) => {
        waiting.get(batch)!.resolve(results);
        waiting.delete(batch);
      });
      worker.on('error', (error) => {
        failure = error;
        for (const { reject } of waiting.values()) reject(error);
        waiting.clear();
      });
    }
    try {
      const slots = Array.from({ length: threads * AHEAD }, newSlot);
      const underWay: Promise<PackedResults>[] = [];
      let next = 0;
      let first = start;
      for await (const records of segments) {
        if (failure !== undefined) throw failure;
        const batch = next++;
        const result = Promise.withResolvers<PackedResults>();
        waiting.set(batch, result);
        result.promise.catch(() => undefined);
        underWay.push(result.promise);
        // What was in this slot has been taken: no more than there are slots are under way.
        const packed = pack(records, slots[batch % slots.length]!);
        workers[batch % threads]!.postMessage({ batch, first, packed });
        first += records.length;
        if (underWay.length >= slots.length) take(unpackResults(await underWay.shift()!));
      }
      for (const result of underWay) take(unpackResults(await result));
    } finally {
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  };

/** The thread's code lies beside this file: as a source under test, as a bundle when it is built. */
function startWorker(workerData: RecordOptions): Worker {
  const fromSource = import.meta.url.endsWith('.ts');
  const script = new URL(fromSource ? './worker.ts' : './chain-worker.cjs', workerBase());
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
