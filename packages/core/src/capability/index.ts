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
export { collectToolStaticHashes } from './definition.ts';
export type { DefinitionChange, DefinitionDiff, ToolChange } from './definition-diff.ts';
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
export { type BindTool, type HydratedAffordances, hydrateAffordances } from './hydrate.ts';
export {
  computeInvocationContextHash,
  type InvocationContext,
  invocationContextCanonicalPayload,
  type NormalizeOptions,
  normalizeInvocationContextForHash,
} from './invocation.ts';
export {
  type CapabilityLink,
  type CapabilityLinkOptions,
  computeFullCapabilityLink,
  createCapabilityLink,
  type FullLinkOptions,
} from './link.ts';
export {
  type CapabilityLinkField,
  type CapabilityLinksDiff,
  diffCapabilityLinks,
  diffPolicyEvaluationSnapshots,
  diffToolRefs,
  explainCapabilityLinkField,
  explainCapabilityLinkRelationship,
  formatHashShort,
  type PolicyResultsDiff,
  type ToolHashChange,
  type ToolRefsDiff,
} from './link-diff.ts';
export { type LintFinding, lint } from './lint.ts';
export {
  agentCanonicalPayload,
  type DynamicToolkitPayload,
  dynamicToolkitCanonicalPayload,
  type HashedTool,
  instructionsCanonicalPayload,
  type NamedHash,
  type PolicyBinding,
  runtimeCapabilityCanonicalPayload,
  runtimeToolBindingCanonicalPayload,
  type ToolkitPayload,
  type ToolPayload,
  type ToolRef,
  toolkitCanonicalPayload,
  toolSpecCanonicalPayload,
} from './payloads.ts';
export type { PlainJson } from './plain.ts';
export {
  capturePolicyResults,
  type PolicyAudit,
  type PolicyEvaluatedPhase,
  type PolicyEvaluationSnapshot,
  type PolicyExecuteBinding,
  type PolicyResultMap,
  type PolicySnapshotMode,
  policy,
  type SharedPolicy,
} from './policy.ts';
export { readCapabilityLink, readEnvelope, readSnapshot, type Snapshot } from './read.ts';
export {
  computeInstructionsHash,
  computeRuntimeHash,
  hashRuntimeToolBinding,
  type RuntimeToolAugments,
  resolveRuntimeToolRefs,
} from './runtime.ts';
export {
  type AffordancesWire,
  AGENT_SNAPSHOT_ENVELOPE_VERSION,
  type AgentRuntimeSnapshot,
  type AgentSnapshotEnvelope,
  type Captured,
  type CaptureEnvelopeOptions,
  type CaptureOptions,
  captureAgentRuntimeSnapshot,
  captureAgentSnapshotEnvelope,
  type RegisteredAgentWire,
  registeredAgentToWire,
  type ToolkitContextWire,
} from './snapshot.ts';
export {
  compareSnapshots,
  diffSnapshots,
  type PolicyDiff,
  type SnapshotComparison,
  type SnapshotDiff,
} from './snapshot-diff.ts';
export {
  isOpaqueSchema,
  type OutputOf,
  type SchemaSource,
  type StandardIssue,
  type StandardJsonSchema,
  type StandardResult,
  type StandardSchema,
  schemaToHashInput,
} from './standard-schema.ts';
export { staticPayload } from './static-hash.ts';
export { type ToolOptions, tool } from './tool.ts';
export {
  type DynamicToolkitOptions,
  dynamicToolkit,
  type ToolkitOptions,
  toolkit,
} from './toolkit.ts';
export {
  checkEnvelope,
  type EnvelopeFailure,
  type EnvelopeVerdict,
  type VerifyEnvelopeOptions,
  verifyEnvelope,
  verifyReadEnvelope,
} from './verify.ts';
export {
  composableToWire,
  hashStaticWire,
  hashToolSpecWire,
  type StaticWire,
  type ToolSpecWire,
  toolCapabilityPayloadFromWire,
  toolSpecToWire,
} from './wire.ts';
