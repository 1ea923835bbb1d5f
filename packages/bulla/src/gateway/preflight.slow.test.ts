import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toUtf8 } from '@bulla/core/crypto';
import { readLock } from '@bulla/core/lock';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Guarded,
  initialize,
  lockOf,
  lockText,
  type Message,
  records,
  rogueLock,
  startGuard,
  startRogue,
  told,
} from '../../test/guard.ts';
import { startHub } from '../../test/hub.ts';
import { startListener } from '../../test/listen.ts';
import { packaged, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { loadServerPolicy } from '../app/index.ts';
import type { Preflighted } from './preflight.ts';

const hello = { text: 'hello' };
const said = (message: Message): unknown => message.result?.content?.[0]?.text ?? message.error?.data?.code;
const methods = (received: Message[]) => received.map(({ method }) => method);
const policy = async (text: string) => {
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, text);
  return [await loadServerPolicy(file)];
};
/** The lock of the ordinary server as the released program writes it: hashes alone. */
async function releasedLock() {
  const text = JSON.parse(await lockText(script('rogue.mjs', '/dev/null', 'ordinary')));
  delete text.bulla;
  return readLock(toUtf8(JSON.stringify(text)));
}

/** What became of the session, once a first call was tried. */
async function refusedCall(guarded: Guarded) {
  await initialize(guarded);
  const { error } = await guarded.call('echo', hello);
  const exit = await guarded.over;
  return { error, code: exit.error?.code, ended: exit.ended, kind: exit.error?.kind };
}

describe('a threshold', () => {
  test('is looked at before the first call, in the process that is used, and a server as locked passes', async () => {
    const found: Preflighted[] = [];
    const guarded = await startRogue('ordinary', {
      failOn: 'info',
      onPreflight: (one) => void found.push(one),
    });
    await initialize(guarded);
    expect(await Promise.all([guarded.call('echo', hello), guarded.ask('tools/list')])).toMatchObject([
      { result: { content: [{ text: 'echo {"text":"hello"}' }] } },
      { result: { tools: [{ name: 'echo' }, { name: 'add' }] } },
    ]);
    await guarded.end();
    expect(found.map(({ drift, isRefused }) => [drift.counts.total, isRefused])).toEqual([[0, false]]);
    const seen = methods(guarded.received());
    expect(seen.slice(0, 2)).toEqual(['initialize', 'notifications/initialized']);
    expect(seen.slice(2, 6).toSorted()).toEqual([
      'prompts/list',
      'resources/list',
      'resources/templates/list',
      'tools/list',
    ]);
    // One process alone was asked, and used.
    expect(seen.filter((method) => method === 'initialize')).toHaveLength(1);
  });

  test('that is crossed lets nothing pass, and ends the session', async () => {
    const guarded = await startRogue('poisoned', { failOn: 'critical' });
    await initialize(guarded);
    const answers = await Promise.all([
      guarded.ask('tools/list'),
      guarded.call('add'),
      guarded.ask('prompts/get', { name: 'ask' }),
    ]);
    const message =
      'The server is not as it was locked, so nothing passes: 3 differences are critical (tool "echo": description-changed; tool "echo": destination-added; tool "echo": order-added).';
    for (const { error } of answers) {
      expect([error?.code, error?.message, error?.data?.code]).toEqual([
        403,
        `Bulla: ${message}`,
        'GATEWAY_DRIFT',
      ]);
    }
    const exit = await guarded.over;
    expect([exit.ended, exit.error?.code, exit.error?.kind, exit.blocked]).toEqual([
      'gateway',
      'GATEWAY_DRIFT',
      'denied',
      3,
    ]);
    expect((await told(guarded.store)).toSorted()).toEqual([
      'preflight rogue blocked GATEWAY_DRIFT',
      'prompts/get rogue/ask blocked GATEWAY_DRIFT',
      'tools/call rogue/add blocked GATEWAY_DRIFT',
      'tools/list rogue blocked GATEWAY_DRIFT',
    ]);
    const facts = (await records(guarded.store)).find(({ trigger }) => trigger.request === 'preflight rogue')!
      .context.environment.bulla.facts;
    expect(facts).toEqual({
      ...{ fail_on: 'critical', critical: 3, moderate: 0, info: 0 },
      differences: ['description-changed', 'destination-added', 'order-added'].map(
        (code) => `tool "echo": ${code}`,
      ),
      policies: [],
    });
    expect(methods(guarded.received()).filter((method) => method === 'tools/call')).toEqual([]);
  });

  test('is the level itself: a new version is information', async () => {
    const refused = await refusedCall(await startRogue('of-another-version', { failOn: 'info' }));
    expect(refused).toMatchObject({ code: 'GATEWAY_DRIFT', ended: 'gateway' });
    for (const failOn of ['moderate', 'critical'] as const) {
      const guarded = await startRogue('of-another-version', { failOn });
      await initialize(guarded);
      expect(said(await guarded.call('echo', hello))).toBe('echo {"text":"hello"}');
    }
  });

  test.each([
    ['no-list', 'MCP_LIST_SHAPE'],
    ['repeats-a-page', 'MCP_LIST_TOO_LONG'],
    ['shows-both', 'MCP_LIST_SHAPE'],
    ['refuses-lists', 'MCP_ERROR_ANSWER'],
    ['changes-always', 'MCP_LIST_CHANGED'],
  ])('does not pass a server that %s: it cannot be told', async (behaviour, code) => {
    const guarded = await startRogue(behaviour, { failOn: 'critical' });
    const refused = await refusedCall(guarded);
    expect(refused).toMatchObject({ code, ended: 'gateway', kind: 'peer' });
    expect(refused.error?.message).toBe(
      `Bulla: What the server offers cannot be read whole (${code}), so that it cannot be compared with its lock, and nothing passes.`,
    );
  });

  test.each(['filter', 'audit'] as const)(
    'is told and recorded in the mode %s, and all goes on',
    async (mode) => {
      const found: Preflighted[] = [];
      const onPreflight = (one: Preflighted) => void found.push(one);
      const guarded = await startRogue('poisoned', { failOn: 'critical', mode, onPreflight });
      await initialize(guarded);
      expect(said(await guarded.call('add'))).toBe('add {}');
      expect(found.map(({ drift, isRefused }) => [drift.counts.critical, isRefused])).toEqual([[3, false]]);
      await guarded.end();
      const [step] = (await records(guarded.store))
        .find(({ trigger }) => trigger.request === 'preflight rogue')!
        .authority.chain.slice(-1);
      expect(step).toMatchObject({
        ...{ step: 'audit', decision: 'would-block' },
        ...{ stage: 'lists', code: 'GATEWAY_DRIFT' },
      });
      expect(guarded.log[0]).toMatch(/^would refuse the server: The server is not as it was locked/);
    },
  );

  test('holds in the stateless era too, where the server is asked what it is', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'h', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const call = { name: 'echo', arguments: hello, _meta: meta };
    const good = await startRogue('stateless', { failOn: 'info' });
    expect(said(await good.ask('tools/call', call))).toBe('echo {"text":"hello"}');
    expect(methods(good.received()).slice(0, 2)).toEqual(['server/discover', 'tools/list']);
    const bad = await startRogue('stateless-poisoned', { failOn: 'critical' });
    expect(said(await bad.ask('tools/call', call))).toBe('GATEWAY_DRIFT');
    expect((await bad.over).error?.code).toBe('GATEWAY_DRIFT');
  });

  test('counts what real servers hide from a host that can do less than the scan as information', async () => {
    const server = packaged('server-everything');
    const lock = await lockOf(server);
    for (const [failOn, code] of [
      ['moderate', undefined],
      ['info', 'GATEWAY_DRIFT'],
    ] as const) {
      const found: Preflighted[] = [];
      const guarded = await startGuard({ server, lock, failOn, onPreflight: (one) => void found.push(one) });
      await initialize(guarded);
      expect((await guarded.ask('tools/list')).error?.data?.code).toBe(code);
      expect(found[0]!.drift.items.map(({ name, code, severity }) => [name, code, severity])).toContainEqual([
        ...['get-roots-list', 'tool-removed', 'info'],
      ]);
    }
  });

  test('lets the host answer the server while its lists are read', async () => {
    const guarded = await startRogue('asks-before-it-lists', { failOn: 'critical' });
    await initialize(guarded);
    const answer = guarded.call('add');
    const { id } = await guarded.until(({ method }) => method === 'ping');
    guarded.send({ jsonrpc: '2.0', id, result: {} });
    // The gate reads the list again for the call.
    const again = await guarded.until(({ method, id: other }) => method === 'ping' && other !== id);
    guarded.send({ jsonrpc: '2.0', id: again.id, result: {} });
    expect(said(await answer)).toBe('add {}');
  });

  test('a request that is cancelled while it waits does not reach the server', async () => {
    const guarded = await startRogue('asks-before-it-lists', { failOn: 'critical' });
    await initialize(guarded);
    guarded.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'add' } });
    const { id } = await guarded.until(({ method }) => method === 'ping');
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    guarded.send({ jsonrpc: '2.0', id, result: {} });
    expect((await guarded.ask('prompts/list')).result.prompts).toHaveLength(1);
    expect(methods(guarded.received())).not.toContain('tools/call');
  });
});

test('a server behind a hub that is refused does not keep the others from passing', async () => {
  const lock = await rogueLock('ordinary');
  const member = (key: string, behaviour: string) => ({
    key,
    lock: { ...lock, native: { ...lock.native!, resources: new Map(), resourceTemplates: new Map() } },
    server: script('rogue.mjs', '/dev/null', behaviour),
  });
  const hub = await startHub([
    { ...member('bad', 'poisoned'), failOn: 'critical' },
    member('good', 'ordinary'),
  ]);
  await initialize(hub);
  expect(said(await hub.call('bad_add'))).toBe('GATEWAY_DRIFT');
  expect(said(await hub.call('good_add'))).toBe('add {}');
  expect(hub.log).toContainEqual(expect.stringMatching(/^the server "bad" ended, the others go on: /));
});

test('over HTTP each session is compared by itself, and the host gets the denial', async () => {
  const { url, ...listener } = await startListener({
    ...{ server: script('rogue.mjs', '/dev/null', 'poisoned'), lock: await rogueLock('ordinary') },
    failOn: 'critical',
  });
  const requestInit = { headers: { authorization: 'Bearer one' } };
  for (let i = 0; i < 2; i++) {
    const client = new Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    onTestFinished(() => client.close());
    await expect(client.listTools()).rejects.toThrow('The server is not as it was locked, so nothing passes');
  }
  expect(await listener.close()).toEqual({ calls: 0, blocked: 2 });
});

describe('a policy', () => {
  const list = (expr: string) =>
    `rules: [{ name: few, expr: '${expr}', failure_msg: Too many tools., phase: list }]`;

  test('denies a server as a whole, with the message of its rule', async () => {
    const guarded = await startRogue('ordinary', { policies: await policy(list('size(input.tools) < 2')) });
    const { error, code, kind } = await refusedCall(guarded);
    expect([code, kind]).toEqual(['POLICY_DENIED', 'denied']);
    expect([error?.message, error?.data?.stage]).toEqual([
      'Bulla: A rule forbids this server, so nothing passes. few: Too many tools.',
      'policy',
    ]);
  });

  test('that holds for the server is asked at every call', async () => {
    const rules = `rules:
  - { name: few, expr: 'size(input.tools) < 3', failure_msg: Too many tools., phase: list }
  - { name: quiet, expr: 'input.arguments.text != "loud"', failure_msg: Not so loud., phase: call }`;
    const guarded = await startRogue('ordinary', { policies: await policy(rules) });
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe('echo {"text":"hello"}');
    expect((await guarded.call('echo', { text: 'loud' })).error?.message).toBe(
      'Bulla: A rule forbids this call. quiet: Not so loud.',
    );
  });

  test('only watches where calls are only watched', async () => {
    const rules = `rules:
  - { name: few, expr: 'size(input.tools) < 2', failure_msg: Too many tools., phase: list }
  - { name: quiet, expr: 'input.arguments.text != "loud"', failure_msg: Not so loud., phase: call }`;
    const guarded = await startRogue('ordinary', { policies: await policy(rules), mode: 'audit' });
    await initialize(guarded);
    expect(said(await guarded.call('echo', { text: 'loud' }))).toBe('echo {"text":"loud"}');
    await guarded.end();
    const steps = (await records(guarded.store)).flatMap(({ trigger, outcome, authority }) =>
      (authority.chain as { step?: string; code?: string }[])
        .filter(({ step }) => step === 'audit')
        .map(({ code }) => `${trigger.request} ${outcome.status} ${code}`),
    );
    expect(steps).toEqual([
      'preflight rogue success POLICY_DENIED',
      'tools/call rogue/echo pending POLICY_DENIED',
      'tools/call rogue/echo success POLICY_DENIED',
    ]);
  });

  test.each([
    ['baseline', 'poisoned', 'POLICY_DENIED'],
    ['baseline', 'ordinary', null],
    ['strict', 'ordinary', 'POLICY_DENIED'],
  ])('%s says of a server that is %s: %s', async (preset, behaviour, code) => {
    const guarded = await startRogue(behaviour, { policies: [await loadServerPolicy(preset)] });
    await initialize(guarded);
    expect((await guarded.call('add')).error?.data?.code ?? null).toBe(code);
  });
});

describe('resources that no lock pins', () => {
  test('pass as they stand in the first list, where that is allowed', async () => {
    const lock = await releasedLock();
    const closed = await startRogue('ordinary', { lock });
    await initialize(closed);
    expect((await closed.ask('resources/list')).result.resources).toEqual([]);
    expect(said(await closed.ask('resources/read', { uri: 'file:///a' }))).toBe('GATEWAY_NOT_LOCKED');
    const open = await startRogue('ordinary', { lock, staticResources: true });
    await initialize(open);
    expect((await open.ask('resources/read', { uri: 'file:///a' })).result.contents).toHaveLength(1);
    expect((await open.ask('resources/list')).result.resources).toEqual([{ uri: 'file:///a', name: 'a' }]);
    expect(said(await open.ask('resources/read', { uri: 'file:///b' }))).toBe('GATEWAY_NOT_LOCKED');
  });

  test('do not pass when they are listed otherwise or later', async () => {
    const guarded = await startRogue('lists-resources-otherwise-later', {
      ...{ lock: await releasedLock(), staticResources: true },
    });
    await initialize(guarded);
    expect((await guarded.ask('resources/list')).result.resources).toEqual([]);
    expect(said(await guarded.ask('resources/read', { uri: 'file:///a' }))).toBe('GATEWAY_CHANGED');
    expect(said(await guarded.ask('resources/read', { uri: 'file:///c' }))).toBe('GATEWAY_NOT_LOCKED');
  });
});

describe('in the released program’s words', () => {
  test('denials have its code and text', async () => {
    const guarded = await startRogue('adds-a-twin', { released: true, lock: await releasedLock() });
    await initialize(guarded);
    const errorOf = async (method: string, params: object) => {
      const { code, message } = (await guarded.ask(method, params)).error!;
      return [code, message];
    };
    expect(await errorOf('tools/call', { name: 'evil' })).toEqual([
      -32001,
      'MCPTRUST_DENIED: tool "evil" not in lockfile allowlist',
    ]);
    expect(await errorOf('prompts/get', { name: 'x' })).toEqual([
      -32001,
      'MCPTRUST_DENIED: prompt "x" not in lockfile allowlist',
    ]);
    expect(await errorOf('resources/read', { uri: 'file:///etc/passwd' })).toEqual([
      -32001,
      'MCPTRUST_DENIED: resource URI does not match any locked template',
    ]);
    expect((await errorOf('tools/format', {}))[0]).toBe(-32601);
  });

  test('more than 1,024 open requests are an overload of its code', async () => {
    const guarded = await startRogue('never-answers-pings', { released: true });
    await initialize(guarded);
    for (let id = 0; id <= 1024; id++) guarded.send({ jsonrpc: '2.0', id, method: 'ping' });
    const { error } = await guarded.until((message) => message.error !== undefined);
    expect([error?.code, error?.message]).toEqual([
      -32002,
      'MCPTRUST_OVERLOADED: proxy at capacity, cannot process request safely',
    ]);
  });
});
