import { randomUUID } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import { type JsonObject, parse, textAt } from '@bulla/core/json';
import { LEASE_MS, markOrphan, type OpenIntent } from '../store/index.ts';
import type { Recorder } from './recorder.ts';

/** Limit on the marks that are written at a time. */
const PAGE = 256;

/** An intent that was marked: its process ended before it recorded the outcome. */
export interface Marked {
  /** The id of the intent, and of the capsule that marks it. */
  readonly intent: string;
  readonly mark: string;
}

/**
 * Marks the orphans of a chain: intents without an outcome whose process holds no lease any more. Each is marked once,
 * whoever looks at the same time, and those of processes that live are left alone. Rejects as `Chain.append` does.
 */
export async function markOrphans(recorder: Recorder): Promise<readonly Marked[]> {
  const { chain } = recorder;
  const marked: Marked[] = [];
  for (;;) {
    const found = await chain.orphans(PAGE);
    const marks = await Promise.all(found.map((orphan) => markOne(recorder, orphan)));
    for (const mark of marks) if (mark !== null) marked.push(mark);
    if (found.length < PAGE) return marked;
  }
}

async function markOne(recorder: Recorder, { sequence, instance }: OpenIntent): Promise<Marked | null> {
  const { chain } = recorder;
  const record = await recordAt(recorder, sequence);
  const text = (...path: string[]) => textAt(record, path);
  const intent = text('id') ?? '';
  const id = randomUUID();
  try {
    await recorder.act({
      id,
      type: 'system',
      trigger: 'system',
      door: 'admin',
      agentId: text('context', 'agent_id') ?? '',
      sessionId: text('context', 'session_id'),
      source: 'bulla',
      request: `orphan ${intent}`,
      parentId: intent,
      evidence: { intent, facts: { ended: instance } },
      status: 'failure',
      failure: { stage: 'record', code: 'RECORD_ORPHANED' },
      summary: 'The process ended before the outcome was recorded: the call may or may not have been made.',
      effect: markOrphan(chain.name, sequence, id),
    });
    return { intent, mark: id };
  } catch (error) {
    // Somebody else marked it, or its process came back with the outcome.
    if (error instanceof BullaError && error.code === 'RECORD_ENDED') return null;
    throw error;
  }
}

async function recordAt({ chain }: Recorder, sequence: number): Promise<JsonObject> {
  const { value } = await chain.records(sequence, 1).next();
  return parse(value!.data, { allow: ['non-finite', 'lone-surrogates'] }) as JsonObject;
}

interface WatchOptions {
  /** Called where any were marked. */
  onMarked(marked: readonly Marked[]): void;
  /** They could not be looked for, or not be marked; it is tried again. */
  onError(error: unknown): void;
}

/** Marks orphans now, and again each time a lease may have ended, until it is disposed of. Calls do not wait for it. */
export function watchOrphans(recorder: Recorder, { onMarked, onError }: WatchOptions): AsyncDisposable {
  let sweeping: Promise<void> | undefined;
  const sweep = async () => {
    try {
      const marked = await markOrphans(recorder);
      if (marked.length > 0) onMarked(marked);
    } catch (error) {
      onError(error);
    }
  };
  const start = () => {
    sweeping ??= sweep().finally(() => {
      sweeping = undefined;
    });
  };
  start();
  const timer = setInterval(start, LEASE_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
    },
  };
}
