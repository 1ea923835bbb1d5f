import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { sha256Hex } from '@bulla/core/crypto';
import { onTestFinished } from 'vitest';
import {
  type Evidence,
  type OpenedWitness,
  openWitness,
  readLogs,
  type ServeOptions,
  serveWitness,
} from '../src/witness/index.ts';
import { temporaryFolder } from './run.ts';

export interface RunningWitness {
  readonly url: string;
  readonly witness: OpenedWitness;
  /** The verifier key by Ed25519. */
  readonly vkey: string;
  readonly state: string;
  /** The kinds of the evidence that it stored. */
  readonly evidence: Evidence['kind'][];
  close(): Promise<void>;
}

export interface RunOptions extends Partial<ServeOptions> {
  readonly name?: string;
  readonly state?: string;
  readonly mlDsa?: boolean;
}

/** A real witness on a port of its own, with the real clock. */
export async function runWitness(logs: readonly string[], options: RunOptions = {}): Promise<RunningWitness> {
  const { name = 'witness.example/w', state = join(temporaryFolder(), 'state.db'), mlDsa = false } = options;
  const known = readLogs(logs);
  const evidence: Evidence['kind'][] = [];
  const witness = openWitness({
    ...{ name, state, mlDsa, logs: () => known, now: () => new Date() },
    onEvidence: ({ kind }) => evidence.push(kind),
  });
  const served = await serveWitness({ witness, host: '127.0.0.1', port: 0, ...options });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= served.close().then(() => witness.close());
    return closed;
  };
  onTestFinished(close);
  return { url: served.url, witness, vkey: witness.vkeys[0]!, state, evidence, close };
}

/** The size of the checkpoint that a witness cosigned last of a log; null for none. */
export function cosignedSize(witness: Pick<OpenedWitness, 'checkpoint'>, origin: string): number | null {
  return witness.checkpoint(sha256Hex(origin)).size ?? null;
}

/** A server that answers as a test wants; gives its address. */
export async function runServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
