// Verifies records on a thread of its own; what belongs together is put together by the thread that sent them.
import { parentPort, workerData } from 'node:worker_threads';
import { type Packed, packResults, unpack } from './packed.ts';
import { verifyRecords, type WorkerOptions } from './records.ts';

const options = workerData as WorkerOptions;
interface Work {
  readonly batch: number;
  /** The place of the first record. */
  readonly first: number;
  readonly packed: Packed;
}
parentPort!.on('message', ({ batch, first, packed }: Work) => {
  const results = packResults(verifyRecords(unpack(packed), first, options));
  parentPort!.postMessage({ batch, results }, [results.leaves.buffer]);
});
