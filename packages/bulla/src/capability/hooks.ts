import {
  type CapabilityLink,
  type HookFailure,
  type ToolPipelineHooks,
  untilAborted,
} from '@bulla/core/capability';

/** Which turn a hook is told of. */
export interface TurnEvent {
  readonly sessionId: string;
  readonly agentId: string;
}

export interface ContextEvent extends TurnEvent {
  readonly context: Readonly<Record<string, unknown>>;
}

export interface RunEvent extends ContextEvent {
  readonly turn: number;
  /** The capsule with which the turn began. */
  readonly capsuleId: string;
  readonly linkHash: string;
  readonly link: CapabilityLink;
  /** How the link stands to that of the turn before; null in the first turn. */
  readonly relation: string | null;
}

export interface RanEvent extends RunEvent {
  readonly result: unknown;
}

export interface ErrorEvent extends TurnEvent {
  readonly error: unknown;
}

/**
 * Functions that look on, in the order in which they are called. They are awaited, and what they throw changes
 * nothing but is told to `onHookError`. To forbid something there are policies.
 */
export interface SessionHooks {
  readonly onStart?: ((event: TurnEvent) => unknown) | undefined;
  /** The contexts are about to be merged. */
  readonly onBeforeContext?: ((event: TurnEvent) => unknown) | undefined;
  readonly onAfterContext?: ((event: ContextEvent) => unknown) | undefined;
  /** The agent was evaluated and its link is made; the turn's intent is durable. */
  readonly onBeforeRun?: ((event: RunEvent) => unknown) | undefined;
  /** The outcome is durable. */
  readonly onAfterRun?: ((event: RanEvent) => unknown) | undefined;
  /** The turn was refused or failed; that is recorded. */
  readonly onError?: ((event: ErrorEvent) => unknown) | undefined;
}

/** A hook that threw, of the session or of a tool. */
export interface SessionHookFailure {
  readonly hook: keyof SessionHooks | keyof ToolPipelineHooks;
  readonly error: unknown;
}

export type OnHookError = (failure: SessionHookFailure | HookFailure) => void;

/** Calls the hooks of a name, layer by layer. Throws `CAPABILITY_ABORTED` once the signal is given, and nothing else. */
export async function runSessionHooks<Name extends keyof SessionHooks>(
  layers: readonly (SessionHooks | undefined)[],
  hook: Name,
  event: Parameters<NonNullable<SessionHooks[Name]>>[0],
  report: OnHookError,
  signal?: AbortSignal,
): Promise<void> {
  for (const layer of layers) {
    const run = layer?.[hook] as ((event: unknown) => unknown) | undefined;
    if (run === undefined) continue;
    // What it throws is kept apart from the abort, which is not its error.
    const told = (async () => run.call(layer, event))().catch((error: unknown) => report({ hook, error }));
    await untilAborted(signal, told);
  }
}
