import { BullaError } from '../error.ts';
import { pointer } from '../json/index.ts';
import type { Affordances, RegisteredAgent } from './agent.ts';
import type { ToolkitContext } from './composable.ts';
import { type InvocationContext, normalizeInvocationContextForHash } from './invocation.ts';
import { type CapabilityLink, computeFullCapabilityLink, type FullLinkOptions } from './link.ts';
import { copyPlain, defined, dictionary } from './plain.ts';
import {
  capturePolicyResults,
  type PolicyAudit,
  type PolicyEvaluationSnapshot,
  type PolicySnapshotMode,
} from './policy.ts';
import {
  composableToWire,
  hashStaticWire,
  hashToolSpecWireAsRun,
  type StaticWire,
  type ToolSpecWire,
  toolSpecToWire,
} from './wire.ts';

/**
 * The version of our envelopes. The released package writes version 1, which lacks what is needed to compute the
 * hashes again.
 */
export const AGENT_SNAPSHOT_ENVELOPE_VERSION = '2';

/** One run of an agent, as JSON: with it, everyone can compute its hashes again. */
export interface AgentSnapshotEnvelope {
  readonly schemaVersion: typeof AGENT_SNAPSHOT_ENVELOPE_VERSION;
  readonly static?: RegisteredAgentWire;
  readonly runtime: AgentRuntimeSnapshot;
  /** What the host adds; not hashed. */
  readonly context?: unknown;
}

export interface RegisteredAgentWire {
  readonly agentId: string;
  readonly name: string;
  readonly staticHash: string;
  readonly staticInstructions: readonly string[];
  readonly staticContext: unknown;
  /** The definition of the tools. */
  readonly root: StaticWire;
}

export interface AgentRuntimeSnapshot {
  readonly link: CapabilityLink;
  readonly affordances: AffordancesWire;
  readonly policy: PolicyEvaluationSnapshot;
  readonly toolkitContext: ToolkitContextWire;
  /** The context that was hashed, normalised. */
  readonly invocationContext?: unknown;
}

export interface AffordancesWire {
  /** The text that the model was given. */
  readonly instructions: string;
  readonly tools: Readonly<Record<string, ToolSpecWire>>;
}

export interface ToolkitContextWire {
  readonly namespace?: string;
  readonly agentId?: string;
  readonly agentName?: string;
  /** Only the members that were asked for. */
  readonly env?: unknown;
}

interface CaptureOptions<Env> extends FullLinkOptions<Env> {
  /** Default `authoritative`. */
  readonly policyMode?: PolicySnapshotMode | undefined;
  readonly policyAudit?: PolicyAudit | undefined;
  /** The members of the environment that are written down. Default none: an environment may hold secrets. */
  readonly envAllowlist?: readonly string[] | undefined;
  /** Do not write down the context of the invocation; then its hash can only be checked by who has it. */
  readonly omitInvocationContext?: boolean | undefined;
}

interface CaptureEnvelopeOptions<Env> extends CaptureOptions<Env> {
  /** What the host adds; not hashed. */
  readonly sessionContext?: Readonly<Record<string, unknown>> | undefined;
  /** Default true. Without it the static hash cannot be computed again. */
  readonly includeStatic?: boolean | undefined;
}

/** What a capture gives: the record, and everything of the evaluation that calls need. */
interface Captured<Env> extends Affordances<Env> {
  readonly link: CapabilityLink;
  readonly runtime: AgentRuntimeSnapshot;
}

/**
 * Evaluates an agent once, and records it. Throws what `computeFullCapabilityLink` and `copyPlain` throw, and
 * `CAPABILITY_SCHEMA_CHANGED` when a tool's schema is no longer what was hashed of it.
 */
export async function captureAgentRuntimeSnapshot<Env>(options: CaptureOptions<Env>): Promise<Captured<Env>> {
  const { agent, ctx, runtimeToolAugments = {}, policyMode = 'authoritative', policyAudit } = options;
  const { hashing } = agent;
  const found = await computeFullCapabilityLink(options);
  const { link, instructions, resolvedPolicies } = found;
  const tools = link.toolRefs.map(({ toolKey, toolHash }) => {
    const binding = Object.hasOwn(runtimeToolAugments, toolKey) ? runtimeToolAugments[toolKey] : undefined;
    const wire = toolSpecToWire(found.tools.get(toolKey)!, hashing, binding);
    if (hashToolSpecWireAsRun(wire, hashing.profile) !== toolHash) {
      const why = `The schema of the tool ${JSON.stringify(toolKey)} has changed since it was hashed.`;
      throw new BullaError('CAPABILITY_SCHEMA_CHANGED', why, { path: pointer(['tools', toolKey]) });
    }
    return [toolKey, wire] as const;
  });
  const invocationContext = recordedInvocation(options);
  const runtime: AgentRuntimeSnapshot = {
    link,
    affordances: { instructions, tools: dictionary(tools) },
    policy: capturePolicyResults(resolvedPolicies, policyMode, policyAudit),
    toolkitContext: toolkitContextToWire(ctx, options.envAllowlist),
    ...(invocationContext === undefined ? {} : { invocationContext }),
  };
  return { ...found, runtime };
}

/** The same with the agent's definition and what the host adds. */
export async function captureAgentSnapshotEnvelope<Env>(
  options: CaptureEnvelopeOptions<Env>,
): Promise<Captured<Env> & { readonly envelope: AgentSnapshotEnvelope }> {
  const captured = await captureAgentRuntimeSnapshot(options);
  const { agent, sessionContext, includeStatic = true } = options;
  const envelope: AgentSnapshotEnvelope = {
    schemaVersion: AGENT_SNAPSHOT_ENVELOPE_VERSION,
    ...(includeStatic ? { static: registeredAgentToWire(agent) } : {}),
    runtime: captured.runtime,
    ...(sessionContext === undefined ? {} : { context: copyPlain(sessionContext, ['context']) }),
  };
  return { ...captured, envelope };
}

/**
 * An agent's definition as JSON. Throws what `copyPlain` throws for a context or a schema that is not JSON, and
 * `CAPABILITY_SCHEMA_CHANGED`.
 */
export function registeredAgentToWire(agent: RegisteredAgent): RegisteredAgentWire {
  const root = composableToWire(agent.rootComposable, agent.hashing);
  if (hashStaticWire(root, agent.hashing.profile) !== agent.rootComposableHash) {
    const why = 'The schema of a tool has changed since it was hashed.';
    throw new BullaError('CAPABILITY_SCHEMA_CHANGED', why, { path: '/static/root' });
  }
  return {
    agentId: agent.agentId,
    name: agent.name,
    staticHash: agent.staticHash,
    staticInstructions: [...agent.staticInstructions],
    staticContext: copyPlain(agent.staticContext, ['static', 'staticContext']),
    root,
  };
}

function recordedInvocation<Env>(options: CaptureOptions<Env>): InvocationContext | undefined {
  const { invocationContext, invocationContextAllowlist: allowlist, omitInvocationContext } = options;
  if (invocationContext === undefined || omitInvocationContext === true) return undefined;
  return normalizeInvocationContextForHash(invocationContext, { allowlist });
}

function toolkitContextToWire<Env>(
  ctx: ToolkitContext<Env>,
  envAllowlist: readonly string[] | undefined,
): ToolkitContextWire {
  const { namespace, agentId, agentName, env } = ctx;
  return defined<ToolkitContextWire>({
    namespace,
    agentId,
    agentName,
    env: envAllowlist && normalizeInvocationContextForHash(env, { allowlist: envAllowlist }),
  });
}
