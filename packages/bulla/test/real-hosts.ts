import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';

/** Hosts that are made with the SDK: of version 1, and of version 2 in each of its ways to choose an era. */
export const HOSTS = ['v1', 'legacy', 'auto', 'pinned'] as const;
export type HostKind = (typeof HOSTS)[number];

/** Where a host finds its server. */
export type Reached =
  | {
      readonly words: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd: string;
    }
  | { readonly url: string; readonly token?: string };

/** What both clients of the SDK can do; the answers are what a host sees. */
export interface RealHost {
  listTools(): Promise<{ tools: readonly unknown[] }>;
  listPrompts(): Promise<{ prompts: readonly unknown[] }>;
  listResources(): Promise<{ resources: readonly unknown[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: readonly unknown[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<unknown>;
  readResource(params: { uri: string }): Promise<unknown>;
  complete(params: {
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
    argument: { name: string; value: string };
  }): Promise<unknown>;
  getServerCapabilities(): Readonly<Record<string, unknown>> | undefined;
  getServerVersion(): unknown;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

const info = { name: 'real-host', version: '1' };
const capabilities = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };
const roots = { roots: [] };
const sampled = {
  role: 'assistant' as const,
  model: 'm',
  content: { type: 'text' as const, text: 'sampled' },
};
const elicited = { action: 'decline' as const };

export async function connectHost(kind: HostKind, to: Reached): Promise<RealHost> {
  const client = kind === 'v1' ? await connectV1(to) : await connectV2(kind, to);
  onTestFinished(() => client.close());
  return client as unknown as RealHost;
}

async function connectV1(to: Reached): Promise<ClientV1> {
  const client = new ClientV1(info, { capabilities });
  client.setRequestHandler(ListRootsRequestSchema, () => roots);
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled);
  client.setRequestHandler(ElicitRequestSchema, () => elicited);
  const transport = 'url' in to ? new HttpV1(new URL(to.url), http(to.token)) : new StdioV1(program(to));
  // Its own types disagree about an optional member.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return client;
}

async function connectV2(kind: Exclude<HostKind, 'v1'>, to: Reached): Promise<Client> {
  const mode = kind === 'pinned' ? { pin: '2026-07-28' } : kind;
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('roots/list', () => roots);
  client.setRequestHandler('sampling/createMessage', () => sampled);
  client.setRequestHandler('elicitation/create', () => elicited);
  await client.connect(
    'url' in to
      ? new StreamableHTTPClientTransport(new URL(to.url), http(to.token))
      : new StdioClientTransport(program(to)),
  );
  return client;
}

const http = (token?: string) =>
  token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } };

function program({ words, env, cwd }: Extract<Reached, { words: unknown }>) {
  const [command, ...args] = words;
  return {
    command: command!,
    args,
    env: { ...env },
    cwd,
    stderr: 'ignore' as const,
  };
}
