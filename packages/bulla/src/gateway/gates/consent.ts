import { type ChannelKind, type Identity, type Raise, raisesOf, type Words } from '@bulla/core/consent';
import type { ToolReference } from '@bulla/core/evidence';
import { JsonObject } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import type { Consent, Ruling as ConsentRuling } from '../../consent/index.ts';
import type { Payload } from '../../record/index.ts';
import { Denial } from '../denial.ts';
import type { Gate, GatedCall, Ruling } from './gate.ts';

/** Whose consent is asked for, and how. */
export interface ConsentGateOptions {
  readonly consent: Consent;
  /** Who calls, as our end of the transport knows it: the agent and the session are those of the guard. */
  readonly identity: Identity;
  /** Over what a person may be asked. Default: all that the rules of consent permit. */
  readonly channels?: readonly ChannelKind[] | undefined;
  /**
   * A question outlives its call, so that the same call may come again for the answer until this many milliseconds are
   * over. Default null: the question ends with the call.
   */
  readonly parkMs?: number | null | undefined;
  /** The language of questions that the host is asked to show. Default: English. */
  readonly words?: Words | undefined;
  /** What raises the sensitivity of a call beside its rules. Nothing lowers it. Default: nothing. */
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
        raises: [...demanded(gated), ...(raises?.(gated) ?? [])],
      };
      const ruling = rulingOf(await consent.rule(asked, { signal }));
      // Whoever is asked about each call of the kind has met what a rule asks for.
      gated.demands.delete('person');
      return ruling;
    },
  };
}

/** A rule that asks for a person asks each time, whatever the scope says. */
function demanded({ demands }: GatedCall): Raise[] {
  return demands.has('person') ? [{ to: 'high', why: 'policy' }] : [];
}

/** The raises that the locked definition of a tool gives cause for. */
export function hintedRaises({ native }: Lock): (call: GatedCall) => readonly Raise[] {
  return ({ subject }) => {
    const definition = subject.name === null ? undefined : native?.tools.get(subject.name)?.definition;
    const annotations = definition instanceof JsonObject ? definition.get('annotations') : undefined;
    if (!(annotations instanceof JsonObject)) return [];
    const hint = (name: string) => {
      const value = annotations.get(name);
      return typeof value === 'boolean' ? { [name]: value } : {};
    };
    return raisesOf({ ...hint('readOnlyHint'), ...hint('destructiveHint'), ...hint('openWorldHint') });
  };
}

function rulingOf(ruling: ConsentRuling): Ruling {
  if ('ask' in ruling) return { ask: ruling.ask.then(rulingOf) };
  if ('pass' in ruling) return { pass: ruling.pass };
  const { deny, part } = ruling;
  const message = `The call is not allowed (${deny.code}).`;
  return { deny: new Denial(deny.stage, 'CONSENT_DENIED', message, { failure: deny }), part };
}
