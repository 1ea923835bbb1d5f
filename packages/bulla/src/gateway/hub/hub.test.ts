import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toUtf8 } from '@bulla/core/crypto';
import { type Lock, narrowed } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import {
  type Guarded,
  initialize,
  lockOf,
  type Message,
  openTestStore,
  records,
  told,
} from '../../../test/guard.ts';
import { startHub, type TestMember } from '../../../test/hub.ts';
import { refusal, script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { parseFrame } from '../../mcp/index.ts';
import { openLink } from '../link.ts';
import type { Channel, Host } from '../peer/channel.ts';
import { openHub } from './hub.ts';

interface Spied extends TestMember {
  /** What reached the server, a line each. */
  lines(): string[];
  methods(): (string | undefined)[];
}

/** Behaviours that a server has only after it was locked. */
const BROKEN = ['refuses', 'fails-lists'];
const locks = new Map<string, Promise<Lock>>();

/** A server of both eras, locked as it is. */
async function member(key: string, behaviour = 'ordinary', name = key): Promise<Spied> {
  const log = join(temporaryFolder(), 'received');
  const id = `${name} ${behaviour}`;
  const lock =
    locks.get(id) ??
    lockOf(script('member.mjs', '/dev/null', name, BROKEN.includes(behaviour) ? 'ordinary' : behaviour));
  locks.set(id, lock);
  const lines = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return {
    key,
    server: script('member.mjs', log, name, behaviour),
    lock: await lock,
    lines,
    methods: () => lines().map((line) => (JSON.parse(line) as Message).method),
  };
}

type Named = { readonly name: string };
const namesOf = ({ result }: Message): string[] => (result.tools as Named[]).map(({ name }) => name);
const textOf = ({ result }: Message): string => result.content[0].text;
const codeOf = ({ error }: Message): unknown => error?.data?.code;
const all = (prefix: string) => ['echo', 'ask', 'say', 'die'].map((name) => `${prefix}_${name}`);

test('tools of all members are listed with their prefix, and calls reach the one they name', async () => {
  const [a, b] = [await member('alpha'), await member('beta')];
  const hub = await startHub([a, b]);
  await initialize(hub);
  expect(namesOf(await hub.ask('tools/list'))).toEqual([...all('alpha'), ...all('beta')]);
  expect(textOf(await hub.call('alpha_echo', { x: 1 }))).toBe('alpha echo {"x":1}');
  expect(textOf(await hub.call('beta_echo', { x: 2 }))).toBe('beta echo {"x":2}');
  for (const name of ['echo', 'beta_evil', 'gamma_echo', 'Alpha_echo', 'alpha-echo']) {
    expect([name, codeOf(await hub.call(name))]).toEqual([name, 'GATEWAY_NOT_LOCKED']);
  }
  expect(await hub.end()).toEqual({ ended: 'host', error: null, calls: 2, blocked: 5 });
  expect(await told(hub.store)).toEqual([
    'tools/call alpha/echo pending',
    'tools/call alpha/echo success',
    'tools/call beta/echo pending',
    'tools/call beta/echo success',
    'tools/call alpha/echo (not as shown) blocked GATEWAY_NOT_LOCKED',
    'tools/call beta/evil blocked GATEWAY_NOT_LOCKED',
    'tools/call alpha/gamma_echo blocked GATEWAY_NOT_LOCKED',
    'tools/call alpha/Alpha_echo blocked GATEWAY_NOT_LOCKED',
    'tools/call alpha/alpha-echo blocked GATEWAY_NOT_LOCKED',
  ]);
  expect(a.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  const sessions = new Set((await records(hub.store)).map(({ context }) => context.session_id));
  expect([...sessions]).toEqual(['one-session']);
});

test("what passes is the sender's byte for byte, but for names and ids", async () => {
  const [a, b] = [await member('alpha'), await member('beta')];
  const hub = await startHub([a, b]);
  await initialize(hub);
  hub.send(
    '{ "params" : {"arguments":{"e":1.50,"u":"\\u00e9\\/"} ,"name" : "beta\\u005fecho"},"method":"tools/call" , "id":"\\u0061" ,"jsonrpc":"2.0"}',
  );
  await hub.until(({ id }) => id === 'a');
  const reached = b.lines().find((line) => line.includes('tools/call'))!;
  expect(reached.replace(/"id":\d+/, '"id":#')).toBe(
    '{ "params" : {"arguments":{"e":1.50,"u":"\\u00e9\\/"} ,"name" : "echo"},"method":"tools/call" , "id":# ,"jsonrpc":"2.0"}',
  );
  expect(hub.lines.at(-1)).toBe(
    '{"jsonrpc":"2.0","id":"\\u0061","result":{"content":[{"type":"text","text":"beta echo {\\"e\\":1.5,\\"u\\":\\"é/\\"}"}]}}',
  );
  await hub.ask('tools/list', {}, 7);
  const item = (key: string, name: string) =>
    `{"name":"${key}_${name}","inputSchema":{"type":"object"},"description":"${name} of ${key}"}`;
  const items = ['alpha', 'beta'].flatMap((key) =>
    ['echo', 'ask', 'say', 'die'].map((name) => item(key, name)),
  );
  expect(hub.lines.at(-1)).toBe(`{"jsonrpc":"2.0","id":7,"result":{"tools":[${items.join(',')}]}}`);
});

describe('initialize', () => {
  test('describes all members as one server', async () => {
    const hub = await startHub([
      await member('alpha', 'quiet'),
      await member('beta'),
      await member('old', 'old'),
    ]);
    expect((await initialize(hub)).result).toEqual({
      protocolVersion: '2024-11-05',
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: false },
        completions: {},
        logging: {},
      },
      serverInfo: { name: 'bulla', version: '0.0.0' },
      instructions: '## beta\n\nHow to use beta.\n\n## old\n\nHow to use old.',
    });
    expect(codeOf(await initialize(hub))).toBe('GATEWAY_SESSION');
  });

  test('fails with the name of a member that refuses, and may be tried again', async () => {
    const [a, b] = [await member('alpha'), await member('beta', 'refuses')];
    const hub = await startHub([a, b]);
    for (let i = 0; i < 2; i++) {
      expect((await initialize(hub)).error).toEqual({
        code: -32603,
        message: 'The server "beta" refuses: no',
      });
    }
    expect([a, b].map((one) => one.methods().filter((method) => method === 'initialize').length)).toEqual([
      1, 2,
    ]);
    expect(codeOf(await hub.ask('tools/call', { name: 'beta_echo' }))).toBe('GATEWAY_SESSION');
    expect(b.methods()).not.toContain('tools/call');
  });

  test('goes on without it where that is allowed', async () => {
    const [a, b] = [await member('alpha'), await member('beta', 'refuses')];
    const hub = await startHub([b, a], { allowMissing: true });
    expect((await initialize(hub)).result.instructions).toBe('## alpha\n\nHow to use alpha.');
    expect(namesOf(await hub.ask('tools/list'))).toEqual(all('alpha'));
    expect(textOf(await hub.call('alpha_echo'))).toBe('alpha echo {}');
    expect(codeOf(await hub.call('beta_echo'))).toBe('GATEWAY_SESSION');
    expect(b.methods()).toEqual(['initialize', 'server/discover']);
    expect(hub.log).toContain('the server "beta" is missing: it answered initialize with error -32603');
  });
});

describe('a member that cannot be started', () => {
  const broken = async (): Promise<TestMember> => {
    const { lock } = await member('beta');
    return { key: 'beta', lock, server: { kind: 'stdio', command: '/no/such/program', args: [], env: [] } };
  };

  test('keeps the hub from starting, and the others are ended', async () => {
    const a = await member('alpha');
    const hub = await startHub([a, await broken()]);
    expect((await refusal(hub.over)).code).toBe('MCP_SPAWN_FAILED');
    const ends = (await records(hub.store)).map(
      ({ trigger, outcome }) => `${trigger.request} ${outcome.error}`,
    );
    expect(ends.toSorted()).toEqual([
      'guard alpha null',
      'guard alpha session: MCP_SPAWN_FAILED',
      'guard beta null',
      'guard beta session: MCP_SPAWN_FAILED',
    ]);
  });

  test('is left out where that is allowed', async () => {
    const hub = await startHub([await broken(), await member('alpha')], { allowMissing: true });
    await initialize(hub);
    expect(namesOf(await hub.ask('tools/list'))).toEqual(all('alpha'));
    expect(codeOf(await hub.call('beta_echo'))).toBe('GATEWAY_NOT_LOCKED');
    expect(codeOf(await hub.ask('resources/read', { uri: 'beta:///a' }))).toBe('GATEWAY_NOT_LOCKED');
    expect(codeOf(await hub.ask('prompts/get', { name: 'beta_greet' }))).toBe('GATEWAY_NOT_LOCKED');
    expect(hub.log.filter((line) => line.startsWith('the server'))).toEqual([
      expect.stringMatching(/^the server "beta" is missing: .* \[MCP_SPAWN_FAILED\]$/),
    ]);
  });
});

describe('lists', () => {
  test('are chained through the members by cursors of the hub', async () => {
    const hub = await startHub([
      await member('alpha', 'pages'),
      await member('beta', 'pages'),
      await member('gamma'),
    ]);
    await initialize(hub);
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const { result } = await hub.ask('tools/list', cursor === undefined ? {} : { cursor });
      pages.push((result.tools as Named[]).map(({ name }) => name));
      cursor = result.nextCursor;
      expect(cursor).not.toBe('p2');
    } while (cursor !== undefined);
    expect(pages).toEqual([
      ['alpha_echo', 'alpha_ask'],
      ['alpha_say', 'alpha_die', 'beta_echo', 'beta_ask'],
      ['beta_say', 'beta_die', ...all('gamma')],
    ]);
  });

  test('take no cursor that the hub has not given for that list', async () => {
    const [a, b] = [await member('alpha', 'pages'), await member('beta')];
    const hub = await startHub([a, b]);
    await initialize(hub);
    const { nextCursor } = (await hub.ask('tools/list')).result;
    const last = nextCursor.endsWith('A') ? 'B' : 'A';
    for (const cursor of [
      'p2',
      '',
      '0:p2',
      nextCursor.slice(0, -1) + last,
      `${nextCursor}=`,
      nextCursor.slice(4),
      null,
    ]) {
      expect([cursor, codeOf(await hub.ask('tools/list', { cursor }))]).toEqual([cursor, 'GATEWAY_PARAMS']);
    }
    expect(codeOf(await hub.ask('prompts/list', { cursor: nextCursor }))).toBe('GATEWAY_PARAMS');
    const other = await startHub([a, b]);
    await initialize(other);
    expect(codeOf(await other.ask('tools/list', { cursor: nextCursor }))).toBe('GATEWAY_PARAMS');
    expect((await hub.ask('tools/list', { cursor: nextCursor })).result.tools).toHaveLength(6);
  });

  test('are sent in several pages where one would be too long', async () => {
    const hub = await startHub([
      await member('alpha', 'big'),
      await member('beta', 'big'),
      await member('gamma'),
    ]);
    await initialize(hub);
    const first = (await hub.ask('tools/list')).result;
    expect((first.tools as Named[]).map(({ name }) => name)).toEqual(all('alpha'));
    const second = await hub.ask('tools/list', { cursor: first.nextCursor });
    expect(namesOf(second)).toEqual([...all('beta'), ...all('gamma')]);
    expect(second.result.nextCursor).toBeUndefined();
  });

  test('are complete or fail', async () => {
    const hub = await startHub([await member('alpha'), await member('beta', 'fails-lists')]);
    await initialize(hub);
    expect((await hub.ask('tools/list')).error).toEqual({ code: -32000, message: 'no list' });
    expect(hub.log).toContain('tools/list of "beta" failed with error -32000');
  });
});

test('resources, prompts and completions reach the member that has them', async () => {
  const [a, b] = [await member('alpha'), await member('beta', 'subscribes')];
  const hub = await startHub([a, b]);
  await initialize(hub);
  const lists = await Promise.all(
    ['prompts/list', 'resources/list', 'resources/templates/list'].map(
      async (method) => (await hub.ask(method)).result,
    ),
  );
  expect(lists).toEqual([
    { prompts: ['alpha', 'beta'].map((key) => ({ name: `${key}_greet`, description: 'Greets.' })) },
    { resources: ['alpha', 'beta'].map((key) => ({ uri: `${key}:///a`, name: 'a' })) },
    {
      resourceTemplates: ['alpha', 'beta'].map((key) => ({
        uriTemplate: `${key}:///note/{id}`,
        name: 'note',
      })),
    },
  ]);
  const asked = async (method: string, params: object) => (await hub.ask(method, params)).result;
  for (const uri of ['alpha:///a', 'beta:///a', 'beta:///note/7']) {
    expect((await asked('resources/read', { uri })).contents).toEqual([
      { uri, text: `${uri.split(':')[0]} ${uri}` },
    ]);
  }
  expect((await asked('prompts/get', { name: 'beta_greet' })).messages[0].content.text).toBe('beta greet');
  const argument = { name: 'x', value: '' };
  const complete = async (ref: object) =>
    (await asked('completion/complete', { ref, argument })).completion.values;
  expect(await complete({ type: 'ref/prompt', name: 'beta_greet' })).toEqual(['beta greet']);
  expect(await complete({ type: 'ref/resource', uri: 'beta:///note/{id}' })).toEqual([
    'beta beta:///note/{id}',
  ]);
  expect(await asked('resources/subscribe', { uri: 'beta:///a' })).toEqual({});
  expect(codeOf(await hub.ask('resources/read', { uri: 'gamma:///a' }))).toBe('GATEWAY_NOT_LOCKED');
  expect(codeOf(await hub.ask('prompts/get', { name: 'greet' }))).toBe('GATEWAY_NOT_LOCKED');
  for (const params of [{}, { name: 3 }, { uri: [] }, { ref: 1, argument }]) {
    for (const method of ['tools/call', 'resources/read', 'completion/complete']) {
      expect(codeOf(await hub.ask(method, params))).toBe('GATEWAY_PARAMS');
    }
  }
  expect(a.methods().filter((method) => method === 'resources/read')).toHaveLength(1);
  expect((await told(hub.store)).filter((line) => line.startsWith('resources/'))).toEqual([
    'resources/read alpha/alpha:///a pending',
    'resources/read alpha/alpha:///a success',
    'resources/read beta/beta:///a pending',
    'resources/read beta/beta:///a success',
    'resources/read beta/beta:///note/{id} pending',
    'resources/read beta/beta:///note/{id} success',
    'resources/subscribe beta/beta:///a pending',
    'resources/subscribe beta/beta:///a success',
    'resources/read alpha blocked GATEWAY_NOT_LOCKED',
    ...Array(4).fill('resources/read alpha blocked GATEWAY_PARAMS'),
  ]);
});

describe('requests of servers', () => {
  const elicitation = { features: ['elicitation'] } as const;
  const isAsked = ({ method }: Message) => method === 'elicitation/create';

  test('two members ask at once under one id, and each hears its own answer', async () => {
    const [a, b] = [await member('alpha'), await member('beta')];
    const hub = await startHub([
      { ...a, ...elicitation },
      { ...b, ...elicitation },
    ]);
    await initialize(hub, { elicitation: {} });
    const calls = { alpha: hub.call('alpha_ask'), beta: hub.call('beta_ask') };
    const asks = await Promise.all(
      ['alpha', 'beta'].map((key) =>
        hub.until((one) => isAsked(one) && one.params!.message === `${key} asks`),
      ),
    );
    expect(new Set(asks.map(({ id }) => id)).size).toBe(2);
    for (const { id, params } of asks) expect(params!._meta).toEqual({ progressToken: id });
    const [toAlpha, toBeta] = asks.map(({ id }) => id);
    hub.send({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: toBeta, progress: 1 },
    });
    hub.send({ jsonrpc: '2.0', id: toBeta, result: { action: 'decline' } });
    expect(textOf(await calls.beta)).toBe('beta heard {"action":"decline"}');
    hub.send({ jsonrpc: '2.0', id: toAlpha, result: { action: 'accept' } });
    expect(textOf(await calls.alpha)).toBe('alpha heard {"action":"accept"}');
    expect(a.methods()).not.toContain('notifications/progress');
    expect(b.lines().find((line) => line.includes('notifications/progress'))).toBe(
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
    );
    hub.send({ jsonrpc: '2.0', id: toAlpha, result: { action: 'accept' } });
    hub.send({ jsonrpc: '2.0', id: 1, result: {} });
    expect((await hub.ask('ping')).result).toEqual({});
    await hub.end();
    const dropped = (await records(hub.store)).map(({ outcome }) => outcome.metrics?.dropped ?? {});
    expect(dropped).toContainEqual({ GATEWAY_ANSWER_UNKNOWN: 2 });
  });

  test('a server withdraws its own', async () => {
    const hub = await startHub([await member('alpha'), { ...(await member('beta')), ...elicitation }]);
    await initialize(hub, { elicitation: {} });
    const lines = [
      '{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"message":"?"}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}',
    ];
    await hub.call('beta_say', { lines });
    const { id } = await hub.until(isAsked);
    const { params } = await hub.until(({ method }) => method === 'notifications/cancelled');
    expect(params).toEqual({ requestId: id });
  });
});

test('progress, logs and changes pass, and logs say whose they are', async () => {
  const hub = await startHub([await member('alpha'), await member('beta')]);
  await initialize(hub);
  const lines = [
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"#call","progress":1}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{ "level":"info","data":1.50}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"db","level":"info","data":2}}',
    '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
  ];
  const before = hub.lines.length;
  const params = { name: 'beta_say', arguments: { lines }, _meta: { progressToken: 'mine' } };
  await hub.ask('tools/call', params, 5);
  expect(hub.lines.slice(before, -1)).toEqual([
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"beta", "level":"info","data":1.50}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"beta/db","level":"info","data":2}}',
    '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
  ]);
});

test('the log level goes to all members that have logs, changes of roots to all', async () => {
  const members = [await member('alpha', 'quiet'), await member('beta'), await member('gamma')];
  const hub = await startHub(members.map((one) => ({ ...one, features: ['roots'] })));
  await initialize(hub);
  expect((await hub.ask('logging/setLevel', { level: 'debug' })).result).toEqual({});
  hub.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
  for (const { key } of members) await hub.call(`${key}_echo`);
  const sent = members.map((one) => one.methods().filter((method) => !/^(initialize|tools\/)/.test(method!)));
  const changed = ['notifications/initialized', 'notifications/roots/list_changed'];
  expect(sent).toEqual([changed, ...Array(2).fill([changed[0], 'logging/setLevel', changed[1]])]);
  expect(codeOf(await hub.ask('logging/setLevel', { level: 'none' }))).toBe('GATEWAY_PARAMS');
});

describe('ids of the host', () => {
  const waiting = async (): Promise<[Guarded, Spied]> => {
    const b = await member('beta');
    const hub = await startHub([await member('alpha'), { ...b, features: ['elicitation'] }]);
    await initialize(hub, { elicitation: {} });
    hub.send({ jsonrpc: '2.0', id: 'open', method: 'tools/call', params: { name: 'beta_ask' } });
    await hub.until(({ method }) => method === 'elicitation/create');
    return [hub, b];
  };

  test('are used once at a time, whichever member they are for', async () => {
    const [hub] = await waiting();
    hub.send({ jsonrpc: '2.0', id: 'open', method: 'tools/call', params: { name: 'alpha_echo' } });
    const refused = await hub.until(({ id }) => id === null);
    expect([refused.error!.code, codeOf(refused)]).toEqual([-32600, 'GATEWAY_ID_IN_USE']);
    hub.send('{"jsonrpc":"2.0","id":"open","method":1}');
    const invalid = await hub.until((one) => one.id === null && codeOf(one) !== 'GATEWAY_ID_IN_USE');
    expect(codeOf(invalid)).toBe('MCP_FRAME_SHAPE');
    hub.send('{"jsonrpc":"2.0","id":"free","method":1}');
    expect(codeOf(await hub.until(({ id }) => id === 'free'))).toBe('MCP_FRAME_SHAPE');
    hub.stop.abort();
    await hub.over;
    expect(await told(hub.store)).toContain('tools/call beta blocked GATEWAY_ID_IN_USE');
  });

  test('are free again after a cancellation, which only the member hears that has the request', async () => {
    const [hub, b] = await waiting();
    hub.send(
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{ "reason":"\\u0061","requestId":"open"}}',
    );
    hub.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } });
    expect(textOf(await hub.ask('tools/call', { name: 'alpha_echo' }, 'open'))).toBe('alpha echo {}');
    const heard = b.lines().filter((line) => line.includes('notifications/cancelled'));
    expect(heard.map((line) => line.replace(/:\d+}/, ':#}'))).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{ "reason":"\\u0061","requestId":#}}',
    ]);
    await hub.end();
    expect(await told(hub.store)).toContain('tools/call beta/ask failure GATEWAY_CANCELLED');
  });
});

describe('when a member ends', () => {
  test('its calls are answered with its name, and the others go on', async () => {
    const hub = await startHub([await member('alpha'), await member('beta')]);
    await initialize(hub);
    const died = await hub.call('alpha_die');
    expect([died.error!.code, codeOf(died)]).toEqual([503, 'GATEWAY_SERVER_ENDED']);
    const later = (await hub.call('alpha_echo')).error!;
    expect(later).toMatchObject({ code: 503, message: 'Bulla: The server "alpha" ended with exit code 7.' });
    expect(textOf(await hub.call('beta_echo'))).toBe('beta echo {}');
    expect(codeOf(await hub.ask('tools/list'))).toBe('GATEWAY_SERVER_ENDED');
    expect(codeOf(await hub.ask('no/such/method'))).toBe('GATEWAY_METHOD');
    expect(codeOf(await hub.call('beta_die'))).toBe('GATEWAY_SERVER_ENDED');
    expect(await hub.over).toMatchObject({ ended: 'server', calls: 3, error: { code: 'MCP_SERVER_ENDED' } });
  });

  test('lists go on without it where that is allowed', async () => {
    const hub = await startHub([await member('alpha'), await member('beta')], { allowMissing: true });
    await initialize(hub);
    await hub.call('alpha_die');
    expect(namesOf(await hub.ask('tools/list'))).toEqual(all('beta'));
    expect(hub.log.filter((line) => line.startsWith('the server'))).toEqual([
      expect.stringMatching(/^the server "alpha" ended, the others go on: /),
    ]);
  });
});

/** What every request of the stateless era carries. */
const meta = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

describe('in the stateless era', () => {
  test('server/discover describes all members as one server', async () => {
    const hub = await startHub([await member('alpha'), await member('old', 'old')]);
    expect((await hub.ask('server/discover', meta)).result).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: false },
        completions: {},
        logging: {},
      },
      instructions: '## alpha\n\nHow to use alpha.\n\n## old\n\nHow to use old.',
      ttlMs: 3000,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'bulla', version: '0.0.0' } },
    });
    expect(codeOf(await hub.ask('ping', meta))).toBe('GATEWAY_METHOD');
  });

  test('lists hold as long as the shortest of them, and calls are routed', async () => {
    const hub = await startHub([await member('alpha', 'public'), await member('be', 'public')]);
    const { tools, ...rest } = (await hub.ask('tools/list', meta)).result;
    expect((tools as Named[]).map(({ name }) => name)).toEqual([...all('alpha'), ...all('be')]);
    expect(rest).toEqual({ resultType: 'complete', ttlMs: 2000, cacheScope: 'public' });
    expect(textOf(await hub.ask('tools/call', { name: 'be_echo', ...meta }))).toBe('be echo {}');
    expect(codeOf(await hub.ask('tools/call', { name: 'echo', ...meta }))).toBe('GATEWAY_NOT_LOCKED');
  });

  /** The messages that belong to the subscription. */
  const heard = (hub: Guarded, id: unknown): object[] =>
    hub.lines
      .map((line) => JSON.parse(line))
      .filter(
        (one) => one.id === id || one.params?._meta?.[SUBSCRIPTION] === id || one.params?.requestId === id,
      )
      .map(({ method, params, result, error }) => ({
        ...(method && { method }),
        ...(params?.notifications && { notifications: params.notifications }),
        ...(params?.uri && { uri: params.uri }),
        ...(result && { result }),
        ...(error && { error: error.code }),
      }));
  const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
  const told = (method: string, more = '') =>
    `{"jsonrpc":"2.0","method":"${method}","params":{"_meta":{"${SUBSCRIPTION}":"#listen"}${more}}}`;
  const ended = `{"jsonrpc":"2.0","id":"#listen","result":{"resultType":"complete","_meta":{"${SUBSCRIPTION}":"#listen"}}}`;
  const say = (hub: Guarded, key: string, ...lines: string[]) =>
    hub.ask('tools/call', { name: `${key}_say`, arguments: { lines }, ...meta });
  const filter = {
    toolsListChanged: true,
    resourceSubscriptions: ['beta:///a', 'alpha:///a', 'beta:///note/1'],
  };

  test('one subscription is divided among the members, and ends with the last of them', async () => {
    const [a, b, c] = [
      await member('alpha'),
      await member('beta', 'subscribes'),
      await member('gamma', 'quiet'),
    ];
    const hub = await startHub([a, b, c]);
    const listen = { jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen' };
    hub.send({ ...listen, params: { notifications: filter, ...meta } });
    await hub.until(({ method }) => method === ACKNOWLEDGED);
    const asked = [a, b, c].map((one) =>
      one
        .lines()
        .map((line) => JSON.parse(line))
        .filter(({ method }) => method === 'subscriptions/listen')
        .map(({ params }) => params.notifications),
    );
    expect(asked).toEqual([
      [{ toolsListChanged: true, resourceSubscriptions: ['alpha:///a'] }],
      [{ resourceSubscriptions: ['beta:///a', 'beta:///note/1'] }],
      [],
    ]);
    await say(hub, 'alpha', told('notifications/tools/list_changed'), ended);
    await say(hub, 'beta', told('notifications/resources/updated', ',"uri":"beta:///a"'), ended);
    await hub.until(({ id }) => id === 'sub');
    expect(heard(hub, 'sub')).toEqual([
      {
        method: ACKNOWLEDGED,
        notifications: {
          toolsListChanged: true,
          resourceSubscriptions: expect.toSatisfy(
            (uris: string[]) => uris.toSorted().join() === filter.resourceSubscriptions.toSorted().join(),
          ),
        },
      },
      { method: 'notifications/tools/list_changed' },
      { method: 'notifications/resources/updated', uri: 'beta:///a' },
      { result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 'sub' } } },
    ]);
  });

  test('nothing is told before the acknowledgement of all', async () => {
    const [a, b] = [await member('alpha'), await member('beta', 'silent')];
    const hub = await startHub([a, b]);
    hub.send({
      jsonrpc: '2.0',
      id: 9,
      method: 'subscriptions/listen',
      params: { notifications: filter, ...meta },
    });
    while (![a, b].every((one) => one.methods().includes('subscriptions/listen'))) {
      await hub.ask('tools/list', meta);
    }
    const changed = told('notifications/tools/list_changed');
    await say(hub, 'alpha', changed, changed);
    expect(heard(hub, 9)).toEqual([]);
    const acknowledged = told(ACKNOWLEDGED, ',"notifications":{}');
    await say(hub, 'beta', acknowledged);
    expect(heard(hub, 9)).toEqual([
      {
        method: ACKNOWLEDGED,
        notifications: { toolsListChanged: true, resourceSubscriptions: ['alpha:///a'] },
      },
      { method: 'notifications/tools/list_changed' },
    ]);
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#listen"}}';
    await say(hub, 'alpha', cancel);
    expect(heard(hub, 9)).toHaveLength(2);
    await say(hub, 'beta', cancel);
    expect(heard(hub, 9).slice(2)).toEqual([{ method: 'notifications/cancelled' }]);
  });

  test('a member that refuses its part ends the subscription, and the host can end it', async () => {
    const [a, b] = [await member('alpha'), await member('beta')];
    const hub = await startHub([a, b]);
    const foreign = { ...filter, resourceSubscriptions: ['alpha:///a', 'gamma:///a'] };
    expect(codeOf(await hub.ask('subscriptions/listen', { notifications: foreign, ...meta }))).toBe(
      'GATEWAY_NOT_LOCKED',
    );
    for (const notifications of [{ toolslistchanged: true }, { resourceSubscriptions: 'x' }, [], 1]) {
      expect(codeOf(await hub.ask('subscriptions/listen', { notifications, ...meta }))).toBe(
        'GATEWAY_PARAMS',
      );
    }
    expect([...a.methods(), ...b.methods()]).not.toContain('subscriptions/listen');
    hub.send({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: { notifications: filter, ...meta },
    });
    await hub.until(({ method }) => method === ACKNOWLEDGED);
    hub.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } });
    for (const { key } of [a, b]) await hub.ask('tools/call', { name: `${key}_echo`, ...meta });
    for (const one of [a, b])
      expect(one.methods().filter((method) => method === 'notifications/cancelled')).toHaveLength(1);
    expect(textOf(await hub.ask('tools/call', { name: 'alpha_echo', ...meta }, 'sub'))).toBe('alpha echo {}');
  });
});

test('a gateway that only watches shows what is not locked too, and calls it', async () => {
  const b = await member('beta');
  const lock = narrowed(b.lock, ['say']);
  const hub = await startHub([await member('alpha'), { ...b, lock, mode: 'audit' }]);
  await initialize(hub);
  expect(namesOf(await hub.ask('tools/list'))).toEqual([...all('alpha'), ...all('beta')]);
  expect(textOf(await hub.call('beta_echo'))).toBe('beta echo {}');
  await hub.end();
  expect(await told(hub.store)).toEqual([
    'tools/list beta success',
    'tools/call beta/echo pending',
    'tools/call beta/echo success',
  ]);
});

test('a long name is shortened in lists, and means the tool', async () => {
  const long = `a_${'very_'.repeat(12)}long_name`;
  const hub = await startHub([await member('alpha'), await member('beta', 'long')]);
  await initialize(hub);
  const shown = namesOf(await hub.ask('tools/list')).at(-1)!;
  expect(shown).toBe(
    `beta_${long.slice(0, 50)}_${createHash('sha256').update(long).digest('hex').slice(0, 8)}`,
  );
  expect(shown).toHaveLength(64);
  expect(textOf(await hub.call(shown))).toBe(`beta ${long} {}`);
  expect(codeOf(await hub.call(`beta_${long}`))).toBe('GATEWAY_NOT_LOCKED');
});

test('no member gives content for an address whose content is pinned for another', async () => {
  const modern = script('modern.ts');
  const b = await member('beta');
  const hub = await startHub([{ key: 'modern', server: modern, lock: await lockOf(modern) }, b]);
  await initialize(hub);
  const say = async (uri: string) => {
    const resource = { uri, mimeType: 'text/html;profile=mcp-app', text: '<p>Your password?</p>' };
    const content = [{ type: 'resource', resource }];
    const line = JSON.stringify({ jsonrpc: '2.0', id: '#call', result: { content } });
    return hub.call('beta_say', { lines: [line] });
  };
  expect((await say('ui://beta/page.html')).result.content).toHaveLength(1);
  for (const uri of ['ui://modern/page.html', 'UI://modern/./page%2Ehtml']) {
    const { error } = await say(uri);
    expect(error).toMatchObject({ data: { stage: 'server', code: 'GATEWAY_CONTENT_CHANGED' } });
  }
});

test('when the way back of a request is closed, the member that has it is told', async () => {
  const b = { ...(await member('beta')), features: ['elicitation'] as const };
  const store = await openTestStore(temporaryFolder());
  const sent: Message[] = [];
  const host = { write: (bytes: Uint8Array) => void sent.push(JSON.parse(Buffer.from(bytes).toString())) };
  const open = ({ key, lock, server }: TestMember) => ({
    ...{ key, lock, prefix: key },
    open: (own: Host) =>
      openLink({ store, lock, server, agentId: 'bot', allowOtherServer: true, features: b.features }, own),
  });
  const hub = await openHub([open(await member('alpha')), open(b)], host);
  const over: string[] = [];
  const channelOf = (scope: string): Channel => ({
    scope,
    write: host.write,
    answer: host.write,
    close: () => void over.push(scope),
  });
  const ask = async (channel: Channel, method: string, params: object) => {
    await hub.fromHost(
      parseFrame(toUtf8(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))),
      channel,
    );
  };
  const until = async (is: () => boolean) => {
    while (!is()) await new Promise((resolve) => setImmediate(resolve));
  };
  const clientInfo = { name: 'host', version: '1' };
  await ask(channelOf('0'), 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  await until(() => sent.length === 1);
  // One id in two scopes is no id twice.
  const [one, other] = [channelOf('1'), channelOf('2')];
  await ask(one, 'tools/call', { name: 'beta_ask' });
  await ask(other, 'tools/call', { name: 'beta_ask' });
  await until(() => sent.filter(({ method }) => method === 'elicitation/create').length === 2);
  hub.gone(one);
  await until(() => b.methods().includes('notifications/cancelled'));
  const answer = sent.findLast(({ method }) => method === 'elicitation/create')!;
  await hub.fromHost(
    parseFrame(toUtf8(JSON.stringify({ jsonrpc: '2.0', id: answer.id, result: {} }))),
    other,
  );
  await until(() => sent.some(({ id, result }) => id === 1 && result?.content !== undefined));
  expect(textOf(sent.at(-1)!)).toBe('beta heard {}');
  expect(await hub.close(null)).toEqual({ calls: 2, blocked: 0 });
  await store.close();
});
