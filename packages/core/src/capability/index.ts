/**
 * Capability fingerprints: which tools, in which version, under which policies, an agent has. A static hash says what
 * was defined, a runtime hash what was enabled, an invocation hash what the run was bound to. Nothing here does I/O or
 * reads a clock. Errors are `BullaError` with a code that starts with `CAPABILITY_`; what has no canonical form keeps
 * its `VALUE_…` or `CANON_…`.
 */
export { throwIfAborted, untilAborted } from './abort.ts';
export {
  type Affordances,
  createRegisteredAgent,
  evaluateRegisteredAgentAffordances,
  type RegisteredAgent,
} from './agent.ts';
export { hashToolSpecStatic, type ToolSpec } from './call.ts';
export type {
  Composable,
  DynamicToolkit,
  Tool,
  Toolkit,
  ToolkitContext,
  ToolRuntimeContext,
} from './composable.ts';

export type { ToolChange } from './definition-diff.ts';
export { type Disabled, type Evaluation, evaluateComposable } from './evaluate.ts';
export { executeTool, gateToolPoliciesAtExecute } from './gate.ts';
export { type CapabilityProfile, type HashOptions, hashingOf, hashPlainObject } from './hashing.ts';
export type { HookFailure, PolicyEvaluated, ToolExecuted, ToolPipelineHooks } from './hooks.ts';
export { hydrateAffordances } from './hydrate.ts';

export {
  computeInvocationContextHash,
  invocationContextCanonicalPayload,
  normalizeInvocationContextForHash,
} from './invocation.ts';
export { type CapabilityLink, computeFullCapabilityLink, createCapabilityLink } from './link.ts';
export {
  type CapabilityLinkField,
  diffCapabilityLinks,
  diffToolRefs,
  explainCapabilityLinkField,
  explainCapabilityLinkRelationship,
  formatHashShort,
} from './link-diff.ts';
export { type LintFinding, lint } from './lint.ts';
export {
  instructionsCanonicalPayload,
  runtimeCapabilityCanonicalPayload,
  type ToolRef,
  toolSpecCanonicalPayload,
} from './payloads.ts';
export { type PolicyResultMap, policy, type SharedPolicy } from './policy.ts';
export { readCapabilityLink, readEnvelope, readSnapshot, type Snapshot } from './read.ts';
export { computeInstructionsHash, computeRuntimeHash, type RuntimeToolAugments } from './runtime.ts';
export {
  AGENT_SNAPSHOT_ENVELOPE_VERSION,
  type AgentSnapshotEnvelope,
  captureAgentRuntimeSnapshot,
  captureAgentSnapshotEnvelope,
  type RegisteredAgentWire,
  registeredAgentToWire,
} from './snapshot.ts';
export { compareSnapshots, type SnapshotDiff } from './snapshot-diff.ts';
export type { SchemaSource, StandardSchema, schemaToHashInput } from './standard-schema.ts';
export { staticPayload } from './static-hash.ts';
export { tool } from './tool.ts';
export { dynamicToolkit, toolkit } from './toolkit.ts';
export {
  checkEnvelope,
  type EnvelopeFailure,
  type EnvelopeVerdict,
  passed,
  type VerifyEnvelopeOptions,
  verifyEnvelope,
  verifyReadEnvelope,
} from './verify.ts';
