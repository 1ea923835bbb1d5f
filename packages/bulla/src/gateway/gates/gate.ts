import type { BullaError } from '@bulla/core/error';
import type { Evidence, Stage } from '@bulla/core/evidence';
import type { JsonObject, JsonValue } from '@bulla/core/json';
import type { Demand, SessionFacts } from '@bulla/core/policy';
import type { ErrorFrame, RequestFrame, ResultFrame } from '../../mcp/index.ts';
import type { Call, Part, Payload } from '../../record/index.ts';
import type { Kept } from '../approvals/repeats.ts';
import type { Denial } from '../denial.ts';
import type { Edit } from '../wire/splice.ts';
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
  /** What a gate knew of it before it came; null for a new call. */
  readonly recalled: Recalled | null;
  readonly host: AskedHost;
}

/** A call that came before, as a gate remembers it. */
export interface Recalled {
  /** As it goes on, without what was for the gate. */
  readonly frame: RequestFrame;
  /** The commitment to its arguments that was made then; not given where it was used. */
  readonly args?: Payload;
  /** The approval that it names, where that was used before. */
  readonly approval?: string;
  /** The intent of a call under that approval which goes on, now that the host has what the server asked for. */
  readonly continues?: string;
  /** The call ends, whatever came of it. */
  over(): void;
}

/** The host, as far as it can be asked about one of its calls. */
export interface AskedHost {
  /** Of the stateless era: it is asked in the answer to its call, and calls again. */
  readonly isStateless: boolean;
  /** What it says that it can do. */
  readonly capabilities: JsonObject | null;
  /** Sends it a request that belongs to the call. Rejects where it cannot be asked, and when the signal is aborted. */
  ask(method: string, params: object, signal: AbortSignal): Promise<ResultFrame | ErrorFrame>;
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
  | { readonly ask: Promise<Ruling> }
  | { readonly reply: Reply };

/** The call ends with this answer, and nothing is forwarded. */
export interface Reply {
  /** The message, under this id. */
  bytes(id: Uint8Array): Uint8Array;
  /** It was written, and the host was there or not. */
  written?(isGone: boolean): void;
  /** The capsule of the outcome that it repeats; not given for another answer. */
  readonly repeats?: string;
}

interface Denied {
  readonly deny: Denial;
  readonly part?: Part;
}

/** One decision about a call. What it throws denies the call. */
export interface Gate {
  readonly name: Stage;
  /** It rests on what becomes true with the record of a call, so that it is nothing in a session without a record. */
  readonly needsRecord?: boolean;
  /** Recognises a call that came before; null for a new one. Throws a denial for one that may not come again so. */
  recall?(frame: RequestFrame, subject: Subject, server: string): Recalled | null;
  /** The commitment to the arguments of a call that goes on. Rejects with a denial where it may not. */
  committed?(recalled: Recalled, args: JsonValue): Promise<Payload | null>;
  rule(call: GatedCall): Ruling | Promise<Ruling>;
  /** What is kept of a call that passed all gates, so that it can be answered again; null where nothing is. */
  keep?(call: GatedCall): Kept | null;
  /** The edits of an answer that asks for input, by which the host's next part of the call is known as one. */
  goesOn?(answer: ResultFrame, call: GatedCall, intent: string): Edit[];
  /** Decides again when the intent is durable, before the call is forwarded. */
  again?(call: GatedCall): Promise<void>;
}
