import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { described, stub } from '../../test/capability.ts';
import { hashToolSpecStatic } from './call.ts';
import {
  type Composable,
  captureAgentSnapshotEnvelope,
  computeInvocationContextHash,
  createRegisteredAgent,
  evaluateComposable,
  hashPlainObject,
  policy,
  tool,
  toolkit,
  verifyEnvelope,
} from './index.ts';
import { normalizeInvocationContextForHash } from './invocation.ts';
import { compareSnapshots } from './snapshot-diff.ts';
import { hashToolSpecWire, toolSpecToWire } from './wire.ts';

const runs = { numRuns: 100 * inject('soak') };
const handler = async () => null;
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { maxLength: 8 });
const lines = fc.array(fc.string({ maxLength: 8 }), { maxLength: 5 });
const json = fc.jsonValue({ maxDepth: 3 });

/** A list and one of its permutations. */
const permuted = <T>(list: fc.Arbitrary<T[]>) =>
  list.chain((items) =>
    fc.tuple(
      fc.constant(items),
      fc.shuffledSubarray(items, { minLength: items.length, maxLength: items.length }),
    ),
  );

/** The same value with the keys of its objects in another order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  );
}

describe('what does not change a static hash', () => {
  test('the order of members', () => {
    fc.assert(
      fc.property(permuted(names), ([some, others]) => {
        const kit = (list: string[]) =>
          toolkit(
            list.map((name) => tool({ name, inputSchema: stub(), handler })),
            { name: 'kit' },
          ).computeStaticHash();
        expect(kit(others)).toBe(kit(some));
      }),
      runs,
    );
  });

  test('the order of keys in a schema and in a context', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), (value) => {
        const hash = (schema: unknown) =>
          tool({ name: 't', inputSchema: described(schema), handler }).computeStaticHash();
        expect(hash(turned(value))).toBe(hash(value));
        expect(computeInvocationContextHash(turned(value))).toBe(computeInvocationContextHash(value));
      }),
      runs,
    );
  });

  test('the order of policies, bindings of one id included, and of lines of a tool', () => {
    const gates = fc.array(
      fc.tuple(
        fc.string({ minLength: 1, maxLength: 3 }),
        fc.constantFrom('live' as const, 'snapshot' as const),
      ),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(permuted(gates), permuted(lines), ([some, others], [these, those]) => {
        const hash = (list: typeof some, instructions: string[]) =>
          tool({
            name: 't',
            inputSchema: stub(),
            instructions,
            policies: list.map(([id, executeBinding]) => policy(id, () => true, { executeBinding })),
            handler,
          }).computeStaticHash();
        expect(hash(others, those)).toBe(hash(some, these));
      }),
      runs,
    );
  });
});

describe('what does change it', () => {
  test("the order of an agent's lines, whenever it changes what is left of them", () => {
    const rootComposable = toolkit([], { name: 'root' });
    fc.assert(
      fc.property(permuted(lines), ([some, others]) => {
        const define = (instructions: string[]) =>
          createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable, instructions });
        const [first, second] = [define(some), define(others)];
        const sameLines = first.staticInstructions.join('\n') === second.staticInstructions.join('\n');
        expect(first.staticHash === second.staticHash).toBe(sameLines);
      }),
      runs,
    );
  });

  test('any change of a tool that its hash covers', () => {
    const parts = fc.record({
      name: fc.string({ minLength: 1 }),
      description: fc.option(fc.string()),
      schema: json,
      instructions: lines,
      ids: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const hash = ({ name, description, schema, instructions, ids }: typeof one) =>
          tool({
            name,
            description,
            inputSchema: described(schema),
            instructions,
            policies: ids.map((id) => policy(id, () => true)),
            handler,
          }).computeStaticHash();
        const key = ({ instructions, ids, ...rest }: typeof one) =>
          hashPlainObject({ ...rest, instructions: instructions.toSorted(), ids: ids.toSorted() });
        expect(hash(one) === hash(other)).toBe(key(one) === key(other));
      }),
      runs,
    );
  });
});

describe('contexts', () => {
  test('normalising is done once: again it changes nothing', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), (value) => {
        const once = normalizeInvocationContextForHash(value);
        expect(JSON.stringify(normalizeInvocationContextForHash(once))).toBe(JSON.stringify(once));
        expect(computeInvocationContextHash(once)).toBe(computeInvocationContextHash(value));
      }),
      runs,
    );
  });

  test('JSON from outside is always taken, and hashes as its text parsed again', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const context = { value: JSON.parse(text) };
        expect(computeInvocationContextHash(context)).toBe(
          hashPlainObject({ kind: 'invocation', context: JSON.parse(JSON.stringify(context)) }),
        );
      }),
      runs,
    );
  });
});

describe('agents', () => {
  const gated = fc.record({
    name: fc.string({ minLength: 1, maxLength: 4 }),
    schema: json,
    instructions: lines,
    policies: fc.array(fc.nat(3), { maxLength: 3 }),
  });
  const answers = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 });
  const trees = fc.uniqueArray(gated, { selector: ({ name }) => name, maxLength: 6 });

  test('every enabled tool has one hash, defined, evaluated and on the wire, and every envelope recomputes', async () => {
    await fc.assert(
      fc.asyncProperty(trees, answers, fc.nat(6), async (tools, allowed, cut) => {
        const gates = allowed.map((ok, i) =>
          policy(`p${i % 3}`, () => ok, { executeBinding: i % 2 ? 'snapshot' : 'live' }),
        );
        const members = tools.map(({ name, schema, instructions, policies }) =>
          tool({
            name,
            inputSchema: described(schema),
            instructions,
            policies: policies.map((i) => gates[i]!),
            handler,
          }),
        );
        const inner: Composable<unknown> = toolkit(members.slice(cut), {
          name: 'inner kit',
          instructions: ['Inner'],
        });
        const outer = members.slice(0, cut).filter(({ name }) => name !== inner.name);
        const rootComposable = toolkit([...outer, inner], { name: 'root' });
        const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable });
        const {
          envelope,
          tools: enabled,
          policyResults,
        } = await captureAgentSnapshotEnvelope({ agent, ctx: { env: {} } });
        for (const member of members) {
          const open = member.policies.every(({ id }) => policyResults.get(id) === true);
          expect(enabled.has(member.name)).toBe(open);
          if (!open) continue;
          const spec = enabled.get(member.name)!;
          const hash = member.computeStaticHash();
          expect(hashToolSpecStatic(spec)).toBe(hash);
          expect(hashToolSpecStatic({ ...spec })).toBe(hash);
          expect(hashToolSpecWire(toolSpecToWire(spec), 'khora')).toBe(hash);
        }
        const text = JSON.stringify(envelope);
        expect(verifyEnvelope(text).failures).toEqual([]);
        expect(compareSnapshots(text, envelope).exitCode).toBe(0);
      }),
      { numRuns: 50 * inject('soak') },
    );
  });

  test('evaluating again gives the same', async () => {
    await fc.assert(
      fc.asyncProperty(trees, async (tools) => {
        const members = tools.map(({ name, instructions }) =>
          tool({ name, inputSchema: stub(), instructions, handler }),
        );
        const root = toolkit(members, { name: 'root' });
        const [first, second] = [
          await evaluateComposable(root, { env: {} }),
          await evaluateComposable(root, { env: {} }),
        ];
        expect([...second.tools]).toEqual([...first.tools]);
        expect(second.instructions).toBe(first.instructions);
      }),
      { numRuns: 30 * inject('soak') },
    );
  });
});
