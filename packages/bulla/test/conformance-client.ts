// The client that the suite @modelcontextprotocol/conformance runs in its client scenarios: `node conformance-client.ts
// URL`. The suite sets MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION and, for some, MCP_CONFORMANCE_CONTEXT.
//
// BULLA_CONFORMANCE_GATEWAY puts a gateway in between: the words of its command as a JSON list, in which {url} stands for
// URL. This program is its host over stdio then, and opens each page where the gateway asks somebody to sign in.
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import {
  Client,
  type OAuthClientInformationContext,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as z from 'zod';

const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env;
const url = new URL(z.string().parse(process.argv.at(-1)));
const context = z
  .looseObject({
    toolCalls: z
      .array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }))
      .default([]),
    client_id: z.string().optional(),
    client_secret: z.string().optional(),
    issuer: z.string().optional(),
  })
  .parse(JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}'));
/** How often this client goes on after somebody has signed in. It asks for that once more, and gives up. */
const MAX_SIGN_INS = 2;

type Work = (client: Client) => Promise<unknown>;

const callAll: Work = async (client) => {
  for (const { name } of (await client.listTools()).tools) await client.callTool({ name, arguments: {} });
};

/** What a client does in each scenario; in the others it lists the tools and calls each of them. */
const WORK: Readonly<Record<string, Work>> = {
  initialize: (client) => client.listTools(),
  tools_call: async (client) => {
    await client.listTools();
    await client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } });
  },
  'request-metadata': (client) => client.listTools(),
  'json-schema-ref-no-deref': (client) => client.listTools(),
  'json-schema-2020-12-preservation': async (client) => {
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema;
    await client.callTool({ name: 'json_schema_echo', arguments: { schema } });
  },
  'sep-2322-client-request-state': async (client) => {
    for (const { name } of (await client.listTools()).tools) {
      const result = client.callTool({ name, arguments: {} });
      // The last tool answers without `resultType`, which the SDK refuses.
      await (name === 'test_mrtr_no_result_type' ? result.catch(() => {}) : result);
    }
  },
  'http-standard-headers': async (client) => {
    await callAll(client);
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
  },
  'http-custom-headers': async (client) => {
    await client.listTools();
    for (const call of context.toolCalls) await client.callTool(call);
  },
  'http-invalid-tool-headers': async (client) => {
    for (const { name, inputSchema } of (await client.listTools()).tools) {
      const names = Object.keys(inputSchema.properties ?? {});
      await client.callTool({ name, arguments: Object.fromEntries(names.map((key) => [key, 'x'])) });
    }
  },
};

function createClient(): Client {
  const client = new Client(
    { name: 'bulla-conformance-client', version: '1.0.0' },
    {
      // Defaults of a form are filled in for what the handler leaves out (SEP-1034).
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      versionNegotiation: { mode: version === '2026-07-28' ? { pin: version } : 'legacy' },
    },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }));
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    content: { type: 'text', text: 'Yes.' },
    model: 'none',
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [] }));
  return client;
}

/** Signs in without a person: the suite's authorization server leads back at once. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:1/callback';
  readonly clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
  readonly clientMetadata = {
    client_name: 'bulla-conformance-client',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
  /** Where the person was led back to, which is not opened. */
  callback = new URLSearchParams();
  #clients = new Map<string | undefined, StoredOAuthClientInformation>();
  #tokens: StoredOAuthTokens | undefined;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  constructor() {
    const { client_id, client_secret, issuer } = context;
    if (client_id !== undefined && client_secret !== undefined)
      this.#clients.set(issuer, { client_id, client_secret });
  }
  clientInformation(about?: OAuthClientInformationContext) {
    return this.#clients.get(about?.issuer);
  }
  saveClientInformation(client: StoredOAuthClientInformation, about?: OAuthClientInformationContext) {
    this.#clients.set(about?.issuer, client);
  }
  tokens() {
    return this.#tokens;
  }
  saveTokens(tokens: StoredOAuthTokens) {
    this.#tokens = tokens;
  }
  async redirectToAuthorization(page: URL) {
    const { headers } = await fetch(page, { redirect: 'manual' });
    this.callback = new URL(z.string().parse(headers.get('location'))).searchParams;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier() {
    return this.#verifier;
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovery = state;
  }
  discoveryState() {
    return this.#discovery;
  }
  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
    if (scope === 'all' || scope === 'client') this.#clients.clear();
    if (scope === 'all' || scope === 'tokens') this.#tokens = undefined;
    if (scope === 'all' || scope === 'discovery') this.#discovery = undefined;
  }
}

/** Does the work, anew after each time that somebody had to sign in. */
async function overHttp(work: Work): Promise<void> {
  const provider = new Provider();
  for (let signIns = 0; ; signIns++) {
    const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
    const client = createClient();
    try {
      await client.connect(transport);
      await work(client);
      return;
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || signIns === MAX_SIGN_INS) throw error;
      await transport.finishAuth(provider.callback);
      // The next time the server may name another authorization server (SEP-2352).
      provider.invalidateCredentials('discovery');
    } finally {
      await client.close();
    }
  }
}

async function throughGateway(words: readonly string[], work: Work): Promise<void> {
  const [command, ...args] = words.map((word) => word.replaceAll('{url}', url.href));
  const env = Object.fromEntries(
    Object.entries(process.env).filter((one): one is [string, string] => !!one[1]),
  );
  const transport = new StdioClientTransport({ command: command!, args, env, stderr: 'pipe' });
  createInterface({ input: transport.stderr as Readable }).on('line', (line) => {
    process.stderr.write(`${line}\n`);
    const page = /https?:\/\/\S+[?&]code_challenge=\S+/.exec(line)?.[0];
    // The answer is for the gateway, which has its own address in the page.
    if (page !== undefined) fetch(page).catch((error) => process.stderr.write(`${error}\n`));
  });
  const client = createClient();
  try {
    await client.connect(transport);
    await work(client);
  } finally {
    await client.close();
  }
}

const gateway = process.env.BULLA_CONFORMANCE_GATEWAY;
const work = WORK[scenario] ?? callAll;
if (gateway === undefined) await overHttp(work);
else await throughGateway(z.array(z.string()).min(1).parse(JSON.parse(gateway)), work);
