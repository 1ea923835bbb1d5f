import { BullaError } from '../error.ts';
import { pointer } from '../json/index.ts';
import {
  type AffordanceOptions,
  type Affordances,
  evaluateRegisteredAgentAffordances,
  type RegisteredAgent,
} from './agent.ts';
import type { ToolkitContext } from './composable.ts';
import { type CapabilityProfile, isHash } from './hashing.ts';
import { computeInvocationContextHash } from './invocation.ts';
import { wrongArgument } from './names.ts';
import { runtimeCapabilityCanonicalPayload, type ToolRef } from './payloads.ts';
import { defined } from './plain.ts';
import { computeRuntimeHash } from './runtime.ts';
import type { SchemaSource } from './standard-schema.ts';

/** What an agent could do in one run, in hashes: its definition, its enabled tools, what the run was bound to. */
export interface CapabilityLink {
  readonly agentId: string;
  readonly agentName: string;
  /** Under which profile the hashes were made, and where schemas came from: links that differ here do not compare. */
  readonly profile: CapabilityProfile;
  readonly schemaSource: SchemaSource;
  readonly staticHash: string;
  readonly runtimeHash: string;
  /** Only where the run was bound to a context. */
  readonly invocationHash?: string;
  /** Over the text that the model was given; no other hash sees the order of its blocks. */
  readonly instructionsHash?: string;
  /** Sorted by name, as the profile sorts. */
  readonly toolRefs: readonly ToolRef[];
}

interface CapabilityLinkOptions {
  readonly agent: Pick<RegisteredAgent, 'agentId' | 'name' | 'staticHash' | 'hashing'>;
  readonly toolRefs: readonly ToolRef[];
  /** If given, it must be the hash of the `toolRefs`. */
  readonly runtimeHash?: string | undefined;
  readonly instructionsHash?: string | undefined;
  readonly invocationContext?: unknown;
  /** The keys of the context that are hashed; an empty list is none of them. */
  readonly invocationContextAllowlist?: readonly string[] | undefined;
}

/**
 * Makes a link. Throws `CAPABILITY_ENVELOPE_INVALID` when the `toolRefs` are malformed, repeat a name, or do not hash to
 * `runtimeHash`, `CAPABILITY_ARGUMENT` for an `instructionsHash` that is none, and what `normalizeInvocationContextForHash` throws for the context.
 */
export function createCapabilityLink(options: CapabilityLinkOptions): CapabilityLink {
  const { agent, toolRefs, instructionsHash, invocationContext, invocationContextAllowlist } = options;
  const { profile, schemaSource } = agent.hashing;
  const runtimeHash = checkToolRefs(toolRefs, options.runtimeHash, profile);
  if (instructionsHash !== undefined && !isHash(instructionsHash))
    wrongArgument('The hash of the instructions is 64 lower-case hex digits.', '/instructionsHash');
  const { tools } = runtimeCapabilityCanonicalPayload(toolRefs, { profile });
  const invocationHash =
    invocationContext === undefined
      ? undefined
      : computeInvocationContextHash(invocationContext, { allowlist: invocationContextAllowlist, profile });
  return defined<CapabilityLink>({
    ...{ agentId: agent.agentId, agentName: agent.name, profile, schemaSource },
    ...{ staticHash: agent.staticHash, runtimeHash, invocationHash, instructionsHash },
    toolRefs: tools.map(({ name, hash }) => ({ toolKey: name, toolHash: hash })),
  });
}

/** The hash of the refs, which must be that given. Throws `CAPABILITY_ENVELOPE_INVALID`. */
export function checkToolRefs(
  toolRefs: readonly ToolRef[],
  runtimeHash: string | undefined,
  profile: CapabilityProfile,
): string {
  const names = new Set<string>();
  if (!Array.isArray(toolRefs)) wrong('The tool refs are a list.', ['toolRefs']);
  for (const [place, ref] of toolRefs.entries()) {
    const { toolKey, toolHash } = (ref ?? {}) as Partial<ToolRef>;
    if (typeof toolKey !== 'string' || toolKey === '' || !isHash(toolHash))
      wrong('A tool ref has a name and a hash of 64 lower-case hex digits.', ['toolRefs', place]);
    if (names.has(toolKey))
      wrong(`The tool ${JSON.stringify(toolKey)} is listed twice.`, ['toolRefs', place]);
    names.add(toolKey);
  }
  const computed = computeRuntimeHash(toolRefs, { profile });
  if (runtimeHash !== undefined && runtimeHash !== computed)
    wrong('The tool refs do not hash to the runtime hash.', ['runtimeHash']);
  return computed;
}

function wrong(message: string, path: readonly (string | number)[]): never {
  throw new BullaError('CAPABILITY_ENVELOPE_INVALID', message, { path: pointer(path) });
}

export interface FullLinkOptions<Env> extends AffordanceOptions {
  readonly agent: RegisteredAgent<Env>;
  readonly ctx: ToolkitContext<Env>;
  readonly invocationContext?: unknown;
  readonly invocationContextAllowlist?: readonly string[] | undefined;
}

/** Evaluates an agent and makes the link of this run. Throws what the two throw. */
export async function computeFullCapabilityLink<Env>(
  options: FullLinkOptions<Env>,
): Promise<Affordances<Env> & { readonly link: CapabilityLink }> {
  const affordances = await evaluateRegisteredAgentAffordances(options.agent, options.ctx, options);
  return { ...affordances, link: createCapabilityLink({ ...options, ...affordances }) };
}
