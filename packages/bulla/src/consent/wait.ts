import type { Decision } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import type { Found } from './found.ts';
import type { Pair } from './rows.ts';

/** What waiting for one question needs. */
interface Waiting {
  find(): Promise<Found | null>;
  onDecided(listener: () => void): () => void;
  sweep(pair: Pair): Promise<unknown>;
  withdraw(pair: Pair): Promise<void>;
  now(): Promise<number>;
  readonly pollMs: number;
}

/**
 * Waits until a question is decided. Another process may answer it, take the grant back, or give the agent a new
 * manifest, so the store is looked at again and again; what this process decides is heard at once.
 */
export async function waitForDecision(
  id: string,
  signal: AbortSignal | undefined,
  { find, onDecided, sweep, withdraw, now, pollMs }: Waiting,
): Promise<Found & { readonly decision: Decision }> {
  let bell = Promise.withResolvers<void>();
  const ring = () => bell.resolve();
  const stopListening = onDecided(ring);
  signal?.addEventListener('abort', ring);
  try {
    for (;;) {
      const found = await find();
      if (found === null) throw new BullaError('CONSENT_UNKNOWN', `There is no question with the id ${id}.`);
      const { decision } = found;
      if (decision !== null) return { ...found, decision };
      const left = (found.prompt!.expires_at ?? Number.POSITIVE_INFINITY) - (await now());
      if (signal?.aborted) await withdraw(found);
      else if (left <= 0 || found.unseen) await sweep(found);
      else {
        const timer = setTimeout(ring, Math.min(pollMs, left));
        await bell.promise;
        clearTimeout(timer);
        bell = Promise.withResolvers();
      }
    }
  } finally {
    stopListening();
    signal?.removeEventListener('abort', ring);
  }
}
