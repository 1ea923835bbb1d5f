import { describe, expect, test } from 'vitest';
import { drain, rejection, stub } from '../../test/capability.ts';
import {
  dynamicToolkit,
  evaluateComposable,
  executeTool,
  gateToolPoliciesAtExecute,
  policy,
  type SharedPolicy,
  type ToolSpec,
  tool,
  toolkit,
} from './index.ts';
import { capturePolicyResults } from './policy.ts';

type Env = { readonly on: boolean };

async function specGatedBy(...policies: SharedPolicy<Env>[]): Promise<ToolSpec<Env>> {
  const one = tool({ name: 't', inputSchema: stub(), policies, handler: () => 'ran' });
  const resolvedPolicies = new Map<SharedPolicy, boolean>(policies.map((one) => [one, true]));
  return (await evaluateComposable(one, { env: { on: true } }, { resolvedPolicies })).tools.get('t')!;
}

const denied = (id: string) => `CAPABILITY_POLICY_DENIED at /policies/${id}`;

describe('live', () => {
  test('is asked again at every call, whatever was captured', async () => {
    let asked = 0;
    const gate = policy<Env>('live', ({ on }) => {
      asked++;
      return on;
    });
    const spec = await specGatedBy(gate);
    const resolvedPolicies = new Map<SharedPolicy, boolean>([[gate, true]]);
    const policyResults = { live: true };
    const run = (on: boolean) =>
      rejection(gateToolPoliciesAtExecute(spec, { env: { on }, resolvedPolicies, policyResults }));
    expect([await run(true), await run(false), await run(true)]).toEqual(['ok', denied('live'), 'ok']);
    expect(asked).toBe(3);
    expect(resolvedPolicies.get(gate)).toBe(true);
  });

  test('denies by throwing, and says why', async () => {
    const down = new Error('directory is down');
    const spec = await specGatedBy(
      policy<Env>('p/q', () => {
        throw down;
      }),
    );
    await expect(gateToolPoliciesAtExecute(spec, { env: { on: true } })).rejects.toMatchObject({
      code: 'CAPABILITY_POLICY_DENIED',
      message: 'Policy denied: p/q',
      path: '/policies/p~1q',
      cause: down,
    });
  });
});

describe('snapshot', () => {
  const frozen = (id: string, answer = true) => policy<Env>(id, () => answer, { executeBinding: 'snapshot' });
  const run = (spec: ToolSpec<Env>, runtime: object) =>
    rejection(gateToolPoliciesAtExecute(spec, { env: { on: true }, ...runtime }));

  test('takes what was captured, by object or by id, and does not ask', async () => {
    const gate = frozen('s', false);
    const spec = await specGatedBy(gate);
    expect(await run(spec, { resolvedPolicies: new Map([[gate, true]]) })).toBe('ok');
    expect(await run(spec, { resolvedPolicies: new Map([[gate, false]]) })).toBe(denied('s'));
    expect(await run(spec, { policyResults: { s: true } })).toBe('ok');
    expect(await run(spec, { policyResults: new Map([['s', true]]) })).toBe('ok');
    expect(await run(spec, { policyResults: { s: false } })).toBe(denied('s'));
    expect(await run(spec, { policyResults: { s: 1 } })).toBe(denied('s'));
  });

  test('what was not captured denies, unless the snapshot is only a hint; then it is asked', async () => {
    const [yes, no] = [await specGatedBy(frozen('y')), await specGatedBy(frozen('n', false))];
    expect(await run(yes, {})).toBe(denied('y'));
    expect(await run(yes, { policySnapshotMode: 'authoritative', policyResults: {} })).toBe(denied('y'));
    expect(await run(yes, { policySnapshotMode: 'hint', policyResults: {} })).toBe('ok');
    expect(await run(no, { policySnapshotMode: 'hint' })).toBe(denied('n'));
    expect(await run(yes, { policySnapshotMode: 'hint', policyResults: { y: false } })).toBe(denied('y'));
  });

  test('looks only at what the results hold themselves: an id such as "constructor" is not allowed by {}', async () => {
    for (const id of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const spec = await specGatedBy(frozen(id));
      expect(await run(spec, { policyResults: {} })).toBe(denied(id));
      expect(await run(spec, { policyResults: Object.create({ [id]: true }) })).toBe(denied(id));
      expect(await run(spec, { policyResults: JSON.parse(`{"${id}":true}`) })).toBe('ok');
    }
  });

  test('policies of one id must all have allowed, in both orders and in the record', async () => {
    const [yes, no] = [frozen('same'), frozen('same', false)];
    const spec = await specGatedBy(yes);
    for (const resolvedPolicies of [
      new Map<SharedPolicy, boolean>([
        [yes, true],
        [no, false],
      ]),
      new Map<SharedPolicy, boolean>([
        [no, false],
        [yes, true],
      ]),
    ]) {
      expect(await run(spec, { resolvedPolicies })).toBe(denied('same'));
      const { results, mode } = capturePolicyResults(resolvedPolicies, 'authoritative');
      expect({ ...results }).toEqual({ same: false });
      expect(await run(spec, { policyResults: results, policySnapshotMode: mode })).toBe(denied('same'));
    }
  });
});

describe('executeTool', () => {
  test('gates, then calls; what is denied is not called', async () => {
    const calls: unknown[] = [];
    const gate = policy<Env>('p', ({ on }) => on);
    const one = tool({
      name: 't',
      inputSchema: stub(),
      policies: [gate],
      handler: (_ctx, input, options) => calls.push(input, options),
    });
    const spec = (await evaluateComposable(one, { env: { on: true } })).tools.get('t')!;
    await executeTool(spec, { env: { on: true } }, 'input', 'options');
    expect(await rejection(executeTool(spec, { env: { on: false } }, 'x') as Promise<unknown>)).toBe(
      denied('p'),
    );
    expect(calls).toEqual(['input', 'options']);
  });

  test('gates a stream when it is first read', async () => {
    const gate = policy<Env>('p', ({ on }) => on);
    const one = tool({
      name: 't',
      inputSchema: stub(),
      policies: [gate],
      async *handler() {
        yield 1;
      },
    });
    const spec = (await evaluateComposable(one, { env: { on: true } })).tools.get('t')!;
    expect(await drain(executeTool(spec, { env: { on: true } }, 0))).toEqual([1]);
    expect(await rejection(drain(executeTool(spec, { env: { on: false } }, 0)))).toBe(denied('p'));
  });

  test('is called off before and after a policy is asked, and the hook hears of the answer', async () => {
    const controller = new AbortController();
    const log: unknown[] = [];
    const gate = policy<Env>('p', () => {
      controller.abort();
      return true;
    });
    const spec = await specGatedBy(gate);
    const pipelineHooks = {
      onPolicyEvaluated: ({ policyId, phase, place }: { policyId: string; phase: string; place: string }) =>
        log.push([policyId, phase, place]),
    };
    const runtime = { env: { on: true }, abortSignal: controller.signal, pipelineHooks };
    expect(await rejection(executeTool(spec, runtime, 0) as Promise<unknown>)).toBe('CAPABILITY_ABORTED');
    expect(await rejection(executeTool(spec, runtime, 0) as Promise<unknown>)).toBe('CAPABILITY_ABORTED');
    const asked = await specGatedBy(policy<Env>('q', () => true));
    await executeTool(asked, { env: { on: true }, pipelineHooks }, 0);
    expect(log.at(-1)).toEqual(['q', 'execute', '/t']);
  });

  test('a shared map from the evaluation serves the gate of every tool', async () => {
    const gate = policy<Env>('p', ({ on }) => on, { executeBinding: 'snapshot' });
    const make = (name: string) => tool({ name, inputSchema: stub(), policies: [gate], handler: () => name });
    const { tools, resolvedPolicies } = await evaluateComposable(
      toolkit([make('a'), make('b')], { name: 'k' }),
      {
        env: { on: true },
      },
    );
    for (const spec of tools.values()) {
      expect(await executeTool(spec, { env: { on: false }, resolvedPolicies }, 0)).toBe(spec.name);
    }
  });

  test('asks the policies of the dynamic toolkits that brought the tool too, those outside first', async () => {
    const asked: string[] = [];
    const gate = (id: string, executeBinding: 'live' | 'snapshot' = 'live') =>
      policy<Env>(
        id,
        ({ on }) => {
          asked.push(id);
          return on;
        },
        { executeBinding },
      );
    const one = tool({ name: 't', inputSchema: stub(), policies: [gate('own')], handler: () => 'ran' });
    const inner = dynamicToolkit({ name: 'in', policies: [gate('inner')], create: () => [one] });
    const root = dynamicToolkit({
      name: 'out',
      policies: [gate('outer'), gate('frozen', 'snapshot')],
      create: () => [toolkit<Env>([inner], { name: 'kit' })],
    });
    const { tools, resolvedPolicies } = await evaluateComposable(root, { env: { on: true } });
    const spec = tools.get('t')!;
    expect(spec.policies.map(({ id }) => id)).toEqual(['own']);
    asked.length = 0;
    expect(await executeTool(spec, { env: { on: true }, resolvedPolicies }, 0)).toBe('ran');
    expect(asked).toEqual(['outer', 'inner', 'own']);
    const off = { env: { on: false }, resolvedPolicies };
    expect(await rejection(executeTool(spec, off, 0) as Promise<unknown>)).toBe(denied('outer'));
    const unseen = executeTool(spec, { env: { on: true } }, 0) as Promise<unknown>;
    expect(await rejection(unseen)).toBe(denied('frozen'));
  });
});
