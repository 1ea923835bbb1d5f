import { BullaError } from '../error.ts';
import { pointer } from '../json/index.ts';
import { throwIfAborted, untilAborted } from './abort.ts';
import { specOf, type ToolSpec } from './call.ts';
import {
  type Composable,
  checkComposable,
  checkLevel,
  type DynamicToolkit,
  memberList,
  type Tool,
  type Toolkit,
  type ToolkitContext,
} from './composable.ts';
import { type HookFailure, type HookLayers, hasHook, runHooks } from './hooks.ts';
import { decide, type PolicyResultMap, resultsById, type SharedPolicy } from './policy.ts';

/** What may be called, and what the model is told. */
export interface Evaluation<Env = never> {
  /** The enabled tools by name, in the order of declaration. */
  readonly tools: ReadonlyMap<string, ToolSpec<Env>>;
  /** The tools and dynamic toolkits that a policy keeps out. */
  readonly disabled: readonly Disabled[];
  /** The texts of the toolkits and tools that are enabled, with blank lines between them. */
  readonly instructions: string;
  /** What each policy said, by its object; for the gate when tools are called. */
  readonly resolvedPolicies: PolicyResultMap;
  /** The same by id; where policies share an id, all of them must have allowed. */
  readonly policyResults: ReadonlyMap<string, boolean>;
  /** Hooks that threw. */
  readonly hookFailures: readonly HookFailure[];
}

export interface Disabled {
  readonly kind: 'tool' | 'dynamicToolkit';
  readonly name: string;
  /** The names that lead to it, as a JSON Pointer. */
  readonly place: string;
  /** The ids of the policies that deny it. */
  readonly deniedBy: readonly string[];
}

export interface EvaluateOptions {
  /** What is known of policies already; those are not asked again. The evaluation adds to it. */
  readonly resolvedPolicies?: PolicyResultMap | undefined;
}

/** A toolkit that the walk is in. */
interface Open<Env> {
  readonly composable: Toolkit<Env> | DynamicToolkit<Env>;
  readonly members: readonly Composable<Env>[];
  readonly parent: Open<Env> | undefined;
  readonly layers: HookLayers;
  /** The policies of the dynamic toolkits here and outside, which gate every tool inside. */
  readonly gates: readonly SharedPolicy<Env>[];
  next: number;
}

interface Met<Env> {
  readonly tool: Tool<Env>;
  readonly parent: Open<Env> | undefined;
}

/** What the walk came by, in order; null where a toolkit ends. */
type Trail<Env> = (Open<Env> | Met<Env> | null)[];

/**
 * Evaluates a composable: walks it in the order of declaration, from a toolkit to its members, asks each policy that
 * it comes by once, makes the members of dynamic toolkits, and then tells which tools are enabled. A policy that
 * throws denies. Throws `CAPABILITY_ABORTED`, `CAPABILITY_NAME_COLLISION` with both places for two enabled tools of
 * one name, `CAPABILITY_CREATE_FAILED` and `CAPABILITY_VALUE`. Never recurses.
 */
export async function evaluateComposable<Env>(
  root: Composable<Env>,
  ctx: ToolkitContext<Env>,
  options: EvaluateOptions = {},
): Promise<Evaluation<Env>> {
  checkComposable(root);
  throwIfAborted(ctx.abortSignal);
  const hookFailures: HookFailure[] = [];
  const resolved: PolicyResultMap = options.resolvedPolicies ?? new Map();
  const asking: Asking<Env> = {
    ctx,
    resolved,
    report(failure) {
      hookFailures.push(failure);
      ctx.onHookError?.(failure);
    },
  };
  const trail = await walk(root, asking);
  throwIfAborted(ctx.abortSignal);
  return { ...enabled(trail, resolved), resolvedPolicies: resolved, hookFailures };
}

interface Asking<Env> {
  readonly ctx: ToolkitContext<Env>;
  readonly resolved: PolicyResultMap;
  readonly report: (failure: HookFailure) => void;
}

async function walk<Env>(root: Composable<Env>, asking: Asking<Env>): Promise<Trail<Env>> {
  const { ctx, resolved } = asking;
  const trail: Trail<Env> = [];
  const open: Open<Env>[] = [];
  let here: Composable<Env> | undefined = root;
  for (;;) {
    const parent = open.at(-1);
    if (here === undefined) {
      // Nothing follows in this toolkit.
      open.pop();
      trail.push(null);
    } else if (here.kind === 'tool') {
      for (const policy of here.policies) if (!resolved.has(policy)) await ask(policy, here, parent, asking);
      trail.push({ tool: here, parent });
    } else {
      const composable: Toolkit<Env> | DynamicToolkit<Env> = here;
      const { hooks } = composable;
      const outer = parent?.layers ?? NO_LAYERS;
      const layers = hooks === undefined ? outer : [...outer, hooks];
      let members: readonly Composable<Env>[] = [];
      let gates = parent?.gates ?? [];
      if (composable.kind === 'toolkit') {
        members = composable.members;
      } else {
        const { policies } = composable;
        for (const policy of policies)
          if (!resolved.has(policy)) await ask(policy, composable, parent, asking);
        if (policies.length > 0) gates = [...gates, ...policies];
        // One that is denied is walked as if it had no members.
        if (policies.every((policy) => resolved.get(policy) === true)) {
          members = await createMembers(composable, parent, ctx);
        }
      }
      const entered: Open<Env> = { composable, members, parent, layers, gates, next: 0 };
      open.push(entered);
      checkLevel(open.length, pointer([root.name]));
      trail.push(entered);
    }
    const top = open.at(-1);
    if (top === undefined) return trail;
    here = top.members[top.next++];
  }
}

const NO_LAYERS: HookLayers = [];

/** Asks a policy and notes what it said. */
async function ask<Env>(
  policy: SharedPolicy<Env>,
  asked: Tool<Env> | DynamicToolkit<Env>,
  parent: Open<Env> | undefined,
  { ctx, resolved, report }: Asking<Env>,
): Promise<void> {
  throwIfAborted(ctx.abortSignal);
  const { ok, error } = await decide(policy, ctx.env, ctx.abortSignal);
  resolved.set(policy, ok);
  const layers = [...(parent?.layers ?? NO_LAYERS), asked.hooks, ctx.pipelineHooks];
  if (!hasHook(layers, 'onPolicyEvaluated')) return;
  const why = error === undefined ? {} : { error };
  const where = { phase: asked.kind, place: placeOf(asked, parent) };
  await runHooks(
    layers,
    'onPolicyEvaluated',
    { ok, policyId: policy.id, ...where, ...why, env: ctx.env },
    report,
  );
}

async function createMembers<Env>(
  composable: DynamicToolkit<Env>,
  parent: Open<Env> | undefined,
  ctx: ToolkitContext<Env>,
): Promise<readonly Composable<Env>[]> {
  throwIfAborted(ctx.abortSignal);
  try {
    const made = (async () => composable.create(ctx))();
    return memberList(await untilAborted(ctx.abortSignal, made), composable.name);
  } catch (cause) {
    if (cause instanceof BullaError && cause.code.startsWith('CAPABILITY_')) throw cause;
    const path = placeOf(composable, parent);
    const why = `The dynamic toolkit ${JSON.stringify(composable.name)} could not make its members.`;
    throw new BullaError('CAPABILITY_CREATE_FAILED', why, { path, cause });
  }
}

/** Which of the tools met are enabled, and the text that goes with them. */
function enabled<Env>(
  trail: Trail<Env>,
  resolved: PolicyResultMap,
): Pick<Evaluation<Env>, 'tools' | 'disabled' | 'instructions' | 'policyResults'> {
  const policyResults = resultsById(resolved);
  const tools = new Map<string, ToolSpec<Env>>();
  const places = new Map<string, Met<Env>>();
  const disabled: Disabled[] = [];
  const texts: string[] = [];
  /** For each open toolkit, how many tools and texts there were before it, and who denies it. */
  const before: { tools: number; texts: number; deniedBy: readonly string[] }[] = [];
  for (const step of trail) {
    if (step === null) {
      const start = before.pop()!;
      // Of a toolkit without an enabled tool nothing is told.
      if (tools.size === start.tools) texts.length = start.texts;
    } else if ('tool' in step) {
      const { tool, parent } = step;
      const outer = before.at(-1)?.deniedBy ?? NOBODY;
      const own = deniers(tool.policies, policyResults);
      const deniedBy = outer.length === 0 ? own : [...outer, ...own];
      if (deniedBy.length > 0) {
        disabled.push({ kind: 'tool', name: tool.name, place: placeOf(tool, parent), deniedBy });
        continue;
      }
      const twin = places.get(tool.name);
      if (twin !== undefined) collision(twin, step);
      places.set(tool.name, step);
      tools.set(tool.name, specOf(tool, parent?.layers ?? NO_LAYERS, parent?.gates));
      for (const line of tool.instructions) if (line !== '') texts.push(line);
    } else {
      const { composable, parent } = step;
      const outer = before.at(-1)?.deniedBy ?? NOBODY;
      const own = composable.kind === 'toolkit' ? NOBODY : deniers(composable.policies, policyResults);
      if (own.length > 0) {
        const place = placeOf(composable, parent);
        disabled.push({ kind: 'dynamicToolkit', name: composable.name, place, deniedBy: own });
      }
      before.push({ tools: tools.size, texts: texts.length, deniedBy: [...outer, ...own] });
      const { instructions } = composable;
      for (const line of typeof instructions === 'string' ? [instructions] : (instructions ?? []))
        if (line !== '') texts.push(line);
    }
  }
  return { tools, disabled, instructions: texts.join('\n\n'), policyResults };
}

const NOBODY: readonly string[] = [];

function deniers(
  policies: readonly SharedPolicy[],
  results: ReadonlyMap<string, boolean>,
): readonly string[] {
  if (policies.length === 0) return NOBODY;
  return [...new Set(policies.map(({ id }) => id))].filter((id) => results.get(id) !== true);
}

function collision<Env>(first: Met<Env>, second: Met<Env>): never {
  const [one, other] = [first, second].map(({ tool, parent }) => placeOf(tool, parent));
  const why = `Two enabled tools are named ${JSON.stringify(second.tool.name)}: ${one} and ${other}.`;
  throw new BullaError('CAPABILITY_NAME_COLLISION', why, { path: other! });
}

/** The names that lead to a composable, as a JSON Pointer. */
function placeOf<Env>(composable: Composable<Env>, parent: Open<Env> | undefined): string {
  const names = [composable.name];
  for (let step = parent; step !== undefined; step = step.parent) names.unshift(step.composable.name);
  return pointer(names);
}
