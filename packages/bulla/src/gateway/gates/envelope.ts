import {
  type ArgumentMapping,
  bindArguments,
  bindToolCall,
  type LockedTool,
  TOOL_CALL,
} from '@bulla/core/envelope';
import type { Verifier } from '../../envelope/index.ts';
import { quoteWords } from '../../locks/index.ts';
import { quote } from '../../mcp/index.ts';
import { Denial } from '../denial.ts';
import type { Gate, GatedCall } from './gate.ts';

/** An envelope for a call, with the authorization of it. */
export interface Bound {
  readonly envelope: string | Uint8Array;
  readonly authorization: string | Uint8Array | null;
}

export interface EnvelopeGateOptions {
  readonly verifier: Verifier;
  /** What an approval names: this ledger, and the tenant. A denial for want of an envelope tells it. */
  readonly ledger?: { readonly audience: string; readonly tenantId: string } | undefined;
  /** The tools whose calls need an envelope, by the names that the server gives them. Default: those that rules say. */
  readonly irreversible?: ReadonlySet<string> | undefined;
  /**
   * For tools whose arguments say what is done: which of them must be which fields of an envelope of another action than
   * a tool call. Default: none, so that only envelopes of tool calls count.
   */
  readonly mappings?: ReadonlyMap<string, ArgumentMapping> | undefined;
  /** The envelope of a call of a tool; null for one that has none. Default: the one that came with the call. */
  envelopeOf?(tool: LockedTool, call: GatedCall): Bound | null | Promise<Bound | null>;
}

/**
 * Decides before anybody is asked whether a call needs an envelope and has one. Where the gateway only watches, nothing
 * is verified and nothing consumed; that an envelope is missing is noticed.
 */
export function envelopeNeedGate(options: EnvelopeGateOptions, watches: boolean): Gate {
  const { irreversible, envelopeOf } = options;
  return {
    name: 'envelope',
    needsRecord: true,
    rule(gated) {
      const { frame, subject, demands, presented } = gated;
      if (frame.method !== 'tools/call') return { pass: {} };
      if (subject.name !== null && irreversible?.has(subject.name)) demands.add('envelope');
      if (!demands.has('envelope')) return { pass: {} };
      const isMissing = presented === null && envelopeOf === undefined;
      if (watches || isMissing) demands.delete('envelope');
      return isMissing ? { deny: required(gated, options) } : { pass: {} };
    },
  };
}

/**
 * A call that has an envelope is made once, exactly as it was approved: its envelope is consumed with its intent, also
 * where nothing asked for one.
 */
export function envelopeGate({ verifier, mappings, envelopeOf = given }: EnvelopeGateOptions): Gate {
  return {
    name: 'envelope',
    needsRecord: true,
    async rule(gated) {
      const { frame, call, subject, demands } = gated;
      if (frame.method !== 'tools/call') return { pass: {} };
      const tool = lockedTool(gated);
      const salt = call.args?.opening?.salt;
      if (tool === null || salt === undefined) {
        if (envelopeOf === given && gated.presented === null) return { pass: {} };
        const message = 'The call cannot be bound to an envelope: its tool or its arguments have no digest.';
        return { deny: new Denial('envelope', 'EE_TOOL_CALL', message) };
      }
      const bound = await envelopeOf(tool, gated);
      if (bound === null) return { pass: {} };
      const mapping = mappings?.get(tool.name);
      const ruling = await verifier.rule(bound.envelope, bound.authorization, {
        ...call,
        bind(envelope) {
          if (mapping !== undefined && envelope.action_type !== TOOL_CALL)
            bindArguments(mapping, subject.args, envelope);
          else bindToolCall(envelope, { ...tool, args: subject.args, salt });
        },
      });
      if ('deny' in ruling) return denied(ruling);
      demands.delete('envelope');
      return { pass: ruling.pass, refused: (error) => denied(ruling.refused(error)) };
    },
  };
}

type EnvelopeDenied = Extract<Awaited<ReturnType<Verifier['rule']>>, { deny: unknown }>;

const given = (_: LockedTool, { presented }: GatedCall): Bound | null => presented;

function denied({ deny, part, verdict }: EnvelopeDenied) {
  const code = verdict.code ?? 'EE_TOOL_CALL';
  const message = `The envelope does not permit this call (${code}).`;
  const exec_hash = part.evidence?.envelope?.exec_hash;
  const data = exec_hash === undefined ? {} : { exec_hash };
  return { deny: new Denial(deny.stage, code, message, { failure: deny, data }), part };
}

/** Null where the tool or the lock has no digest. */
function lockedTool({ call, evidence: { lock } }: GatedCall): LockedTool | null {
  const { server, name, locked } = call.tool ?? {};
  if (lock === undefined || server === undefined || name === undefined || locked === undefined) return null;
  return { lock, server, name, locked };
}

/** With everything that somebody needs to approve exactly this call, except its arguments. */
function required(gated: GatedCall, { ledger, mappings }: EnvelopeGateOptions): Denial {
  const { subject, call } = gated;
  const name = quote(subject.name!);
  const message = `The tool ${name} is called only with an envelope that a person has approved, and this call has none. Have it approved, and call again with the same arguments and the envelope in _meta.`;
  const tool = lockedTool(gated);
  const approval = tool && {
    action: TOOL_CALL,
    ...tool,
    caller: call.agentId,
    ...(ledger && { audience: ledger.audience, tenant_id: ledger.tenantId }),
    mapped: mappings?.has(tool.name) ?? false,
    command: commandFor(tool, call.agentId, ledger?.tenantId ?? 'TENANT'),
  };
  const failure = { stage: 'envelope', code: 'ENVELOPE_REQUIRED' } as const;
  const data = approval === null ? {} : { envelope: approval };
  return new Denial('envelope', 'ENVELOPE_REQUIRED', message, { failure, data });
}

/** The first of the commands that lead to an approval; capital letters stand for what only the person knows. */
function commandFor({ server, name }: LockedTool, caller: string, tenant: string): string {
  const words = ['--server', server, '--tool', name, '--caller', caller, '--tenant-id', tenant];
  const rest = '--lock LOCK --arguments ARGUMENTS --policy-id POLICY -o ENVELOPE';
  return `bulla envelope tool-call ${quoteWords(words)} ${rest}`;
}
