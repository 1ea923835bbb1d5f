import { randomUUID } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import type { Recorder } from '../record/index.ts';
import { Incidents } from './incidents.ts';
import type { Refused } from './peer/http-endpoint.ts';

/** Keeps what a listener refused before a session had it. */
export interface Refusals {
  /** Counts a refusal, and records it the first time. Never throws, and waits for nothing. */
  take(refused: Refused): void;
  /** Records how often what was refused. Never rejects. */
  close(): Promise<void>;
}

/**
 * Records the refusals of a listener: the first of each kind for each agent and origin of the connection, and at the end
 * how many there were. A flood of one kind fills no chain and hides no other. What a record says is ours: no header, no
 * token and no path of the request.
 */
export function recordRefusals(recorder: Recorder, log: (line: string) => void): Refusals {
  const incidents = new Incidents();
  const subject = {
    type: 'system',
    trigger: 'system',
    door: 'gateway',
    source: 'bulla',
    sessionId: randomUUID(),
    request: 'guard listener',
  } as const;
  let noting: Promise<unknown> = Promise.resolve();
  const failed = (error: unknown): void => {
    const code = error instanceof BullaError ? ` [${error.code}]` : '';
    log(`refused requests are not recorded${code}`);
  };
  return {
    take({ refusal, agentId, isLoopback }) {
      const { status, failure } = refusal;
      const from = isLoopback ? 'loopback' : 'other';
      const key = JSON.stringify([status, failure.sentence ?? '', agentId, from]);
      const name = incidents.add(failure.code, key, `${failure.code} ${agentId ?? ''}`);
      if (name === null) return;
      const noted = recorder
        .act({
          ...subject,
          agentId: agentId ?? '',
          evidence: { facts: { status, from } },
          status: 'blocked',
          failure,
        })
        .catch((error) => {
          // The next such refusal is recorded.
          incidents.forget(name);
          failed(error);
        });
      noting = Promise.all([noting, noted]);
    },
    async close() {
      await noting;
      const { dropped: refused, unrecorded } = incidents.counts;
      if (Object.keys(refused).length === 0) return;
      const isComplete = Object.keys(unrecorded).length === 0;
      const metrics = { refused, ...(isComplete ? {} : { unrecorded }) };
      await recorder.act({ ...subject, agentId: '', status: 'success', metrics }).catch(failed);
    },
  };
}
