import { bindToolCall, type LockedTool } from '@bulla/core/envelope';
import type { Verifier } from '../../envelope/index.ts';
import { Denial } from '../denial.ts';
import type { Gate, GatedCall } from './gate.ts';

/** An envelope for a call, with the authorization of it. */
export interface Bound {
  readonly envelope: string | Uint8Array;
  readonly authorization: string | Uint8Array | null;
}

export interface EnvelopeGateOptions {
  readonly verifier: Verifier;
  /** The envelope of a call of a tool; null for one that needs none. */
  envelopeOf(tool: LockedTool, call: GatedCall): Bound | null | Promise<Bound | null>;
}

/** A call that needs an envelope is made once, exactly as it was approved: its envelope is consumed with its intent. */
export function envelopeGate({ verifier, envelopeOf }: EnvelopeGateOptions): Gate {
  return {
    name: 'envelope',
    needsRecord: true,
    async rule(gated) {
      const { frame, call, evidence, subject } = gated;
      if (frame.method !== 'tools/call') return { pass: {} };
      const { lock } = evidence;
      const { server, name, locked } = call.tool ?? {};
      const salt = call.args?.opening?.salt;
      if (
        lock === undefined ||
        server === undefined ||
        name === undefined ||
        locked === undefined ||
        salt === undefined
      ) {
        const message = 'The call cannot be bound to an envelope: its tool or its arguments have no digest.';
        return { deny: new Denial('envelope', 'EE_TOOL_CALL', message) };
      }
      const tool: LockedTool = { lock, server, name, locked };
      const bound = await envelopeOf(tool, gated);
      if (bound === null) return { pass: {} };
      const ruling = await verifier.rule(bound.envelope, bound.authorization, {
        ...call,
        bind: (envelope) => bindToolCall(envelope, { ...tool, args: subject.args, salt }),
      });
      if ('pass' in ruling) return { pass: ruling.pass };
      const { deny, part, verdict } = ruling;
      const code = verdict.code ?? 'EE_TOOL_CALL';
      const message = `The envelope does not permit this call (${code}).`;
      return { deny: new Denial(deny.stage, code, message, { failure: deny }), part };
    },
  };
}
