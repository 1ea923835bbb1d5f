import {
  type Affordances,
  AGENT_SNAPSHOT_ENVELOPE_VERSION,
  type AgentSnapshotEnvelope,
  type CapabilityLink,
  captureAgentRuntimeSnapshot,
  computeFullCapabilityLink,
  type Disabled,
  explainCapabilityLinkRelationship,
  type RegisteredAgent,
  type RuntimeToolAugments,
  type ToolkitContext,
  type ToolPipelineHooks,
  throwIfAborted,
  untilAborted,
} from '@bulla/core/capability';
import type { SealedCapsule } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { type Failure, failureAt, type Stage } from '@bulla/core/evidence';
import { type Call, createRecorder, type Intent, type OnLoss, type Recorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';
import { Calls, isAbort, isStream, type TurnTool } from './call.ts';
import { DOOR, failureIn, turnEvidence, turnPart } from './evidence.ts';
import { type Hashed, hashedEnvelope, hashedLink } from './hashed.ts';
import { type OnHookError, type RunEvent, runSessionHooks, type SessionHooks } from './hooks.ts';
import type { AgentRecord } from './rows.ts';
import { type Begun, beginTurn, type SessionRecord } from './sessions.ts';

/** Data for a session, or a function that makes it of what there is so far. */
export type ContextSource =
  | Readonly<Record<string, unknown>>
  | ((soFar: Readonly<Record<string, unknown>>) => ContextData | Promise<ContextData>);
type ContextData = Readonly<Record<string, unknown>>;

export interface TurnOptions {
  /** Wins over the contexts of the agent, the host and the session. */
  readonly context?: ContextSource;
  /** What this turn is bound to; it becomes the invocation hash. */
  readonly invocationContext?: unknown;
  readonly runtimeToolAugments?: RuntimeToolAugments;
  readonly hooks?: SessionHooks;
  readonly signal?: AbortSignal;
  /** A W3C trace id, or the request's id. */
  readonly correlationId?: string;
}

/** One turn, in which tools can be called. */
export interface Turn<Env> {
  readonly sessionId: string;
  /** Counted from 1 in the session, whoever runs its turns. */
  readonly number: number;
  /** The capsule with which the turn began; it is durable. */
  readonly capsule: SealedCapsule;
  readonly link: CapabilityLink;
  readonly linkHash: string;
  /** How the link stands to that of the turn before; null in the first turn. */
  readonly relation: string | null;
  /** The text for the model. */
  readonly instructions: string;
  readonly tools: readonly TurnTool[];
  readonly disabled: readonly Disabled[];
  readonly context: Env;
  readonly signal: AbortSignal | undefined;
  /**
   * Calls a tool. Its policies are asked, the intent is durable before it runs, and the outcome before this resolves.
   * The arguments are JSON. A tool that streams gives its stream.
   *
   * Rejects, before anything was done, with `SESSION_TOOL_UNKNOWN`, `SESSION_TOOL_DISABLED`, `SESSION_TURN_OVER`,
   * `CAPABILITY_POLICY_DENIED`, `KILLED`, with `VALUE_…` for arguments that are not JSON, and with whatever keeps the
   * intent from being stored; with what the tool throws, unchanged; and with `RECORD_OUTCOME_LOST`, whose `result` is
   * what the tool gave.
   */
  call(name: string, input?: unknown, options?: unknown): Promise<unknown>;
  /** The same for a tool that streams: it starts when it is first read. Another gives its output as the end of none. */
  stream(name: string, input?: unknown, options?: unknown): AsyncGenerator<unknown, unknown>;
}

/** What the turns of a session share. */
interface TurnSetting<Env> {
  readonly store: Store;
  readonly agent: RegisteredAgent<Env>;
  readonly record: AgentRecord;
  readonly session: SessionRecord;
  /** Those of the agent, the host and the session. */
  readonly contexts: readonly (ContextSource | undefined)[];
  readonly layers: readonly (SessionHooks | undefined)[];
  readonly pipelineHooks: ToolPipelineHooks | undefined;
  readonly allowlist: readonly string[] | undefined;
  readonly keepEnvelopes: boolean;
  readonly recordPayloads: boolean;
  readonly signal: AbortSignal | undefined;
  readonly onHookError: OnHookError;
  readonly onLoss: OnLoss;
}

/** A turn that has begun. */
interface Started<Env> {
  readonly turn: Turn<Env>;
  readonly intent: Intent;
  readonly calls: Calls<Env>;
  readonly event: RunEvent;
}

/** Runs one turn; see `Session.turn`. */
export async function runTurn<Env, T>(
  setting: TurnSetting<Env>,
  options: TurnOptions,
  run: (turn: Turn<Env>) => T | Promise<T>,
): Promise<T> {
  const { store, session, agent, record } = setting;
  const signal = anyOf(setting.signal, options.signal);
  const layers = [...setting.layers, options.hooks];
  const about = { sessionId: session.id, agentId: session.agentId };
  const tell = <Name extends keyof SessionHooks>(
    hook: Name,
    event: Parameters<NonNullable<SessionHooks[Name]>>[0],
    until?: AbortSignal,
  ) => runSessionHooks(layers, hook, event, setting.onHookError, until);
  const recorder = createRecorder(store.chain(session.chain), { recordPayloads: setting.recordPayloads });
  const call: Call = {
    ...{ door: DOOR, type: 'agent', ...about, source: session.agentId, request: 'session/turn' },
    correlationId: options.correlationId ?? null,
  };

  const begin = async (): Promise<Started<Env>> => {
    let stage: Stage = 'session';
    try {
      throwIfAborted(signal);
      await tell('onStart', about, signal);
      await tell('onBeforeContext', about, signal);
      const context = await untilAborted(signal, mergeContexts([...setting.contexts, options.context]));
      await tell('onAfterContext', { ...about, context }, signal);
      stage = 'kill';
      await store.assertMayAct(session.agentId);
      stage = 'session';
      const ctx = contextOf(setting, context as Env, signal);
      const evaluated = await evaluate(setting, ctx, options);
      return await start(setting, recorder, call, ctx, evaluated);
    } catch (error) {
      // A store that failed may have written the intent all the same: nothing more is said of it.
      const silent = isAbort(error, signal) || (error instanceof BullaError && /^STORE_/.test(error.code));
      if (!silent) {
        const part = turnPart({ agent: record.id, capability: { static: agent.staticHash } });
        await recorder
          .denied(call, failureIn(stage, error), [part])
          .catch((lost) => setting.onLoss({ error: lost, intent: null }));
      }
      throw error;
    }
  };

  try {
    const { turn, intent, calls, event } = await begin();
    const started = performance.now();
    const end = async (failure: Failure | null, result?: T) => {
      calls.close();
      const status = failure === null ? 'success' : 'failure';
      const durationMs = performance.now() - started;
      try {
        await recorder.outcome(intent, { status, failure, durationMs, metrics: calls.counts, result });
      } catch (error) {
        setting.onLoss({ error, intent: intent.capsule });
        throw error;
      }
    };
    let result: T;
    try {
      await tell('onBeforeRun', event, signal);
      throwIfAborted(signal);
      result = await untilAborted(signal, (async () => run(turn))());
    } catch (error) {
      await end(failureAt('action', error)).catch(() => undefined);
      throw error;
    }
    await end(null, result);
    await tell('onAfterRun', { ...event, result });
    return result;
  } catch (error) {
    await tell('onError', { ...about, error });
    throw error;
  }
}

/** What the agent can do in this turn, and the link that says so. */
interface Evaluated<Env> {
  readonly found: Affordances<Env>;
  readonly link: Hashed<CapabilityLink>;
  readonly envelope: Hashed<AgentSnapshotEnvelope> | null;
}

async function evaluate<Env>(
  setting: TurnSetting<Env>,
  ctx: ToolkitContext<Env>,
  { invocationContext, runtimeToolAugments }: TurnOptions,
): Promise<Evaluated<Env>> {
  const { agent, allowlist, record } = setting;
  const options = {
    agent,
    ctx,
    invocationContext,
    invocationContextAllowlist: allowlist,
    runtimeToolAugments,
  };
  if (!setting.keepEnvelopes) {
    const found = await computeFullCapabilityLink(options);
    return { found, link: hashedLink(found.link), envelope: null };
  }
  // The context of an invocation is a payload: its hash is kept, and it is shown only so that it can be checked.
  const found = await captureAgentRuntimeSnapshot({ ...options, omitInvocationContext: true });
  const envelope: AgentSnapshotEnvelope = {
    schemaVersion: AGENT_SNAPSHOT_ENVELOPE_VERSION,
    static: record.definition,
    runtime: found.runtime,
  };
  return {
    found,
    link: hashedLink(found.link),
    envelope: hashedEnvelope(envelope, { invocationContext, allowlist }),
  };
}

/**
 * The contexts as one object; a later one wins. Throws `SESSION_CONTEXT` for one that is no object, and what the
 * functions throw.
 */
async function mergeContexts(sources: readonly (ContextSource | undefined)[]): Promise<ContextData> {
  let merged: ContextData = {};
  for (const source of sources) {
    if (source === undefined) continue;
    const data: unknown = typeof source === 'function' ? await source(merged) : source;
    if (typeof data !== 'object' || data === null || Array.isArray(data))
      throw new BullaError('SESSION_CONTEXT', 'The context of a session is an object.');
    merged = { ...merged, ...data };
  }
  return Object.freeze(merged);
}

function contextOf<Env>(
  { agent, pipelineHooks, onHookError }: TurnSetting<Env>,
  env: Env,
  signal: AbortSignal | undefined,
): ToolkitContext<Env> {
  const { agentId, name } = agent;
  return { env, agentId, agentName: name, abortSignal: signal, pipelineHooks, onHookError };
}

/** The turn gets its number and its intent. Rejects as `Recorder.intent` and `beginTurn` do. */
async function start<Env>(
  { store, record, session, onLoss }: TurnSetting<Env>,
  recorder: Recorder,
  call: Call,
  ctx: ToolkitContext<Env>,
  { found, link, envelope }: Evaluated<Env>,
): Promise<Started<Env>> {
  const envelopeHash = envelope?.hash ?? null;
  const evidence = turnEvidence({ agent: record.id, linkHash: link.hash, link: link.value, envelopeHash });
  const part = turnPart(evidence);
  let begun: Begun | undefined;
  const intent = await recorder.intent(call, [
    {
      ...part,
      onIntent: (capsuleId) =>
        beginTurn({ session, agent: record.id, link, envelope, capsuleId }, (place) => {
          begun = place;
        }),
    },
  ]);
  const { capsule } = intent;
  const { number, before } = begun!;
  const relation = before === null ? null : explainCapabilityLinkRelationship(before.value, link.value);
  const { instructions, disabled, resolvedPolicies } = found;
  const runtime = { ...ctx, resolvedPolicies, now: () => performance.now() };
  const inTurn = { ...call, type: 'tool', parentId: capsule.id } as const;
  const calls = new Calls({ store, recorder, inTurn, part, found, link: link.value, runtime, onLoss });
  const turn: Turn<Env> = {
    ...{ sessionId: session.id, number, capsule, link: link.value, linkHash: link.hash, relation },
    ...{ instructions, disabled, tools: calls.tools, context: ctx.env, signal: ctx.abortSignal },
    call: (name, input, options) => calls.call(name, input, options),
    async *stream(name, input, options) {
      const output = await calls.call(name, input, options);
      return isStream(output) ? yield* output : output;
    },
  };
  const event: RunEvent = {
    ...{ sessionId: session.id, agentId: session.agentId, turn: number, capsuleId: capsule.id },
    ...{ linkHash: link.hash, link: link.value, relation },
    context: ctx.env as RunEvent['context'],
  };
  return { turn, intent, calls, event };
}

function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}
