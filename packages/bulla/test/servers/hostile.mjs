// Servers that do one thing wrong, or one thing rare: `node hostile.mjs PIDS BEHAVIOUR [WORD…]`. The process ids of
// the server and of what it starts are appended to the file PIDS.
import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [pids, behaviour, ...words] = process.argv.slice(2);
appendFileSync(pids, `${process.pid}\n`);

const say = (text) => writeSync(1, text);
const send = (message) => say(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tool = (name, more) => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: { type: 'object' },
  ...more,
});
const forever = () => setInterval(() => {}, 1 << 30);
/** Tells of a change before it gives the list. */
const changing = (list) => {
  send({ method: 'notifications/tools/list_changed' });
  return list;
};

/** What an ordinary server of the initialize era does; a behaviour replaces some of it. */
const server = {
  start() {},
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
    serverInfo: { name: 'hostile', version: '1' },
  }),
  tools: () => ({ tools: [tool('one'), tool('two')] }),
  prompts: () => ({ prompts: [{ name: 'ask' }] }),
  resources: () => ({ resources: [{ uri: 'file:///a', name: 'a' }] }),
  templates: () => ({ resourceTemplates: [{ uriTemplate: 'file:///{x}', name: 'x' }] }),
  discover: () => fail(-32601, 'Method not found'),
  other: () => fail(-32601, 'Method not found'),
  /** Gets every message first; true when that was all. */
  before: () => false,
  answer: (id, body) => send({ id, ...body }),
};

const onlyTools = () => ({ ...server.initialize(), capabilities: { tools: {} } });

class Failure extends Error {}
function fail(code, message, data) {
  throw Object.assign(new Failure(message), { code, data });
}

const METHODS = {
  initialize: 'initialize',
  'server/discover': 'discover',
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'templates',
};

let asked = 0;
const stateless = {
  discover: () => ({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'private',
  }),
  initialize: () => fail(-32601, 'Method not found'),
};

const behaviours = {
  ordinary: {},
  'dies-at-start': {
    start() {
      process.stderr.write('no configuration\n\u001b[31mgiving up\n');
      process.exit(3);
    },
  },
  'dies-mid-list': {
    tools: ({ cursor }) => (cursor ? process.exit(4) : { tools: [tool('one')], nextCursor: 'p2' }),
  },
  'is-killed': { tools: () => process.kill(process.pid, 'SIGKILL') },
  hangs: { before: () => true },
  'hangs-in-list': { before: ({ method }) => method === 'tools/list' },
  'floods-stderr': {
    start() {
      const line = Buffer.alloc(1 << 20, 'stderr ');
      for (let i = 0; i < Number(words[0]); i++)
        for (let at = 0; at < line.length; ) at += writeSync(2, line, at);
    },
  },
  'out-of-order': {
    held: [],
    answered: 0,
    answer(id, body) {
      if (this.answered++ < 2) return send({ id, ...body });
      this.held.push({ id, ...body });
      if (this.held.length === 4) for (const message of this.held.reverse()) send(message);
    },
  },
  'notifications-first': {
    answer(id, body) {
      send({ method: 'notifications/message', params: { level: 'info', data: 'hello' } });
      send({ method: 'notifications/progress', params: { progressToken: 99, progress: 1 } });
      send({ method: 'notifications/of/no/known/kind' });
      say('\n \r\n');
      send({ id, ...body });
    },
  },
  'pages-forever': { tools: () => ({ tools: [tool(`t${asked}`)], nextCursor: `p${asked++}` }) },
  'repeats-a-cursor': { tools: () => ({ tools: [tool(`t${asked++}`)], nextCursor: 'p2' }) },
  'empty-cursor': {
    tools: ({ cursor }) => ({
      tools: [tool(cursor === '' ? 'two' : 'one')],
      ...(cursor === '' ? {} : { nextCursor: '' }),
    }),
  },
  'null-cursor': { tools: () => ({ tools: [tool('one')], nextCursor: null }) },
  'cursor-number': { tools: () => ({ tools: [], nextCursor: 2 }) },
  'error-on-page-2': {
    tools: ({ cursor }) => (cursor ? fail(-32603, 'broken') : { tools: [tool('one')], nextCursor: 'p2' }),
  },
  'error-everywhere': { tools: () => fail(-32603, 'no\u202etools') },
  'no-templates': { templates: () => fail(-32601, 'Method not found') },
  'wrong-id': { answer: (id, body) => send({ id: id + 1000, ...body }) },
  'string-id': { answer: (id, body) => send({ id: String(id), ...body }) },
  'fraction-id': {
    answer: (id, body) => say(`{"jsonrpc":"2.0","id":${id}.0,"result":${JSON.stringify(body.result)}}\n`),
  },
  'no-id': { tools: () => send({ id: null, error: { code: -32700, message: 'Parse error' } }) ?? null },
  'answers-twice': {
    answer: (id, body) => say(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`.repeat(2)),
  },
  'invalid-json': { tools: (_, id) => say(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[\n`) && null },
  'not-utf8': {
    tools: (_, id) =>
      writeSync(1, Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"x":"\xff"}}\n`, 'latin1')) && null,
  },
  'duplicate-keys': {
    tools: (_, id) => say(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[],"tools":[]}}\n`) && null,
  },
  'case-twin-envelope': {
    tools: (_, id) => say(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[]},"Result":{}}\n`) && null,
  },
  bom: { tools: (_, id) => say(`\ufeff{"jsonrpc":"2.0","id":${id},"result":{"tools":[]}}\n`) && null },
  batch: { tools: (_, id) => say(`[{"jsonrpc":"2.0","id":${id},"result":{"tools":[]}}]\n`) && null },
  'no-jsonrpc': { tools: () => say('{"level":"info","message":"listing"}\n') && null },
  'endless-line': {
    tools(_, id) {
      const part = Buffer.alloc(1 << 20, 'x');
      say(`{"jsonrpc":"2.0","id":${id},"result":{"x":"`);
      for (;;) for (let at = 0; at < part.length; ) at += writeSync(1, part, at);
    },
  },
  'long-line': { tools: () => ({ tools: [tool('one', { title: 'x'.repeat(2 << 20) })] }) },
  'too-much': {
    tools: () => ({ tools: [tool(`t${asked}`, { title: 'x'.repeat(1 << 19) })], nextCursor: `p${asked++}` }),
  },
  banner: { start: () => say('Welcome!\n[info] listening\n\u2502 box\n') },
  'server-requests': {
    answers: {},
    before({ id, result, error }) {
      if (id === undefined || !(id in this.requests)) return false;
      this.answers[id] = result ?? error;
      if (Object.keys(this.answers).length === 5) this.finish();
      return true;
    },
    requests: {
      a: 'ping',
      b: 'roots/list',
      c: 'sampling/createMessage',
      d: 'elicitation/create',
      e: 'host/format-disk',
    },
    tools: () => null,
    finish() {
      const description = JSON.stringify(Object.entries(this.answers).sort());
      send({ id: this.waiting, result: { tools: [tool('one', { description })] } });
    },
    answer(id, body) {
      if (body.result !== null) return send({ id, ...body });
      this.waiting = id;
      for (const [id, method] of Object.entries(this.requests)) send({ id, method, params: {} });
    },
  },
  'changes-once': {
    tools: () => (asked++ === 0 ? changing({ tools: [tool('old')] }) : { tools: [tool('new')] }),
  },
  'changes-always': { tools: () => changing({ tools: [tool(`t${asked++}`)] }) },
  'says-changed-always': { tools: () => changing({ tools: [tool('one')] }) },
  'closes-input': {
    initialize: onlyTools,
    tools(_, id) {
      process.stdin.destroy();
      closeSync(0);
      forever();
      setTimeout(() => send({ id, result: { tools: [tool('one')], nextCursor: 'p2' } }), 50);
      return null;
    },
  },
  'closes-output': {
    initialize: onlyTools,
    tools() {
      forever();
      closeSync(1);
      return null;
    },
  },
  'stays-alive': {
    start() {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
      forever();
    },
  },
  'hangs-and-stays': {
    start() {
      behaviours['stays-alive'].start();
    },
    before: () => true,
  },
  'floods-notifications': {
    start() {
      setInterval(() => {
        for (let i = 0; i < 100; i++) send({ method: 'notifications/message', params: { i } });
      });
    },
  },
  'leaves-a-child': {
    start() {
      const code = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1 << 30);";
      const child = spawn(process.execPath, ['-e', code], { stdio: 'inherit' });
      child.unref();
      appendFileSync(pids, `${child.pid}\n`);
    },
  },
  'answers-anything': { discover: () => ({}) },
  'ends-on-the-probe': { discover: () => process.exit(5) },
  'silent-to-the-probe': { before: ({ method }) => method === 'server/discover' },
  'refuses-the-probe-without-id': {
    discover: () => send({ id: null, error: { code: -32600, message: 'what?' } }) ?? null,
  },
  'stateless-and-slow': {
    ...stateless,
    start: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700),
  },
  'stateless-requests': {
    ...stateless,
    tools: () => send({ id: 'x', method: 'roots/list' }) ?? { tools: [] },
  },
  'stateless-changes-once': {
    ...stateless,
    discover: () => ({ ...stateless.discover(), capabilities: { tools: { listChanged: true } } }),
    before({ method, id }) {
      if (method !== 'subscriptions/listen') return false;
      this.meta = { 'io.modelcontextprotocol/subscriptionId': id };
      send({
        method: 'notifications/subscriptions/acknowledged',
        params: { _meta: this.meta, notifications: {} },
      });
      return true;
    },
    tools() {
      if (asked++ > 0) return { tools: [tool('new')] };
      if (this.meta) send({ method: 'notifications/tools/list_changed', params: { _meta: this.meta } });
      return { tools: [tool('old')] };
    },
  },
  'stateless-too-new': {
    ...stateless,
    discover: () => fail(-32022, 'no', { supported: ['2099-01-01'], requested: '2026-07-28' }),
  },
  'stateless-or-older': { discover: () => fail(-32022, 'no', { supported: ['2025-06-18'] }) },
  'stateless-misshapen': {
    ...stateless,
    discover: () => ({ capabilities: {}, supportedVersions: '2026-07-28' }),
  },
  'input-required': { ...stateless, tools: () => ({ resultType: 'input_required', requestState: 's' }) },
  'unknown-result': { ...stateless, tools: () => ({ resultType: 'task', tools: [] }) },
  'version-older': { initialize: () => ({ ...server.initialize(), protocolVersion: '2024-11-05' }) },
  'version-unknown': { initialize: () => ({ ...server.initialize(), protocolVersion: '1999-01-01' }) },
  'version-error': {
    initialize: ({ protocolVersion }) =>
      protocolVersion === '2025-03-26'
        ? { ...server.initialize(), protocolVersion }
        : fail(-32602, 'Unsupported', { supported: ['2025-03-26'] }),
  },
  'no-capabilities': { initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: {} }) },
  'nothing-offered': { initialize: () => ({ ...server.initialize(), capabilities: {} }) },
  'tools-null': { tools: () => ({ tools: null }) },
  'tool-without-name': { tools: () => ({ tools: [{ inputSchema: {} }] }) },
  'tool-without-schema': { tools: () => ({ tools: [{ name: 'one' }] }) },
  'tool-twice': {
    tools: ({ cursor }) => (cursor ? { tools: [tool('one')] } : { tools: [tool('one')], nextCursor: 'p2' }),
  },
  'page-case-twin': { tools: () => ({ tools: [tool('one')], Tools: [] }) },
  'tool-case-twin': { tools: () => ({ tools: [tool('one', { Description: 'other' })] }) },
  'resource-twice': {
    resources: () => ({
      resources: [
        { uri: 'a:b', name: 'a' },
        { uri: 'a:b', name: 'b' },
      ],
    }),
  },
  'exact-numbers': {
    tools: (_, id) =>
      say(
        `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"one","inputSchema":{"maximum":10000000000000000000001.50,"2":0,"1":0}}]}}\n`,
      ) && null,
  },
  'tells-words-and-environment': {
    tools: () => ({
      tools: [tool('one', { description: JSON.stringify([words, Object.keys(process.env).sort()]) })],
    }),
  },
};

const chosen = { ...server, ...behaviours[behaviour] };
chosen.start();
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (chosen.before(message) || message.method === undefined || message.id === undefined) return;
  try {
    const result = chosen[METHODS[message.method] ?? 'other'](message.params ?? {}, message.id);
    if (result === null && behaviour !== 'server-requests') return;
    chosen.answer(message.id, { result });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { code, message: text, data } = error;
    chosen.answer(message.id, { error: { code, message: text, ...(data && { data }) } });
  }
});
