import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Commitment, opens } from '@bulla/core/canon';
import { parse } from '@bulla/core/json';
import { lockDigest } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import {
  initialize,
  type Message,
  openTestStore,
  records,
  rogueLock,
  type Sealed,
  startGuard,
  startRogue,
  told,
} from '../../test/guard.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { liftKill, type Store, setKill } from '../store/index.ts';

const codeOf = (message: Message): unknown => message.error?.data?.code;
const calls = (all: readonly Sealed[]): Sealed[] => all.filter(({ type }) => type === 'tool');

describe('the evidence map', () => {
  test('of a call', async () => {
    const lock = await rogueLock('ordinary');
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    const params = { name: 'echo', arguments: { text: 'secret' } };
    await guarded.ask('tools/call', params, 'request-7');
    await guarded.end();
    const [opened, intent, outcome, closed] = (await records(guarded.store)) as [
      Sealed,
      Sealed,
      Sealed,
      Sealed,
    ];
    const { session_id } = intent.context;
    const { instance, server, args } = intent.context.environment.bulla;
    expect(session_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(instance).toMatch(/^[0-9a-f-]{36}$/);
    const digest = lock.native!.tools.get('echo')!.digest;
    const bulla = {
      v: 1,
      server: { name: 'rogue', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
      lock: lockDigest(lock),
      instance,
    };
    expect(intent).toMatchObject({
      type: 'tool',
      domain: 'gateway',
      parent_id: null,
      trigger: {
        type: 'agent',
        source: 'test-host/1',
        request: 'tools/call rogue/echo',
        correlation_id: 'request-7',
        user_id: null,
      },
      authority: { type: 'policy', policy_reference: `lock:${lockDigest(lock)}`, chain: [], approver: null },
      execution: { tool_calls: [] },
      outcome: { status: 'pending', error: null, result: null },
    });
    expect(intent.context).toEqual({
      agent_id: 'bot',
      session_id,
      environment: {
        bulla: {
          ...bulla,
          tool: { server: 'rogue', name: 'echo', locked: digest },
          args: { commitment: expect.stringMatching(/^[0-9a-f]{64}$/), of: 'jcs' },
        },
      },
    });
    expect(outcome).toMatchObject({
      type: 'tool',
      domain: 'gateway',
      parent_id: intent.id,
      context: {
        ...intent.context,
        environment: { bulla: { ...intent.context.environment.bulla, intent: intent.id } },
      },
    });
    expect(outcome.authority).toEqual(intent.authority);
    expect(outcome.outcome).toMatchObject({ status: 'success', error: null, result: null });
    const [call] = outcome.execution.tool_calls;
    expect(call).toEqual({
      tool: 'echo',
      arguments: args,
      result: { commitment: expect.stringMatching(/^[0-9a-f]{64}$/), of: 'jcs' },
      success: true,
      duration_ms: expect.any(Number),
      error: null,
    });
    expect(opened).toMatchObject({ type: 'system', domain: 'gateway', outcome: { status: 'pending' } });
    expect(closed).toMatchObject({ type: 'system', parent_id: opened.id, outcome: { status: 'success' } });
    expect(closed.context.environment.bulla).toEqual({ ...bulla, server });

    expect(JSON.stringify(await records(guarded.store))).not.toContain('secret');
    const opening = (await guarded.store.opening(args.commitment))!;
    expect(opening).toMatchObject({
      chain: 'default',
      sequence: intent.sequence,
      kind: 'args',
      payload: null,
    });
    expect(opens(args, 'args', params.arguments, opening.salt)).toBe(true);
    const result = (await guarded.store.opening(call.result.commitment))!;
    const answer = { content: [{ type: 'text', text: 'echo {"text":"secret"}' }] };
    expect(opens(call.result, 'result', answer, result.salt)).toBe(true);
  });

  test('covers what else is forwarded, apart from the arguments', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    const again = { inputResponses: { a: { action: 'accept' } }, requestState: 's' };
    const params = { name: 'echo', arguments: { n: 1 }, _meta: { x: 1 }, ...again };
    await guarded.ask('tools/call', params);
    await guarded.ask('resources/read', { uri: 'file:///a', ...again });
    guarded.send(
      '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"ask","inputResponses":{"n":9007199254740993}}}',
    );
    await guarded.until(({ id }) => id === 1);
    await guarded.end();
    const [tool, toolOutcome, resource, , prompt] = (await records(guarded.store)).slice(1) as Sealed[];
    for (const [intent, args] of [
      [tool!, params.arguments],
      [resource!, { uri: 'file:///a' }],
    ] as const) {
      const { bulla } = intent.context.environment;
      const salt = async ({ commitment }: Commitment, kind: string) => {
        const opening = (await guarded.store.opening(commitment))!;
        expect(opening).toMatchObject({ sequence: intent.sequence, kind, payload: null });
        return opening.salt;
      };
      expect(opens(bulla.args, 'args', args, await salt(bulla.args, 'args'))).toBe(true);
      expect(opens(bulla.rest, 'rest', again, await salt(bulla.rest, 'rest'))).toBe(true);
      expect(bulla.rest.of).toBe('jcs');
    }
    expect(toolOutcome!.context.environment.bulla).toEqual({
      ...tool!.context.environment.bulla,
      intent: tool!.id,
    });
    const { rest } = prompt!.context.environment.bulla;
    expect(rest.of).toBe('exact');
    const { salt } = (await guarded.store.opening(rest.commitment))!;
    expect(opens(rest, 'rest', parse('{"inputResponses":{"n":9007199254740993}}'), salt)).toBe(true);
  });

  test('names the trace of the host, and commits to every digit', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    const text = '{"n":[9007199254740993,1.50]}';
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    guarded.send(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${text},"_meta":{"traceparent":"${traceparent}"}}}`,
    );
    await guarded.until(({ id }) => id === 1);
    await guarded.end();
    const [intent, outcome] = calls(await records(guarded.store)) as [Sealed, Sealed];
    expect(intent.trigger.correlation_id).toBe('0af7651916cd43dd8448eb211c80319c');
    const args = outcome.execution.tool_calls[0].arguments;
    expect(args).toEqual(intent.context.environment.bulla.args);
    expect(args.of).toBe('exact');
    const { salt } = (await guarded.store.opening(args.commitment))!;
    expect(opens(args, 'args', parse(text), salt)).toBe(true);
  });

  test('of what was denied', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    const { error } = await guarded.call('evil', { x: 1 });
    const long = 'x'.repeat(100_000);
    await guarded.call(long);
    await guarded.end();
    const [denied, cut] = calls(await records(guarded.store)) as [Sealed, Sealed];
    expect(denied.id).toBe(error?.data?.capsule);
    expect(denied).toMatchObject({
      trigger: { request: 'tools/call rogue/evil' },
      context: {
        environment: {
          bulla: {
            tool: { server: 'rogue', name: 'evil' },
            args: { commitment: expect.any(String), of: 'jcs' },
          },
        },
      },
      authority: { type: 'policy' },
      execution: { tool_calls: [] },
      outcome: {
        status: 'blocked',
        error: expect.stringMatching(/^pinned: GATEWAY_NOT_LOCKED: The tool "evil" is not in the lock\./),
      },
    });
    expect(cut.trigger.request.length).toBeLessThan(300);
  });
});

describe('no record, no call', () => {
  test('a store that fails stops every call before it reaches the server', async () => {
    const store = await openTestStore(temporaryFolder());
    const guarded = await startRogue('ordinary', { store });
    await initialize(guarded);
    expect((await guarded.call('echo', { n: 1 })).result).toBeDefined();
    await store.close();
    expect((await guarded.call('echo', { n: 2 })).error).toMatchObject({
      code: 503,
      message: 'Bulla: Nothing can be recorded now, so nothing is called.',
      data: { stage: 'record', code: 'RECORD_FAILED', tool: 'echo', capsule: null },
    });
    expect(codeOf(await guarded.call('evil'))).toBe('GATEWAY_NOT_LOCKED');
    expect((await guarded.ask('tools/list')).result.tools).toHaveLength(2);
    const received = guarded.received().filter(({ method }) => method === 'tools/call');
    expect(received.map(({ params }) => params?.arguments)).toEqual([{ n: 1 }]);
  });

  test('also when only the append fails', async () => {
    const real = await openTestStore(temporaryFolder());
    let fails = false;
    const failing =
      <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
      (...args: Args) =>
        fails ? Promise.reject(new Error('The disk is full.')) : work(...args);
    const store: Store = {
      ...real,
      chain: (name) => ({ ...real.chain(name), append: failing(real.chain(name).append) }),
    };
    const guarded = await startRogue('ordinary', { store });
    await initialize(guarded);
    fails = true;
    expect(codeOf(await guarded.call('echo'))).toBe('RECORD_FAILED');
    fails = false;
    expect((await guarded.call('echo')).result).toBeDefined();
    await guarded.end();
    expect(guarded.received().filter(({ method }) => method === 'tools/call')).toHaveLength(1);
    await real.close();
  });

  test('an outcome that cannot be recorded is withheld, and nobody is told that the call failed', async () => {
    const store = await openTestStore(temporaryFolder());
    const guarded = await startRogue('slow', { store, count: 800 });
    await initialize(guarded);
    const call = guarded.call('echo');
    while (!guarded.received().some(({ method }) => method === 'tools/call')) await guarded.ask('ping');
    await store.close();
    expect((await call).error).toMatchObject({
      code: 503,
      data: { code: 'RECORD_OUTCOME_LOST', tool: 'echo' },
    });
    expect((await call).error?.message).toContain('The call was made');
    expect(guarded.log.at(-2)).toMatch(/^the outcome of [0-9a-f-]{36} is not recorded: /);
  });

  test('a session that cannot be recorded does not start a server', async () => {
    const store = await openTestStore(temporaryFolder());
    await store.close();
    const log = join(temporaryFolder(), 'received');
    const server = script('rogue.mjs', log, 'ordinary');
    const guarded = await startGuard({ server, lock: await rogueLock('ordinary'), store });
    await expect(guarded.over).rejects.toThrow();
  });
});

describe('the kill switch', () => {
  async function kill(store: Store, agentId: string | null, set: boolean): Promise<void> {
    const id = randomUUID();
    await store
      .chain('default')
      .append(
        { type: 'kill' },
        { id, effect: set ? setKill({ agentId, reason: 'Enough.', capsuleId: id }) : liftKill(agentId) },
      );
  }

  test.each([null, 'bot'])('stops calls at once, for %j, from another process', async (agentId) => {
    const folder = temporaryFolder();
    const [store, other] = [await openTestStore(folder), await openTestStore(folder)];
    const guarded = await startRogue('ordinary', { store });
    await initialize(guarded);
    expect((await guarded.call('echo')).result).toBeDefined();
    await kill(other, agentId, true);
    expect((await guarded.call('echo')).error).toMatchObject({
      code: 403,
      message: expect.stringContaining('Enough.'),
      data: { stage: 'kill', code: 'KILLED', tool: 'echo', capsule: expect.any(String) },
    });
    expect(codeOf(await guarded.ask('prompts/get', { name: 'ask' }))).toBe('KILLED');
    await kill(other, agentId, false);
    expect((await guarded.call('echo')).result).toBeDefined();
    await guarded.end();
    expect(guarded.received().filter(({ method }) => method === 'tools/call')).toHaveLength(2);
    expect(await told(store)).toEqual([
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
      'tools/call rogue/echo blocked KILLED',
      'prompts/get rogue/ask blocked KILLED',
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
    ]);
    await store.close();
    await other.close();
  });

  test('that is thrown while a call is sealed keeps it from the server', async () => {
    const real = await openTestStore(temporaryFolder());
    let isSealing = false;
    const store: Store = {
      ...real,
      chain: (name) => ({
        ...real.chain(name),
        async append(input, options) {
          if (input.outcome?.status === 'pending' && input.type === 'tool') {
            isSealing = true;
            await kill(real, 'bot', true);
          }
          return real.chain(name).append(input, options);
        },
      }),
    };
    const guarded = await startRogue('ordinary', { store });
    await initialize(guarded);
    expect(codeOf(await guarded.call('echo'))).toBe('KILLED');
    expect(isSealing).toBe(true);
    await guarded.end();
    expect(guarded.received().map(({ method }) => method)).not.toContain('tools/call');
    expect(await told(real)).toEqual([
      'tools/call rogue/echo pending',
      'tools/call rogue/echo blocked KILLED',
    ]);
    await real.close();
  });

  test('of another agent does not matter', async () => {
    const store = await openTestStore(temporaryFolder());
    await kill(store, 'somebody else', true);
    const guarded = await startRogue('ordinary', { store });
    await initialize(guarded);
    expect((await guarded.call('echo')).result).toBeDefined();
    await guarded.end();
    await store.close();
  });
});

test('parallel calls share commits', async () => {
  const store = await openTestStore(temporaryFolder());
  const guarded = await startRogue('ordinary', { store });
  await initialize(guarded);
  await guarded.ask('tools/list');
  const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => guarded.call('echo', { n })));
  expect(answers.map(({ result }) => result.content[0].text)).toEqual(
    Array.from({ length: 300 }, (_, n) => `echo {"n":${n}}`),
  );
  await guarded.end();
  const sealed = calls(await records(store));
  expect(sealed).toHaveLength(600);
  const intents = new Map(
    sealed.filter(({ parent_id }) => parent_id === null).map((intent) => [intent.id, intent]),
  );
  const outcomes = sealed.filter(({ parent_id }) => parent_id !== null);
  expect(new Set(outcomes.map(({ parent_id }) => parent_id))).toEqual(new Set(intents.keys()));
  // Each of them was sealed before its outcome, and many at a time.
  for (const outcome of outcomes)
    expect(intents.get(outcome.parent_id!)!.sequence).toBeLessThan(outcome.sequence);
  expect(new Set(sealed.map(({ signed_at }) => signed_at)).size).toBeLessThan(300);
  await store.close();
});

describe('modes that only watch', () => {
  test('audit: nothing is removed or blocked, and what would be is recorded', async () => {
    const guarded = await startRogue('adds-a-tool', { mode: 'audit', recheckMs: 0 });
    await initialize(guarded);
    await guarded.call('echo');
    expect((await guarded.ask('tools/list')).result.tools).toHaveLength(3);
    expect((await guarded.call('evil', { x: 1 })).result.content[0].text).toBe('evil {"x":1}');
    expect((await guarded.ask('resources/read', { uri: 'file:///b' })).result.contents).toHaveLength(1);
    expect(codeOf(await guarded.ask('host/unknown'))).toBe('GATEWAY_METHOD');
    await guarded.end();
    expect(await told(guarded.store)).toEqual([
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
      'tools/list rogue success',
      'tools/call rogue/evil pending',
      'tools/call rogue/evil success',
      'resources/read rogue pending',
      'resources/read rogue success',
      'host/unknown rogue blocked GATEWAY_METHOD',
    ]);
    const steps = (await records(guarded.store)).slice(1, -1).map(({ authority }) => authority.chain);
    const step = { step: 'audit', decision: 'would-block', stage: 'pinned', code: 'GATEWAY_NOT_LOCKED' };
    expect(steps).toEqual([[], [], [{ ...step, stage: 'lists' }], [step], [step], [step], [step], []]);
  });

  test('filter: what is not locked is not shown, but can be called', async () => {
    const guarded = await startRogue('adds-a-tool', { mode: 'filter', recheckMs: 0 });
    await initialize(guarded);
    await guarded.call('echo');
    expect((await guarded.ask('tools/list')).result.tools).toHaveLength(2);
    expect((await guarded.call('evil')).result.content[0].text).toBe('evil {}');
  });
});
