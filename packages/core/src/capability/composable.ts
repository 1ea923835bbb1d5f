import { BullaError } from '../error.ts';
import { DEFAULT_MAX_DEPTH, pointer } from '../json/index.ts';
import type { HashOptions } from './hashing.ts';
import type { HookFailure, ToolPipelineHooks } from './hooks.ts';
import { wrongArgument } from './names.ts';
import type { PolicyResultMap, PolicySnapshotMode, SharedPolicy } from './policy.ts';
import type { StandardSchema } from './standard-schema.ts';
import { remember, stateOf } from './state.ts';

/** What an evaluation is made in. */
export interface ToolkitContext<Env = unknown> {
  readonly env: Env;
  readonly namespace?: string | undefined;
  readonly agentId?: string | undefined;
  readonly agentName?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  /** Called after those of toolkits and tools. */
  readonly pipelineHooks?: ToolPipelineHooks | undefined;
  /** Told of every hook that throws. */
  readonly onHookError?: ((failure: HookFailure) => void) | undefined;
}

/** What a call is made in. */
export interface ToolRuntimeContext<Env = unknown> extends ToolkitContext<Env> {
  /** What the policies said when the tools were evaluated, in this process. */
  readonly resolvedPolicies?: PolicyResultMap | undefined;
  /** The same by id, from an envelope. Only what it holds itself counts, nothing inherited. */
  readonly policyResults?: ReadonlyMap<string, boolean> | Readonly<Record<string, boolean>> | undefined;
  /** Default `authoritative`: a policy that binds its snapshot, and is not in it, denies. */
  readonly policySnapshotMode?: PolicySnapshotMode | undefined;
  /** A clock in milliseconds, for the durations that hooks are told. */
  readonly now?: (() => number) | undefined;
}

interface Composed {
  readonly name: string;
  readonly hooks: ToolPipelineHooks | undefined;
  /** The hash of the definition. Throws `CAPABILITY_SCHEMA_…`, `VALUE_…`, `CANON_…` for what cannot be hashed. */
  readonly computeStaticHash: (options?: HashOptions) => string;
}

export interface Tool<Env = never> extends Composed {
  readonly kind: 'tool';
  readonly description: string | null;
  readonly inputSchema: StandardSchema;
  readonly instructions: readonly string[];
  readonly policies: readonly SharedPolicy<Env>[];
  /** Its hash knows of its schema only who made it: the schema has no `toJSONSchema()`. */
  readonly opaque: boolean;
  /** It gives its output piece by piece. */
  readonly stream: boolean;
  readonly handler: (ctx: ToolRuntimeContext<Env>, input: never, options: unknown) => unknown;
}

export interface Toolkit<Env = never> extends Composed {
  readonly kind: 'toolkit';
  readonly instructions: string | readonly string[] | null;
  readonly members: readonly Composable<Env>[];
}

export interface DynamicToolkit<Env = never> extends Composed {
  readonly kind: 'dynamicToolkit';
  readonly instructions: readonly string[] | null;
  readonly policies: readonly SharedPolicy<Env>[];
  readonly create: (
    ctx: ToolkitContext<Env>,
  ) => readonly Composable<Env>[] | Promise<readonly Composable<Env>[]>;
}

/** A tool, or tools put together. `Composable` without more stands for one of any environment. */
export type Composable<Env = never> = Tool<Env> | Toolkit<Env> | DynamicToolkit<Env>;

/** Makes a composable unchangeable, and notes that it was made here. Throws `CAPABILITY_VALUE`. */
export function made<Made extends Composable>(composable: Made): Made {
  let level = 1;
  if (composable.kind === 'toolkit') {
    for (const member of composable.members) level = Math.max(level, stateOf(member)!.level + 1);
    checkLevel(level, '/members');
  }
  remember(composable, level);
  return Object.freeze(composable);
}

/** Throws `CAPABILITY_VALUE`. */
export function checkLevel(level: number, path: string): void {
  if (level <= DEFAULT_MAX_DEPTH) return;
  const why = `The toolkits are nested deeper than ${DEFAULT_MAX_DEPTH}.`;
  throw new BullaError('CAPABILITY_VALUE', why, { path });
}

/** Throws `CAPABILITY_ARGUMENT` for what `tool`, `toolkit` and `dynamicToolkit` did not make. */
export function checkComposable(value: unknown, path = ''): void {
  if (typeof value !== 'object' || value === null || stateOf(value)?.composable !== value)
    wrongArgument('This was not made by `tool`, `toolkit` or `dynamicToolkit`.', path);
}

/**
 * The members of a toolkit as a list that cannot change. Throws `CAPABILITY_ARGUMENT`, and
 * `CAPABILITY_NAME_COLLISION` for two of one name: their order, and so the hash, would not be defined.
 */
export function memberList<Env>(
  members: readonly Composable<Env>[],
  toolkitName: string,
): readonly Composable<Env>[] {
  if (!Array.isArray(members))
    wrongArgument(`The members of ${JSON.stringify(toolkitName)} are not a list.`, '/members');
  const places = new Map<string, number>();
  for (const [place, member] of members.entries()) {
    checkComposable(member, pointer(['members', place]));
    const first = places.get(member.name);
    if (first !== undefined) {
      const [twin, kit] = [JSON.stringify(member.name), JSON.stringify(toolkitName)];
      const why = `Members ${first} and ${place} of ${kit} are both named ${twin}.`;
      throw new BullaError('CAPABILITY_NAME_COLLISION', why, { path: pointer(['members', place]) });
    }
    places.set(member.name, place);
  }
  return Object.freeze([...members]);
}
