import {
  type Composable,
  evaluateComposable,
  evaluateRegisteredAgentAffordances,
  type RegisteredAgent,
  type ToolRuntimeContext,
} from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';
import type { Server } from '@modelcontextprotocol/server';
import { call, inputJsonSchema, lastOf } from './enabled.ts';
import { callResult } from './mcp-result.ts';

export interface ServeOptions {
  readonly name: string;
  readonly version: string;
}

export interface Served {
  close(): Promise<void>;
}

/** What can be served: an agent, whose own lines go to the client too, or tools alone. */
type Source<Env> = RegisteredAgent<Env> | Composable<Env>;

/**
 * Serves the enabled tools over standard input and output, to clients of both protocol eras. Policies are asked now,
 * to tell which tools there are, and those that bind `live` again at each call. Rejects with what the evaluation
 * throws, `ADAPTER_SCHEMA`, and `ADAPTER_PEER_MISSING`.
 */
export async function serveToolkit<Env>(
  source: Source<Env>,
  ctx: ToolRuntimeContext<Env>,
  options: ServeOptions,
): Promise<Served> {
  const factory = await serverOf(source, ctx, options);
  const { serveStdio } = await peer(() => import('@modelcontextprotocol/server/stdio'));
  return serveStdio(factory);
}

/** The same without a transport: makes a server for each connection, as the SDK's entries ask for it. */
export async function serverOf<Env>(
  source: Source<Env>,
  ctx: ToolRuntimeContext<Env>,
  options: ServeOptions,
): Promise<() => Server> {
  const { Server, ProtocolError, ProtocolErrorCode } = await peer(
    () => import('@modelcontextprotocol/server'),
  );
  const evaluation =
    'rootComposable' in source
      ? await evaluateRegisteredAgentAffordances(source, ctx)
      : await evaluateComposable(source, ctx);
  const tools = Array.from(evaluation.tools.values(), ({ name, description, inputSchema }) => ({
    name,
    ...(description === null ? {} : { description }),
    inputSchema: objectSchema(name, inputJsonSchema(name, inputSchema, 'draft-2020-12')),
  }));
  const { instructions } = evaluation;
  return () => {
    const { name, version } = options;
    const server = new Server(
      { name, version },
      { capabilities: { tools: {} }, ...(instructions === '' ? {} : { instructions }) },
    );
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const spec = evaluation.tools.get(params.name);
      if (spec === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`);
      return answer(() => call(evaluation, spec, ctx, params.arguments ?? {}, { signal: mcpReq.signal }));
    });
    return server;
  };
}

/** A tool that fails, or that a policy denies, is an answer too: the model can read why. */
async function answer(run: () => unknown) {
  try {
    return callResult(await lastOf(run()));
  } catch (error) {
    const message = error instanceof Error ? error.message : 'The tool failed.';
    const text = error instanceof BullaError ? `${message} [${error.code}]` : message;
    return { content: [{ type: 'text' as const, text }], isError: true };
  }
}

function objectSchema(name: string, schema: Record<string, unknown>) {
  if (schema.type === 'object') return schema as { type: 'object' };
  const why = `The tool ${JSON.stringify(name)} does not take an object, and MCP has no other arguments.`;
  throw new BullaError('ADAPTER_SCHEMA', why, { path: pointer(['tools', name, 'inputSchema']) });
}

async function peer<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const why = 'The package @modelcontextprotocol/server is needed to serve tools; install it beside bulla.';
    throw new BullaError('ADAPTER_PEER_MISSING', why, { cause });
  }
}
