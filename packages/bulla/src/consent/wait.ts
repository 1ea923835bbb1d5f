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
  const bell = createBell();
  const deaf = onDecided(bell.ring);
  signal?.addEventListener('abort', bell.ring);
  try {
    for (;;) {
      const found = await find();
      if (found === null) throw new BullaError('CONSENT_UNKNOWN', `There is no question with the id ${id}.`);
      const { decision } = found;
      if (decision !== null) return { ...found, decision };
      const left = (found.prompt!.expires_at ?? Number.POSITIVE_INFINITY) - (await now());
      if (signal?.aborted) await withdraw(found);
      else if (left <= 0 || found.unseen) await sweep(found);
      else await bell.wait(Math.min(pollMs, left));
    }
  } finally {
    deaf();
    signal?.removeEventListener('abort', bell.ring);
  }
}

/** Wakes who waits, and does not forget that it rang while nobody did. */
function createBell(): { ring: () => void; wait(ms: number): Promise<void> } {
  let rang = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rang = true;
      wake?.();
    },
    async wait(ms) {
      if (!rang)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      rang = false;
      wake = undefined;
    },
  };
}
