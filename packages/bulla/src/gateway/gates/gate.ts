import type { BullaError } from '@bulla/core/error';
import type { Evidence, Stage } from '@bulla/core/evidence';
import type { Demand, SessionFacts } from '@bulla/core/policy';
import type { RequestFrame } from '../../mcp/index.ts';
import type { Call, Part } from '../../record/index.ts';
import type { Denial } from '../denial.ts';
import type { Subject } from './pinned.ts';
import type { Presented } from './presented.ts';

/** A call of the host on its way through the gates. */
export interface GatedCall {
  readonly frame: RequestFrame;
  readonly subject: Subject;
  /** As the recorder takes it, with the commitments to its parameters. */
  readonly call: Call;
  /** What the gates before this one found. */
  readonly evidence: Evidence;
  /** Lists that were read before this time are too old to decide by. */
  readonly horizon: number;
  /** Aborted when the host cancels the call, or the session ends. */
  readonly signal: AbortSignal;
  /** What was done before in the session: until the intent is sealed by now, afterwards by the order of intents. */
  readonly session: SessionFacts;
  /** What rules demand before the call is made. A later gate that meets a demand deletes it; one that stays denies. */
  readonly demands: Set<Demand>;
  /** The envelope that came with the call; null without one. */
  readonly presented: Presented | null;
}

/**
 * What a gate says of a call: it passes, with a part for its record; it is denied; or a person is asked first. A call
 * that waits for a person is parked: it holds no slot, and the host is read on.
 */
export type Ruling =
  | {
      readonly pass: Part;
      /** What it becomes where the part refuses in the transaction of the intent. Default: the error denies. */
      refused?(error: BullaError): Denied;
    }
  | Denied
  | { readonly ask: Promise<Ruling> };

interface Denied {
  readonly deny: Denial;
  readonly part?: Part;
}

/** One decision about a call. What it throws denies the call. */
export interface Gate {
  readonly name: Stage;
  /** It rests on what becomes true with the record of a call, so that it is nothing in a session without a record. */
  readonly needsRecord?: boolean;
  rule(call: GatedCall): Ruling | Promise<Ruling>;
  /** Decides again when the intent is durable, before the call is forwarded. */
  again?(call: GatedCall): Promise<void>;
}
