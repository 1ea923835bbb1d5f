import type { Evidence, Stage } from '@bulla/core/evidence';
import type { RequestFrame } from '../../mcp/index.ts';
import type { Call, Part } from '../../record/index.ts';
import type { Denial } from '../denial.ts';
import type { Subject } from './pinned.ts';

/** A call of the host on its way through the gates. */
export interface GatedCall {
  readonly frame: RequestFrame;
  readonly subject: Subject;
  /** As the recorder takes it, with the commitments to its parameters. */
  readonly call: Call;
  /** What the gates before have found that it rests on. */
  readonly evidence: Evidence;
  /** Calls that came before this time decide by lists that were read since then. */
  readonly horizon: number;
  /** Aborted when the host takes the call back, or the session ends. */
  readonly signal: AbortSignal;
}

/**
 * What a gate says of a call: it passes, with what the record says of that; it is denied; or somebody is asked first.
 * A call that waits for a person is parked: it holds no slot, and the host is read on.
 */
export type Ruling =
  | { readonly pass: Part }
  | { readonly deny: Denial; readonly part?: Part }
  | { readonly ask: Promise<Ruling> };

/** One decision about a call. What it throws denies the call. */
export interface Gate {
  readonly name: Stage;
  rule(call: GatedCall): Ruling | Promise<Ruling>;
  /** Asked when the intent is durable and before the call is forwarded, with what has come meanwhile. */
  again?(call: GatedCall): Promise<void>;
}
