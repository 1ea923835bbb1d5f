import type { Evidence } from '@bulla/core/evidence';

/** What of the calls of a tool is kept beside the chain, where it can be erased. */
export interface RecordRules {
  readonly arguments?: boolean | undefined;
  readonly result?: boolean | undefined;
  /** JSON Pointers into both: what they lead to is not kept, nor what looks like a secret anywhere else. */
  readonly redact?: readonly string[] | undefined;
}

/** What the operator says of one tool. */
export interface ToolRules {
  /**
   * Whether the answer waits until its outcome is durable. `lazy`: it does not, and the outcome joins the next commit
   * within 20 ms. Default `durable`.
   */
  readonly outcome?: 'durable' | 'lazy' | undefined;
  /** Default: only commitments are kept. */
  readonly record?: RecordRules | undefined;
}

/** Rules for tools, by the names that their server gives them. */
export type ToolTable = ReadonlyMap<string, ToolRules>;

/** Whether a call may be answered before its outcome is durable; never one that somebody approved, or that an envelope binds. */
export function isLazy({ outcome }: ToolRules, { envelope, consent }: Evidence): boolean {
  return outcome === 'lazy' && envelope === undefined && consent?.asked === undefined;
}
