import type { PolicyEvaluatedPhase } from './policy.ts';

export interface PolicyEvaluated {
  readonly ok: boolean;
  readonly policyId: string;
  readonly phase: PolicyEvaluatedPhase;
  /** The tool, or the dynamic toolkit, whose policy it is, as the path of names that leads to it. */
  readonly place: string;
  /** Why it denies. */
  readonly error?: string;
  readonly env: unknown;
}

export interface ToolExecuted {
  readonly ok: boolean;
  readonly toolName: string;
  readonly input: unknown;
  /** What a tool that does not stream gave. */
  readonly output?: unknown;
  /** How many values a tool that streams gave. */
  readonly yielded?: number;
  /** Whether whoever read a stream stopped before its end. */
  readonly stopped?: boolean;
  readonly error?: string;
  /** Only where the context brings a clock. */
  readonly durationMs?: number;
  readonly env: unknown;
}

/** Functions that look on. They are awaited, they are not hashed, and what they throw changes nothing. */
export interface ToolPipelineHooks {
  readonly onPolicyEvaluated?: ((event: PolicyEvaluated) => unknown) | undefined;
  readonly onToolExecuted?: ((event: ToolExecuted) => unknown) | undefined;
}

/** A hook that threw. */
export interface HookFailure {
  readonly hook: keyof ToolPipelineHooks;
  readonly error: unknown;
}

export type HookLayers = readonly (ToolPipelineHooks | undefined)[];

/** Calls the hooks of a name, layer by layer, and hands what they throw to `report`. Never throws. */
export async function runHooks<Name extends keyof ToolPipelineHooks>(
  layers: HookLayers,
  hook: Name,
  event: Parameters<NonNullable<ToolPipelineHooks[Name]>>[0],
  report: ((failure: HookFailure) => void) | undefined,
): Promise<void> {
  for (const layer of layers) {
    const run = layer?.[hook] as ((event: unknown) => unknown) | undefined;
    if (run === undefined) continue;
    try {
      await run.call(layer, event);
    } catch (error) {
      try {
        report?.({ hook, error });
      } catch {
        // Whoever is told of failures has no better place to fail.
      }
    }
  }
}

/** Whether any layer has the hook, so that its event must be made. */
export function hasHook(layers: HookLayers, hook: keyof ToolPipelineHooks): boolean {
  return layers.some((layer) => layer?.[hook] !== undefined);
}
