import type { SealedCapsule } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';

/** Something that happened and could not be recorded. */
export interface Loss {
  readonly error: unknown;
  /** The intent that has no outcome; null for a denial. */
  readonly intent: SealedCapsule | null;
}

export type OnLoss = (loss: Loss) => void;

/** Something was done, and its outcome could not be recorded. The code is `RECORD_OUTCOME_LOST`. */
export class OutcomeLostError extends BullaError {
  /** What the action gave. */
  readonly result: unknown;

  constructor(intentId: string, result: unknown, cause: unknown) {
    const sentence = `The action of the intent ${intentId} was done, but its outcome could not be recorded.`;
    super('RECORD_OUTCOME_LOST', sentence, { cause });
    this.result = result;
  }
}

/** The listener, or a process warning where there is none. What it throws is ignored: the action must go on. */
export function lossListener(onLoss: OnLoss = warn): OnLoss {
  return (loss) => {
    try {
      onLoss(loss);
    } catch {
      // See above.
    }
  };
}

function warn({ intent }: Loss): void {
  const what = intent === null ? 'A denial' : `The outcome of ${intent.id}`;
  process.emitWarning(`${what} was not recorded.`, { code: 'RECORD_OUTCOME_LOST' });
}
