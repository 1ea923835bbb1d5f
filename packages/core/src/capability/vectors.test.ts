import { describe, expect, test } from 'vitest';
import { hasVectors, readText } from '#test-files';
import { refusal, stub } from '../../test/capability.ts';
import { canonicalize } from '../canon/index.ts';
import { parse } from '../json/index.ts';
import { hashToolSpecStatic } from './call.ts';
import {
  type Composable,
  computeInvocationContextHash,
  computeRuntimeHash,
  createRegisteredAgent,
  dynamicToolkit,
  evaluateRegisteredAgentAffordances,
  hashPlainObject,
  invocationContextCanonicalPayload,
  policy,
  runtimeCapabilityCanonicalPayload,
  staticPayload,
  tool,
  toolkit,
} from './index.ts';
import { normalizeInvocationContextForHash } from './invocation.ts';
import { agentCanonicalPayload, runtimeToolBindingCanonicalPayload } from './payloads.ts';
import { hashRuntimeToolBinding } from './runtime.ts';

interface Vector {
  readonly id: string;
  readonly canonical: string;
  readonly sha256: string;
}

const handler = async () => null;
const proTier = policy('tier-pro', ({ tier }: { tier: string }) => tier === 'pro');
const frozenTier = policy('tier-pro', () => true, { executeBinding: 'snapshot' });

const t = tool({ name: 't', inputSchema: stub(), handler });
const root = toolkit([t], { name: 'root' });
const memorySearch = tool({ name: 'memory_search', inputSchema: stub(), handler });
const echo3 = tool({ name: 'echo', inputSchema: stub('example'), handler });
const demo = toolkit([echo3], { name: 'demo' });
const vendor = 'agent-capabilities-example';
const echo4 = tool({ name: 'echo', description: 'Echo a greeting', inputSchema: stub(vendor), handler });
const analytics = tool({
  name: 'analytics_export',
  description: 'Export analytics (pro tier)',
  inputSchema: stub(vendor),
  policies: [proTier],
  handler,
});
const support = toolkit([echo4, analytics], {
  name: 'support-assistant',
  instructions: ['You are a support agent.', 'Use tools when appropriate.'],
});

/** For each vector what our own builders make of the thing that it is about: the payload, and the hash. */
const made: Readonly<Record<string, () => readonly [payload: unknown, hash: string]>> = {
  V1: plain({ z: 1, a: 2 }),
  V2: plain({ outer: { z: 1, a: 2 } }),
  V3: plain({}),
  V4: plain(null),
  V5: plain([]),
  V6: composed(t),
  V7: composed(root),
  V8: agent(root, []),
  V9: runtime(t),
  V10: runtime(),
  V11: invocation({ subjectId: 'u1', n: 2, z: 1 }),
  V12: invocation({ subjectId: 's1' }),
  V13: invocation({ n: 1 }),
  V14: invocation({ subjectId: 'user-1' }),
  V15: invocation({ a: 1 }),
  V16: composed(memorySearch),
  V17: () => {
    const base = memorySearch.computeStaticHash();
    return [runtimeToolBindingCanonicalPayload(base, 'hex_a'), hashRuntimeToolBinding(base, 'hex_a')];
  },
  V18: () => {
    const toolHash = hashRuntimeToolBinding(memorySearch.computeStaticHash(), 'hex_a');
    const refs = [{ toolKey: 'memory_search', toolHash }];
    return [runtimeCapabilityCanonicalPayload(refs), computeRuntimeHash(refs)];
  },
  V19: composed(dynamicToolkit({ name: 'dyn-empty', instructions: ['dynamic line'], create: () => [] })),
  V20: composed(
    tool({ name: 't', description: 'd', instructions: ['b', 'a'], inputSchema: stub(), handler }),
  ),
  V22: composed(tool({ name: 'proOnly', inputSchema: stub(), policies: [proTier], handler })),
  V23: composed(tool({ name: 'proOnly', inputSchema: stub(), policies: [frozenTier], handler })),
  V24: composed(echo3),
  V25: composed(demo),
  V26: agent(demo, []),
  V27: runtime(echo3),
  V28: composed(echo4),
  V29: composed(analytics),
  V30: composed(support),
  V31: agent(support, ['Company-wide tone: helpful and concise.', '']),
  V32: agent(support, ['Company-wide tone: helpful and concise.', ' Escalate billing issues to tier-2.\n']),
  V33: runtime(echo4, analytics),
  V34: runtime(echo4),
  V35: invocation({ tenantId: 'acme', subjectId: 'user-100', personaSlug: 'support' }),
  V37: plain({ b: 1, 10: 2, 2: 3, '01': 4, '-1': 5, 4294967294: 6, 4294967295: 7 }),
};

function plain(value: unknown) {
  return () => [value, hashPlainObject(value)] as const;
}

function composed(composable: Composable) {
  return () => [staticPayload(composable), composable.computeStaticHash()] as const;
}

function agent(rootComposable: Composable, instructions: readonly string[]) {
  return () => {
    const made = createRegisteredAgent({ agentId: 'id', name: 'Name', instructions, rootComposable });
    return [agentCanonicalPayload(made.rootComposableHash, instructions), made.staticHash] as const;
  };
}

function runtime(...tools: readonly Parameters<typeof hashToolSpecStatic>[0][]) {
  return () => {
    const refs = tools.map((one) => ({ toolKey: one.name, toolHash: hashToolSpecStatic(one) }));
    return [runtimeCapabilityCanonicalPayload(refs), computeRuntimeHash(refs)] as const;
  };
}

function invocation(context: unknown) {
  return () => {
    const payload = invocationContextCanonicalPayload(normalizeInvocationContextForHash(context));
    return [payload, computeInvocationContextHash(context)] as const;
  };
}

describe.skipIf(!hasVectors)('the published vectors', async () => {
  const vectors: Vector[] = hasVectors ? JSON.parse(await readText('khora/vectors.json')) : [];
  const vector = (id: string) => vectors.find((one) => one.id === id)!;

  test('all 39 are accounted for', () => {
    const others = ['V21', 'V36', 'V38', 'V39'];
    expect([...Object.keys(made), ...others].sort()).toEqual(vectors.map(({ id }) => id).sort());
    expect(vectors.length).toBe(39);
  });

  test.each(Object.keys(made))('%s: our builders give its payload and its hash', (id) => {
    const [payload, hash] = made[id]!();
    expect(canonicalize(payload, 'khora')).toBe(vector(id).canonical);
    expect(hash).toBe(vector(id).sha256);
  });

  test.each(Object.keys(made))('%s hashes the same under khora-icu', (id) => {
    expect(hashPlainObject(made[id]!()[0], { profile: 'khora-icu' })).toBe(vector(id).sha256);
  });

  test('V21 is a gated tool without its bindings; no builder of ours makes that, its text hashes as published', () => {
    const { canonical, sha256 } = vector('V21');
    expect(hashPlainObject(parse(canonical))).toBe(sha256);
    const gated = tool({ name: 'proOnly', inputSchema: stub(), policies: [proTier], handler });
    expect(gated.computeStaticHash()).toBe(vector('V22').sha256);
    expect(hashToolSpecStatic(gated)).toBe(vector('V22').sha256);
  });

  test('V36 belongs to khora-icu but for its é, which is refused there; khora has another hash', () => {
    const { canonical, sha256 } = vector('V36');
    const value = JSON.parse(canonical);
    expect(refusal(() => hashPlainObject(value, { profile: 'khora-icu' }))).toBe('CANON_KEY at ');
    const byUnits = hashPlainObject(value);
    expect(byUnits).not.toBe(sha256);
    expect([byUnits.slice(0, 8), byUnits.slice(-4)]).toEqual(['ae6bba83', 'b46e']);
    // Without the one key that is not ASCII, khora-icu writes the others in the vector's order, and khora does not.
    const [ascii, shuffled] = [Object.entries(value).filter(([key]) => key !== '\u00e9'), 'BA_$1ab~efx'];
    const rank = ([key]: [string, unknown]) => shuffled.indexOf(key[0]!);
    const mixed = Object.fromEntries(ascii.toSorted((a, b) => rank(a) - rank(b)));
    const published = canonical.replace('"\u00e9":10,', '');
    expect(canonicalize(mixed, 'khora-icu')).toBe(published);
    expect(canonicalize(mixed, 'khora')).not.toBe(published);
  });

  test('V38: its text hashes as published, and the values it was made from are refused', () => {
    const { canonical, sha256 } = vector('V38');
    expect(hashPlainObject(parse(canonical, { allow: ['lone-surrogates'] }))).toBe(sha256);
    const odd: readonly unknown[] = [
      new Date(0),
      new Map(),
      Number.NaN,
      [undefined],
      [() => 1],
      [Symbol('s')],
    ];
    expect(odd.map((value) => refusal(() => hashPlainObject({ value })))).toEqual([
      'VALUE_NOT_JSON at /value',
      'VALUE_NOT_JSON at /value',
      'CANON_NOT_FINITE at /value',
      'VALUE_NOT_JSON at /value/0',
      'VALUE_NOT_JSON at /value/0',
      'VALUE_NOT_JSON at /value/0',
    ]);
  });

  test('V39: no value is not the empty text', () => {
    expect(refusal(() => hashPlainObject(undefined))).toBe('VALUE_NOT_JSON at ');
  });

  test('V33 and V34 come out of evaluations of one agent in two environments', async () => {
    const one = createRegisteredAgent({ agentId: 'support-v1', name: 'Support', rootComposable: support });
    const pro = await evaluateRegisteredAgentAffordances(one, { env: { tier: 'pro' } });
    const free = await evaluateRegisteredAgentAffordances(one, { env: { tier: 'free' } });
    expect(pro.runtimeHash).toBe(vector('V33').sha256);
    expect(free.runtimeHash).toBe(vector('V34').sha256);
  });
});
