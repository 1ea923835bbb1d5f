import type { Decision, DeniedReason } from './rows.ts';

/** Which call it was: our own id of it, and the agent's where it gave one, else ours again. */
interface Named {
  readonly id: string;
  readonly call_id: string;
}

/** What the agent is told, in the seed's words. `result` is added by whoever ran the tool. */
export type CallResult = Named &
  (
    | { readonly status: 'ok' }
    | { readonly status: 'denied'; readonly reason: DeniedReason }
    | { readonly status: 'error'; readonly reason: string }
  );

/** The result of what ended; null while it may still run or does. */
export function resultOf({ id, call_id, stage, reason }: Decision): CallResult | null {
  const named = { id, call_id: call_id ?? id };
  switch (stage) {
    case 'ok':
      return { ...named, status: 'ok' };
    case 'denied':
      return { ...named, status: 'denied', reason: reason as DeniedReason };
    case 'error':
      return { ...named, status: 'error', reason: reason! };
    default:
      return null;
  }
}
