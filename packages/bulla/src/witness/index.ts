/** Witnesses after C2SP tlog-witness: one to run, and what shows checkpoints to those of others. */
export { createSubmit, type SubmitOutcome } from './client.ts';
export { addWitness, loadPolicy, POLICY_FILE, type Quorum } from './config.ts';
export { type RequestLine, type ServeOptions, serveWitness } from './http.ts';
export { createJournal, type Journal } from './journal.ts';

export { readLogs } from './logs.ts';
export { type OpenedWitness, openWitness } from './open.ts';
export { formatAddCheckpoint, printable } from './request.ts';

export type { Evidence } from './state.ts';
