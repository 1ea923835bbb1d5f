// One of several servers behind one door, of both eras: `node member.mjs LOG NAME [BEHAVIOUR]`. Every line that comes in
// is appended to the file LOG. Its resources have addresses of their own; its tools and prompts have the names that the
// other members have too.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [log, name, behaviour = 'ordinary'] = process.argv.slice(2);
const is = (word) => behaviour === word;
const say = (text) => process.stdout.write(`${text}\n`);
const send = (message) => say(JSON.stringify({ jsonrpc: '2.0', ...message }));
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const inputSchema = { type: 'object' };

const tools = ['echo', 'ask', 'say', 'die'].map((tool) => ({
  name: tool,
  inputSchema,
  description: `${tool} of ${name}`,
}));
if (is('big')) tools[0].description = 'x'.repeat(700_000);
if (is('long')) tools.push({ name: `a_${'very_'.repeat(12)}long_name`, inputSchema });
const capabilities = {
  tools: is('ordinary') ? { listChanged: true } : {},
  prompts: { listChanged: true },
  resources: { subscribe: is('subscribes') },
  completions: {},
  ...(is('quiet') ? {} : { logging: {} }),
};
const page = { ttlMs: name.length * 1000, cacheScope: is('public') ? 'public' : 'private' };
let listening = null;
let asked = 0;
const asking = new Map();

const modern = (params) => params._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
const methods = {
  initialize: () => ({
    protocolVersion: is('old') ? '2024-11-05' : '2025-11-25',
    capabilities,
    serverInfo: { name, version: '1' },
    ...(is('quiet') ? {} : { instructions: `How to use ${name}.` }),
  }),
  'server/discover': () => ({
    resultType: 'complete',
    supportedVersions: ['2026-07-28', ...(is('old') ? [] : ['2025-11-25'])],
    capabilities,
    instructions: `How to use ${name}.`,
    ...page,
    _meta: { 'io.modelcontextprotocol/serverInfo': { name, version: '1' } },
  }),
  'logging/setLevel': () => ({}),
  'tools/list': ({ cursor }) => {
    if (!is('pages')) return { tools };
    return cursor === undefined ? { tools: tools.slice(0, 2), nextCursor: 'p2' } : { tools: tools.slice(2) };
  },
  'prompts/list': () => ({ prompts: [{ name: 'greet', description: 'Greets.' }] }),
  'resources/list': () => ({ resources: [{ uri: `${name}:///a`, name: 'a' }] }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: `${name}:///note/{id}`, name: 'note' }],
  }),
  'tools/call': ({ name: tool, arguments: given }) => text(`${name} ${tool} ${JSON.stringify(given ?? {})}`),
  'prompts/get': (params) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `${name} ${params.name}` } }],
  }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: `${name} ${uri}` }] }),
  'resources/subscribe': () => ({}),
  'completion/complete': ({ ref }) => ({ completion: { values: [`${name} ${ref.name ?? ref.uri}`] } }),
};
const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];

/** What some tools do beside answering; true when the answer comes later. */
const effects = {
  /** Asks the host, always under the same ids. */
  ask(id) {
    asked++;
    asking.set(asked, id);
    send({
      id: asked,
      method: 'elicitation/create',
      params: {
        message: `${name} asks`,
        requestedSchema: { type: 'object', properties: {} },
        _meta: { progressToken: 1 },
      },
    });
    return true;
  },
  /** Sends the lines that it is told to, with its own id of the call and of the subscription where they say so. */
  say(id, { lines = [] }) {
    for (const line of lines) say(line.replaceAll('"#call"', id).replaceAll('"#listen"', listening));
    return false;
  },
  die: () => process.exit(7),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  appendFileSync(log, `${line}\n`);
  const { id, method, params = {}, result, error } = JSON.parse(line);
  if (method === undefined) {
    send({ id: asking.get(id), result: text(`${name} heard ${JSON.stringify(result ?? error)}`) });
    return;
  }
  if (id === undefined) return;
  if (method === 'subscriptions/listen') {
    listening = id;
    const told = { _meta: { [SUBSCRIPTION]: id }, notifications: params.notifications };
    if (!is('silent')) send({ method: 'notifications/subscriptions/acknowledged', params: told });
    return;
  }
  const isRefused = is('refuses') && ['initialize', 'server/discover'].includes(method);
  if (!Object.hasOwn(methods, method) || isRefused) {
    send({ id, error: { code: isRefused ? -32603 : -32601, message: 'no' } });
    return;
  }
  if (is('fails-lists') && LISTS.includes(method)) {
    send({ id, error: { code: -32000, message: 'no list' } });
    return;
  }
  if (method === 'tools/call' && Object.hasOwn(effects, params.name)) {
    if (effects[params.name](id, params.arguments ?? {})) return;
  }
  const body = methods[method](params);
  const era = modern(params)
    ? { resultType: 'complete', ...(/^resources\/read$|\/list$/.test(method) ? page : {}) }
    : {};
  send({ id, result: { ...era, ...body } });
});
