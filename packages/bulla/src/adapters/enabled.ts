import type { Evaluation, StandardSchema, ToolRuntimeContext, ToolSpec } from '@bulla/core/capability';
import { executeTool } from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';

/** Tools that may be called, and what the policies said of them: an evaluation, or an earlier run that was hydrated. */
export type Enabled<Env> = Pick<Evaluation<Env>, 'tools'> &
  Pick<ToolRuntimeContext<Env>, 'resolvedPolicies' | 'policyResults' | 'policySnapshotMode'>;

/**
 * Calls a tool through its gate. What the policies said when the tools were evaluated goes with the call, unless the
 * context has its own; either of the two signals ends it.
 */
export function call<Env>(
  enabled: Enabled<Env>,
  spec: ToolSpec<Env>,
  ctx: ToolRuntimeContext<Env>,
  input: unknown,
  more: { readonly signal?: AbortSignal | undefined; readonly options?: unknown } = {},
): Promise<unknown> | AsyncGenerator<unknown, unknown> {
  const { resolvedPolicies, policyResults, policySnapshotMode } = enabled;
  const signals = [ctx.abortSignal, more.signal].filter((signal) => signal !== undefined);
  const abortSignal = signals.length === 0 ? undefined : AbortSignal.any(signals);
  const runtime = { resolvedPolicies, policyResults, policySnapshotMode, ...ctx, abortSignal };
  return executeTool(spec, runtime, input, more.options);
}

/** What a call gave in the end; of a stream its last value. Rejects with what the call rejects with. */
export async function lastOf(output: unknown): Promise<unknown> {
  const given = await output;
  if (typeof given !== 'object' || given === null || !(Symbol.asyncIterator in given)) return given;
  let last: unknown;
  for await (const value of given as AsyncIterable<unknown>) last = value;
  return last;
}

/**
 * The JSON Schema of what a tool takes: by Standard JSON Schema where the schema has it, because that tells what goes
 * in from what comes out, else what its `toJSONSchema()` returns. Throws `ADAPTER_SCHEMA` for a schema that has
 * neither, or that fails.
 */
export function inputJsonSchema(
  name: string,
  schema: StandardSchema,
  target: 'draft-07' | 'draft-2020-12',
): Record<string, unknown> {
  const path = pointer(['tools', name, 'inputSchema']);
  const standard = schema['~standard'].jsonSchema as
    | { input?: (options: { target: string }) => unknown }
    | undefined;
  const { toJSONSchema } = schema as { toJSONSchema?: () => unknown };
  let found: unknown;
  try {
    if (typeof standard?.input === 'function') found = standard.input({ target });
    else if (typeof toJSONSchema === 'function') found = toJSONSchema.call(schema);
  } catch (cause) {
    const why = `The schema of the tool ${JSON.stringify(name)} cannot be written as JSON Schema.`;
    throw new BullaError('ADAPTER_SCHEMA', why, { path, cause });
  }
  const isObject = typeof found === 'object' && found !== null && !Array.isArray(found);
  // A schema may answer with a promise, which is no schema.
  if (isObject && typeof (found as Record<string, unknown>).then !== 'function')
    return found as Record<string, unknown>;
  const why = `The schema of the tool ${JSON.stringify(name)} has no form as JSON Schema, so nobody can be told what it takes.`;
  throw new BullaError('ADAPTER_SCHEMA', why, { path });
}
