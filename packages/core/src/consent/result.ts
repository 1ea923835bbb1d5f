import type { Decision, DeniedReason } from './rows.ts';

/** What the agent is told, in the seed's words. `result` is added by whoever ran the tool. */
export type CallResult =
  | { readonly call_id: string; readonly status: 'ok' }
  | { readonly call_id: string; readonly status: 'denied'; readonly reason: DeniedReason }
  | { readonly call_id: string; readonly status: 'error'; readonly reason: string };

/** The result of what ended; null while it may still run or does. */
export function resultOf({ id, stage, reason }: Decision): CallResult | null {
  switch (stage) {
    case 'ok':
      return { call_id: id, status: 'ok' };
    case 'denied':
      return { call_id: id, status: 'denied', reason: reason as DeniedReason };
    case 'error':
      return { call_id: id, status: 'error', reason: reason! };
    default:
      return null;
  }
}
