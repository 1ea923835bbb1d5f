import { availableParallelism } from 'node:os';
import { BullaError } from '@bulla/core/error';
import {
  type ChainSource,
  type VerifyChainOptions as CoreOptions,
  inOrder,
  type SegmentRunner,
  type VerifiedChain,
  verifyChain as verifyWith,
} from '@bulla/core/verify';
import { onThreads } from './threads.ts';

export interface VerifyChainOptions extends CoreOptions {
  /** Threads; 0 works on this one. Default: one for each core, and none for a short chain. */
  readonly threads?: number;
}

/** More than wait for each other help nobody. */
const MAX_THREADS = 4 * availableParallelism();

/**
 * Verifies a chain from its source on all cores, with the checks of `@bulla/core/verify`. Throws what they throw, and
 * `USAGE` for more threads than four a core.
 */
export function verifyChain(source: ChainSource, options: VerifyChainOptions): Promise<VerifiedChain> {
  const { threads = options.mode === 'structural' ? 0 : undefined } = options;
  return verifyWith(source, options, runnerFor(source, threads));
}

/** What verifies the segments of a chain: threads, unless it is short. Throws `USAGE`. */
export function runnerFor(source: ChainSource, threads?: number): SegmentRunner {
  if (threads !== undefined && threads > MAX_THREADS)
    throw new BullaError('USAGE', `There are at most ${MAX_THREADS} threads to verify on here.`);
  const count = threads ?? (isSmall(source) ? 0 : availableParallelism());
  return count === 0 ? inOrder : onThreads(count);
}

/** Too little to be worth the start of a thread. */
function isSmall({ size }: ChainSource): boolean {
  return size !== null && size.total < (size.unit === 'records' ? 2000 : 4_000_000);
}
