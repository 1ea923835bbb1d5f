import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  initialize,
  lockOf,
  openTestStore,
  records,
  rogueLock,
  startGuard,
  startRogue,
  told,
} from '../../test/guard.ts';
import { expectGone, refusal, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';

test('a call passes, and is recorded before and after', async () => {
  const guarded = await startRogue('ordinary');
  await initialize(guarded);
  const answer = await guarded.call('echo', { text: 'hello' });
  expect(answer.result).toEqual({ content: [{ type: 'text', text: 'echo {"text":"hello"}' }] });
  expect((await guarded.call('evil')).error).toMatchObject({ code: 403 });
  expect(await guarded.end()).toEqual({ ended: 'host', error: null, calls: 1, blocked: 1 });
  expect(await told(guarded.store)).toEqual([
    'tools/call rogue/echo pending',
    'tools/call rogue/echo success',
    'tools/call rogue/evil blocked GATEWAY_NOT_LOCKED',
  ]);
  expect(guarded.received().map(({ method }) => method)).toEqual([
    'initialize',
    'notifications/initialized',
    'tools/list',
    'tools/call',
  ]);
});

describe('the end', () => {
  test('waits for the answers that are on their way', async () => {
    const guarded = await startRogue('slow', { count: 200 });
    await initialize(guarded);
    const call = guarded.call('echo', { n: 1 });
    const exit = guarded.end();
    expect((await call).result.content[0].text).toBe('echo {"n":1}');
    expect(await exit).toMatchObject({ ended: 'host', calls: 1 });
    expect((await told(guarded.store)).at(-1)).toBe('tools/call rogue/echo success');
  });

  test.each(['host', 'signal'] as const)(
    'does not wait for ever, and records what stayed open: %s',
    async (ended) => {
      const guarded = await startRogue('never-answers', { drainMs: 50 });
      await initialize(guarded);
      const calls = [guarded.call('echo'), guarded.call('add')];
      while (guarded.received().filter(({ method }) => method === 'tools/call').length < 2)
        await guarded.ask('ping');
      if (ended === 'signal') guarded.stop.abort();
      else void guarded.end();
      for (const call of calls) {
        expect((await call).error).toMatchObject({ code: 503, data: { code: 'GATEWAY_CLOSED' } });
      }
      expect(await guarded.over).toMatchObject({ ended, error: null, calls: 2, blocked: 0 });
      expect((await told(guarded.store)).toSorted()).toEqual([
        'tools/call rogue/add failure GATEWAY_CLOSED',
        'tools/call rogue/add pending',
        'tools/call rogue/echo failure GATEWAY_CLOSED',
        'tools/call rogue/echo pending',
      ]);
    },
  );

  test('takes everything that the server has started with it', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const server = script('hostile.mjs', pids, 'leaves-a-child');
    const guarded = await startGuard({
      server,
      lock: await lockOf(script('hostile.mjs', '/dev/null', 'ordinary')),
    });
    await initialize(guarded);
    await guarded.end();
    expect(await expectGone(pids)).toHaveLength(2);
  });

  test('comes also to a server that does not want to end', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const server = script('hostile.mjs', pids, 'stays-alive');
    const guarded = await startGuard({
      server,
      lock: await lockOf(script('hostile.mjs', '/dev/null', 'ordinary')),
      graceMs: 50,
    });
    await initialize(guarded);
    await guarded.end();
    await expectGone(pids);
  });
});

describe('nothing is started', () => {
  const target = (log: string) => script('rogue.mjs', log, 'ordinary');

  test('with the lock of another server, unless that is wanted', async () => {
    const folder = temporaryFolder();
    const server = target(join(folder, 'received'));
    const lock = await rogueLock('ordinary');
    const other = await startGuard({ server, lock, allowOtherServer: false });
    expect(await refusal(other.over)).toMatchObject({ code: 'GATEWAY_OTHER_SERVER' });
    const env = await startGuard({
      server: { ...target('/dev/null'), env: ['HOME'] },
      lock,
      allowOtherServer: false,
    });
    expect(await refusal(env.over)).toMatchObject({ code: 'GATEWAY_OTHER_SERVER' });
    const same = await startGuard({ server: target('/dev/null'), lock, allowOtherServer: false });
    await initialize(same);
    await same.end();
    expect(existsSync(join(folder, 'received'))).toBe(false);
  });

  test('with a lock of version 2 of another command', async () => {
    const lock = await lockOf(target('/dev/null'), { format: 'v2' });
    const other = await startGuard({ server: target('/dev/zero'), lock, allowOtherServer: false });
    expect(await refusal(other.over)).toMatchObject({ code: 'GATEWAY_OTHER_SERVER' });
    const same = await startGuard({ server: target('/dev/null'), lock, allowOtherServer: false });
    await initialize(same);
    await same.end();
  });

  test('that cannot be started, and that is recorded', async () => {
    const store = await openTestStore(temporaryFolder());
    const server = { kind: 'stdio', command: '/nowhere/server', args: [], env: [] } as const;
    const guarded = await startGuard({ server, lock: await rogueLock('ordinary'), store });
    expect(await refusal(guarded.over)).toMatchObject({ code: 'MCP_SPAWN_FAILED' });
    expect((await records(store)).map(({ outcome }) => [outcome.status, outcome.error])).toEqual([
      ['pending', null],
      ['failure', 'session: MCP_SPAWN_FAILED'],
    ]);
    await store.close();
  });
});

test('a page that was pinned does not pass with another content', async () => {
  const page = join(temporaryFolder(), 'page.html');
  appendFileSync(page, '<p>one</p>');
  const server = script('pages.mjs', page);
  const guarded = await startGuard({ server, lock: await lockOf(server) });
  await initialize(guarded);
  const read = () => guarded.ask('resources/read', { uri: 'ui://pages/page' });
  expect((await read()).result.contents[0].text).toBe('<p>one</p>');
  appendFileSync(page, '<script>two()</script>');
  expect((await read()).error).toMatchObject({ code: 502, data: { code: 'GATEWAY_CONTENT_CHANGED' } });
  await guarded.end();
  expect((await told(guarded.store)).at(-1)).toBe(
    'resources/read pages/ui://pages/page failure GATEWAY_CONTENT_CHANGED',
  );
});

test('a page that was pinned comes back exactly as pinned, whatever the answer calls it', async () => {
  const uri = 'ui://pages/page';
  const page = join(temporaryFolder(), 'page.html');
  writeFileSync(page, '<p>one</p>');
  const server = script('pages.mjs', page);
  const guarded = await startGuard({ server, lock: await lockOf(server) });
  await initialize(guarded);
  const read = () => guarded.ask('resources/read', { uri });
  const twin = () => guarded.ask('resources/read', { uri: 'ui://pages/Page#x' });
  const call = () => guarded.call('show');
  const good = { uri, text: '<p>one</p>' };
  const evil = { uri, text: '<script>two()</script>' };
  const says = async (ask: typeof read, answer: object): Promise<unknown> => {
    writeFileSync(page, JSON.stringify(answer));
    const { result, error } = await ask();
    return error === undefined ? JSON.stringify(result) : error.data?.code;
  };
  const embedded = (resource: object) => ({ content: [{ type: 'resource', resource }] });
  for (const [ask, answer] of [
    [read, { contents: [good] }],
    [twin, { contents: [good] }],
    [call, { content: [] }],
    [call, embedded(good)],
    [call, embedded({ uri: 'ui://pages/other', text: 'x' })],
    [call, { content: [{ type: 'resource_link', uri, name: 'page', mimeType: 'text/html' }] }],
    [call, { content: [{ type: 'tool_result', content: embedded(good).content }] }],
    // Data of the tool's own.
    [call, { content: [], structuredContent: embedded(evil) }],
    [call, { content: [], structuredContent: { Uri: uri, Content: [] } }],
    [read, { resultType: 'input_required', requestState: 's' }],
  ] as const) {
    expect(await says(ask, answer)).toBe(JSON.stringify(answer));
  }
  const { uri: _, ...nameless } = evil;
  for (const [ask, answer] of [
    [read, { contents: [{ ...evil, uri: `${uri}#` }] }],
    [read, { contents: [nameless] }],
    [twin, { contents: [nameless] }],
    [twin, { contents: [{ ...evil, uri: 'ui://pages/other' }] }],
    [read, { contents: [{ ...good, uri: `${uri}#` }] }],
    [read, { contents: [{ ...evil, uri: 'ui://pages/other' }, good] }],
    [read, { contents: [good, good] }],
    [read, { contents: [] }],
    [read, { contents: good }],
    [read, {}],
    [read, { resultType: 'input_required', contents: [evil] }],
    [read, { contents: [{ ...good, Text: evil.text }] }],
    [read, { contents: [{ ...good, URI: 'ui://pages/page' }] }],
    [read, { contents: [{ ...good, blob: 'eA==' }] }],
    [read, { contents: [{ ...good, mimeType: 'text/html' }] }],
    [read, { contents: [good], ...embedded(evil) }],
    [call, { content: [], contents: [evil] }],
    [call, embedded(evil)],
    [call, embedded({ ...evil, uri: 'UI://Pages/page' })],
    [call, embedded({ ...evil, uri: 'ui://pages/%70age/#x' })],
    [call, embedded({ ...evil, uri: 'ui://pages/pa\tge' })],
    [call, embedded({ ...evil, uri: 'ui://pages/p%2561ge?x' })],
    [call, embedded({ ...evil, uri: 'x://y', URI: uri })],
    [call, embedded({ Uri: uri, text: evil.text })],
    [call, embedded({ uri, name: 'page', _meta: { ui: {} } })],
    [call, { content: [{ type: 'tool_result', content: embedded(evil).content }] }],
    [call, { content: [], _meta: { page: evil } }],
    [call, { content: [], StructuredContents: { a: [[evil]] } }],
    [call, { resultType: 'input_required', inputRequests: { a: { method: 'ping', params: evil } } }],
    [() => guarded.ask('resources/read', { uri: 'ui://pages/other' }), { contents: [{ ...evil, URI: uri }] }],
  ] as const) {
    expect([answer, await says(ask, answer)]).toEqual([answer, 'GATEWAY_CONTENT_CHANGED']);
  }
  // Where a reader could put together what stands in two members.
  for (const answer of [
    { content: [{ type: 'resource', resource: good, Resource: { text: evil.text } }] },
    { content: [{ type: 'resource', resource: good, TYPE: 'text' }] },
    { content: [{ type: 'resource', Resource: evil }] },
    { messages: [{ role: 'user', Content: { type: 'resource', resource: evil } }] },
    { contents: [good], messages: [{ role: 'user', content: [], CONTENT: [] }] },
  ]) {
    expect([answer, await says(call, answer)]).toEqual([answer, 'GATEWAY_BAD_ANSWER']);
  }
});

test('what a server prints beside its messages is passed over, and recorded once', async () => {
  const server = script('hostile.mjs', join(temporaryFolder(), 'pids'), 'banner');
  const guarded = await startGuard({
    server,
    lock: await lockOf(script('hostile.mjs', '/dev/null', 'ordinary')),
  });
  await initialize(guarded);
  expect((await guarded.ask('tools/list')).result.tools).toHaveLength(2);
  await guarded.end();
  expect(await told(guarded.store)).toEqual(['from server hostile blocked GATEWAY_NOISE']);
  expect((await records(guarded.store)).at(-1)!.outcome.metrics.dropped).toEqual({ GATEWAY_NOISE: 3 });
});
