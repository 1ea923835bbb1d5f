import type { Authority, DataObject } from '../capsule/index.ts';

/**
 * One step of an authority: what decided, and what that makes of the authority. Steps stand in `authority.chain` in
 * their order.
 */
export type AuthorityStep =
  /** A rule; one without a reference only tells what it saw. */
  | { readonly type: 'policy'; readonly reference?: string; readonly step?: DataObject }
  | { readonly type: 'human_approved'; readonly approver: string; readonly step: DataObject }
  | {
      readonly type: 'escalated';
      readonly approver: string;
      readonly reason: string;
      readonly step: DataObject;
    };

const STRENGTH = ['policy', 'human_approved', 'escalated'] as const;

/**
 * The authority of an action that rests on all these steps: the strongest names the type (who was asked beyond the
 * usual, else who approved, else the last rule), and every step stands in the chain. Without any it is `autonomous`.
 * The result keeps the null rules of the capsule protocol.
 */
export function authorityOf(steps: readonly AuthorityStep[]): Authority {
  const chain = steps.flatMap(({ step }) => (step === undefined ? [] : [step]));
  const named = steps.filter((step) => step.type !== 'policy' || step.reference !== undefined);
  const of = STRENGTH.findLast((type) => named.some((step) => step.type === type));
  const none = { approver: null, policy_reference: null, escalation_reason: null };
  if (of === undefined) return { type: 'autonomous', ...none, chain };
  const strongest = named.filter((step) => step.type === of);
  const last = strongest.at(-1)!;
  if (last.type === 'policy') return { type: 'policy', ...none, policy_reference: last.reference!, chain };
  const approver = [...new Set(strongest.map((step) => ('approver' in step ? step.approver : '')))].join(
    ', ',
  );
  return {
    type: last.type,
    ...none,
    approver,
    escalation_reason: last.type === 'escalated' ? last.reason : null,
    chain,
  };
}
