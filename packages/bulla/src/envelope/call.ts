import { type Envelope, toolOf } from '@bulla/core/envelope';
import type { ToolReference } from '@bulla/core/evidence';
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

/** For whom a kill switch is heeded. */
export function agentIdsOf(envelope: Envelope, { agentId }: Pick<Call, 'agentId'>): string[] {
  return [...new Set([envelope.actor.caller, agentId])];
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
