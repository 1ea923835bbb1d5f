import { isDeepStrictEqual } from 'node:util';
import { type Envelope, TOOL_CALL, toolOf } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import type { Evidence, ToolReference } from '@bulla/core/evidence';
import type { Call, Part } from '../record/index.ts';

/** What a caller knows of an execution. What is not given follows from the envelope. */
export interface About extends Partial<Call> {
  /** What else the execution rests on; becomes part of the same records. */
  readonly parts?: readonly Part[];
  /** The exec_hash that the caller expects, such as the one that a person was shown. */
  readonly expected?: string;
  /** Throws a `BullaError` with an `EE_` code unless what is about to be called is what the envelope approves. */
  readonly bind?: (envelope: Envelope) => void;
}

/** The call as it is recorded; of an envelope that cannot be read only what the caller says. */
export function callOf(envelope: Envelope | null, about: About): Call {
  const { parts: _, expected: __, bind: ___, ...given } = about;
  const caller = envelope?.actor.caller ?? '';
  const tool = given.tool ?? (envelope === null ? undefined : toolReference(envelope));
  return {
    ...given,
    door: given.door ?? 'agents',
    agentId: given.agentId ?? caller,
    source: given.source ?? caller,
    request: given.request ?? requestOf(envelope, tool),
    correlationId: given.correlationId ?? envelope?.intent_id ?? null,
    tool,
  };
}

/**
 * The call that a permit is for, and what its intent says of it: an envelope names the agent, and that of a tool call the
 * lock, the tool and the commitment to the arguments. Throws `EE_TOOL_CALL` where that is another call, or none.
 */
export function approvedCall(
  envelope: Envelope,
  given: Call,
): { readonly call: Call; readonly evidence: Evidence } {
  if (given.agentId !== envelope.actor.caller) throw otherCall('/actor/caller');
  const bound = toolOf(envelope);
  let call = given;
  if (envelope.action_type === TOOL_CALL) {
    if (bound === null || bound.args === null) throw otherCall();
    const { server, name, locked, args: committed } = bound;
    const { tool, args = { kind: 'args', committed, opening: null } } = given;
    call = { ...given, tool: { ...tool, server, name, locked }, args };
    if (
      !isDeepStrictEqual({ ...call.tool, ...tool }, call.tool) ||
      !isDeepStrictEqual(args.committed, committed) ||
      given.request !== requestOf(envelope, call.tool)
    )
      throw otherCall();
  }
  const { tool, args, rest } = call;
  return {
    call,
    evidence: {
      ...(bound && { lock: bound.lock }),
      ...(tool && { tool }),
      ...(args && { args: args.committed }),
      ...(rest && { rest: rest.committed }),
    },
  };
}

/** The envelope was approved, or ruled on, for another call than the one that is made. */
export function otherCall(path = '/target'): BullaError {
  return new BullaError('EE_TOOL_CALL', 'The envelope approves another call.', { path });
}

/** Any other action is recorded under its own name. */
function toolReference(envelope: Envelope): ToolReference {
  const tool = toolOf(envelope);
  if (tool === null) return { name: envelope.action_type };
  const { server, name, locked } = tool;
  return { server, name, locked };
}

function requestOf(envelope: Envelope | null, tool: ToolReference | undefined): string {
  if (envelope === null) return 'execute';
  return tool?.server === undefined
    ? `execute ${envelope.action_type}`
    : `tools/call ${tool.server}/${tool.name}`;
}
