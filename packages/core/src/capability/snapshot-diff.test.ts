import { describe, expect, test } from 'vitest';
import { described, refusal, stub } from '../../test/capability.ts';
import {
  type AgentSnapshotEnvelope,
  captureAgentSnapshotEnvelope,
  compareSnapshots,
  createRegisteredAgent,
  dynamicToolkit,
  policy,
  type StandardSchema,
  tool,
  toolkit,
} from './index.ts';
import type { SnapshotDiff } from './snapshot-diff.ts';

const handler = async () => null;
type Env = { readonly tier: string };
const pro = policy<Env>('tier-pro', ({ tier }) => tier === 'pro');
const audit = policy<Env>('audit', () => true, { executeBinding: 'snapshot' });

interface Shape {
  readonly tier?: string;
  readonly description?: string;
  readonly schema?: StandardSchema;
  readonly lines?: readonly string[];
  readonly policies?: readonly (typeof pro)[];
  readonly rootLines?: readonly string[];
  readonly agentLines?: readonly string[];
  readonly dynamicPolicies?: readonly (typeof pro)[];
  readonly extra?: boolean;
  readonly profile?: 'khora' | 'khora-icu';
  readonly subject?: string;
  readonly augment?: string;
}

const schema = (properties: object, required: readonly string[]) =>
  described({ type: 'object', properties, required });

async function capture(shape: Shape = {}): Promise<AgentSnapshotEnvelope> {
  const search = tool({
    name: 'search',
    description: shape.description ?? 'Find a page',
    inputSchema: shape.schema ?? schema({ query: { type: 'string' } }, ['query']),
    instructions: shape.lines ?? ['Search first.'],
    policies: shape.policies ?? [],
    handler,
  });
  const report = tool({ name: 'report', inputSchema: stub('acme'), policies: [pro], handler });
  const members = [
    search,
    report,
    dynamicToolkit({ name: 'dyn', policies: shape.dynamicPolicies ?? [], create: () => [] }),
    ...(shape.extra ? [tool({ name: 'extra', inputSchema: stub(), handler })] : []),
  ];
  const agent = createRegisteredAgent({
    agentId: 'a',
    name: 'A',
    rootComposable: toolkit<Env>(members, { name: 'root', instructions: shape.rootLines ?? ['Root.'] }),
    instructions: shape.agentLines ?? [],
    hashing: { profile: shape.profile },
  });
  const { envelope } = await captureAgentSnapshotEnvelope<Env>({
    agent,
    ctx: { env: { tier: shape.tier ?? 'pro' } },
    invocationContext: { subjectId: shape.subject ?? 'u1' },
    ...(shape.augment === undefined ? {} : { runtimeToolAugments: { search: shape.augment } }),
  });
  return envelope;
}

/** The comparison of two runs that can both be read. */
function diffSnapshots(first: unknown, second: unknown): SnapshotDiff {
  const compared = compareSnapshots(first, second);
  if (compared.exitCode === 2) throw compared.error;
  return compared.diff;
}

const diff = async (first: Shape, second: Shape) =>
  diffSnapshots(await capture(first), await capture(second));

describe('two snapshots', () => {
  test('that are the same', async () => {
    const found = await diff({}, {});
    expect(found).toMatchObject({
      same: true,
      explanation: 'They are the same.',
      changes: [],
      opaque: ['report'],
    });
    expect([found.definition, found.instructions, found.policies]).toEqual([undefined, undefined, undefined]);
  });

  test('of one agent in two environments: a tool is gone, and a policy says why', async () => {
    const found = await diff({ tier: 'pro' }, { tier: 'free' });
    expect(found.same).toBe(false);
    expect(found.explanation).toBe(
      'The definition is the same; what its policies and dynamic toolkits make of it is not. ' +
        'The enabled tools differ. What the policies said differs.',
    );
    expect(found.tools.onlyInFirst.map(({ toolKey }) => toolKey)).toEqual(['report']);
    expect(found.policies).toEqual({
      onlyInFirst: [],
      onlyInSecond: [],
      valueChanged: [{ policyId: 'tier-pro', first: true, second: false }],
      changed: [],
    });
    expect(found.link.changed.map(({ field }) => field)).toEqual(['runtimeHash']);
    expect(found.definition).toBeUndefined();
  });

  test('where a tool changed: its words, its schema as a caller meets it, its policies', async () => {
    const found = await diff(
      {},
      {
        description: 'Find a good page',
        schema: schema({ query: { type: 'string' }, site: { type: 'string' } }, ['query', 'site']),
        lines: ['Search last.'],
        policies: [audit],
      },
    );
    expect(found.tools.hashChanged.map(({ toolKey }) => toolKey)).toEqual(['search']);
    const [change] = found.changes;
    expect(change).toMatchObject({
      toolKey: 'search',
      description: [
        { kind: 'same', text: 'Find a ' },
        { kind: 'added', text: 'good ' },
        { kind: 'same', text: 'page' },
      ],
      instructions: [
        { kind: 'same', text: 'Search ' },
        { kind: 'removed', text: 'first' },
        { kind: 'added', text: 'last' },
        { kind: 'same', text: '.' },
      ],
      policiesAdded: [{ id: 'audit', executeBinding: 'snapshot' }],
    });
    expect(change!.schema!.relation).toBe('accepts-less');
    expect(change!.schema!.changes.map(({ kind, argument }) => [kind, argument])).toEqual(
      expect.arrayContaining([['required-added', 'site']]),
    );
    expect('policiesRemoved' in change!).toBe(false);
    expect(found.definition!.changed).toMatchObject([{ kind: 'tool', place: '/root/search' }]);
    expect(found.instructions!.map(({ kind }) => kind)).toContain('added');
  });

  test('where a schema became opaque: that it changed is told, what it accepts cannot be', async () => {
    const found = await diff({}, { schema: stub('someone') });
    expect(found.changes).toEqual([{ toolKey: 'search', opaque: true }]);
    expect(found.opaque).toEqual(['report', 'search']);
  });

  test('where a binding changed, or what a tool stands on', async () => {
    const live = policy<Env>('audit', () => true);
    const rebound = await diff({ policies: [audit] }, { policies: [live] });
    expect(rebound.changes).toEqual([
      {
        toolKey: 'search',
        policiesAdded: [{ id: 'audit', executeBinding: 'live' }],
        policiesRemoved: [{ id: 'audit', executeBinding: 'snapshot' }],
      },
    ]);
    const moved = await diff({ augment: 'head-1' }, { augment: 'head-2' });
    expect(moved.changes).toEqual([
      { toolKey: 'search', runtimeBinding: { first: 'head-1', second: 'head-2' } },
    ]);
    expect((await diff({}, { augment: 'head-2' })).changes[0]!.runtimeBinding).toEqual({ second: 'head-2' });
    expect(moved.definition).toBeUndefined();
  });

  test('where the definition changed outside of what is enabled', async () => {
    const found = await diff(
      { tier: 'free', agentLines: ['Be kind.'] },
      {
        tier: 'free',
        agentLines: ['Be brief.'],
        rootLines: ['Root!'],
        dynamicPolicies: [audit],
        extra: true,
      },
    );
    expect(found.definition).toEqual({
      onlyInFirst: [],
      onlyInSecond: ['/root/extra'],
      changed: [
        {
          place: '/root',
          kind: 'toolkit',
          instructions: [
            { kind: 'same', text: 'Root' },
            { kind: 'removed', text: '.' },
            { kind: 'added', text: '!' },
          ],
        },
        { place: '/root/dyn', kind: 'dynamicToolkit', policiesAdded: ['audit'] },
      ],
      agentInstructions: [
        { kind: 'same', text: 'Be ' },
        { kind: 'removed', text: 'kind' },
        { kind: 'added', text: 'brief' },
        { kind: 'same', text: '.' },
      ],
    });
  });

  test('bound to different contexts', async () => {
    const found = await diff({}, { subject: 'u2' });
    expect([found.same, found.explanation]).toEqual([
      false,
      'The definition and the enabled tools are the same. They are bound to different contexts.',
    ]);
  });

  test('under different profiles are told apart, but their equal tools are not called changed', async () => {
    const lines = ['a', 'B'];
    const found = await diff({ lines }, { lines, profile: 'khora-icu' });
    expect(found.same).toBe(false);
    expect(found.tools).toEqual({ onlyInFirst: [], onlyInSecond: [], hashChanged: [] });
    expect(found.explanation).toContain('under different profiles');
  });

  test('what the host adds and the time are not compared; the bundle of policies is', async () => {
    const [first, second] = [await capture(), await capture()];
    const at = (envelope: AgentSnapshotEnvelope, more: object) => ({
      ...envelope,
      context: { messageId: JSON.stringify(more) },
      runtime: { ...envelope.runtime, policy: { ...envelope.runtime.policy, ...more } },
    });
    expect(diffSnapshots(at(first, { capturedAt: 1 }), at(second, { capturedAt: 2 })).same).toBe(true);
    const found = diffSnapshots(at(first, { policyBundleId: 'x' }), at(second, { mode: 'hint' }));
    expect(found.same).toBe(false);
    expect(found.explanation).toBe('All hashes are the same. What the policies said differs.');
    expect(found.policies!.changed).toEqual([
      { field: 'mode', first: 'authoritative', second: 'hint' },
      { field: 'policyBundleId', first: 'x', second: undefined },
    ]);
  });
});

describe('links', () => {
  test('compare with each other and with envelopes, by their hashes', async () => {
    const [first, second] = [await capture(), await capture({ tier: 'free' })];
    const found = diffSnapshots(first.runtime.link, second);
    expect(found.tools.onlyInFirst.map(({ toolKey }) => toolKey)).toEqual(['report']);
    expect([found.changes, found.policies]).toEqual([[], undefined]);
    expect(diffSnapshots(first.runtime.link, first.runtime.link).same).toBe(true);
  });

  test('whose tools do not hash to their runtime hash are refused', async () => {
    const { link } = (await capture()).runtime;
    const forged = { ...link, toolRefs: link.toolRefs.slice(1) };
    expect(refusal(() => diffSnapshots(link, forged))).toBe('CAPABILITY_ENVELOPE_INVALID at /runtimeHash');
  });
});

describe('exit codes', () => {
  test('0 the same, 1 they differ, 2 one of them cannot be read', async () => {
    const [first, second] = [
      JSON.stringify(await capture()),
      JSON.stringify(await capture({ tier: 'free' })),
    ];
    expect(compareSnapshots(first, first).exitCode).toBe(0);
    expect(compareSnapshots(first, second).exitCode).toBe(1);
    const unreadable = (one: string, other: string) => {
      const found = compareSnapshots(one, other);
      return found.exitCode === 2 ? [found.unreadable, found.error.code] : found.exitCode;
    };
    expect(unreadable('{', first)).toEqual(['first', 'JSON_UNEXPECTED_END']);
    expect(unreadable(first, '{}')).toEqual(['second', 'CAPABILITY_FIELD']);
    const tampered = first.replace('Find a page', 'Find a trap');
    expect(unreadable(first, tampered)).toEqual(['second', 'CAPABILITY_ENVELOPE_INVALID']);
  });
});
