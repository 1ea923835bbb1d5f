import { describe, expect, test } from 'vitest';
import { refusal, rejection, stub } from '../../test/capability.ts';
import {
  type CapabilityLink,
  computeFullCapabilityLink,
  computeInvocationContextHash,
  createCapabilityLink,
  createRegisteredAgent,
  diffCapabilityLinks,
  diffToolRefs,
  evaluateRegisteredAgentAffordances,
  explainCapabilityLinkField,
  explainCapabilityLinkRelationship,
  formatHashShort,
  policy,
  tool,
  toolkit,
} from './index.ts';
import { diffPolicyEvaluationSnapshots } from './link-diff.ts';

const handler = async () => null;
const gate = policy('tier-pro', ({ tier }: { tier: string }) => tier === 'pro');
const [echo, report] = [
  tool({ name: 'echo', inputSchema: stub(), handler }),
  tool({ name: 'Report', inputSchema: stub(), policies: [gate], handler }),
];
const rootComposable = toolkit([echo, report], { name: 'root', instructions: ['Be brief.'] });
const agent = createRegisteredAgent({ agentId: 'support', name: 'Support', rootComposable });

describe('a link', () => {
  test('holds the hashes, how they were made, and the tools sorted', async () => {
    const { link, runtimeHash, instructionsHash } = await computeFullCapabilityLink({
      agent,
      ctx: { env: { tier: 'pro' } },
      invocationContext: { subjectId: 'u1', secret: 's' },
      invocationContextAllowlist: ['subjectId'],
    });
    expect(link).toEqual({
      agentId: 'support',
      agentName: 'Support',
      profile: 'khora',
      schemaSource: 'toJSONSchema',
      staticHash: agent.staticHash,
      runtimeHash,
      invocationHash: computeInvocationContextHash({ subjectId: 'u1' }),
      instructionsHash,
      toolRefs: [
        { toolKey: 'Report', toolHash: report.computeStaticHash() },
        { toolKey: 'echo', toolHash: echo.computeStaticHash() },
      ],
    });
  });

  test('has no invocation hash without a context, and is refused for a wrong one', async () => {
    const ctx = { env: { tier: 'free' } };
    expect('invocationHash' in (await computeFullCapabilityLink({ agent, ctx })).link).toBe(false);
    const wrong = computeFullCapabilityLink({ agent, ctx, invocationContext: 'u1' });
    expect(await rejection(wrong)).toBe('CAPABILITY_VALUE at ');
    const empty = await computeFullCapabilityLink({
      agent,
      ctx,
      invocationContext: { a: 1 },
      invocationContextAllowlist: [],
    });
    expect(empty.link.invocationHash).toBe(computeInvocationContextHash({}));
  });

  test('is made only of tools that hash to its runtime hash', async () => {
    const { toolRefs, runtimeHash } = await evaluateRegisteredAgentAffordances(agent, {
      env: { tier: 'pro' },
    });
    const make = (refs: unknown, hash?: string) =>
      refusal(() => createCapabilityLink({ agent, toolRefs: refs as typeof toolRefs, runtimeHash: hash }));
    expect(make(toolRefs, runtimeHash)).toBe('ok');
    expect(make(toolRefs.toReversed(), runtimeHash)).toBe('ok');
    expect(make(toolRefs.slice(1), runtimeHash)).toBe('CAPABILITY_ENVELOPE_INVALID at /runtimeHash');
    const forged = [{ ...toolRefs[0]!, toolHash: echo.computeStaticHash() }, toolRefs[1]!];
    expect(make(forged, runtimeHash)).toBe('CAPABILITY_ENVELOPE_INVALID at /runtimeHash');
    expect(make([...toolRefs, toolRefs[0]])).toBe('CAPABILITY_ENVELOPE_INVALID at /toolRefs/2');
    expect(make([{ toolKey: 'x', toolHash: 'F'.repeat(64) }])).toBe(
      'CAPABILITY_ENVELOPE_INVALID at /toolRefs/0',
    );
    expect(make([{ toolKey: '', toolHash: 'f'.repeat(64) }])).toBe(
      'CAPABILITY_ENVELOPE_INVALID at /toolRefs/0',
    );
    expect(make([toolRefs[0], null])).toBe('CAPABILITY_ENVELOPE_INVALID at /toolRefs/1');
    expect(make(undefined)).toBe('CAPABILITY_ENVELOPE_INVALID at /toolRefs');
    const text = (instructionsHash: string) =>
      refusal(() => createCapabilityLink({ agent, toolRefs, instructionsHash }));
    expect(text('Be brief.')).toBe('CAPABILITY_ARGUMENT at /instructionsHash');
  });

  test('under khora-icu sorts and hashes as the released package does', async () => {
    const hashing = { profile: 'khora-icu' } as const;
    const released = createRegisteredAgent({ agentId: 'support', name: 'Support', rootComposable, hashing });
    const { link } = await computeFullCapabilityLink({ agent: released, ctx: { env: { tier: 'pro' } } });
    expect(link.profile).toBe('khora-icu');
    expect(link.toolRefs.map(({ toolKey }) => toolKey)).toEqual(['echo', 'Report']);
  });
});

test('each field of a link can say what its change means', () => {
  expect(explainCapabilityLinkField('runtimeHash')).toBe('The enabled tools differ.');
  expect(explainCapabilityLinkField('invocationHash')).toBe('They are bound to different contexts.');
});

const hash = (digit: string) => digit.repeat(64);
const base: CapabilityLink = {
  agentId: 'a',
  agentName: 'A',
  profile: 'khora',
  schemaSource: 'toJSONSchema',
  staticHash: hash('1'),
  runtimeHash: hash('2'),
  invocationHash: hash('3'),
  instructionsHash: hash('4'),
  toolRefs: [],
};

describe('differences', () => {
  test('of tools, by name, whatever their order', () => {
    const ref = (toolKey: string, digit: string) => ({ toolKey, toolHash: hash(digit) });
    const first = [ref('a', '1'), ref('b', '1'), ref('c', '1'), ref('__proto__', '1')];
    const second = [ref('d', '1'), ref('c', '2'), ref('b', '1'), ref('__proto__', '2')];
    expect(diffToolRefs(first, second)).toEqual({
      onlyInFirst: [ref('a', '1')],
      onlyInSecond: [ref('d', '1')],
      hashChanged: [
        { toolKey: 'c', firstHash: hash('1'), secondHash: hash('2') },
        { toolKey: '__proto__', firstHash: hash('1'), secondHash: hash('2') },
      ],
    });
    expect(refusal(() => diffToolRefs([ref('a', '1'), ref('a', '2')], []))).toBe(
      'CAPABILITY_ENVELOPE_INVALID at /toolRefs',
    );
  });

  test('of links, in a fixed order', () => {
    const { invocationHash: _, ...unbound } = base;
    const diff = diffCapabilityLinks(base, { ...unbound, agentName: 'B', runtimeHash: hash('9') });
    expect(diff).toEqual({
      unchanged: ['agentId', 'profile', 'schemaSource', 'staticHash', 'instructionsHash'],
      changed: [
        { field: 'agentName', first: 'A', second: 'B' },
        { field: 'runtimeHash', first: hash('2'), second: hash('9') },
        { field: 'invocationHash', first: hash('3'), second: undefined },
      ],
    });
  });

  test('in sentences, all of them', () => {
    const explain = (more: Partial<CapabilityLink>) =>
      explainCapabilityLinkRelationship(base, { ...base, ...more });
    expect(explain({})).toBe('They are the same.');
    expect(explain({ agentId: 'b' })).toBe('They are different agents.');
    expect(explain({ profile: 'khora-icu', staticHash: hash('9') })).toBe(
      'They were hashed under different profiles, so their hashes cannot be compared. ' +
        'The definition differs: its tools, their policies or its instructions.',
    );
    expect(explain({ staticHash: hash('9'), runtimeHash: hash('9') })).toBe(
      'The definition differs: its tools, their policies or its instructions. The enabled tools differ.',
    );
    expect(explain({ runtimeHash: hash('9'), invocationHash: hash('8') })).toBe(
      'The definition is the same; what its policies and dynamic toolkits make of it is not. ' +
        'The enabled tools differ. They are bound to different contexts.',
    );
    expect(explain({ invocationHash: hash('9') })).toBe(
      'The definition and the enabled tools are the same. They are bound to different contexts.',
    );
    expect(explain({ agentName: 'B' })).toBe('All hashes are the same. The agent has another name.');
  });

  test('of policies, by ids that the results hold themselves', () => {
    const first = { results: { kept: true, gone: false, turned: true } };
    const second = {
      results: JSON.parse('{"kept":true,"turned":false,"constructor":true,"__proto__":true}'),
    };
    expect(diffPolicyEvaluationSnapshots(first, second)).toEqual({
      onlyInFirst: [{ policyId: 'gone', allowed: false }],
      onlyInSecond: [
        { policyId: 'constructor', allowed: true },
        { policyId: '__proto__', allowed: true },
      ],
      valueChanged: [{ policyId: 'turned', first: true, second: false }],
    });
  });
});

describe('formatHashShort', () => {
  test('keeps the ends', () => {
    const whole = `abcdef${'0'.repeat(52)}123456`;
    expect(formatHashShort(whole)).toBe('abcdef…123456');
    expect(formatHashShort(whole, { prefix: 4, suffix: 2 })).toBe('abcd…56');
    expect(formatHashShort(whole, { suffix: 0 })).toBe('abcdef…');
    expect(formatHashShort(whole, { prefix: 0, suffix: 3 })).toBe('…456');
    expect(formatHashShort('short')).toBe('short');
    expect(formatHashShort('')).toBe('');
    expect(formatHashShort('0123456789abc')).toBe('0123456789abc');
    expect(formatHashShort('0123456789abcd')).toBe('012345…89abcd');
    for (const suffix of [-1, 1.5, Number.NaN]) {
      expect(refusal(() => formatHashShort(whole, { suffix }))).toBe('CAPABILITY_ARGUMENT');
    }
  });
});
