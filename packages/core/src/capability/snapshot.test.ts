import { describe, expect, test } from 'vitest';
import { described, refusal, rejection, stub } from '../../test/capability.ts';
import { hashToolSpecStatic } from './call.ts';
import { hydrateAffordances } from './hydrate.ts';
import {
  type AgentSnapshotEnvelope,
  captureAgentRuntimeSnapshot,
  captureAgentSnapshotEnvelope,
  checkEnvelope,
  createRegisteredAgent,
  dynamicToolkit,
  executeTool,
  policy,
  readCapabilityLink,
  readEnvelope,
  readSnapshot,
  tool,
  toolkit,
  verifyEnvelope,
} from './index.ts';
import { hashStaticWire, hashToolSpecWire, toolSpecToWire } from './wire.ts';

type Env = { readonly tier: string; readonly apiKey?: string };
const gate = policy<Env>('tier-pro', ({ tier }) => tier === 'pro', { executeBinding: 'snapshot' });
const other = policy<Env>('other', () => true);
const echo = tool({
  name: 'echo',
  description: '',
  inputSchema: described({ type: 'object', properties: { z: { maximum: 1e21 }, a: {} } }),
  instructions: ['Second\n\npart', '', 'First'],
  handler: () => 'echo',
});
const report = tool({
  name: 'report',
  inputSchema: stub('acme'),
  policies: [other, gate],
  handler: () => 'report',
});
const rootComposable = toolkit([toolkit([echo], { name: 'inner', instructions: 'Inner' }), report], {
  name: 'root',
  instructions: ['Root'],
});
const agent = createRegisteredAgent({
  agentId: 'support',
  name: 'Support',
  rootComposable,
  instructions: [' Be brief. '],
  context: { region: 'eu' },
});
const capture = (more: object = {}) =>
  captureAgentSnapshotEnvelope<Env>({
    agent,
    ctx: { env: { tier: 'pro', apiKey: 'secret' }, namespace: 'n', agentId: 'support' },
    invocationContext: { subjectId: 'u1', at: new Date(0) },
    sessionContext: { messageId: 'm1' },
    policyAudit: { capturedAt: 1234, policyBundleId: 'b1' },
    ...more,
  });
type Writable<T> = { -readonly [Key in keyof T]: Writable<T[Key]> };
/** A copy to tamper with. */
const copy = (envelope: AgentSnapshotEnvelope): Writable<AgentSnapshotEnvelope> =>
  JSON.parse(JSON.stringify(envelope));

describe('one tool, one hash', () => {
  test('as it is defined, as it was evaluated, and from the wire, with its bindings', async () => {
    const { tools, envelope } = await capture();
    for (const one of [echo, report]) {
      const hash = one.computeStaticHash();
      expect(hashToolSpecStatic(tools.get(one.name)!)).toBe(hash);
      expect(hashToolSpecWire(toolSpecToWire(tools.get(one.name)!), 'khora')).toBe(hash);
      const read = readEnvelope(JSON.stringify(envelope));
      expect(hashToolSpecWire(read.runtime.affordances.tools[one.name]!, 'khora')).toBe(hash);
    }
    expect(hashStaticWire(envelope.static!.root, 'khora')).toBe(rootComposable.computeStaticHash());
  });
});

describe('capture', () => {
  test('writes down what hashes need, and of the environment nothing that was not asked for', async () => {
    const { envelope, link } = await capture();
    expect(copy(envelope)).toEqual({
      schemaVersion: '2',
      static: {
        agentId: 'support',
        name: 'Support',
        staticHash: agent.staticHash,
        staticInstructions: ['Be brief.'],
        staticContext: { region: 'eu' },
        root: expect.objectContaining({ kind: 'toolkit', name: 'root', instructions: ['Root'] }),
      },
      runtime: {
        link: JSON.parse(JSON.stringify(link)),
        affordances: {
          instructions: 'Be brief.\n\nRoot\n\nInner\n\nSecond\n\npart\n\nFirst',
          tools: {
            echo: {
              name: 'echo',
              description: '',
              instructions: ['Second\n\npart', '', 'First'],
              inputSchema: { properties: { a: {}, z: { maximum: 1e21 } }, type: 'object' },
              opaque: false,
              policyBindings: [],
            },
            report: {
              name: 'report',
              description: null,
              instructions: [],
              inputSchema: { vendor: 'acme', version: 1 },
              opaque: true,
              policyBindings: [
                { id: 'other', executeBinding: 'live' },
                { id: 'tier-pro', executeBinding: 'snapshot' },
              ],
            },
          },
        },
        policy: {
          mode: 'authoritative',
          results: { other: true, 'tier-pro': true },
          capturedAt: 1234,
          policyBundleId: 'b1',
        },
        toolkitContext: { namespace: 'n', agentId: 'support' },
        invocationContext: { at: '1970-01-01T00:00:00.000Z', subjectId: 'u1' },
      },
      context: { messageId: 'm1' },
    });
    expect(JSON.stringify(envelope)).not.toContain('secret');
    const some = await capture({ envAllowlist: ['tier'], includeStatic: false, omitInvocationContext: true });
    expect(copy(some.envelope).runtime.toolkitContext.env).toEqual({ tier: 'pro' });
    expect(some.envelope.static).toBeUndefined();
    expect(some.runtime.invocationContext).toBeUndefined();
  });

  test('gives the evaluation too, with the map of policies that calls need', async () => {
    const { tools, resolvedPolicies } = await captureAgentRuntimeSnapshot<Env>({
      agent,
      ctx: { env: { tier: 'pro' } },
    });
    expect(resolvedPolicies.get(gate)).toBe(true);
    expect(await executeTool(tools.get('report')!, { env: { tier: 'free' }, resolvedPolicies }, {})).toBe(
      'report',
    );
  });

  test('refuses what is not JSON, with its path', async () => {
    expect(await rejection(capture({ sessionContext: { log: () => 1 } }))).toBe(
      'CAPABILITY_VALUE at /context/log',
    );
    const odd = createRegisteredAgent({
      agentId: 'a',
      name: 'A',
      rootComposable,
      context: { db: new Map() },
    });
    expect(await rejection(capture({ agent: odd }))).toBe('CAPABILITY_VALUE at /static/staticContext/db');
  });

  test('notices a schema that changed after it was hashed', async () => {
    const schema = { title: 'before' };
    const shifty = tool({ name: 'shifty', inputSchema: described(schema), handler: () => 0 });
    const shiftyAgent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable: shifty });
    schema.title = 'after';
    const work = captureAgentRuntimeSnapshot({ agent: shiftyAgent, ctx: { env: {} } });
    expect(await rejection(work)).toBe('CAPABILITY_SCHEMA_CHANGED at /tools/shifty');

    const never = policy('never', () => false);
    const hidden = tool({
      name: 'hidden',
      inputSchema: described(schema),
      policies: [never],
      handler: () => 0,
    });
    const hiddenAgent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable: hidden });
    schema.title = 'later';
    const whole = captureAgentSnapshotEnvelope({ agent: hiddenAgent, ctx: { env: {} } });
    expect(await rejection(whole)).toBe('CAPABILITY_SCHEMA_CHANGED at /static/root');
  });

  test('keeps what a tool stood on, so that its hash can be computed again', async () => {
    const { envelope } = await capture({ runtimeToolAugments: { report: 'head-7' } });
    expect(envelope.runtime.affordances.tools.report!.runtimeBinding).toBe('head-7');
    expect(verifyEnvelope(envelope).outcome).toBe('ok');
    const forged = copy(envelope);
    forged.runtime.affordances.tools.report!.runtimeBinding = 'head-8';
    expect(verifyEnvelope(forged).failures.map(({ code }) => code)).toEqual(['tool_hash']);
  });
});

describe('reading', () => {
  test('takes text, bytes, and values, and gives the same', async () => {
    const { envelope } = await capture();
    const text = JSON.stringify(envelope);
    for (const input of [
      text,
      new TextEncoder().encode(text),
      JSON.parse(text),
      envelope,
      readEnvelope(text),
    ]) {
      expect(verifyEnvelope(input).outcome).toBe('ok');
    }
  });

  test('refuses other versions, unknown and missing keys, wrong types and words, with the path', async () => {
    const { envelope } = await capture();
    const broken = (change: (envelope: Record<string, never>) => unknown) => {
      const changed = JSON.parse(JSON.stringify(envelope));
      change(changed);
      return refusal(() => readEnvelope(changed));
    };
    expect(broken((e: object) => Object.assign(e, { schemaVersion: '1' }))).toBe(
      'CAPABILITY_FIELD at /schemaVersion',
    );
    expect(broken((e: object) => Object.assign(e, { extra: 1 }))).toBe('CAPABILITY_FIELD at /extra');
    expect(broken((e) => delete (e.runtime as unknown as { link?: 1 }).link)).toBe(
      'CAPABILITY_FIELD at /runtime/link',
    );
    const runtime = (change: (runtime: Writable<AgentSnapshotEnvelope['runtime']>) => unknown) =>
      broken((e) => change((e as never as Writable<AgentSnapshotEnvelope>).runtime));
    expect(runtime((r) => Object.assign(r.link, { runtimeHash: 'F'.repeat(64) }))).toBe(
      'CAPABILITY_FIELD at /runtime/link/runtimeHash',
    );
    expect(runtime((r) => Object.assign(r.link, { profile: 'jcs' }))).toBe(
      'CAPABILITY_FIELD at /runtime/link/profile',
    );
    expect(runtime((r) => Object.assign(r.policy.results, { other: 'yes' }))).toBe(
      'CAPABILITY_FIELD at /runtime/policy/results/other',
    );
    expect(runtime((r) => Object.assign(r.policy, { capturedAt: 1.5 }))).toBe(
      'CAPABILITY_FIELD at /runtime/policy/capturedAt',
    );
    expect(runtime((r) => Object.assign(r.affordances.tools.echo!, { name: 'other' }))).toBe(
      'CAPABILITY_FIELD at /runtime/affordances/tools/echo/name',
    );
    expect(runtime((r) => Object.assign(r.affordances.tools.echo!, { instructions: 'text' }))).toBe(
      'CAPABILITY_FIELD at /runtime/affordances/tools/echo/instructions',
    );
    expect(
      runtime((r) => Object.assign(r.affordances.tools.report!.policyBindings[0]!, { executeBinding: 'x' })),
    ).toBe('CAPABILITY_FIELD at /runtime/affordances/tools/report/policyBindings/0/executeBinding');
    const root = (change: (root: Record<string, never>) => unknown) =>
      broken((e) => change((e as never as { static: { root: Record<string, never> } }).static.root));
    expect(root((r: object) => Object.assign(r, { kind: 'group' }))).toBe(
      'CAPABILITY_FIELD at /static/root/kind',
    );
    expect(root((r: object) => Object.assign(r, { members: {} }))).toBe(
      'CAPABILITY_FIELD at /static/root/members',
    );
    expect(refusal(() => readEnvelope('{"schemaVersion":"2","schemaVersion":"2"}'))).toMatch(
      /^JSON_DUPLICATE_KEY/,
    );
    expect(refusal(() => readEnvelope('[]'))).toBe('CAPABILITY_FIELD at ');
    expect(refusal(() => readSnapshot('{}'))).toBe('CAPABILITY_FIELD at ');
  });

  test('a link of the released package is read when it is said how it was hashed', async () => {
    const { profile: _, schemaSource: __, instructionsHash: ___, ...released } = (await capture()).link;
    expect(refusal(() => readCapabilityLink(released))).toBe('CAPABILITY_FIELD at /profile');
    const link = readCapabilityLink(released, { profile: 'khora-icu' });
    expect(link).toMatchObject({ profile: 'khora-icu', schemaSource: 'toJSONSchema', agentName: 'Support' });
  });

  test('tools, policies and members may have any name', async () => {
    const names = ['__proto__', 'constructor', 'toString'];
    const members = names.map((name) =>
      tool({
        name,
        inputSchema: described({ __proto__: null, a: 1 }),
        policies: [policy(name, () => true)],
        handler: () => 0,
      }),
    );
    const odd = createRegisteredAgent({
      agentId: 'a',
      name: 'A',
      rootComposable: toolkit(members, { name: '__proto__' }),
    });
    const { envelope } = await captureAgentSnapshotEnvelope({ agent: odd, ctx: { env: {} } });
    const verdict = verifyEnvelope(JSON.stringify(envelope));
    expect(verdict.outcome).toBe('ok');
    expect(Object.keys(verdict.envelope.runtime.affordances.tools)).toEqual(names);
    expect(Object.keys(verdict.envelope.runtime.policy.results)).toEqual(names);
  });
});

describe('verifyEnvelope', () => {
  test('computes every hash again', async () => {
    const verdict = verifyEnvelope((await capture()).envelope);
    expect(verdict).toMatchObject({
      ok: true,
      outcome: 'ok',
      failures: [],
      unchecked: [],
      opaque: ['report'],
    });
    expect(verdict.recomputed).toEqual([
      '/runtime/link/toolRefs/0/toolHash',
      '/runtime/link/toolRefs/1/toolHash',
      '/runtime/link/runtimeHash',
      '/runtime/link/instructionsHash',
      '/runtime/link/invocationHash',
      '/static/staticHash',
    ]);
  });

  test('is incomplete, never good, where a hash has nothing to be computed from', async () => {
    const { envelope } = await capture({ includeStatic: false, omitInvocationContext: true });
    const verdict = verifyEnvelope(envelope);
    expect([verdict.ok, verdict.outcome]).toEqual([false, 'incomplete']);
    expect(verdict.unchecked).toEqual(['/runtime/link/invocationHash', '/runtime/link/staticHash']);
    const whole = await capture({ omitInvocationContext: true });
    const context = { subjectId: 'u1', at: new Date(0), more: 1 };
    const verify = (invocationContext: unknown) =>
      verifyEnvelope(whole.envelope, { invocationContext, allowlist: ['subjectId', 'at'] }).outcome;
    expect(verify(context)).toBe('ok');
    expect(verify({ ...context, subjectId: 'u2' })).toBe('failed');
  });

  type Tamper = (envelope: Writable<AgentSnapshotEnvelope>) => unknown;
  const flip = (hash: string) => (hash.startsWith('0') ? '1' : '0') + hash.slice(1);
  const cases: readonly (readonly [what: string, codes: readonly string[], tamper: Tamper])[] = [
    ['a description', ['tool_hash'], ({ runtime }) => (runtime.affordances.tools.echo!.description = 'x')],
    [
      'a schema',
      ['tool_hash'],
      ({ runtime }) => (runtime.affordances.tools.echo!.inputSchema = { type: 'string' }),
    ],
    ['a tool line', ['tool_hash'], ({ runtime }) => (runtime.affordances.tools.echo!.instructions[0] = 'x')],
    [
      'a binding',
      ['tool_hash'],
      ({ runtime }) => (runtime.affordances.tools.report!.policyBindings[1]!.executeBinding = 'live'),
    ],
    [
      'a tool hash',
      ['tool_hash', 'runtime_hash'],
      ({ runtime }) => (runtime.link.toolRefs[0]!.toolHash = flip('0'.repeat(64))),
    ],
    [
      'the runtime hash',
      ['runtime_hash'],
      ({ runtime }) => (runtime.link.runtimeHash = flip(runtime.link.runtimeHash)),
    ],
    [
      'a missing tool',
      ['tool_refs'],
      ({ runtime }) => delete (runtime.affordances.tools as Record<string, unknown>).echo,
    ],
    [
      'a tool too many',
      ['tool_refs'],
      ({ runtime }) => {
        runtime.affordances.tools.extra = { ...runtime.affordances.tools.echo!, name: 'extra' };
      },
    ],
    [
      'a ref twice',
      ['tool_refs', 'runtime_hash'],
      ({ runtime }) => runtime.link.toolRefs.push(runtime.link.toolRefs[0]!),
    ],
    ['the text', ['instructions_hash'], ({ runtime }) => (runtime.affordances.instructions += ' Obey.')],
    ['the context', ['invocation_hash'], ({ runtime }) => (runtime.invocationContext = { subjectId: 'u2' })],
    [
      'a context without hash',
      ['invocation_hash'],
      ({ runtime }) => delete (runtime.link as { invocationHash?: string }).invocationHash,
    ],
    ['a denial', ['policy'], ({ runtime }) => (runtime.policy.results['tier-pro'] = false)],
    ['a missing result', ['policy'], ({ runtime }) => delete runtime.policy.results.other],
    ['the mark', ['opaque'], ({ runtime }) => (runtime.affordances.tools.report!.opaque = false)],
    ['the mark on another', ['opaque'], ({ runtime }) => (runtime.affordances.tools.echo!.opaque = true)],
    ['an agent line', ['static_hash'], ({ static: agent }) => (agent!.staticInstructions[0] = 'Be long.')],
    [
      'a toolkit line',
      ['static_hash'],
      ({ static: agent }) => ((agent!.root as { instructions: string[] }).instructions = []),
    ],
    [
      'both static hashes',
      ['static_hash'],
      ({ static: agent, runtime }) => {
        agent!.staticHash = flip(agent!.staticHash);
        runtime.link.staticHash = agent!.staticHash;
      },
    ],
    [
      "the link's static hash",
      ['static_hash'],
      ({ runtime }) => (runtime.link.staticHash = flip(runtime.link.staticHash)),
    ],
    ['the agent', ['agent'], ({ runtime }) => (runtime.link.agentId = 'other')],
    ['its name', ['agent'], ({ runtime }) => (runtime.link.agentName = 'Other')],
  ];

  test.each(cases)('notices a change of %s', async (_, codes, tamper) => {
    const envelope = copy((await capture()).envelope);
    tamper(envelope);
    const { outcome, failures } = verifyEnvelope(envelope);
    expect([outcome, [...new Set(failures.map(({ code }) => code))]]).toEqual(['failed', codes]);
    expect(refusal(() => checkEnvelope(readEnvelope(envelope)))).toBe(
      `CAPABILITY_ENVELOPE_INVALID at ${failures[0]!.path}`,
    );
  });

  test('notices tools that the definition cannot bring, and a text that is not its own', async () => {
    const stranger = tool({ name: 'stranger', inputSchema: stub(), instructions: ['S'], handler: () => 0 });
    const wide = createRegisteredAgent({
      agentId: 'a',
      name: 'A',
      rootComposable: toolkit([stranger], { name: 'r' }),
    });
    const narrow = createRegisteredAgent({
      agentId: 'a',
      name: 'A',
      rootComposable: toolkit([], { name: 'r' }),
    });
    const dynamic = createRegisteredAgent({
      agentId: 'a',
      name: 'A',
      rootComposable: toolkit([dynamicToolkit({ name: 'd', create: () => [stranger] })], { name: 'r' }),
    });
    const record = async (one: typeof wide) =>
      copy((await captureAgentSnapshotEnvelope({ agent: one, ctx: { env: {} } })).envelope);
    const [ran, claimed] = [await record(wide), await record(narrow)];
    ran.static = claimed.static!;
    ran.runtime.link.staticHash = claimed.static!.staticHash;
    expect(verifyEnvelope(ran).failures.map(({ code, path }) => [code, path])).toEqual([
      ['tool_origin', '/runtime/affordances/tools/stranger'],
      ['instructions', '/runtime/affordances/instructions'],
    ]);
    expect(verifyEnvelope(await record(dynamic)).outcome).toBe('ok');
  });

  test('notices that it names the wrong profile', async () => {
    const one = tool({ name: 't', inputSchema: stub(), instructions: ['b', 'A', 'a'], handler: () => 0 });
    const sorted = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable: one });
    const envelope = copy((await captureAgentSnapshotEnvelope({ agent: sorted, ctx: { env: {} } })).envelope);
    expect(verifyEnvelope(envelope).outcome).toBe('ok');
    envelope.runtime.link.profile = 'khora-icu';
    expect(verifyEnvelope(envelope).failures.map(({ code }) => code)).toEqual(['tool_hash', 'static_hash']);
  });

  test('under khora-icu, what that profile cannot hash fails', async () => {
    const hashing = { profile: 'khora-icu' } as const;
    const released = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable, hashing });
    const envelope = copy((await capture({ agent: released })).envelope);
    expect(verifyEnvelope(envelope).outcome).toBe('ok');
    envelope.runtime.affordances.tools.echo!.instructions = ['é', 'e'];
    expect(verifyEnvelope(envelope).failures[0]!.code).toBe('tool_hash');
  });
});

describe('hydrateAffordances', () => {
  const bind = ({ wire }: { wire: { name: string } }) => (wire.name === 'echo' ? echo : report);

  test('binds tools that have the same hash, and carries what the policies said', async () => {
    const { runtime } = readEnvelope(JSON.stringify((await capture()).envelope));
    const { tools, instructions, policyResults, policySnapshotMode } = await hydrateAffordances<Env>(
      runtime,
      bind,
    );
    expect([...tools.keys()]).toEqual(['echo', 'report']);
    expect(instructions).toBe(runtime.affordances.instructions);
    const run = (results: typeof policyResults) =>
      executeTool(
        tools.get('report')!,
        { env: { tier: 'free' }, policyResults: results, policySnapshotMode },
        {},
      );
    expect(await run(policyResults)).toBe('report');
    expect(await rejection(run({}) as Promise<unknown>)).toBe(
      'CAPABILITY_POLICY_DENIED at /policies/tier-pro',
    );
  });

  test('gives the hash without what the tool stood on', async () => {
    const { runtime } = await capture({ runtimeToolAugments: { echo: 'head' } });
    const seen: string[] = [];
    await hydrateAffordances<Env>(runtime, async (bound) => {
      seen.push(bound.toolHash);
      return bind(bound);
    });
    expect(seen).toEqual([echo.computeStaticHash(), report.computeStaticHash()]);
  });

  test('refuses a tool that only has the name', async () => {
    const { runtime } = await capture();
    const twins = [
      tool({ name: 'report', inputSchema: stub('other'), policies: [other, gate], handler: () => 0 }),
      tool({ name: 'report', inputSchema: stub('acme'), policies: [gate], handler: () => 0 }),
      tool({
        name: 'report',
        inputSchema: stub('acme'),
        policies: [other, policy<Env>('tier-pro', () => true)],
        handler: () => 0,
      }),
    ];
    for (const twin of twins) {
      const work = hydrateAffordances<Env>(runtime, ({ wire }) => (wire.name === 'echo' ? echo : twin));
      expect(await rejection(work)).toBe('CAPABILITY_HYDRATE_MISMATCH at /tools/report');
    }
    const none = hydrateAffordances<Env>(runtime, () => ({ ...echo }));
    expect(await rejection(none)).toBe('CAPABILITY_ARGUMENT at /tools/echo');
  });

  test('refuses a record that does not hash to its link, before anything is bound', async () => {
    let bound = 0;
    const work = async (tamper: (envelope: Writable<AgentSnapshotEnvelope>) => unknown) => {
      const envelope = copy((await capture()).envelope);
      tamper(envelope);
      return rejection(
        hydrateAffordances<Env>(envelope.runtime, () => {
          bound++;
          return echo;
        }),
      );
    };
    expect(await work(({ runtime }) => (runtime.link.runtimeHash = '0'.repeat(64)))).toBe(
      'CAPABILITY_ENVELOPE_INVALID at /runtimeHash',
    );
    expect(await work(({ runtime }) => (runtime.affordances.tools.report!.description = 'x'))).toBe(
      'CAPABILITY_HYDRATE_MISMATCH at /tools/report',
    );
    expect(
      await work(({ runtime }) => delete (runtime.affordances.tools as Record<string, unknown>).report),
    ).toBe('CAPABILITY_HYDRATE_MISMATCH at /tools');
    expect(bound).toBe(0);
  });
});
