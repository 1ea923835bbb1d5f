// Verifies records on a thread of its own; what belongs together is put together by the thread that sent them.
import { parentPort, workerData } from 'node:worker_threads';
import { type RecordOptions, verifyRecords } from '@bulla/core/verify';
import { type Packed, packResults, unpack } from './packed.ts';

const options = workerData as RecordOptions;
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
