/** Attributes for OpenTelemetry (`@opentelemetry/api`, which the host brings with its SDK). No spans are made here. */
import type { CapabilityLink, ToolRef } from '@bulla/core/capability';
import { type Attributes, type Span, trace } from '@opentelemetry/api';

/**
 * What a span of a run should say of what the agent could do. `gen_ai.agent.*` are names of the semantic conventions;
 * what those have no name for begins with `bulla.`. Every value is an id, a name or a hash; no input or output.
 */
export function capabilityAttributes(link: CapabilityLink): Attributes {
  const { invocationHash, instructionsHash } = link;
  return {
    'gen_ai.agent.id': link.agentId,
    'gen_ai.agent.name': link.agentName,
    'bulla.capability.profile': link.profile,
    'bulla.capability.schema_source': link.schemaSource,
    'bulla.capability.static_hash': link.staticHash,
    'bulla.capability.runtime_hash': link.runtimeHash,
    ...(invocationHash === undefined ? {} : { 'bulla.capability.invocation_hash': invocationHash }),
    ...(instructionsHash === undefined ? {} : { 'bulla.capability.instructions_hash': instructionsHash }),
    'bulla.capability.tool_count': link.toolRefs.length,
  };
}

/** What a span of one tool call should say of the tool. `toolRefs` of a link has the hash for each name. */
export function toolAttributes({ toolKey, toolHash }: ToolRef): Attributes {
  return { 'gen_ai.tool.name': toolKey, 'bulla.tool.hash': toolHash };
}

/** Sets the attributes of a link on a span, by default the active one. Tells whether a span records them. */
export function setCapabilityAttributes(
  link: CapabilityLink,
  span: Span | undefined = trace.getActiveSpan(),
): boolean {
  return setOn(span, capabilityAttributes(link));
}

/** The same for a tool. */
export function setToolAttributes(ref: ToolRef, span: Span | undefined = trace.getActiveSpan()): boolean {
  return setOn(span, toolAttributes(ref));
}

function setOn(span: Span | undefined, attributes: Attributes): boolean {
  if (span === undefined || !span.isRecording()) return false;
  span.setAttributes(attributes);
  return true;
}
