import type { Evidence } from '@bulla/core/evidence';

/** What the operator says of one tool. */
export interface ToolRules {
  /**
   * Whether the answer waits until its outcome is durable. `lazy`: it does not, and the outcome joins the next commit
   * within 20 ms. Default `durable`.
   */
  readonly outcome?: 'durable' | 'lazy' | undefined;
}

/** Rules for tools, by the names that their server gives them. */
export type ToolTable = ReadonlyMap<string, ToolRules>;

/** Whether a call may be answered before its outcome is durable; never one that somebody approved, or that an envelope binds. */
export function isLazy({ outcome }: ToolRules, { envelope, consent }: Evidence): boolean {
  return outcome === 'lazy' && envelope === undefined && consent?.asked === undefined;
}
