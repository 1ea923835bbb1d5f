import { setTimeout as sleep } from 'node:timers/promises';
import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';

/** Runs one piece of work after the other, also after one that failed. */
export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

export function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work);
    last = run.catch(() => undefined);
    return run;
  };
}

/** Lets what concerns the same thing happen one after the other in this process. */
type Queue = <T>(name: string, work: () => Promise<T>) => Promise<T>;

export function createQueue(): Queue {
  const last = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const run = (last.get(name) ?? Promise.resolve()).then(work);
    const settled = run.then(
      () => undefined,
      () => undefined,
    );
    last.set(name, settled);
    void settled.then(() => {
      if (last.get(name) === settled) last.delete(name);
    });
    return run;
  };
}

/** How long, and at least how often, work is tried again that another process came before. */
const PATIENCE_MS = 40_000;
const MIN_ATTEMPTS = 100;

/**
 * Does what reads first and writes only where nothing has changed since, again when it fails with this code. Each
 * failure means that somebody else succeeded, so that all get their turn; how long that takes depends on the machine,
 * so that time alone ends nothing.
 */
export async function untilSettled<T>(
  code: Code,
  attempt: () => Promise<T>,
  now: () => number = () => performance.now(),
): Promise<T> {
  const started = now();
  for (let tried = 1; ; tried++) {
    try {
      return await attempt();
    } catch (error) {
      const again = error instanceof BullaError && error.code === code;
      if (!again || (tried >= MIN_ATTEMPTS && now() - started > PATIENCE_MS)) throw error;
      await sleep(Math.random() * Math.min(10 * tried, 100));
    }
  }
}
