import type { Context } from '../context.ts';
import type { Gate } from './gate.ts';
import { killGate } from './kill.ts';
import { pinnedGate } from './pinned.ts';

export { type ConsentGateOptions, consentGate } from './consent.ts';
export { type EnvelopeGateOptions, envelopeGate } from './envelope.ts';
export type { Gate, GatedCall, Ruling } from './gate.ts';
export { policyGate } from './policy.ts';

/**
 * The gates that a call passes, in their order. That its method is known, belongs to the session and has parameters of
 * a known form was decided before, for every request (`methods.ts`, `session.ts`, `params.ts`). A new decision is a
 * file here and a line in this list.
 */
export function gatesOf(context: Omit<Context, 'gates'>, own: readonly Gate[]): readonly Gate[] {
  return [pinnedGate(context), ...own, killGate(context.record)];
}
