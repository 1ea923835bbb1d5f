import type { Identity, Raise } from '@bulla/core/consent';
import type { ToolReference } from '@bulla/core/evidence';
import type { Consent, Ruling as ConsentRuling } from '../../consent/index.ts';
import type { Payload } from '../../record/index.ts';
import { Denial } from '../denial.ts';
import type { Gate, GatedCall, Ruling } from './gate.ts';

/** Whose consent is asked for, and how. */
export interface ConsentGateOptions {
  readonly consent: Consent;
  /** Who calls, as our end of the transport knows it: the agent and the session are those of the guard. */
  readonly identity: Identity;
  /** What raises the sensitivity of a call, such as hints of the tool. Nothing lowers it. Default: nothing. */
  raises?(call: GatedCall): readonly Raise[];
}

/**
 * Asks the person about calls of tools, as the agent's manifest declares them. Prompts and resources are not declared
 * in manifests, and pass.
 */
export function consentGate({ consent, identity, raises }: ConsentGateOptions): Gate {
  return {
    name: 'consent',
    needsRecord: true,
    async rule(gated) {
      const { frame, subject, call, evidence, signal } = gated;
      if (frame.method !== 'tools/call') return { pass: {} };
      const asked = {
        // A call of a tool has both.
        call: call as typeof call & { readonly tool: ToolReference; readonly args: Payload },
        identity,
        args: subject.args,
        lock: evidence.lock,
        raises: raises?.(gated),
      };
      return rulingOf(await consent.rule(asked, { signal }));
    },
  };
}

function rulingOf(ruling: ConsentRuling): Ruling {
  if ('ask' in ruling) return { ask: ruling.ask.then(rulingOf) };
  if ('pass' in ruling) return { pass: ruling.pass };
  const { deny, part } = ruling;
  const message = `The call is not allowed (${deny.code}).`;
  return { deny: new Denial(deny.stage, 'CONSENT_DENIED', message, { failure: deny }), part };
}
