// The tools, prompts and resources whose names and answers the scenarios of @modelcontextprotocol/conformance ask for,
// written once for both eras: what asks the client for input returns `input_required`, which the SDK turns into requests
// to the client on a session that was initialized.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  completable,
  createRequestStateCodec,
  type ElicitRequestFormParams,
  fromJsonSchema,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

/** A red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
/** One silent sample. */
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==';
/** Between the notifications of one call, so that a client has to take them apart. */
const PAUSE_MS = 20;

const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' };
const text = (value: string) => ({ type: 'text' as const, text: value });
const said = (value: string): CallToolResult => ({ content: [text(value)] });
const embedded = (uri: string, mimeType: string, value: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: value },
});
const user = <C>(content: C) => ({ role: 'user' as const, content });

type Schema = ElicitRequestFormParams['requestedSchema'];
const form = (properties: Schema['properties'], required?: string[]): Schema => ({
  type: 'object',
  properties,
  ...(required && { required }),
});
const elicit = (message: string, requestedSchema: Schema) =>
  inputRequired.elicit({ message, requestedSchema });
const sample = (prompt: string) =>
  inputRequired.createMessage({ messages: [user(text(prompt))], maxTokens: 100 });
const NAME = form({ name: { type: 'string' } }, ['name']);
const OK = form({ ok: { type: 'boolean' } }, ['ok']);

/** What a `requestState` of this server says. It is signed with a key of this process. */
type State = { tool: string; round: number };
const states = createRequestStateCodec<State>({ key: randomBytes(32) });

const OPTIONS = ['option1', 'option2', 'option3'];
const TITLED = [1, 2, 3].map((n) => ({ const: `value${n}`, title: `Choice ${n}` }));
/** Every way to write an enumeration in a form (SEP-1330). */
const ENUMS = form({
  untitledSingle: { type: 'string', enum: OPTIONS },
  titledSingle: { type: 'string', oneOf: TITLED },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2'], enumNames: ['Option One', 'Option Two'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
  titledMulti: { type: 'array', items: { anyOf: TITLED } },
});
/** A default for every primitive type (SEP-1034). */
const DEFAULTS = form({
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
});
/** Keywords of JSON Schema 2020-12 that a list must carry unchanged (SEP-1613, SEP-2106). */
const KEYWORDS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

/** An argument that a client repeats in the header `Mcp-Param-Region` (SEP-2243). */
const HEADER_ARGUMENT = {
  type: 'object' as const,
  properties: { region: { type: 'string' as const, 'x-mcp-header': 'Region' } },
  required: ['region'],
};

type Answer = CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>;

/**
 * A server with the whole surface. `notifier` announces changed lists where a server lives for one request only; else the
 * server announces them itself. The lists stay the same, so that scenarios can run side by side.
 */
export function createServer(notifier?: ServerNotifier): McpServer {
  const server = new McpServer(
    { name: 'conformance', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: states.verify },
    },
  );
  const tool = (name: string, description: string, answer: (ctx: ServerContext) => Answer) =>
    server.registerTool(name, { description, inputSchema: z.object({}) }, (_arguments, ctx) => answer(ctx));
  registerContents(server, tool);
  registerQuestions(server, tool);
  tool('test_trigger_tool_change', 'Announces that the list of tools has changed.', () => {
    if (notifier) notifier.toolsChanged();
    else server.sendToolListChanged();
    return said('Announced.');
  });
  tool('test_trigger_prompt_change', 'Announces that the list of prompts has changed.', () => {
    if (notifier) notifier.promptsChanged();
    else server.sendPromptListChanged();
    return said('Announced.');
  });
  registerPrompts(server);
  registerResources(server);
  return server;
}

type Register = (name: string, description: string, answer: (ctx: ServerContext) => Answer) => void;

/** Tools that answer by themselves. */
function registerContents(server: McpServer, tool: Register): void {
  tool('test_simple_text', 'Answers with text.', () => said('This is a simple text response for testing.'));
  tool('test_image_content', 'Answers with an image.', () => ({ content: [image] }));
  tool('test_audio_content', 'Answers with audio.', () => ({
    content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  }));
  tool('test_embedded_resource', 'Answers with a resource.', () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }));
  tool('test_multiple_content_types', 'Answers with three kinds of content.', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }));
  tool('test_error_handling', 'Fails.', () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  const logs = async (ctx: ServerContext) => {
    for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.log('info', line, 'conformance');
      await sleep(PAUSE_MS);
    }
    return said('Logged three lines.');
  };
  tool('test_tool_with_logging', 'Logs three lines.', logs);
  tool('test_logging_tool', 'Logs three lines where the request sets a level.', logs);
  tool('test_tool_with_progress', 'Reports its progress three times.', async (ctx) => {
    await progress(ctx, [0, 50, 100]);
    return said('Reported the progress.');
  });
  tool(
    'test_reconnection',
    'Ends its stream before it answers; the answer waits for a reconnect.',
    async (ctx) => {
      ctx.http?.closeSSE?.();
      await sleep(PAUSE_MS);
      return said('Answered after the stream had ended.');
    },
  );
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Has a schema with many keywords.', inputSchema: fromJsonSchema(KEYWORDS) },
    () => said('Valid.'),
  );
  server.registerTool(
    'test_header_argument',
    {
      description: 'Repeats an argument that comes in a header too.',
      inputSchema: fromJsonSchema<{ region: string }>(HEADER_ARGUMENT),
    },
    ({ region }) => said(region),
  );
}

/** Reports progress where the request asks for it. */
async function progress(ctx: ServerContext, values: readonly number[]): Promise<void> {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  for (const value of values) {
    await ctx.mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken, progress: value, total: 100 },
    });
    await sleep(PAUSE_MS);
  }
}

/** Tools that ask the client for input. */
function registerQuestions(server: McpServer, tool: Register): void {
  server.registerTool(
    'test_sampling',
    { description: 'Asks for a completion.', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, ctx) => ask(ctx, { completion: sample(prompt) }),
  );
  server.registerTool(
    'test_elicitation',
    { description: 'Asks for a name and an address.', inputSchema: z.object({ message: z.string() }) },
    ({ message }, ctx) => {
      const fields = { username: { type: 'string' as const }, email: { type: 'string' as const } };
      return ask(ctx, { person: elicit(message, form(fields, ['username', 'email'])) });
    },
  );
  tool('test_elicitation_sep1034_defaults', 'Asks with default values.', (ctx) =>
    ask(ctx, { review: elicit('Please review these values.', DEFAULTS) }),
  );
  tool('test_elicitation_sep1330_enums', 'Asks with enumerations.', (ctx) =>
    ask(ctx, { choice: elicit('Please choose.', ENUMS) }),
  );
  tool('test_missing_capability', 'Needs sampling.', (ctx) => ask(ctx, { text: sample('Anything.') }));
  tool('test_streaming_elicitation', 'Reports progress, then asks.', async (ctx) => {
    await progress(ctx, [0, 50]);
    return ask(ctx, { confirm: elicit('Please confirm.', OK) });
  });
  tool('test_input_required_result_elicitation', 'Asks for a name.', (ctx) => {
    const name = acceptedContent(
      ctx.mcpReq.inputResponses,
      'user_name',
      z.object({ name: z.string() }),
    )?.name;
    if (name !== undefined) return said(`Hello, ${name}!`);
    return inputRequired({ inputRequests: { user_name: elicit('What is your name?', NAME) } });
  });
  tool('test_input_required_result_sampling', 'Asks for a completion.', (ctx) =>
    ask(ctx, { capital_question: sample('What is the capital of France?') }),
  );
  tool('test_input_required_result_list_roots', 'Asks for the roots.', (ctx) =>
    ask(ctx, { client_roots: inputRequired.listRoots() }),
  );
  for (const name of [
    'test_input_required_result_request_state',
    'test_input_required_result_tampered_state',
  ]) {
    tool(name, 'Asks, and has its state carried by the client.', async (ctx) => {
      if (ctx.mcpReq.requestState<State>()?.tool === name && accepted(ctx, 'confirm'))
        return said('state-ok');
      return inputRequired({
        inputRequests: { confirm: elicit('Please confirm.', OK) },
        requestState: await states.mint({ tool: name, round: 1 }),
      });
    });
  }
  tool('test_input_required_result_multiple_inputs', 'Asks three questions at once.', async (ctx) => {
    const questions = {
      user_name: elicit('What is your name?', NAME),
      greeting: sample('Write a greeting.'),
      client_roots: inputRequired.listRoots(),
    };
    const name = 'test_input_required_result_multiple_inputs';
    return ask(ctx, questions, await states.mint({ tool: name, round: 1 }));
  });
  tool('test_input_required_result_multi_round', 'Asks twice, one question after the other.', async (ctx) => {
    const name = 'test_input_required_result_multi_round';
    const state = ctx.mcpReq.requestState<State>();
    const round = state?.tool === name ? state.round : 0;
    if (round === 2 && accepted(ctx, 'step2')) return said('Both steps are done.');
    const second = round === 2 || (round === 1 && accepted(ctx, 'step1'));
    const color = form({ color: { type: 'string' } }, ['color']);
    return inputRequired({
      inputRequests: second
        ? { step2: elicit('Step 2: What is your favorite color?', color) }
        : { step1: elicit('Step 1: What is your name?', NAME) },
      requestState: await states.mint({ tool: name, round: second ? 2 : 1 }),
    });
  });
  tool('test_input_required_result_capabilities', 'Asks only what the client can answer.', (ctx) => {
    const can = capabilities(server, ctx);
    return ask(ctx, {
      ...(can.elicitation && { confirm: elicit('Please confirm.', OK) }),
      ...(can.sampling && { text: sample('Write a sentence.') }),
      ...(can.roots && { roots: inputRequired.listRoots() }),
    });
  });
}

/** Asks until every question is answered, then says the answers. */
function ask(ctx: ServerContext, inputRequests: InputRequests, requestState?: string): Answer {
  const keys = Object.keys(inputRequests);
  const answers = keys.map((key) => [key, inputResponse(ctx.mcpReq.inputResponses, key)] as const);
  if (answers.every(([, { kind }]) => kind !== 'missing'))
    return said(JSON.stringify(Object.fromEntries(answers)));
  return inputRequired({ inputRequests, ...(requestState !== undefined && { requestState }) });
}

function accepted(ctx: ServerContext, key: string): boolean {
  return acceptedContent(ctx.mcpReq.inputResponses, key) !== undefined;
}

/** What the client declared: in the request, or when it initialized. */
function capabilities(server: McpServer, ctx: ServerContext): ClientCapabilities {
  const envelope: { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } = ctx.mcpReq.envelope ?? {};
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities() ?? {};
}

function registerPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'Text.' }, () => ({
    messages: [user(text('This is a simple prompt for testing.'))],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'Text with two arguments.',
      argsSchema: z.object({
        arg1: completable(z.string().describe('First test argument'), (value) =>
          ['paris', 'park', 'party', 'test'].filter((word) => word.startsWith(value)),
        ),
        arg2: z.string().describe('Second test argument'),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource and text.', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        user(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
        user(text('Please process the embedded resource above.')),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'An image and text.' }, () => ({
    messages: [user(image), user(text('Please analyze the image above.'))],
  }));
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks for a context.' },
    (ctx) => {
      const schema = z.object({ context: z.string() });
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'user_context', schema);
      if (answer) return { messages: [user(text(`Use this context: ${answer.context}`))] };
      const question = form({ context: { type: 'string' } }, ['context']);
      return inputRequired({
        inputRequests: { user_context: elicit('What context should the prompt use?', question) },
      });
    },
  );
}

function registerResources(server: McpServer): void {
  const plain = (name: string, uri: string, value: string) =>
    server.registerResource(name, uri, { description: `${name}.`, mimeType: 'text/plain' }, () => ({
      contents: [{ uri, mimeType: 'text/plain', text: value }],
    }));
  plain('Static text', 'test://static-text', 'This is the content of the static text resource.');
  const binary = { description: 'An image.', mimeType: 'image/png' };
  server.registerResource('Static binary', 'test://static-binary', binary, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }],
  }));
  plain('Watched', 'test://watched-resource', 'Watched resource content');
  server.registerResource(
    'Template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'A resource for each id.', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );
  // Nothing changes here, so that a subscription is only taken and ended.
  const subscriptions = new Set<string>();
  server.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    subscriptions.add(uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.delete(uri);
    return {};
  });
}
