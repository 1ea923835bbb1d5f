// Verifies records on a thread of its own; what belongs together is put together by the thread that sent them.
import { parentPort, workerData } from 'node:worker_threads';
import { verifyRecords, type WorkerOptions } from './records.ts';
import type { SourceRecord } from './source.ts';

const options = workerData as WorkerOptions;
parentPort!.on('message', ({ batch, records }: { batch: number; records: SourceRecord[] }) => {
  parentPort!.postMessage({ batch, results: verifyRecords(records, options) });
});
