import { describe, expect, test } from 'vitest';
import { rejection, stub } from '../../test/capability.ts';
import {
  type Composable,
  createRegisteredAgent,
  dynamicToolkit,
  evaluateComposable,
  evaluateRegisteredAgentAffordances,
  policy,
  type SharedPolicy,
  tool,
  toolkit,
} from './index.ts';

const handler = async () => null;
const make = (name: string, more: { policies?: SharedPolicy<unknown>[]; instructions?: string[] } = {}) =>
  tool({ name, inputSchema: stub(), handler, ...more });

/** A policy that notes each time it is asked. */
function noting(asked: string[]) {
  return (id: string, answer: unknown = true) =>
    policy(id, () => {
      asked.push(id);
      return answer as boolean;
    });
}

describe('policies', () => {
  test('are asked once each, by their object, in the order of the walk: toolkit, members, tools', async () => {
    const asked: string[] = [];
    const gate = noting(asked);
    const [z, m, a, k] = [gate('z'), gate('m'), gate('a'), gate('k')];
    const root = toolkit(
      [
        make('t1', { policies: [z, a] }),
        toolkit([make('t2', { policies: [m, z] })], { name: 'inner' }),
        dynamicToolkit({
          name: 'dyn',
          policies: [k],
          create: () => {
            asked.push('create');
            return [make('t3', { policies: [gate('d'), a] })];
          },
        }),
        make('t4', { policies: [gate('last'), k] }),
      ],
      { name: 'root' },
    );
    const { tools, policyResults } = await evaluateComposable(root, { env: {} });
    expect(asked).toEqual(['z', 'a', 'm', 'k', 'create', 'd', 'last']);
    expect([...tools.keys()]).toEqual(['t1', 't2', 't3', 't4']);
    expect([...policyResults]).toEqual(asked.filter((id) => id !== 'create').map((id) => [id, true]));
  });

  test('all policies of a tool are asked, even after one denies, so that the record is whole', async () => {
    const asked: string[] = [];
    const gate = noting(asked);
    const root = toolkit([make('t', { policies: [gate('no', false), gate('yes')] })], { name: 'root' });
    const { tools, disabled, policyResults } = await evaluateComposable(root, { env: {} });
    expect(asked).toEqual(['no', 'yes']);
    expect(tools.size).toBe(0);
    expect(disabled).toEqual([{ kind: 'tool', name: 't', place: '/root/t', deniedBy: ['no'] }]);
    expect(Object.fromEntries(policyResults)).toEqual({ no: false, yes: true });
  });

  test('what is known already is not asked again, and what is asked is added', async () => {
    const asked: string[] = [];
    const gate = noting(asked);
    const [known, fresh] = [gate('known'), gate('fresh')];
    const resolvedPolicies = new Map<SharedPolicy, boolean>([[known, false]]);
    const root = toolkit([make('a', { policies: [known] }), make('b', { policies: [fresh] })], {
      name: 'root',
    });
    const found = await evaluateComposable(root, { env: {} }, { resolvedPolicies });
    expect(asked).toEqual(['fresh']);
    expect([...found.tools.keys()]).toEqual(['b']);
    expect(found.resolvedPolicies).toBe(resolvedPolicies);
    expect(resolvedPolicies.get(fresh)).toBe(true);
  });

  test('what is known allows only by being true, as an answer does', async () => {
    const gate = policy('p', () => true);
    const resolvedPolicies = new Map<SharedPolicy, boolean>([[gate, 'yes' as unknown as boolean]]);
    const found = await evaluateComposable(
      make('t', { policies: [gate] }),
      { env: {} },
      { resolvedPolicies },
    );
    expect([found.tools.size, Object.fromEntries(found.policyResults)]).toEqual([0, { p: false }]);
  });

  test('one that throws denies, whatever it throws; so does every answer but true', async () => {
    const odd: readonly (() => unknown)[] = [
      () => {
        throw new Error('down');
      },
      () => {
        throw Object.create(null);
      },
      async () => Promise.reject(new Error('later')),
      () => 1,
      () => 'true',
      () => undefined,
      async () => ({ allowed: true }),
    ];
    const members = odd.map((answer, i) => {
      const gate = policy(`p${i}`, answer as () => boolean);
      return make(`t${i}`, { policies: [gate] });
    });
    const { tools, policyResults } = await evaluateComposable(toolkit(members, { name: 'root' }), {
      env: {},
    });
    expect(tools.size).toBe(0);
    expect([...policyResults.values()]).toEqual(odd.map(() => false));
  });

  test('get the environment and the signal', async () => {
    const { signal } = new AbortController();
    const seen: unknown[] = [];
    const gate = policy('p', (env: { tier: string }, { abortSignal }) => {
      seen.push(env, abortSignal);
      return env.tier === 'pro';
    });
    const root = toolkit([tool({ name: 't', inputSchema: stub(), policies: [gate], handler })], {
      name: 'r',
    });
    const { tools } = await evaluateComposable(root, { env: { tier: 'pro' }, abortSignal: signal });
    expect(seen).toEqual([{ tier: 'pro' }, signal]);
    expect(tools.has('t')).toBe(true);
  });

  test('of one id must all allow, also where only one of them gates the tool', async () => {
    const [yes, no] = [policy('same', () => true), policy('same', () => false)];
    for (const order of [
      [yes, no],
      [no, yes],
    ]) {
      const members = order.map((gate, i) => make(`t${i}`, { policies: [gate!] }));
      const found = await evaluateComposable(toolkit(members, { name: 'root' }), { env: {} });
      expect([...found.policyResults]).toEqual([['same', false]]);
      expect(found.tools.size).toBe(0);
    }
  });

  test('a dynamic toolkit that a later policy of the same id denies is kept out with its tools', async () => {
    const dyn = dynamicToolkit({
      name: 'dyn',
      policies: [policy('same', () => true)],
      create: () => [make('x')],
    });
    const root = toolkit([dyn, make('t', { policies: [policy('same', () => false)] })], { name: 'root' });
    const { tools, disabled, instructions } = await evaluateComposable(root, { env: {} });
    expect([tools.size, instructions]).toEqual([0, '']);
    expect(disabled.map(({ place, deniedBy }) => [place, deniedBy])).toEqual([
      ['/root/dyn', ['same']],
      ['/root/dyn/x', ['same']],
      ['/root/t', ['same']],
    ]);
  });
});

describe('dynamic toolkits', () => {
  test('make their members at every evaluation, from the context', async () => {
    const dyn = dynamicToolkit({
      name: 'dyn',
      create: async ({ env }: { env: { tables: string[] } }) =>
        env.tables.map((table) => make(`read_${table}`)),
    });
    const root = toolkit([dyn], { name: 'root' });
    const names = async (tables: string[]) => [
      ...(await evaluateComposable(root, { env: { tables } })).tools.keys(),
    ];
    expect(await names(['a', 'b'])).toEqual(['read_a', 'read_b']);
    expect(await names(['c'])).toEqual(['read_c']);
  });

  test('are not made when denied', async () => {
    let made = 0;
    const create = () => {
      made++;
      return [];
    };
    const dyn = dynamicToolkit({ name: 'dyn', policies: [policy('no', () => false)], create });
    const { disabled } = await evaluateComposable(dyn, { env: {} });
    expect(made).toBe(0);
    expect(disabled).toEqual([{ kind: 'dynamicToolkit', name: 'dyn', place: '/dyn', deniedBy: ['no'] }]);
  });

  test('that fail, or make what is no composable, fail the evaluation', async () => {
    const evaluate = (create: () => unknown) =>
      evaluateComposable(
        toolkit([dynamicToolkit({ name: 'd', create: create as () => [] })], { name: 'r' }),
        {
          env: {},
        },
      );
    const failing = evaluate(() => {
      throw new Error('no database');
    });
    expect(await rejection(failing)).toBe('CAPABILITY_CREATE_FAILED at /r/d');
    expect(await rejection(evaluate(async () => [{ name: 'x' }]))).toBe('CAPABILITY_ARGUMENT at /members/0');
    expect(await rejection(evaluate(() => null))).toBe('CAPABILITY_ARGUMENT at /members');
    expect(await rejection(evaluate(() => [make('a'), make('a')]))).toBe(
      'CAPABILITY_NAME_COLLISION at /members/1',
    );
  });

  test('that make themselves end at the limit of nesting', async () => {
    const endless: Composable<unknown> = dynamicToolkit({ name: 'd', create: () => [endless] });
    expect(await rejection(evaluateComposable(endless, { env: {} }))).toBe('CAPABILITY_VALUE at /d');
  });
});

describe('names', () => {
  test('two enabled tools of one name are an error that tells both places', async () => {
    const shadow = dynamicToolkit({ name: 'dyn', create: () => [make('search')] });
    const root = toolkit([toolkit([make('search')], { name: 'safe' }), shadow], { name: 'root' });
    await expect(evaluateComposable(root, { env: {} })).rejects.toThrow(
      'Two enabled tools are named "search": /root/safe/search and /root/dyn/search.',
    );
    expect(await rejection(evaluateComposable(root, { env: {} }))).toBe(
      'CAPABILITY_NAME_COLLISION at /root/dyn/search',
    );
  });

  test('also where both are the same tool: whose toolkit would it belong to?', async () => {
    const shared = make('search');
    const root = toolkit([toolkit([shared], { name: 'a' }), toolkit([shared], { name: 'b' })], {
      name: 'root',
    });
    expect(await rejection(evaluateComposable(root, { env: {} }))).toBe(
      'CAPABILITY_NAME_COLLISION at /root/b/search',
    );
  });

  test('of two, one may be enabled, and it is that one that is hashed', async () => {
    const free = policy('free', ({ tier }: { tier: string }) => tier === 'free');
    const pro = policy('pro', ({ tier }: { tier: string }) => tier === 'pro');
    const define = (description: string, gate: typeof free) =>
      tool({ name: 'search', description, inputSchema: stub(), policies: [gate], handler });
    const [small, large] = [define('small', free), define('large', pro)];
    const rootComposable = toolkit([toolkit([small], { name: 'f' }), toolkit([large], { name: 'p' })], {
      name: 'root',
    });
    const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable });
    const hash = async (tier: string) =>
      (await evaluateRegisteredAgentAffordances(agent, { env: { tier } })).toolRefs[0]!.toolHash;
    expect(await hash('free')).toBe(small.computeStaticHash());
    expect(await hash('pro')).toBe(large.computeStaticHash());
  });

  test('__proto__, constructor and hasOwnProperty are names like any other', async () => {
    const names = ['__proto__', 'constructor', 'hasOwnProperty'];
    const rootComposable = toolkit(
      names.map((name) => make(name)),
      { name: '__proto__' },
    );
    const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable });
    const { tools, toolRefs } = await evaluateRegisteredAgentAffordances(agent, { env: {} });
    expect([...tools.keys()]).toEqual(names);
    expect(toolRefs.map(({ toolKey }) => toolKey)).toEqual(names);
  });
});

describe('instructions', () => {
  test('blocks with blank lines between, toolkits before members, in the order of declaration', async () => {
    const no = policy('no', () => false);
    const rootComposable = toolkit(
      [
        make('b', { instructions: ['B one', '', 'B two'] }),
        toolkit([make('c', { instructions: ['C'] })], { name: 'inner', instructions: 'Inner\n\ntext' }),
        toolkit([make('d', { policies: [no], instructions: ['D'] })], { name: 'out', instructions: ['Out'] }),
        dynamicToolkit({
          name: 'dyn',
          instructions: ['Dyn'],
          create: () => [make('a', { instructions: ['A'] })],
        }),
        dynamicToolkit({ name: 'none', instructions: ['None'], create: () => [] }),
      ],
      { name: 'root', instructions: ['Root one', 'Root two'] },
    );
    const text = 'Root one\n\nRoot two\n\nB one\n\nB two\n\nInner\n\ntext\n\nC\n\nDyn\n\nA';
    expect((await evaluateComposable(rootComposable, { env: {} })).instructions).toBe(text);
    const instructions = ['  Agent ', '', 'two'];
    const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable, instructions });
    const affordances = await evaluateRegisteredAgentAffordances(agent, { env: {} });
    expect(affordances.instructions).toBe(`Agent\n\ntwo\n\n${text}`);
  });

  test('a single tool can be the root', async () => {
    const { tools, instructions } = await evaluateComposable(make('t', { instructions: ['x'] }), { env: {} });
    expect([[...tools.keys()], instructions]).toEqual([['t'], 'x']);
  });
});

describe('hooks', () => {
  const events = (log: string[], label: string) => ({
    onPolicyEvaluated: ({
      policyId,
      ok,
      phase,
      place,
    }: {
      policyId: string;
      ok: boolean;
      phase: string;
      place: string;
    }) => log.push(`${label} ${policyId} ${ok} ${phase} ${place}`),
  });

  test('are told of each policy once: toolkits from outside in, then the own, then the context', async () => {
    const log: string[] = [];
    const [p, q] = [policy('p', () => true), policy('q', () => false)];
    const one = tool({
      name: 't',
      inputSchema: stub(),
      policies: [p, p],
      hooks: events(log, 'tool'),
      handler,
    });
    const inner = toolkit([one], { name: 'in', hooks: events(log, 'inner') });
    const dyn = dynamicToolkit({
      name: 'dyn',
      policies: [q, p],
      hooks: events(log, 'dyn'),
      create: () => [],
    });
    const root = toolkit([inner, dyn], { name: 'out', hooks: events(log, 'outer') });
    await evaluateComposable(root, { env: {}, pipelineHooks: events(log, 'context') });
    expect(log).toEqual([
      ...['outer', 'inner', 'tool', 'context'].map((label) => `${label} p true tool /out/in/t`),
      ...['outer', 'dyn', 'context'].map((label) => `${label} q false dynamicToolkit /out/dyn`),
    ]);
  });

  test('that throw change nothing, and are told', async () => {
    const failing = { onPolicyEvaluated: async () => Promise.reject(new Error('log is full')) };
    const told: unknown[] = [];
    const one = make('t', { policies: [policy('p', () => true)] });
    const { tools, hookFailures } = await evaluateComposable(one, {
      env: {},
      pipelineHooks: failing,
      onHookError(failure) {
        told.push(failure);
        throw new Error('and so is this');
      },
    });
    expect(tools.size).toBe(1);
    expect(hookFailures).toEqual([{ hook: 'onPolicyEvaluated', error: new Error('log is full') }]);
    expect(told).toEqual(hookFailures);
  });
});

describe('abort', () => {
  test('before, between policies, and while one is thinking', async () => {
    const before = AbortSignal.abort('early');
    expect(await rejection(evaluateComposable(make('t'), { env: {}, abortSignal: before }))).toBe(
      'CAPABILITY_ABORTED',
    );

    const controller = new AbortController();
    const asked: string[] = [];
    const gate = noting(asked);
    const stopping = policy('stop', () => {
      controller.abort('enough');
      return true;
    });
    const root = toolkit([make('t', { policies: [gate('first'), stopping, gate('never')] })], {
      name: 'root',
    });
    const work = evaluateComposable(root, { env: {}, abortSignal: controller.signal });
    await expect(work).rejects.toMatchObject({ code: 'CAPABILITY_ABORTED', cause: 'enough' });
    expect(asked).toEqual(['first']);

    const both = new AbortController();
    const stopsAndHangs = policy('both', () => {
      both.abort();
      return new Promise<boolean>(() => undefined);
    });
    const lost = evaluateComposable(make('t', { policies: [stopsAndHangs] }), {
      env: {},
      abortSignal: both.signal,
    });
    expect(await rejection(lost)).toBe('CAPABILITY_ABORTED');

    const waiting = new AbortController();
    const hanging = policy('hanging', () => new Promise<boolean>(() => undefined));
    const stuck = evaluateComposable(make('t', { policies: [hanging] }), {
      env: {},
      abortSignal: waiting.signal,
    });
    waiting.abort();
    expect(await rejection(stuck)).toBe('CAPABILITY_ABORTED');
  });

  test('while members are being made', async () => {
    const controller = new AbortController();
    const create = () => new Promise<[]>(() => undefined);
    const work = evaluateComposable(dynamicToolkit({ name: 'd', create }), {
      env: {},
      abortSignal: controller.signal,
    });
    controller.abort();
    expect(await rejection(work)).toBe('CAPABILITY_ABORTED');
  });

  test('a policy cannot pass off its own failure as an abort', async () => {
    const { BullaError } = await import('../error.ts');
    const gate = policy('p', () => {
      throw new BullaError('CAPABILITY_ABORTED', 'not really');
    });
    const { policyResults } = await evaluateComposable(make('t', { policies: [gate] }), { env: {} });
    expect([...policyResults]).toEqual([['p', false]]);
  });
});

describe('hashes of an evaluation', () => {
  test('are those of the effective tools, and are not computed again for the same tools', async () => {
    let conversions = 0;
    const counted = (name: string) =>
      tool({
        name,
        inputSchema: {
          ...stub(),
          toJSONSchema() {
            conversions++;
            return { title: name };
          },
        },
        handler,
      });
    const members = ['b', 'a'].map(counted);
    const gate = policy('on', ({ on }: { on: boolean }) => on);
    const extra = tool({ name: 'c', inputSchema: stub(), policies: [gate], handler });
    const rootComposable = toolkit([...members, extra], { name: 'root', hooks: { onToolExecuted: () => 0 } });
    const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable });
    const evaluate = (on: boolean) => evaluateRegisteredAgentAffordances(agent, { env: { on } });
    const [first, second, without] = [await evaluate(true), await evaluate(true), await evaluate(false)];
    expect(first.toolRefs).toEqual(
      [members[1]!, members[0]!, extra].map((one) => ({
        toolKey: one.name,
        toolHash: one.computeStaticHash(),
      })),
    );
    expect(second.toolRefs).toBe(first.toolRefs);
    expect([first.toolRefs, ...first.toolRefs].every(Object.isFrozen)).toBe(true);
    expect(second.runtimeHash).toBe(first.runtimeHash);
    expect(without.toolRefs.map(({ toolKey }) => toolKey)).toEqual(['a', 'b']);
    expect(without.runtimeHash).not.toBe(first.runtimeHash);
    expect((await evaluate(true)).runtimeHash).toBe(first.runtimeHash);
    expect(conversions).toBe(2);
  });

  test('the hash of the text follows the text, where the tools stay the same', async () => {
    const one = make('t');
    const dyn = dynamicToolkit({
      name: 'dyn',
      create: ({ env }: { env: { mood: string } }) => [
        toolkit([one], { name: 'kit', instructions: env.mood }),
      ],
    });
    const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable: dyn });
    const evaluate = (mood: string) => evaluateRegisteredAgentAffordances(agent, { env: { mood } });
    const [kind, harsh, again] = [await evaluate('kind'), await evaluate('harsh'), await evaluate('kind')];
    expect(harsh.instructionsHash).not.toBe(kind.instructionsHash);
    expect(again.instructionsHash).toBe(kind.instructionsHash);
    expect(harsh.runtimeHash).toBe(kind.runtimeHash);
  });

  test('augments bind a tool to what it stands on; one for no tool is refused', async () => {
    const no = policy('no', () => false);
    const rootComposable = toolkit([make('a'), make('b', { policies: [no] })], { name: 'root' });
    const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable });
    const evaluate = (runtimeToolAugments: Record<string, string>) =>
      evaluateRegisteredAgentAffordances(agent, { env: {} }, { runtimeToolAugments });
    const [plain, head1, head2] = [
      await evaluate({}),
      await evaluate({ a: '1', b: 'x' }),
      await evaluate({ a: '2' }),
    ];
    expect(new Set([plain, head1, head2].map(({ runtimeHash }) => runtimeHash)).size).toBe(3);
    expect(await rejection(evaluate({ typo: '1' }))).toBe('CAPABILITY_ARGUMENT at /runtimeToolAugments/typo');
    expect(await rejection(evaluate({ toString: '1' }))).toBe(
      'CAPABILITY_ARGUMENT at /runtimeToolAugments/toString',
    );
    expect(await rejection(evaluate({ a: 1 as never }))).toBe(
      'CAPABILITY_ARGUMENT at /runtimeToolAugments/a',
    );
  });
});
