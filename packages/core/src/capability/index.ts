/**
 * Capability fingerprints: which tools, in which version, under which policies, an agent has. A static hash says what
 * was defined, a runtime hash what was enabled, an invocation hash what the run was bound to. Nothing here does I/O or
 * reads a clock. Errors are `BullaError` with a code that starts with `CAPABILITY_`; what has no canonical form keeps
 * its `VALUE_…` or `CANON_…`.
 */
export {
  type AffordanceOptions,
  type Affordances,
  createRegisteredAgent,
  evaluateRegisteredAgentAffordances,
  type RegisteredAgent,
  type RegisteredAgentOptions,
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
export { type Disabled, type EvaluateOptions, type Evaluation, evaluateComposable } from './evaluate.ts';
export { executeTool, gateToolPoliciesAtExecute } from './gate.ts';
export {
  type CapabilityProfile,
  type Hashing,
  type HashOptions,
  hashingOf,
  hashPlainObject,
} from './hashing.ts';
export type { HookFailure, PolicyEvaluated, ToolExecuted, ToolPipelineHooks } from './hooks.ts';
export { hydrateAffordances } from './hydrate.ts';

export {
  computeInvocationContextHash,
  type InvocationContext,
  invocationContextCanonicalPayload,
  type NormalizeOptions,
  normalizeInvocationContextForHash,
} from './invocation.ts';
export {
  type CapabilityLink,
  computeFullCapabilityLink,
  createCapabilityLink,
  type FullLinkOptions,
} from './link.ts';
export {
  type CapabilityLinkField,
  diffCapabilityLinks,
  diffToolRefs,
  explainCapabilityLinkField,
  explainCapabilityLinkRelationship,
  formatHashShort,
  type ToolHashChange,
  type ToolRefsDiff,
} from './link-diff.ts';
export { type LintFinding, lint } from './lint.ts';
export {
  type HashedTool,
  instructionsCanonicalPayload,
  type NamedHash,
  type PolicyBinding,
  runtimeCapabilityCanonicalPayload,
  type ToolPayload,
  type ToolRef,
  toolSpecCanonicalPayload,
} from './payloads.ts';
export type { PlainJson } from './plain.ts';
export {
  type PolicyEvaluatedPhase,
  type PolicyExecuteBinding,
  type PolicyResultMap,
  type PolicySnapshotMode,
  policy,
  type SharedPolicy,
} from './policy.ts';
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
export type {
  OutputOf,
  SchemaSource,
  StandardIssue,
  StandardJsonSchema,
  StandardResult,
  StandardSchema,
  schemaToHashInput,
} from './standard-schema.ts';
export { staticPayload } from './static-hash.ts';
export { type ToolOptions, tool } from './tool.ts';
export { type DynamicToolkitOptions, dynamicToolkit, type ToolkitOptions, toolkit } from './toolkit.ts';
export {
  checkEnvelope,
  type EnvelopeFailure,
  type EnvelopeVerdict,
  type VerifyEnvelopeOptions,
  verifyEnvelope,
  verifyReadEnvelope,
} from './verify.ts';
