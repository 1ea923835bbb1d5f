import { made, type Tool, type ToolRuntimeContext } from './composable.ts';
import type { ToolPipelineHooks } from './hooks.ts';
import { checkName, isText, lineList, wrongArgument } from './names.ts';
import { policyList, type SharedPolicy } from './policy.ts';
import { checkSchema, isOpaqueSchema, type OutputOf, type StandardSchema } from './standard-schema.ts';
import { staticHash } from './static-hash.ts';

export interface ToolOptions<Schema extends StandardSchema, Env> {
  readonly name: string;
  readonly description?: string | null | undefined;
  /** What inputs are checked with before the handler sees them. It is taken as unchanging. */
  readonly inputSchema: Schema;
  /** Lines for the model; their order is not hashed. */
  readonly instructions?: readonly string[] | undefined;
  /** All of them must allow the tool. */
  readonly policies?: readonly SharedPolicy<Env>[] | undefined;
  readonly hooks?: ToolPipelineHooks | undefined;
  /** Whether the output comes piece by piece. Default: whether the handler is written as an async generator. */
  readonly stream?: boolean | undefined;
  /** Does the work. It gets what the schema made of the input. */
  readonly handler: (ctx: ToolRuntimeContext<Env>, input: OutputOf<Schema>, options: unknown) => unknown;
}

/**
 * Makes a tool. Nothing of it can change afterwards, so its hash is computed once. Throws `CAPABILITY_ARGUMENT`
 * and `CAPABILITY_SCHEMA`; the schema is not converted yet.
 */
export function tool<Schema extends StandardSchema, Env = unknown>(
  options: ToolOptions<Schema, Env>,
): Tool<Env> {
  const { name, description = null, inputSchema, instructions = [], hooks, handler } = options;
  checkName(name, 'The name of a tool');
  if (description !== null && !isText(description)) wrongArgument('A description is a text.', '/description');
  checkSchema(inputSchema);
  if (typeof handler !== 'function') wrongArgument('A tool needs a function that does its work.', '/handler');
  const self: Tool<Env> = {
    kind: 'tool',
    name,
    description,
    inputSchema,
    instructions: lineList(instructions),
    policies: policyList(options.policies),
    hooks,
    opaque: isOpaqueSchema(inputSchema),
    stream: options.stream ?? handler instanceof AsyncGeneratorFunction,
    handler: handler as Tool<Env>['handler'],
    computeStaticHash: (hashing) => staticHash(self, hashing),
  };
  return made(self);
}

const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor;
