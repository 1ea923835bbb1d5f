import { opens } from '@bulla/core/canon';
import { narrowed } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import {
  type Guarded,
  initialize,
  type Message,
  records,
  rogueLock,
  startRogue,
  told,
} from '../../test/guard.ts';

const codeOf = ({ error, result }: Message): unknown => error?.data?.code ?? result ?? error;
const SECRET = 'SECRET-EXFIL';
const meta = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

describe('of a request, only what is known of its method is forwarded', () => {
  const refused = async (guarded: Guarded, method: string, params: object) =>
    expect([method, params, codeOf(await guarded.ask(method, params))]).toEqual([
      method,
      params,
      'GATEWAY_PARAMS',
    ]);

  test('in a session that is initialized', async () => {
    const guarded = await startRogue('ordinary');
    await refused(guarded, 'initialize', { protocolVersion: '2025-11-25', Capabilities: { sampling: {} } });
    await refused(guarded, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, x: SECRET });
    await initialize(guarded);
    for (const [method, params] of [
      ['ping', { x: SECRET }],
      ['ping', { _META: { x: SECRET } }],
      ['ping', { _meta: { ProgressToken: SECRET } }],
      ['logging/setLevel', { level: 'debug', x: SECRET }],
      ['logging/setLevel', { level: SECRET }],
      ['logging/setLevel', {}],
      ['tools/list', { name: SECRET }],
      ['tools/list', { cursor: SECRET }],
      ['tools/list', { cursor: null }],
      ['prompts/list', { Cursor: 'x' }],
      ['resources/templates/list', { arguments: {} }],
      ['tools/call', { name: 'echo', arguments: null }],
      ['tools/call', { name: 'echo', arguments: [SECRET] }],
      ['prompts/get', { name: 'ask', arguments: SECRET }],
      ['resources/subscribe', { uri: 'file:///a', requestState: SECRET }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'ask', uri: SECRET }, argument: {} }],
    ] as const) {
      await refused(guarded, method, params);
    }
    guarded.send({ jsonrpc: '2.0', method: 'notifications/initialized', params: { x: SECRET } });
    expect((await guarded.ask('ping', {})).result).toEqual({});
    expect((await guarded.ask('tools/list', {})).result.tools).toHaveLength(2);
    expect(JSON.stringify(guarded.received())).not.toContain(SECRET);
    expect(guarded.received().map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'ping',
      'tools/list',
    ]);
    await guarded.end();
    expect((await records(guarded.store)).at(-1)!.outcome.metrics.dropped).toEqual({ GATEWAY_PARAMS: 1 });
  });

  test('in the stateless era', async () => {
    const guarded = await startRogue('stateless');
    const locked = { resourceSubscriptions: ['file:///a'] };
    for (const [method, params] of [
      ['server/discover', { x: SECRET }],
      ['tools/list', { x: SECRET }],
      ['subscriptions/listen', { notifications: { resourcesubscriptions: ['file:///etc/passwd'] } }],
      ['subscriptions/listen', { notifications: { toolsListChanged: true, x: SECRET } }],
      ['subscriptions/listen', { notifications: [] }],
      ['subscriptions/listen', {}],
      ['subscriptions/listen', { notifications: locked, Notifications: locked }],
    ] as const) {
      await refused(guarded, method, { ...params, ...meta });
    }
    expect(guarded.received()).toEqual([]);
  });

  test('and of cursors those that the server gave to the host, for that list', async () => {
    const guarded = await startRogue('pages');
    await initialize(guarded);
    await refused(guarded, 'tools/list', { cursor: 'p2' });
    // The gateway reads the list itself, and tells the host no cursor of it.
    expect((await guarded.call('add')).result.content[0].text).toBe('add {}');
    await refused(guarded, 'tools/list', { cursor: 'p2' });
    expect((await guarded.ask('tools/list')).result.nextCursor).toBe('p2');
    await refused(guarded, 'prompts/list', { cursor: 'p2' });
    expect((await guarded.ask('tools/list', { cursor: 'p2' })).result.tools).toHaveLength(1);
  });
});

test('a record commits to the arguments that were forwarded', async () => {
  const guarded = await startRogue('ordinary');
  await initialize(guarded);
  await guarded.ask('tools/call', { name: 'echo' });
  await guarded.ask('tools/call', { name: 'echo', arguments: {} });
  await guarded.end();
  for (const { outcome, context } of await records(guarded.store)) {
    const { args } = context.environment.bulla;
    if (args === undefined || outcome.status !== 'pending') continue;
    const { salt } = (await guarded.store.opening(args.commitment))!;
    expect(opens(args, 'args', {}, salt)).toBe(true);
  }
});

test('subscriptions are recorded like calls', async () => {
  const guarded = await startRogue('answers-as-told');
  await initialize(guarded);
  await guarded.ask('resources/list');
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    await guarded.call('echo', { later: { result: {} } });
    expect((await guarded.ask(method, { uri: 'file:///a' })).result).toEqual({});
  }
  await guarded.end();
  expect((await told(guarded.store)).filter((line) => line.includes('subscribe'))).toEqual([
    'resources/subscribe rogue/file:///a pending',
    'resources/subscribe rogue/file:///a success',
    'resources/unsubscribe rogue/file:///a pending',
    'resources/unsubscribe rogue/file:///a success',
  ]);
});

test('a subscription that the server ends has an outcome', async () => {
  const guarded = await startRogue('stateless-subscriptions');
  const notifications = { toolsListChanged: true };
  guarded.send({
    jsonrpc: '2.0',
    id: 's',
    method: 'subscriptions/listen',
    params: { notifications, ...meta },
  });
  await guarded.until(({ method }) => method === 'notifications/subscriptions/acknowledged');
  await guarded.ask('tools/call', { name: 'echo', ...meta });
  await guarded.until(({ method }) => method === 'notifications/cancelled');
  await guarded.end();
  expect((await told(guarded.store)).filter((line) => line.startsWith('subscriptions'))).toEqual([
    'subscriptions/listen rogue pending',
    'subscriptions/listen rogue failure GATEWAY_CANCELLED',
  ]);
});

test('of resources that the host may not read, no change is told to it', async () => {
  const guarded = await startRogue('says-what-it-is-told');
  await initialize(guarded);
  const updated = (params: object) =>
    JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params });
  const lines = [
    { uri: 'file:///a' },
    { uri: 'note:///7' },
    { uri: 'file:///etc/UNLOCKED' },
    { uri: 'note:///../7' },
    { uri: 'file:///a', Uri: 'file:///etc/UNLOCKED' },
    { uri: ['file:///a'] },
    {},
  ].map(updated);
  await guarded.call('echo', { lines });
  const seen = guarded.lines.filter((line) => line.includes('resources/updated'));
  expect(seen.filter((line) => !line.includes('"result"'))).toEqual(lines.slice(0, 2));
  await guarded.end();
  expect((await records(guarded.store)).at(-1)!.outcome.metrics.dropped).toEqual({
    GATEWAY_NOT_LOCKED: 2,
    GATEWAY_PARAMS: 1,
    GATEWAY_UNRELATED: 2,
  });
});

test('of a tool that is locked and left out here, just that is said', async () => {
  const guarded = await startRogue('ordinary', { lock: narrowed(await rogueLock('ordinary'), ['echo']) });
  await initialize(guarded);
  expect((await guarded.ask('tools/list')).result.tools).toHaveLength(1);
  expect((await guarded.call('add')).error?.message).toBe(
    'Bulla: The tool "add" is in the lock, but it is left out here: only some of the locked tools pass.',
  );
  expect((await guarded.call('evil')).error?.message).toContain('"evil" is not in the lock.');
  expect(guarded.log[0]).toBe('removed from tools/list: "add" (left out here) [GATEWAY_NOT_LOCKED]');
});

test('the record of a denial names the tool as the host sent it, without digests', async () => {
  const guarded = await startRogue('ordinary');
  await initialize(guarded);
  const long = 'x'.repeat(300);
  for (const params of [{ name: 'evil' }, { name: 'evil', arguments: [] }, { name: long, task: {} }]) {
    await guarded.ask('tools/call', params);
  }
  await guarded.end();
  const denied = (await records(guarded.store)).filter(({ outcome }) => outcome.status === 'blocked');
  expect(denied.map(({ context, trigger }) => [trigger.request, context.environment.bulla.tool])).toEqual([
    ['tools/call rogue/evil', { server: 'rogue', name: 'evil' }],
    ['tools/call rogue/evil', { server: 'rogue', name: 'evil' }],
    [`tools/call rogue/${long.slice(0, 200)}…`, { server: 'rogue', name: `${long.slice(0, 200)}…` }],
  ]);
  const found = await guarded.store.find({ tool: 'evil' });
  const hashes = found.map(({ hash }) => hash);
  expect(hashes.toReversed()).toEqual(denied.slice(0, 2).map(({ hash }) => hash));
});
