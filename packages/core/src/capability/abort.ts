import { BullaError } from '../error.ts';

/** Throws `CAPABILITY_ABORTED`, with the signal's reason as its cause, once the signal was given. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal);
}

/**
 * Waits for work, but no longer than until the signal; then `CAPABILITY_ABORTED` is thrown. The work itself is not
 * stopped: whoever does it was given the same signal.
 */
export async function untilAborted<T>(signal: AbortSignal | undefined, work: PromiseLike<T>): Promise<T> {
  if (signal === undefined) return work;
  let stop: (() => void) | undefined;
  const called = new Promise<never>((_, reject) => {
    stop = () => reject(aborted(signal));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, called]);
  } finally {
    signal.removeEventListener('abort', stop!);
  }
}

function aborted(signal: AbortSignal): BullaError {
  return new BullaError('CAPABILITY_ABORTED', 'The work was called off.', { cause: signal.reason });
}
