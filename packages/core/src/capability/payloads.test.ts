import { describe, expect, test } from 'vitest';
import { described, refusal, stub } from '../../test/capability.ts';
import { canonicalize } from '../canon/index.ts';
import { sha256Hex } from '../crypto/index.ts';
import {
  computeInvocationContextHash,
  createRegisteredAgent,
  dynamicToolkit,
  evaluateRegisteredAgentAffordances,
  hashingOf,
  hashPlainObject,
  invocationContextCanonicalPayload,
  policy,
  runtimeCapabilityCanonicalPayload,
  type StandardSchema,
  staticPayload,
  tool,
  toolkit,
  toolSpecCanonicalPayload,
} from './index.ts';
import { agentCanonicalPayload } from './payloads.ts';
import { schemaToHashInput } from './standard-schema.ts';

const handler = async () => null;
const allow = () => true;

/** Hashed by hand: the text as it stands in the specification's rules, and SHA-256. */
const byHand = (canonical: string) => sha256Hex(canonical);

describe('canonical JSON', () => {
  test('keys are sorted at every level, undefined is left out, lists keep their order', () => {
    const value = { b: [3, { z: 1, a: undefined, c: null }, 1], a: 'x', B: true };
    expect(hashPlainObject(value)).toBe(byHand('{"B":true,"a":"x","b":[3,{"c":null,"z":1},1]}'));
  });

  test('a BigInt is refused, as by JSON.stringify', () => {
    expect(() => JSON.stringify({ n: 1n })).toThrow(TypeError);
    for (const profile of ['khora', 'khora-icu'] as const)
      expect(() => hashPlainObject({ a: [1, { n: 1n }] }, { profile })).toThrow(
        expect.objectContaining({ code: 'CANON_BIGINT', path: '/a/1/n' }),
      );
  });

  test('khora sorts by UTF-16 code units, khora-icu as en-US collates', () => {
    const value = { user_id: 1, userAgent: 2, A: 3, a: 4 };
    expect(hashPlainObject(value)).toBe(byHand('{"A":3,"a":4,"userAgent":2,"user_id":1}'));
    expect(hashPlainObject(value, { profile: 'khora-icu' })).toBe(
      byHand('{"a":4,"A":3,"user_id":1,"userAgent":2}'),
    );
  });

  test('a key named __proto__ is hashed like any other', () => {
    const value = JSON.parse('{"__proto__":{"role":"admin"},"a":1}');
    expect(hashPlainObject(value)).toBe(byHand('{"__proto__":{"role":"admin"},"a":1}'));
    expect(hashPlainObject(value)).not.toBe(hashPlainObject({ a: 1 }));
  });

  test('other words than the known ones are no profile', () => {
    expect(refusal(() => hashingOf({ profile: 'jcs' as 'khora' }))).toBe('CAPABILITY_ARGUMENT at /profile');
    expect(refusal(() => hashingOf({ schemaSource: 'guess' as 'toJSONSchema' }))).toBe(
      'CAPABILITY_ARGUMENT at /schemaSource',
    );
    expect(hashingOf()).toBe(hashingOf({ profile: 'khora', schemaSource: 'toJSONSchema' }));
  });
});

describe('the payloads of the specification, literally', () => {
  const gate = policy('b-gate', allow);
  const frozen = policy('a-gate', allow, { executeBinding: 'snapshot' });

  test('a tool', () => {
    const one = tool({
      name: 'search',
      description: 'Find things',
      inputSchema: described({ type: 'object' }),
      instructions: ['Second line', 'First line', 'Second line'],
      policies: [gate, frozen],
      handler,
    });
    expect(staticPayload(one)).toEqual({
      kind: 'tool',
      name: 'search',
      description: 'Find things',
      schema: { type: 'object' },
      instructions: ['First line', 'Second line', 'Second line'],
      policies: ['a-gate', 'b-gate'],
      policyBindings: [
        { id: 'a-gate', executeBinding: 'snapshot' },
        { id: 'b-gate', executeBinding: 'live' },
      ],
    });
    expect(toolSpecCanonicalPayload(one)).toEqual(staticPayload(one));
    expect(one.computeStaticHash()).toBe(
      byHand(
        '{"description":"Find things","instructions":["First line","Second line","Second line"],"kind":"tool",' +
          '"name":"search","policies":["a-gate","b-gate"],"policyBindings":[{"executeBinding":"snapshot",' +
          '"id":"a-gate"},{"executeBinding":"live","id":"b-gate"}],"schema":{"type":"object"}}',
      ),
    );
  });

  test('a tool without policies has no policyBindings, and an absent description is null', () => {
    const one = tool({ name: 't', inputSchema: stub(), handler });
    expect(staticPayload(one)).toEqual({
      kind: 'tool',
      name: 't',
      description: null,
      schema: { vendor: 'test', version: 1 },
      instructions: [],
      policies: [],
    });
    const empty = tool({ name: 't', description: '', inputSchema: stub(), handler });
    expect(staticPayload(empty)).toMatchObject({ description: '' });
    expect(empty.computeStaticHash()).not.toBe(one.computeStaticHash());
  });

  test('a toolkit: instructions as given or null, members by name with their hashes', () => {
    const [a, b] = ['a', 'b'].map((name) => tool({ name, inputSchema: stub(), handler }));
    const kit = toolkit([b!, a!], { name: 'kit', instructions: ['Z first', 'A second\n\nnot split'] });
    expect(staticPayload(kit)).toEqual({
      kind: 'toolkit',
      name: 'kit',
      instructions: ['Z first', 'A second\n\nnot split'],
      members: [
        { name: 'a', hash: a!.computeStaticHash() },
        { name: 'b', hash: b!.computeStaticHash() },
      ],
    });
    const forms = [undefined, null, [], 'one text', ['one text']].map((instructions) =>
      canonicalize(staticPayload(toolkit([], { name: 'kit', instructions })), 'khora'),
    );
    expect(forms.map((text) => /"instructions":(.*?),"kind"/.exec(text)![1])).toEqual([
      'null',
      'null',
      '[]',
      '"one text"',
      '["one text"]',
    ]);
  });

  test('a dynamic toolkit: policy ids sorted, no bindings, nothing of its members', () => {
    const create = () => [tool({ name: 'x', inputSchema: stub(), handler })];
    const kit = dynamicToolkit({ name: 'dyn', policies: [gate, frozen], instructions: ['b', 'a'], create });
    expect(staticPayload(kit)).toEqual({
      kind: 'dynamicToolkit',
      name: 'dyn',
      instructions: ['b', 'a'],
      policies: ['a-gate', 'b-gate'],
    });
    expect(staticPayload(dynamicToolkit({ name: 'dyn', create }))).toMatchObject({
      instructions: null,
      policies: [],
    });
  });

  test('an agent: trimmed lines that are not empty, in the order given; its context is not hashed', () => {
    const rootComposable = toolkit([], { name: 'root' });
    const instructions = ['  line2 ', '', ' \t\n', 'line1'];
    expect(agentCanonicalPayload(rootComposable.computeStaticHash(), instructions)).toEqual({
      rootComposableHash: rootComposable.computeStaticHash(),
      agentInstructions: ['line2', 'line1'],
    });
    const define = (more: { context?: Record<string, unknown>; agentId?: string; name?: string }) =>
      createRegisteredAgent({ agentId: 'id', name: 'Name', instructions, rootComposable, ...more })
        .staticHash;
    expect(define({})).toBe(
      byHand(
        `{"agentInstructions":["line2","line1"],"rootComposableHash":"${rootComposable.computeStaticHash()}"}`,
      ),
    );
    expect(define({ context: { a: 1 }, agentId: 'other', name: 'Other' })).toBe(define({}));
  });

  test('a runtime: enabled tools sorted by name', async () => {
    const members = ['b', 'a'].map((name) => tool({ name, inputSchema: stub(), handler }));
    const denied = tool({ name: 'c', inputSchema: stub(), policies: [policy('no', () => false)], handler });
    const rootComposable = toolkit([...members, denied], { name: 'root' });
    const agent = createRegisteredAgent({ agentId: 'id', name: 'Name', rootComposable });
    const { toolRefs, runtimeHash } = await evaluateRegisteredAgentAffordances(agent, { env: {} });
    const [hashOfB, hashOfA] = members.map((member) => member.computeStaticHash());
    expect(runtimeCapabilityCanonicalPayload(toolRefs)).toEqual({
      kind: 'runtime',
      tools: [
        { name: 'a', hash: hashOfA },
        { name: 'b', hash: hashOfB },
      ],
    });
    expect(runtimeHash).toBe(
      byHand(
        `{"kind":"runtime","tools":[{"hash":"${hashOfA}","name":"a"},{"hash":"${hashOfB}","name":"b"}]}`,
      ),
    );
  });

  test('two tools of one name have no order, so they have no hash', () => {
    const ref = { toolKey: 'a', toolHash: 'f'.repeat(64) };
    expect(refusal(() => runtimeCapabilityCanonicalPayload([ref, ref]))).toBe(
      'CAPABILITY_NAME_COLLISION at /tools',
    );
  });

  test('an invocation', () => {
    expect(invocationContextCanonicalPayload({ a: 1 })).toEqual({ kind: 'invocation', context: { a: 1 } });
    expect(computeInvocationContextHash({ b: new Date(0), a: [1] })).toBe(
      byHand('{"context":{"a":[1],"b":"1970-01-01T00:00:00.000Z"},"kind":"invocation"}'),
    );
  });
});

describe('schemaToHashInput', () => {
  test('what toJSONSchema() returns, called with no arguments on the schema, else vendor and version', () => {
    const seen: unknown[] = [];
    const schema = {
      ...stub(),
      toJSONSchema(...given: unknown[]) {
        seen.push(this, ...given);
        return { type: 'string' };
      },
    };
    expect(schemaToHashInput(schema)).toEqual({ type: 'string' });
    expect(seen).toEqual([schema]);
    expect(schemaToHashInput(stub('someone'))).toEqual({ vendor: 'someone', version: 1 });
  });

  test('a schema that throws, gives a promise or gives nothing is refused, and so is its tool', () => {
    const failing: readonly StandardSchema[] = [
      {
        ...stub(),
        toJSONSchema() {
          throw new TypeError('dates cannot be represented');
        },
      } as StandardSchema,
      described(Promise.resolve({})),
      described(undefined),
    ];
    const codes = ['CAPABILITY_SCHEMA', 'CAPABILITY_SCHEMA', 'CAPABILITY_SCHEMA'];
    for (const [place, inputSchema] of failing.entries()) {
      expect(refusal(() => schemaToHashInput(inputSchema))).toBe(`${codes[place]} at /schema`);
      const one = tool({ name: 'bad', inputSchema, handler });
      expect(refusal(() => one.computeStaticHash())).toBe(`${codes[place]} at /schema`);
      expect(() => toolkit([one], { name: 'kit' }).computeStaticHash()).toThrow(
        'The tool "bad" cannot be hashed: ',
      );
    }
  });

  test('a JSON Schema with `then` is no promise', () => {
    const conditional = JSON.parse('{"if":{"type":"string"},"then":{"minLength":1}}');
    expect(schemaToHashInput(described(conditional))).toEqual(conditional);
  });

  test('what is no JSON in it is refused with its path', () => {
    const one = tool({ name: 'odd', inputSchema: described({ default: new Date(0) }), handler });
    expect(refusal(() => one.computeStaticHash())).toBe('VALUE_NOT_JSON at /schema/default');
  });

  test('what is no Standard Schema is refused', () => {
    const { validate } = stub()['~standard'];
    const wrong: readonly unknown[] = [
      undefined,
      null,
      'schema',
      {},
      { '~standard': null },
      { '~standard': { version: 2, vendor: 'x', validate } },
      { '~standard': { version: 1, vendor: 7, validate } },
      { '~standard': { version: 1, vendor: 'x' } },
    ];
    for (const inputSchema of wrong) {
      expect(refusal(() => tool({ name: 't', inputSchema: inputSchema as StandardSchema, handler }))).toBe(
        'CAPABILITY_SCHEMA at /inputSchema',
      );
    }
  });
});

describe('policies in the payload', () => {
  test('of one id, the order of declaration does not show', () => {
    const live = policy('same', allow);
    const frozen = policy('same', allow, { executeBinding: 'snapshot' });
    const hashes = [
      [live, frozen],
      [frozen, live],
    ].map((policies) => tool({ name: 't', inputSchema: stub(), policies, handler }).computeStaticHash());
    expect(hashes[0]).toBe(hashes[1]);
    expect(
      staticPayload(tool({ name: 't', inputSchema: stub(), policies: [frozen, live], handler })),
    ).toMatchObject({
      policies: ['same', 'same'],
      policyBindings: [
        { id: 'same', executeBinding: 'live' },
        { id: 'same', executeBinding: 'snapshot' },
      ],
    });
  });

  test('names are sorted as the profile sorts; array-index names have no special place', () => {
    const ids = ['10', '9', 'b', 'B', 'a'].map((id) => policy(id, allow));
    const one = tool({ name: 't', inputSchema: stub(), policies: ids, handler });
    const policies = (profile: 'khora' | 'khora-icu') =>
      (staticPayload(one, { profile }) as { policies: string[] }).policies;
    expect(policies('khora')).toEqual(['10', '9', 'B', 'a', 'b']);
    expect(policies('khora-icu')).toEqual(['10', '9', 'a', 'b', 'B']);
  });

  test('khora-icu refuses lines that it cannot order, but one line needs no order', () => {
    const define = (instructions: readonly string[]) =>
      tool({ name: 't', inputSchema: stub(), instructions, handler });
    const hashing = { profile: 'khora-icu' } as const;
    expect(refusal(() => define(['é', 'e']).computeStaticHash(hashing))).toBe('CANON_KEY at /instructions');
    expect(refusal(() => define(['a\u0001', 'a']).computeStaticHash(hashing))).toBe(
      'CANON_KEY at /instructions',
    );
    expect(define(['é']).computeStaticHash(hashing)).toBe(define(['é']).computeStaticHash());
  });
});
