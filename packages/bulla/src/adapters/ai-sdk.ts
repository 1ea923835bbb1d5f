/** Tools of an evaluated agent for the Vercel AI SDK (`ai` 7, which the host brings). */
import type { ToolRuntimeContext, ToolSpec } from '@bulla/core/capability';
import { jsonSchema, type Tool, type ToolSet } from 'ai';
import { call, type Enabled, inputJsonSchema, lastOf } from './enabled.ts';

/**
 * The enabled tools as a tool set for `generateText`, `streamText` and agents. Each call goes through the gate: its
 * policies are asked, its input is validated, and the SDK's own signal ends it too. The model is shown the JSON Schema
 * of what goes in; the schema is applied once, by the tool, so that transforms do not run twice. Of a tool that
 * streams, each value is a preliminary result and the last one the result. Throws `ADAPTER_SCHEMA`.
 *
 * The text for the model is not in a tool set: give it as `instructions`.
 */
export function aiSdkTools<Env>(enabled: Enabled<Env>, ctx: ToolRuntimeContext<Env>): ToolSet {
  // Without a prototype, a model that calls `constructor` finds nothing.
  const tools: ToolSet = Object.create(null);
  for (const [name, spec] of enabled.tools) tools[name] = aiSdkTool(enabled, spec, ctx);
  return tools;
}

function aiSdkTool<Env>(
  enabled: Enabled<Env>,
  spec: ToolSpec<Env>,
  ctx: ToolRuntimeContext<Env>,
): Tool<unknown, unknown> {
  const { name, description, inputSchema, stream } = spec;
  const execute = (input: unknown, options: { readonly abortSignal?: AbortSignal | undefined }) => {
    const output = call(enabled, spec, ctx, input, { signal: options.abortSignal, options });
    return stream ? (output as AsyncGenerator<unknown>) : lastOf(output);
  };
  return {
    ...(description === null ? {} : { description }),
    inputSchema: jsonSchema(inputJsonSchema(name, inputSchema, 'draft-07'), {
      // The value stays as the model wrote it: the tool itself makes of it what its schema says.
      async validate(value) {
        const result = await inputSchema['~standard'].validate(value);
        if (result.issues === undefined) return { success: true, value };
        const issues = result.issues.map(({ message }) => message).join('; ');
        return { success: false, error: new TypeError(issues, { cause: result.issues }) };
      },
    }),
    execute,
  };
}
