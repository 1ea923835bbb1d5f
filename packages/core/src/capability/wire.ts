import { toolOf } from './call.ts';
import type { Composable } from './composable.ts';
import { fold } from './fold.ts';
import {
  type CapabilityProfile,
  type Hashing,
  type HashOptions,
  hashingOf,
  hashPlainObject,
} from './hashing.ts';
import {
  dynamicToolkitPayload,
  type HashedTool,
  type PolicyBinding,
  sortedBindings,
  toolkitPayload,
  toolPayload,
} from './payloads.ts';
import { copyPlain } from './plain.ts';
import { hashRuntimeToolBinding } from './runtime.ts';
import { isOpaqueSchema, schemaToHashInput } from './standard-schema.ts';
import { hashedSchema } from './static-hash.ts';

/** A tool without its handler, as JSON: all that its hash is made of. */
export interface ToolSpecWire {
  readonly name: string;
  readonly description: string | null;
  /** The lines, in the order of their declaration. */
  readonly instructions: readonly string[];
  /** The schema in its hashed form: JSON, plain or parsed. */
  readonly inputSchema: unknown;
  /** Whether that form only says who made the schema. */
  readonly opaque: boolean;
  readonly policyBindings: readonly PolicyBinding[];
  /** What the tool stood on in this run. */
  readonly runtimeBinding?: string;
}

/** The definition of an agent's tools, as JSON: all that its static hash is made of. */
export type StaticWire =
  | ({ readonly kind: 'tool' } & ToolSpecWire)
  | {
      readonly kind: 'toolkit';
      readonly name: string;
      readonly instructions: string | readonly string[] | null;
      readonly members: readonly StaticWire[];
    }
  | {
      readonly kind: 'dynamicToolkit';
      readonly name: string;
      readonly instructions: readonly string[] | null;
      readonly policies: readonly string[];
    };

/**
 * A tool for the wire. Its schema is copied, so that it cannot change any more. Throws what `schemaToHashInput`
 * throws, and what `copyPlain` throws for a schema that is not JSON.
 */
export function toolSpecToWire(
  spec: HashedTool,
  options?: HashOptions,
  runtimeBinding?: string,
): ToolSpecWire {
  const hashing = hashingOf(options);
  const tool = toolOf(spec);
  const { schemaSource } = hashing;
  const schema = tool ? hashedSchema(tool, schemaSource) : schemaToHashInput(spec.inputSchema, schemaSource);
  return { ...wireOf(spec, schema, hashing), ...(runtimeBinding === undefined ? {} : { runtimeBinding }) };
}

function wireOf(tool: HashedTool, schema: unknown, { profile, schemaSource }: Hashing): ToolSpecWire {
  return {
    name: tool.name,
    description: tool.description,
    instructions: [...tool.instructions],
    inputSchema: copyPlain(schema, ['inputSchema']),
    opaque: isOpaqueSchema(tool.inputSchema, schemaSource),
    policyBindings: sortedBindings(tool.policies, profile),
  };
}

/** The hash of a tool from the wire, the same as of the tool itself, without what it stood on in its run. */
export function hashToolSpecWire(wire: ToolSpecWire, profile: CapabilityProfile): string {
  const { inputSchema: schema, policyBindings: policies } = wire;
  return hashPlainObject(toolPayload({ ...wire, schema, policies }, profile), { profile });
}

/** The same with what the tool stood on: the hash in the link of its run. */
export function hashToolSpecWireAsRun(wire: ToolSpecWire, profile: CapabilityProfile): string {
  const base = hashToolSpecWire(wire, profile);
  const { runtimeBinding } = wire;
  return runtimeBinding === undefined ? base : hashRuntimeToolBinding(base, runtimeBinding, { profile });
}

/** The definition of a composable for the wire. Throws what `toolSpecToWire` throws. */
export function composableToWire(root: Composable, options?: HashOptions): StaticWire {
  const hashing = hashingOf(options);
  return fold<Composable, StaticWire>(root, membersOfComposable, (node, members) => {
    const { kind, name } = node;
    if (kind === 'toolkit') return { kind, name, instructions: node.instructions, members };
    if (kind === 'tool') return { kind, ...wireOf(node, hashedSchema(node, hashing.schemaSource), hashing) };
    return { kind, name, instructions: node.instructions, policies: node.policies.map(({ id }) => id) };
  });
}

/** The static hash of a definition from the wire. Throws `CAPABILITY_NAME_COLLISION`. */
export function hashStaticWire(root: StaticWire, profile: CapabilityProfile): string {
  return fold<StaticWire, string>(root, membersOfWire, (node, hashes) => {
    if (node.kind === 'tool') return hashToolSpecWire(node, profile);
    if (node.kind === 'dynamicToolkit')
      return hashPlainObject(dynamicToolkitPayload(node, profile), { profile });
    const members = node.members.map(({ name }, place) => ({ name, hash: hashes[place]! }));
    return hashPlainObject(toolkitPayload({ ...node, members }, profile), { profile });
  });
}

/** Only a toolkit has members that are known beforehand. */
export const membersOfComposable = (node: Composable) => (node.kind === 'toolkit' ? node.members : []);
export const membersOfWire = (node: StaticWire) => (node.kind === 'toolkit' ? node.members : []);
