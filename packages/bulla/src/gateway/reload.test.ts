import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fromUtf8, toUtf8 } from '@bulla/core/crypto';
import { type Lock, narrowed } from '@bulla/core/lock';
import { parsePolicy } from '@bulla/core/policy';
import { expect, test } from 'vitest';
import {
  type Guarded,
  initialize,
  lockOf,
  type Message,
  records,
  rogueLock,
  startDriven,
  told,
} from '../../test/guard.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { parseFrame } from '../mcp/index.ts';
import type { Gate } from './gates/gate.ts';
import { serveStreams } from './guard.ts';
import type { Served } from './link.ts';
import { pinsOf } from './lists/pins.ts';
import type { Host } from './peer/channel.ts';
import { type GuardedServer, type Servers, serversOf } from './servers.ts';

type Given = Partial<GuardedServer> & Pick<GuardedServer, 'server' | 'lock'>;

interface Live extends Guarded {
  /** Puts other servers in the place of those that stand. */
  replace(...servers: Given[]): void;
  /** What the host talks to. */
  served(): Served;
}

/** Guards servers for one host on standard streams, as the command does. */
async function start(...first: Given[]): Promise<Live> {
  let all!: Servers;
  let served!: Served;
  let full!: (given: Given, i: number) => GuardedServer;
  const guarded = await startDriven(undefined, ({ host, store, stop, log }) => {
    full = (given, i) => ({
      key: `s${i}`,
      prefix: `s${i}`,
      store,
      allowOtherServer: true,
      graceMs: 200,
      log,
      ...given,
    });
    all = serversOf(first.map(full), log);
    const open = async (to: Host) => {
      served = await all.open('bot', to, 'one-session');
      return served;
    };
    return serveStreams(host, open, { signal: stop.signal, graceMs: 200 });
  });
  return Object.assign(guarded, {
    replace: (...servers: Given[]) => all.replacement(servers.map(full))(),
    served: () => served,
  });
}

/** A rogue server with a file of what reached it. */
function rogue(behaviour = 'ordinary', count = 0) {
  const file = join(temporaryFolder(), 'received');
  const received = (): Message[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Message)
      : [];
  return {
    server: script('rogue.mjs', file, behaviour, String(count)),
    methods: () => received().map(({ method }) => method),
  };
}

const isChange = ({ method }: Message) => method === 'notifications/tools/list_changed';
const names = async (guarded: Guarded): Promise<string[]> =>
  (await guarded.ask('tools/list')).result.tools.map(({ name }: { name: string }) => name);
const withoutEcho = (lock: Lock): Lock => narrowed(lock, ['add']);

test('another lock holds at once in an open session, and the host is told that its list changed', async () => {
  const lock = await rogueLock('ordinary');
  const { server, methods } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  expect(await names(guarded)).toEqual(['echo', 'add']);
  expect((await guarded.call('echo')).result).toBeDefined();
  guarded.replace({ server, lock: withoutEcho(lock) });
  await guarded.until(isChange);
  expect(await names(guarded)).toEqual(['add']);
  expect((await guarded.call('echo')).error!.data).toMatchObject({ code: 'GATEWAY_NOT_LOCKED' });
  expect((await guarded.call('add')).result).toBeDefined();
  guarded.replace({ server, lock, mode: 'audit' });
  await guarded.ask('ping');
  expect((await guarded.call('evil')).result).toBeDefined();
  expect(await guarded.end()).toEqual({ ended: 'host', error: null, calls: 3, blocked: 1 });
  expect(methods().filter((method) => method === 'initialize')).toEqual(['initialize']);
  expect(await told(guarded.store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo success',
    'tools/list rogue blocked GATEWAY_NOT_LOCKED',
    'tools/call rogue/echo blocked GATEWAY_NOT_LOCKED',
    'tools/call rogue/add pending',
    'tools/call rogue/add success',
    'tools/call rogue/evil pending',
    'tools/call rogue/evil success',
  ]);
});

test('records name the lock by which a call was decided', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  await guarded.call('add');
  const next = { ...lock, document: (await rogueLock('stateless')).document } as Lock;
  expect(pinsOf(next).lock).not.toBe(pinsOf(lock).lock);
  guarded.replace({ server, lock: next });
  await guarded.call('add');
  await guarded.end();
  const calls = (await records(guarded.store)).filter(({ type }) => type === 'tool');
  expect(calls.map(({ context }) => context.environment.bulla.lock)).toEqual(
    [lock, lock, next, next].map((one) => pinsOf(one).lock),
  );
});

test('a subscription of the stateless era is told too, if it asked for that', async () => {
  const lock = await rogueLock('stateless');
  const { server } = rogue('stateless-subscriptions');
  const guarded = await start({ server, lock });
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'h', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const listen = (id: string, notifications: object) => {
    const params = { notifications, _meta };
    guarded.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params });
    return guarded.until(
      ({ method, params }) =>
        method === 'notifications/subscriptions/acknowledged' &&
        (params!._meta as Record<string, unknown>)['io.modelcontextprotocol/subscriptionId'] === id,
    );
  };
  await listen('a', { toolsListChanged: true });
  await listen('b', { promptsListChanged: true });
  guarded.replace({ server, lock: withoutEcho(lock) });
  expect(await guarded.until(isChange)).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'a' } },
  });
  await guarded.end();
  expect(guarded.lines.map((line) => JSON.parse(line)).filter(isChange)).toHaveLength(1);
});

test('nothing is told to the host where what it may see is the same', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  guarded.replace({ server, lock, timeoutMs: 5000, uris: { schemes: ['https'] } });
  await guarded.ask('ping');
  expect((await guarded.call('echo', { text: 'ftp://example.com/' })).error!.data).toMatchObject({
    code: 'GATEWAY_URI',
  });
  await guarded.end();
  expect(guarded.lines.map((line) => JSON.parse(line)).filter(isChange)).toEqual([]);
});

test('a call that is being decided when the rules change is denied, and can be made again', async () => {
  const lock = await rogueLock('ordinary');
  const { server, methods } = rogue();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<{ pass: object }>();
  const person: Gate = {
    name: 'consent',
    rule() {
      asked.resolve();
      return { ask: answer.promise };
    },
  };
  const guarded = await start({ server, lock, gates: [person] });
  await initialize(guarded);
  const call = guarded.call('echo');
  await asked.promise;
  guarded.replace({ server, lock, gates: [] });
  await guarded.ask('ping');
  answer.resolve({ pass: {} });
  expect((await call).error).toMatchObject({ code: 503, data: { code: 'GATEWAY_RELOADED' } });
  expect((await guarded.call('echo')).result).toBeDefined();
  await guarded.end();
  expect(methods().filter((method) => method === 'tools/call')).toHaveLength(1);
});

test('a server that is reached otherwise takes its place after the open calls, with the same handshake', async () => {
  const lock = await rogueLock('ordinary');
  const [before, after] = [rogue('slow', 300), rogue()];
  const guarded = await start({ server: before.server, lock });
  const hello = await initialize(guarded);
  expect(hello.result.protocolVersion).toBe('2025-11-25');
  const open = guarded.call('echo', { n: 1 });
  while (!before.methods().includes('tools/call')) await guarded.ask('ping');
  guarded.replace({ server: after.server, lock });
  const next = guarded.call('add', { a: 2 });
  expect((await open).result.content[0].text).toBe('echo {"n":1}');
  expect((await next).result.content[0].text).toBe('add {"a":2}');
  await guarded.until(isChange);
  expect(before.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  expect(after.methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call']);
  expect(await guarded.end()).toEqual({ ended: 'host', error: null, calls: 2, blocked: 0 });
  const sessions = (await records(guarded.store)).filter(({ trigger }) => trigger.request === 'guard rogue');
  expect(sessions.map(({ outcome }) => outcome.status)).toEqual(['pending', 'success', 'pending', 'success']);
});

test('a request that waits for the new server can be cancelled', async () => {
  const lock = await rogueLock('ordinary');
  const [before, after] = [rogue('slow', 300), rogue()];
  const guarded = await start({ server: before.server, lock });
  await initialize(guarded);
  const open = guarded.call('echo');
  while (!before.methods().includes('tools/call')) await guarded.ask('ping');
  guarded.replace({ server: after.server, lock });
  guarded.send({ jsonrpc: '2.0', id: 'gone', method: 'tools/call', params: { name: 'echo' } });
  guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'gone' } });
  await open;
  expect((await guarded.call('add')).result).toBeDefined();
  await guarded.end();
  expect(after.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
});

test('a new server that cannot be started ends the session, and says why', async () => {
  const lock = await rogueLock('ordinary');
  const guarded = await start({ server: rogue().server, lock });
  await initialize(guarded);
  guarded.replace({ server: { kind: 'stdio', command: '/no/such', args: [], env: [] }, lock });
  expect((await guarded.call('echo')).error!.data).toMatchObject({ code: 'GATEWAY_SERVER_FAILED' });
  expect(await guarded.over).toMatchObject({ ended: 'gateway', error: { code: 'MCP_SPAWN_FAILED' } });
});

test('servers are added and removed in an open session', async () => {
  const lock = await rogueLock('ordinary');
  const tools = narrowed(lock, ['echo']);
  const bare = {
    ...tools,
    native: { ...tools.native!, resources: new Map(), resourceTemplates: new Map(), prompts: new Map() },
  } as Lock;
  const [one, two] = [rogue(), rogue()];
  const guarded = await start({ server: one.server, lock });
  await initialize(guarded);
  expect(await names(guarded)).toEqual(['echo', 'add']);
  guarded.replace({ server: one.server, lock }, { server: two.server, lock: bare });
  expect(await names(guarded)).toEqual(['s0_echo', 's0_add', 's1_echo']);
  await guarded.until(isChange);
  expect((await guarded.call('s1_echo', { text: 'x' })).result.content[0].text).toBe('echo {"text":"x"}');
  // Only the lock of one of them: the other one's link stays.
  guarded.replace({ server: one.server, lock: withoutEcho(lock) }, { server: two.server, lock: bare });
  expect(await names(guarded)).toEqual(['s0_add', 's1_echo']);
  expect((await guarded.call('s0_echo')).error!.data).toMatchObject({ code: 'GATEWAY_NOT_LOCKED' });
  guarded.replace({ server: one.server, lock });
  expect(await names(guarded)).toEqual(['echo', 'add']);
  await guarded.end();
  expect(two.methods().filter((method) => method === 'initialize')).toHaveLength(1);
});

test('servers that collide replace nothing', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  expect(() => guarded.replace({ server, lock }, { server, lock })).toThrow(
    expect.objectContaining({ code: 'GATEWAY_COLLISION' }),
  );
  expect(await names(guarded)).toEqual(['echo', 'add']);
  await guarded.end();
});

test('options that are nothing without a record replace nothing', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue();
  const guarded = await start({ server, lock, record: false });
  await initialize(guarded);
  expect(() => guarded.replace({ server, lock, record: false, mode: 'audit' })).toThrow(
    expect.objectContaining({ code: 'USAGE' }),
  );
  expect((await guarded.call('evil')).error!.data).toMatchObject({ code: 'GATEWAY_NOT_LOCKED' });
  await guarded.end();
});

test('a lock that does not stand the test ends the link', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  const tools = new (class extends Map<string, unknown> {
    override has = () => true;
  })(lock.native!.tools);
  guarded.replace({ server, lock: { ...lock, native: { ...lock.native!, tools } } as unknown as Lock });
  expect(await guarded.over).toMatchObject({ ended: 'gateway', error: { code: 'GATEWAY_SELF_TEST' } });
  expect(guarded.log.at(-1)).toContain('[GATEWAY_SELF_TEST]');
});

test('behind a hub, a link that does not stand the test takes nothing more, and the others go on', async () => {
  const lock = await rogueLock('ordinary');
  const bare = {
    ...lock,
    native: { ...lock.native!, resources: new Map(), resourceTemplates: new Map(), prompts: new Map() },
  } as Lock;
  const [one, two] = [rogue(), rogue()];
  const guarded = await start({ server: one.server, lock }, { server: two.server, lock: bare });
  await initialize(guarded);
  expect((await guarded.call('s1_echo')).result).toBeDefined();
  const tools = new (class extends Map<string, unknown> {
    override has = () => true;
  })(bare.native!.tools);
  const spoiled = { ...bare, native: { ...bare.native!, tools } } as unknown as Lock;
  guarded.replace({ server: one.server, lock }, { server: two.server, lock: spoiled });
  await guarded.ask('tools/call', { name: 's0_echo' });
  expect((await guarded.call('s1_echo')).error!.data).toMatchObject({ code: 'GATEWAY_SERVER_FAILED' });
  expect((await guarded.call('s0_echo')).result).toBeDefined();
  await guarded.end();
  expect(two.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
});

const rules = (...given: string[]) => [
  parsePolicy(`name: house\nrules:\n${given.map((rule, i) => `  - {name: r${i}, ${rule}}`).join('\n')}`),
];
const codeOf = ({ error, result }: Message): unknown => error?.data?.code ?? result.content[0].text;

test('other rules about calls and results hold at once, and the session stays as it was', async () => {
  const lock = await rogueLock('ordinary');
  const { server, methods } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  expect(codeOf(await guarded.call('add'))).toBe('add {}');
  guarded.replace({ server, lock, rules: rules("phase: call, expr: 'input.session.calls < 2'") });
  expect(codeOf(await guarded.call('echo'))).toBe('echo {}');
  expect(codeOf(await guarded.call('echo'))).toBe('POLICY_DENIED');
  guarded.replace({
    server,
    lock,
    rules: rules(`phase: result, expr: '!input.result.text.contains("add")', severity: error`),
  });
  expect(codeOf(await guarded.call('add'))).toBe('GATEWAY_RESULT_WITHHELD');
  guarded.replace({ server, lock });
  expect(codeOf(await guarded.call('add'))).toBe('add {}');
  await guarded.end();
  expect(methods().filter((method) => method === 'initialize')).toHaveLength(1);
  expect(methods().filter((method) => method === 'tools/call')).toHaveLength(4);
});

test('a request that comes in the moment of a change waits for it, and is decided by what is new', async () => {
  const lock = await rogueLock('ordinary');
  const { server, methods } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  const served = guarded.served();
  const call = parseFrame(
    toUtf8('{"jsonrpc":"2.0","id":"now","method":"tools/call","params":{"name":"add"}}'),
  );
  const answer = Promise.withResolvers<Uint8Array>();
  guarded.replace({ server, lock, rules: rules("phase: call, expr: 'false'") });
  void served.fromHost(call, { scope: 'test', write() {}, answer: answer.resolve, close() {} });
  expect(served.isWaiting).toBe(true);
  expect(codeOf(JSON.parse(fromUtf8(await answer.promise)))).toBe('POLICY_DENIED');
  await guarded.end();
  expect(methods()).not.toContain('tools/call');
});

test('of rules that are replaced twice, the later ones stay', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue();
  const guarded = await start({ server, lock });
  await initialize(guarded);
  guarded.replace({ server, lock, rules: rules("phase: call, expr: 'false'") });
  guarded.replace({ server, lock });
  expect(codeOf(await guarded.call('add'))).toBe('add {}');
  guarded.replace({ server, lock });
  guarded.replace({ server, lock, rules: rules("phase: call, expr: 'false'") });
  expect(codeOf(await guarded.call('add'))).toBe('POLICY_DENIED');
  await guarded.end();
});

test('a server that takes the place of another one does not make undone what rules know of the session', async () => {
  const lock = await rogueLock('ordinary');
  const [before, after] = [rogue(), rogue()];
  const once = rules(`phase: call, expr: '!("add" in input.session.tools)'`);
  const guarded = await start({ server: before.server, lock, rules: once });
  await initialize(guarded);
  expect(codeOf(await guarded.call('add'))).toBe('add {}');
  guarded.replace({ server: after.server, lock, rules: once });
  expect(codeOf(await guarded.call('add'))).toBe('POLICY_DENIED');
  guarded.replace({ server: after.server, lock, rules: once, key: 's0', prefix: 'other' });
  expect(codeOf(await guarded.call('add'))).toBe('POLICY_DENIED');
  await guarded.end();
  expect(after.methods()).toContain('initialize');
  expect(after.methods()).not.toContain('tools/call');
});

test('with another lock the server is compared again, before anything more passes', async () => {
  const lock = await rogueLock('ordinary');
  const other = await lockOf(script('rogue.mjs', '/dev/null', 'poisoned'));
  const { server, methods } = rogue();
  const guarded = await start({ server, lock, failOn: 'critical' });
  await initialize(guarded);
  expect(codeOf(await guarded.call('add'))).toBe('add {}');
  guarded.replace({ server, lock: other, failOn: 'critical' });
  expect(codeOf(await guarded.call('add'))).toBe('GATEWAY_DRIFT');
  expect(await guarded.over).toMatchObject({ ended: 'gateway', error: { code: 'GATEWAY_DRIFT' } });
  expect(methods().filter((method) => method === 'tools/call')).toHaveLength(1);
});

test('what is asked about a server only after a change is asked in the open session too', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue('poisoned');
  const guarded = await start({ server, lock });
  await initialize(guarded);
  expect(codeOf(await guarded.call('add'))).toBe('add {}');
  guarded.replace({ server, lock, failOn: 'critical' });
  expect(codeOf(await guarded.call('add'))).toBe('GATEWAY_DRIFT');
  expect(await guarded.over).toMatchObject({ ended: 'gateway', error: { code: 'GATEWAY_DRIFT' } });
});

test('a comparison that another one took the place of refuses nothing', async () => {
  const lock = await rogueLock('ordinary');
  const poisoned = await lockOf(script('rogue.mjs', '/dev/null', 'poisoned'));
  const { server, methods } = rogue('lists-after-a-ping');
  const guarded = await start({ server, lock: poisoned, failOn: 'critical' });
  await initialize(guarded);
  const call = guarded.call('add');
  while (!methods().includes('tools/list')) await sleep(5);
  guarded.replace({ server, lock, failOn: 'critical' });
  await guarded.ask('ping');
  expect(codeOf(await call)).toBe('add {}');
  expect(await guarded.end()).toMatchObject({ ended: 'host', error: null, calls: 1, blocked: 0 });
});

test('without a record, rules and locks are replaced too', async () => {
  const lock = await rogueLock('ordinary');
  const { server } = rogue();
  const guarded = await start({ server, lock, record: false, store: undefined });
  await initialize(guarded);
  expect(codeOf(await guarded.call('echo'))).toBe('echo {}');
  guarded.replace({
    ...{ server, lock: withoutEcho(lock), record: false, store: undefined },
    rules: rules(`phase: call, expr: 'has(input.arguments.a)'`),
  });
  expect(codeOf(await guarded.call('echo'))).toBe('GATEWAY_NOT_LOCKED');
  expect(codeOf(await guarded.call('add'))).toBe('POLICY_DENIED');
  expect(codeOf(await guarded.call('add', { a: 1 }))).toBe('add {"a":1}');
  expect(await guarded.end()).toEqual({ ended: 'host', error: null, calls: 2, blocked: 2 });
  expect(await records(guarded.store)).toEqual([]);
});

test('a request that waits for a comparison waits for the one that took its place too', async () => {
  const lock = await rogueLock('ordinary');
  const poisoned = await lockOf(script('rogue.mjs', '/dev/null', 'poisoned'));
  const { server, methods } = rogue('lists-after-a-ping');
  const guarded = await start({ server, lock, failOn: 'critical' });
  await initialize(guarded);
  const call = guarded.call('add');
  while (!methods().includes('tools/list')) await sleep(5);
  guarded.replace({ server, lock: poisoned, failOn: 'critical' });
  guarded.send({ jsonrpc: '2.0', id: 'ping', method: 'ping' });
  expect(codeOf(await call)).toBe('GATEWAY_DRIFT');
  expect(await guarded.over).toMatchObject({ ended: 'gateway', error: { code: 'GATEWAY_DRIFT' } });
  expect(methods()).not.toContain('tools/call');
});
