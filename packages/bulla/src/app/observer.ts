import type { DataObject } from '@bulla/core/capsule';
import type { Target } from '../mcp/index.ts';

/** Work of a known size, as it goes on. */
interface Bar {
  update(done: number): void;
  done(): void;
}

/** What a use case tells while it works. Nothing depends on who listens. */
export interface Observer {
  /** Which server is meant, before anything is started. */
  readonly onTarget?: ((target: Target) => void | Promise<void>) | undefined;
  /** A server is being scanned, or no longer. */
  readonly onScan?: ((isRunning: boolean) => void) | undefined;
  /** The number of pinned packages that are installed or verified. */
  readonly onPackages?: ((total: number) => Bar) | undefined;
  /** A sentence for people. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /** What a decision rests on, as soon as it is known: digests, names and counts, never a payload. */
  readonly onFacts?: ((facts: DataObject) => void) | undefined;
}
