import { type RepeatOptions, repeatGate } from '../approvals/repeats.ts';
import type { Context } from '../context.ts';
import type { LinkOptions } from '../link.ts';
import { waivedStep } from '../record.ts';
import { argumentsGate } from './arguments.ts';
import { type ConsentGateOptions, consentGate, hintedRaises } from './consent.ts';
import { demandsGate } from './demands.ts';
import { envelopeGate, envelopeNeedGate } from './envelope.ts';
import type { Gate } from './gate.ts';
import { killGate } from './kill.ts';
import { pinnedGate } from './pinned.ts';
import { urisGate } from './uris.ts';

export { type ConsentGateOptions, consentGate } from './consent.ts';
export { type EnvelopeGateOptions, envelopeGate } from './envelope.ts';
export type { Gate, GatedCall, Ruling } from './gate.ts';
export { type PolicyGateOptions, policyGate } from './policy.ts';

interface GateOptions extends Pick<LinkOptions, 'lock' | 'uris' | 'gates' | 'envelopes'> {
  /** Of this session; null without a manifest. */
  readonly consent?: ConsentGateOptions | null;
  /** How calls under an approval are answered again; null where there are none. */
  readonly repeats?: RepeatOptions | null;
  /** Those of policies. */
  readonly rules: readonly Gate[];
}

/**
 * The gates that a call passes, in their order. That its method is known, belongs to the session and has parameters of
 * a known form was decided before, for every request (`methods.ts`, `session.ts`, `params.ts`). A new decision is a
 * file here and a line in this list.
 */
export function gatesOf(
  context: Omit<Context, 'gates' | 'preflight'>,
  { lock, uris = {}, gates = [], rules, consent = null, envelopes, repeats = null }: GateOptions,
): readonly Gate[] {
  const watches = !context.enforce.calls;
  const decides = watches ? watching : (gate: Gate) => gate;
  return [
    pinnedGate(context),
    decides(argumentsGate(lock)),
    decides(urisGate(uris)),
    ...rules.map(decides),
    ...(repeats === null || watches ? [] : [repeatGate(repeats)]),
    ...(envelopes === undefined ? [] : [decides(envelopeNeedGate(envelopes, watches))]),
    ...(consent === null || watches ? [] : [consentGate({ raises: hintedRaises(lock), ...consent })]),
    ...(envelopes === undefined || watches ? [] : [envelopeGate(envelopes)]),
    ...gates,
    decides(demandsGate),
    killGate(context.record),
  ];
}

/** A gate that only watches: the call passes, and its record says what would have been blocked. */
function watching({ name, rule }: Gate): Gate {
  return {
    name,
    async rule(call) {
      const ruling = await rule(call);
      return 'deny' in ruling ? { pass: { authority: [waivedStep(ruling.deny)] } } : ruling;
    },
  };
}
