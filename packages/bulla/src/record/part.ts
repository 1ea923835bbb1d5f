import type { AuthorityStep, Evidence, Failure } from '@bulla/core/evidence';
import type { Effect } from '../store/index.ts';

/**
 * What one decision adds to the record of a call: what it rests on, whose authority that is, and what becomes true
 * together with the intent and with the outcome. Gates and domain modules give parts; the recorder joins them.
 */
export interface Part {
  readonly evidence?: Evidence | undefined;
  readonly authority?: readonly AuthorityStep[] | undefined;
  /**
   * Runs in the transaction of the intent, whose evidence it is given, of all parts and of the call: whoever allowed one
   * call refuses another. What it throws keeps the call from being made.
   */
  onIntent?(intentId: string, evidence: Evidence): Effect;
  /** Runs in the transaction of the outcome. What it throws is reported, and the outcome is recorded all the same. */
  onOutcome?(outcome: Ended, outcomeId: string): Effect | null;
  /** Runs in the transaction of the record of a denial. */
  onDenied?(capsuleId: string, failure: Failure): Effect | null;
}

/** How a call ended. */
export interface Ended {
  readonly status: 'success' | 'failure' | 'partial' | 'blocked';
  readonly failure?: Failure | null;
  readonly durationMs: number;
}

/** The evidence of all parts; of a member that two of them give, the later one counts, objects are merged. */
export function evidenceOf(parts: readonly Part[]): Evidence {
  const merged: Record<string, unknown> = {};
  for (const { evidence = {} } of parts) {
    for (const [member, value] of Object.entries(evidence)) {
      if (value === undefined) continue;
      const before = merged[member];
      merged[member] =
        typeof value === 'object' && typeof before === 'object' ? { ...before, ...value } : value;
    }
  }
  return merged;
}

/** One effect after the other; null where there is none. */
export function inOrder(effects: readonly (Effect | null | undefined)[]): Effect | null {
  const all = effects.filter((effect) => effect != null);
  if (all.length === 0) return null;
  return async (transaction) => {
    for (const effect of all) await effect(transaction);
  };
}
