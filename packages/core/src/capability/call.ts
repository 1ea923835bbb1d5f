import { BullaError } from '../error.ts';
import { throwIfAborted, untilAborted } from './abort.ts';
import type { Tool, ToolRuntimeContext } from './composable.ts';
import { type HashOptions, hashPlainObject } from './hashing.ts';
import { type HookLayers, hasHook, runHooks, type ToolExecuted } from './hooks.ts';
import { messageOf } from './names.ts';
import { type HashedTool, toolSpecCanonicalPayload } from './payloads.ts';
import type { SharedPolicy } from './policy.ts';
import { validateInput } from './standard-schema.ts';
import { rememberSpec, stateOf } from './state.ts';
import { staticHash } from './static-hash.ts';

/** A tool that was evaluated and may be called. */
export interface ToolSpec<Env = never> extends HashedTool {
  readonly policies: readonly SharedPolicy<Env>[];
  /** All that the gate asks: the policies of the dynamic toolkits that brought the tool, then its own. Not hashed. */
  readonly gates: readonly SharedPolicy<Env>[];
  readonly opaque: boolean;
  readonly stream: boolean;
  /**
   * Checks the input, does the work and tells the hooks; it asks no policy (`executeTool` does). A tool that streams
   * gives its values at once, and starts when they are read; any other gives a promise. Throws
   * `CAPABILITY_INPUT_INVALID`, `CAPABILITY_SCHEMA_…`, `CAPABILITY_ABORTED`, and whatever the handler throws.
   */
  readonly handler: (
    ctx: ToolRuntimeContext<Env>,
    input: unknown,
    options?: unknown,
  ) => Promise<unknown> | AsyncGenerator<unknown, unknown>;
}

/** The spec of a tool under the hooks and policies of its toolkits. One without such is made once. */
export function specOf<Env>(
  tool: Tool<Env>,
  layers: HookLayers,
  outer: readonly SharedPolicy<Env>[] = [],
): ToolSpec<Env> {
  const state = stateOf(tool)!;
  const isPlain = layers.length === 0 && outer.length === 0;
  if (isPlain && state.spec !== undefined) return state.spec as ToolSpec<Env>;
  const { name, description, inputSchema, instructions, policies, opaque, stream } = tool;
  const run = stream ? streamed : called;
  const spec: ToolSpec<Env> = Object.freeze({
    name,
    description,
    inputSchema,
    instructions,
    policies,
    gates: outer.length === 0 ? policies : Object.freeze([...new Set([...outer, ...policies])]),
    opaque,
    stream,
    handler: (ctx: ToolRuntimeContext<Env>, input: unknown, options?: unknown) =>
      run({ tool: tool as Tool<unknown>, layers, ctx, input, options }),
  });
  rememberSpec(spec, state);
  if (isPlain) state.spec = spec;
  return spec;
}

/** The tool of a spec that was made here, or a tool itself; undefined for anything else. */
export function toolOf(spec: object): Tool | undefined {
  return stateOf(spec)?.composable as Tool | undefined;
}

/**
 * The hash of a tool as it was evaluated. It is made of the spec itself, never looked up by a name. Throws as
 * `toolSpecCanonicalPayload` does.
 */
export function hashToolSpecStatic(spec: HashedTool, options?: HashOptions): string {
  const tool = toolOf(spec);
  if (tool !== undefined) return staticHash(tool, options);
  return hashPlainObject(toolSpecCanonicalPayload(spec, options), options);
}

interface Call {
  readonly tool: Tool<unknown>;
  readonly layers: HookLayers;
  readonly ctx: ToolRuntimeContext<unknown>;
  readonly input: unknown;
  readonly options: unknown;
}

async function called(call: Call): Promise<unknown> {
  const tell = teller(call);
  let output: unknown;
  try {
    output = await start(call);
  } catch (error) {
    await tell({ ok: false, error: messageOf(error, 'The tool failed.') });
    throw error;
  }
  // A handler may give a stream without having said so; then the call is over when the stream is.
  if (isAsyncIterable(output)) return observed(output, call, tell);
  await tell({ ok: true, output });
  return output;
}

async function* streamed(call: Call): AsyncGenerator<unknown, unknown> {
  const tell = teller(call);
  let output: unknown;
  try {
    output = await start(call);
    if (!isAsyncIterable(output)) {
      const why = `The tool ${JSON.stringify(call.tool.name)} says that it streams, and gave no stream.`;
      throw new BullaError('CAPABILITY_STREAM', why, { path: '/handler' });
    }
  } catch (error) {
    await tell({ ok: false, error: messageOf(error, 'The tool failed.') });
    throw error;
  }
  return yield* observed(output, call, tell);
}

/** Checks the input and starts the handler. */
async function start({ tool, ctx, input, options }: Call): Promise<unknown> {
  throwIfAborted(ctx.abortSignal);
  const value = await validateInput(tool.inputSchema, input, ctx.abortSignal);
  throwIfAborted(ctx.abortSignal);
  const work = tool.handler(ctx, value as never, options);
  return untilAborted(ctx.abortSignal, Promise.resolve(work));
}

/** Passes a stream on, and tells the hooks when it is over: at its end, at an error, or when nobody reads on. */
async function* observed(
  source: AsyncIterable<unknown>,
  { ctx }: Call,
  tell: Tell,
): AsyncGenerator<unknown, unknown> {
  const iterator = source[Symbol.asyncIterator]();
  let yielded = 0;
  let over = false;
  try {
    for (;;) {
      throwIfAborted(ctx.abortSignal);
      const step = await untilAborted(ctx.abortSignal, iterator.next());
      if (step.done === true) {
        over = true;
        await tell({ ok: true, yielded });
        return step.value;
      }
      yielded++;
      yield step.value;
    }
  } catch (error) {
    if (over) throw error;
    over = true;
    // Not awaited: after an abort the source may still be busy, and its end would have to be waited for.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
    await tell({ ok: false, yielded, error: messageOf(error, 'The tool failed.') });
    throw error;
  } finally {
    if (!over) {
      await iterator.return?.();
      await tell({ ok: true, yielded, stopped: true });
    }
  }
}

type Tell = (event: Omit<ToolExecuted, 'toolName' | 'input' | 'env' | 'durationMs'>) => Promise<void>;

function teller({ tool, layers, ctx, input }: Call): Tell {
  const all = [...layers, tool.hooks, ctx.pipelineHooks];
  const begun = ctx.now?.();
  return async (event) => {
    if (!hasHook(all, 'onToolExecuted')) return;
    const time = begun === undefined ? {} : { durationMs: ctx.now!() - begun };
    const whole = { ...event, toolName: tool.name, input, env: ctx.env, ...time };
    await runHooks(all, 'onToolExecuted', whole, ctx.onHookError);
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
