import { describe, expect, test } from 'vitest';
import { described, refusal, stub } from '../../test/capability.ts';
import { hashToolSpecStatic } from './call.ts';
import { type Composable, dynamicToolkit, evaluateComposable, policy, tool, toolkit } from './index.ts';

const handler = async () => null;
const named = (name: string) => tool({ name, inputSchema: stub(), handler });

describe('what cannot be named or is no composable', () => {
  test('names are texts that are not empty', () => {
    for (const name of ['', undefined, null, 7, '\ud800'] as string[]) {
      expect(refusal(() => named(name))).toBe('CAPABILITY_ARGUMENT at /name');
      expect(refusal(() => toolkit([], { name }))).toBe('CAPABILITY_ARGUMENT at /name');
      expect(refusal(() => dynamicToolkit({ name, create: () => [] }))).toBe('CAPABILITY_ARGUMENT at /name');
      expect(refusal(() => policy(name, () => true))).toBe('CAPABILITY_ARGUMENT at /id');
    }
  });

  test('instructions are lists of lines; a text in their place is refused, not taken letter by letter', () => {
    const make = (instructions: unknown) => () =>
      tool({ name: 't', inputSchema: stub(), instructions: instructions as string[], handler });
    expect(refusal(make('Search with care.'))).toBe('CAPABILITY_ARGUMENT at /instructions');
    expect(refusal(make(['ok', 7]))).toBe('CAPABILITY_ARGUMENT at /instructions');
    expect(refusal(make(['half \ud800']))).toBe('CAPABILITY_ARGUMENT at /instructions');
    const dynamic = { name: 'd', instructions: 'text' as unknown as string[], create: () => [] };
    expect(refusal(() => dynamicToolkit(dynamic))).toBe('CAPABILITY_ARGUMENT at /instructions');
    expect(refusal(() => toolkit([], { name: 'k', instructions: 7 as unknown as string }))).toBe(
      'CAPABILITY_ARGUMENT at /instructions',
    );
  });

  test('handlers, descriptions, policies and bindings of the wrong kind', () => {
    const base = { name: 't', inputSchema: stub(), handler };
    expect(refusal(() => tool({ ...base, handler: 1 as never }))).toBe('CAPABILITY_ARGUMENT at /handler');
    expect(refusal(() => tool({ ...base, description: '\udc00' }))).toBe(
      'CAPABILITY_ARGUMENT at /description',
    );
    expect(refusal(() => tool({ ...base, description: 1 as never }))).toBe(
      'CAPABILITY_ARGUMENT at /description',
    );
    const look = { id: 'p', evaluate: () => true, executeBinding: 'live' } as const;
    expect(refusal(() => tool({ ...base, policies: [look] }))).toBe('CAPABILITY_ARGUMENT at /policies');
    expect(refusal(() => policy('p', 1 as never))).toBe('CAPABILITY_ARGUMENT at /evaluate');
    expect(refusal(() => policy('p', () => true, { executeBinding: 'never' as 'live' }))).toBe(
      'CAPABILITY_ARGUMENT at /executeBinding',
    );
    expect(refusal(() => dynamicToolkit({ name: 'd', create: 1 as never }))).toBe(
      'CAPABILITY_ARGUMENT at /create',
    );
  });

  test('members are what was made here; a copy with another name is not, nor is a tool that was evaluated', async () => {
    const copy = { ...named('safe'), name: 'evil' } as Composable;
    expect(refusal(() => toolkit([named('a'), copy], { name: 'k' }))).toBe(
      'CAPABILITY_ARGUMENT at /members/1',
    );
    const spec = (await evaluateComposable(named('t'), { env: {} })).tools.get('t')!;
    expect(refusal(() => toolkit([spec as never], { name: 'k' }))).toBe('CAPABILITY_ARGUMENT at /members/0');
    expect(refusal(() => toolkit('ab' as never, { name: 'k' }))).toBe('CAPABILITY_ARGUMENT at /members');
    expect(refusal(() => toolkit([null as never], { name: 'k' }))).toBe('CAPABILITY_ARGUMENT at /members/0');
  });

  test('two members of one name are refused, and both places are told', () => {
    const twins = [named('a'), named('b'), toolkit([], { name: 'a' })];
    expect(() => toolkit(twins, { name: 'kit' })).toThrow('Members 0 and 2 of "kit" are both named "a".');
    expect(refusal(() => toolkit(twins, { name: 'kit' }))).toBe('CAPABILITY_NAME_COLLISION at /members/2');
  });
});

describe('a composable cannot change', () => {
  test('neither its fields, nor its lists, nor the lists it was made of', () => {
    const lines = ['a'];
    const gates = [policy('p', () => true)];
    const one = tool({ name: 't', inputSchema: stub(), instructions: lines, policies: gates, handler });
    const members: Composable[] = [one];
    const kit = toolkit(members, { name: 'k', instructions: lines });
    const before = kit.computeStaticHash();
    lines.push('b');
    gates.pop();
    members.push(named('late'));
    expect(() => Object.assign(one, { name: 'x' })).toThrow(TypeError);
    expect(() => (one.instructions as string[]).push('c')).toThrow(TypeError);
    expect(() => Object.assign(one.policies[0]!, { id: 'q' })).toThrow(TypeError);
    expect(one.instructions).toEqual(['a']);
    expect(kit.members.length).toBe(1);
    expect(kit.computeStaticHash()).toBe(before);
  });

  test('its schema is converted once', () => {
    let conversions = 0;
    const inputSchema = {
      ...stub(),
      toJSONSchema() {
        conversions++;
        return { title: `version ${conversions}` };
      },
    };
    const one = tool({ name: 't', inputSchema, handler });
    expect(one.computeStaticHash()).toBe(one.computeStaticHash());
    expect(one.computeStaticHash({ profile: 'khora-icu' })).toBe(one.computeStaticHash());
    expect(conversions).toBe(1);
  });

  test('a copy of a tool has the hash of what it says, not of what it was copied from', () => {
    const safe = named('safe');
    const copy = { ...safe, description: 'changed' };
    expect(hashToolSpecStatic(copy)).not.toBe(hashToolSpecStatic(safe));
    expect(hashToolSpecStatic(copy)).toBe(
      tool({ name: 'safe', description: 'changed', inputSchema: stub(), handler }).computeStaticHash(),
    );
  });
});

describe('depth', () => {
  test('toolkits nest 1,000 deep, and are hashed without overflowing the stack', () => {
    let kit: Composable<unknown> = named('t');
    for (let i = 1; i < 1000; i++) kit = toolkit([kit], { name: `k${i}` });
    expect(kit.computeStaticHash()).toMatch(/^[0-9a-f]{64}$/);
    expect(refusal(() => toolkit([kit], { name: 'one more' }))).toBe('CAPABILITY_VALUE at /members');
  });
});

describe('the mark `opaque`', () => {
  test('is on a tool whose schema cannot say what it is', () => {
    expect(named('t').opaque).toBe(true);
    expect(tool({ name: 't', inputSchema: described({}), handler }).opaque).toBe(false);
  });
});
