import { pointer } from '../json/index.ts';
import { hashToolSpecStatic } from './call.ts';
import type { Disabled } from './evaluate.ts';
import { type HashOptions, hashingOf, hashPlainObject, sorted } from './hashing.ts';
import { wrongArgument } from './names.ts';
import {
  type HashedTool,
  instructionsCanonicalPayload,
  runtimeCapabilityCanonicalPayload,
  runtimeToolBindingCanonicalPayload,
  type ToolRef,
} from './payloads.ts';

/** For a tool's name what it stands on in this run, such as the head of a data set; it becomes part of its hash. */
export type RuntimeToolAugments = Readonly<Record<string, string>>;

/** The hash of a tool that stands on something of this run. */
export function hashRuntimeToolBinding(
  baseToolHash: string,
  runtimeBinding: string,
  options?: HashOptions,
): string {
  return hashPlainObject(runtimeToolBindingCanonicalPayload(baseToolHash, runtimeBinding), options);
}

/** The enabled tools with their hashes, each made of the tool itself, sorted by name as the profile sorts. */
export function resolveRuntimeToolRefs(
  tools: ReadonlyMap<string, HashedTool>,
  augments: RuntimeToolAugments = {},
  options?: HashOptions,
): readonly ToolRef[] {
  return sorted([...tools.keys()], hashingOf(options).profile, '/tools').map((toolKey) => {
    const base = hashToolSpecStatic(tools.get(toolKey)!, options);
    const bound = Object.hasOwn(augments, toolKey);
    const toolHash = bound ? hashRuntimeToolBinding(base, augments[toolKey]!, options) : base;
    return Object.freeze({ toolKey, toolHash });
  });
}

/** The `runtimeHash` of enabled tools. Throws `CAPABILITY_NAME_COLLISION` for two of one name. */
export function computeRuntimeHash(toolRefs: readonly ToolRef[], options?: HashOptions): string {
  return hashPlainObject(runtimeCapabilityCanonicalPayload(toolRefs, options), options);
}

/** The hash of the text that the model is given. */
export function computeInstructionsHash(text: string, options?: HashOptions): string {
  return hashPlainObject(instructionsCanonicalPayload(text), options);
}

/**
 * Throws `CAPABILITY_ARGUMENT` for an augment that is no text or names a tool that there is not. A tool that a policy
 * keeps out may be named, and where a whole dynamic toolkit is kept out nobody knows its names.
 */
export function checkAugments(
  augments: RuntimeToolAugments,
  tools: ReadonlyMap<string, unknown>,
  disabled: readonly Disabled[],
): void {
  const anyName = disabled.some(({ kind }) => kind === 'dynamicToolkit');
  for (const name of Object.keys(augments)) {
    const named = JSON.stringify(name);
    const path = pointer(['runtimeToolAugments', name]);
    if (typeof augments[name] !== 'string')
      wrongArgument(`What the tool ${named} stands on must be a text.`, path);
    if (!anyName && !tools.has(name) && !disabled.some((tool) => tool.name === name))
      wrongArgument(`There is no tool ${named} that could stand on anything.`, path);
  }
}
