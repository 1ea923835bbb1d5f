// Verifies records on a thread of its own; what belongs together is put together by the thread that sent them.
import { parentPort, workerData } from 'node:worker_threads';
import { type Packed, packResults, unpack } from './packed.ts';
import { verifyRecords, type WorkerOptions } from './records.ts';

const options = workerData as WorkerOptions;
parentPort!.on('message', ({ batch, packed }: { batch: number; packed: Packed }) => {
  parentPort!.postMessage({ batch, results: packResults(verifyRecords(unpack(packed), options)) });
});
