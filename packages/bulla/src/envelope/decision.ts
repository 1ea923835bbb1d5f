import type { SealedCapsule } from '@bulla/core/capsule';
import type { Permit, Verdict } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';

/** Thrown by an execution to say that it surely had no effect, so that what it held of limits is free again. */
export class ExecutionNotStarted extends BullaError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('EE_NOT_STARTED', message, options);
  }
}

/** It was refused, and nothing was executed. */
export interface Blocked {
  readonly status: 'blocked';
  readonly verdict: Verdict;
  /** The record of the refusal; null when it could not be stored. It stays refused all the same. */
  readonly capsule: SealedCapsule | null;
  /** What the store failed with, if that is why. */
  readonly cause: unknown;
}

/** It was executed, or execution was tried. */
export interface Ended {
  readonly verdict: Verdict;
  readonly permit: Permit;
  readonly intent: SealedCapsule;
  /** The record of the outcome; null when it could not be stored: the execution counts as committed. */
  readonly outcome: SealedCapsule | null;
  /** What the store failed with, if the outcome could not be stored. */
  readonly cause: unknown;
}

export interface Executed<T> extends Ended {
  readonly status: 'success';
  readonly result: T;
}

/** `execute` threw. Unless it was `ExecutionNotStarted`, it may have had an effect, and counts as if it had. */
export interface ExecutionFailed extends Ended {
  readonly status: 'failure';
  readonly error: unknown;
  readonly released: boolean;
}

export type Decision<T> = Blocked | Executed<T> | ExecutionFailed;
