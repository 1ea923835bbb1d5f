import { BullaError } from '../error.ts';
import { type CapabilityProfile, type HashOptions, hashingOf, sorted } from './hashing.ts';
import type { PolicyExecuteBinding } from './policy.ts';
import { type StandardSchema, schemaToHashInput } from './standard-schema.ts';

/** A policy as hashes know it. */
export interface PolicyBinding {
  readonly id: string;
  readonly executeBinding: PolicyExecuteBinding;
}

/** What is hashed of a tool. */
export interface ToolPayload {
  readonly kind: 'tool';
  readonly name: string;
  readonly description: string | null;
  readonly schema: unknown;
  readonly instructions: readonly string[];
  readonly policies: readonly string[];
  readonly policyBindings?: readonly PolicyBinding[];
}

/** What a tool payload is made of, with the schema in its hashed form. */
type ToolParts = Omit<ToolPayload, 'kind' | 'policies' | 'policyBindings'> & {
  readonly policies: readonly PolicyBinding[];
};

/**
 * The one place where a tool's payload is made: for tools as they are defined, as they were evaluated, and as they
 * came over the wire. So the three have one hash.
 */
export function toolPayload(parts: ToolParts, profile: CapabilityProfile): ToolPayload {
  const { name, description, schema } = parts;
  const instructions = sorted(parts.instructions, profile, '/instructions');
  if (parts.policies.length === 0)
    return { kind: 'tool', name, description, schema, instructions, policies: [] };
  const policyBindings = sortedBindings(parts.policies, profile);
  const policies = policyBindings.map(({ id }) => id);
  return { kind: 'tool', name, description, schema, instructions, policies, policyBindings };
}

/** By id; of one id, which the specification leaves open, `live` first, so that no order of declaration shows. */
export function sortedBindings(
  policies: readonly PolicyBinding[],
  profile: CapabilityProfile,
): readonly PolicyBinding[] {
  if (policies.length === 1) return [{ id: policies[0]!.id, executeBinding: policies[0]!.executeBinding }];
  const bindings = policies.map(({ id, executeBinding }) => ({ id, executeBinding }));
  const byId = Map.groupBy(bindings, ({ id }) => id);
  const live = ({ executeBinding }: PolicyBinding) => (executeBinding === 'live' ? 0 : 1);
  return sorted([...byId.keys()], profile, '/policies').flatMap((id) =>
    byId.get(id)!.sort((a, b) => live(a) - live(b)),
  );
}

/** A tool that has a live schema: one that was defined, or one that was evaluated. */
export interface HashedTool {
  readonly name: string;
  readonly description: string | null;
  readonly inputSchema: StandardSchema;
  readonly instructions: readonly string[];
  readonly policies: readonly PolicyBinding[];
}

/** What is hashed of a tool. Throws what `schemaToHashInput` throws, and `CANON_…` for what the profile cannot sort. */
export function toolSpecCanonicalPayload(tool: HashedTool, options?: HashOptions): ToolPayload {
  const { profile, schemaSource } = hashingOf(options);
  return toolPayload({ ...tool, schema: schemaToHashInput(tool.inputSchema, schemaSource) }, profile);
}

/** A member of a toolkit, or an enabled tool, with its hash. */
export interface NamedHash {
  readonly name: string;
  readonly hash: string;
}

interface ToolkitPayload {
  readonly kind: 'toolkit';
  readonly name: string;
  readonly instructions: string | readonly string[] | null;
  readonly members: readonly NamedHash[];
}

/** What is hashed of a toolkit. Throws `CAPABILITY_NAME_COLLISION` for two members of one name. */
export function toolkitPayload(
  { name, instructions, members }: Omit<ToolkitPayload, 'kind'>,
  profile: CapabilityProfile,
): ToolkitPayload {
  return { kind: 'toolkit', name, instructions, members: sortedByName(members, profile, '/members') };
}

interface DynamicToolkitPayload {
  readonly kind: 'dynamicToolkit';
  readonly name: string;
  readonly instructions: readonly string[] | null;
  readonly policies: readonly string[];
}

/** What is hashed of a dynamic toolkit: nothing of its members, and of its policies the ids alone. */
export function dynamicToolkitPayload(
  { name, instructions, policies }: Omit<DynamicToolkitPayload, 'kind'>,
  profile: CapabilityProfile,
): DynamicToolkitPayload {
  return { kind: 'dynamicToolkit', name, instructions, policies: sorted(policies, profile, '/policies') };
}

/** What is hashed of a registered agent: its lines in the order given, trimmed, without the empty ones. */
export function agentCanonicalPayload(
  rootComposableHash: string,
  lines: readonly string[],
): { readonly rootComposableHash: string; readonly agentInstructions: readonly string[] } {
  return { rootComposableHash, agentInstructions: agentLines(lines) };
}

export function agentLines(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/** An enabled tool, by the name under which the model calls it. */
export interface ToolRef {
  readonly toolKey: string;
  readonly toolHash: string;
}

/** What is hashed of the enabled tools. Throws `CAPABILITY_NAME_COLLISION` for two of one name. */
export function runtimeCapabilityCanonicalPayload(
  toolRefs: readonly ToolRef[],
  options?: HashOptions,
): { readonly kind: 'runtime'; readonly tools: readonly NamedHash[] } {
  const tools = toolRefs.map(({ toolKey, toolHash }) => ({ name: toolKey, hash: toolHash }));
  return { kind: 'runtime', tools: sortedByName(tools, hashingOf(options).profile, '/tools') };
}

/** What is hashed of a tool that stands on something of this run, such as the head of a data set. */
export function runtimeToolBindingCanonicalPayload(
  baseToolHash: string,
  runtimeBinding: string,
): { readonly kind: 'runtime_tool_binding'; readonly baseToolHash: string; readonly runtimeBinding: string } {
  return { kind: 'runtime_tool_binding', baseToolHash, runtimeBinding };
}

/** What is hashed of the text that the model is given. Ours: no other hash covers the order of its blocks. */
export function instructionsCanonicalPayload(text: string): {
  readonly kind: 'instructions';
  readonly text: string;
} {
  return { kind: 'instructions', text };
}

function sortedByName(
  rows: readonly NamedHash[],
  profile: CapabilityProfile,
  path: string,
): readonly NamedHash[] {
  const byName = new Map<string, NamedHash>();
  for (const row of rows) {
    if (byName.has(row.name)) {
      const why = `There are two of the name ${JSON.stringify(row.name)}, so their order is not defined.`;
      throw new BullaError('CAPABILITY_NAME_COLLISION', why, { path });
    }
    byName.set(row.name, row);
  }
  return sorted([...byName.keys()], profile, path).map((name) => byName.get(name)!);
}
