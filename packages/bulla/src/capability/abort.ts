import { BullaError } from '@bulla/core/error';

/** Throws `CAPABILITY_ABORTED`, with the signal's reason as its cause, once the signal was given. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal);
}

/** Waits for work, but no longer than until the signal; then throws `CAPABILITY_ABORTED`. The work is not stopped. */
export async function untilAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(aborted(signal));
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  // Whichever comes second has nobody left who waits for it.
  work.catch(() => undefined);
  promise.catch(() => undefined);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Whether this is what the signal makes work throw. */
export function isAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error instanceof BullaError && error.code === 'CAPABILITY_ABORTED';
}

function aborted(signal: AbortSignal): BullaError {
  return new BullaError('CAPABILITY_ABORTED', 'The work was called off.', { cause: signal.reason });
}
