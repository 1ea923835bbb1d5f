import { describe, expect, test } from 'vitest';
import { described, stub } from '../../test/capability.ts';
import { dynamicToolkit, lint, policy, type StandardSchema, tool, toolkit } from './index.ts';

const handler = async () => null;
const found = (...args: Parameters<typeof lint>) =>
  lint(...args).map(({ code, place }) => `${code} ${place}`);

describe('lint', () => {
  test('has nothing to say of a sound definition', () => {
    const one = tool({
      name: 't',
      inputSchema: described({ type: 'object' }),
      instructions: ['a', 'b'],
      handler,
    });
    expect(lint(toolkit([one], { name: 'root' }))).toEqual([]);
  });

  test('tells which schemas are opaque, since two of them hash alike', () => {
    const [texts, numbers] = [
      tool({ name: 't', inputSchema: stub('acme'), handler }),
      tool({ name: 't', inputSchema: { ...stub('acme'), accepts: 'numbers' } as StandardSchema, handler }),
    ];
    expect(texts.computeStaticHash()).toBe(numbers.computeStaticHash());
    expect(lint(toolkit([texts], { name: 'root' }))).toEqual([
      {
        code: 'opaque_schema',
        place: '/root/t',
        message: 'The schema is hashed only as one of acme; any other one would hash alike.',
      },
    ]);
  });

  test('but not where Standard JSON Schema is used and there', () => {
    const jsonSchema = { input: () => ({ type: 'string' }), output: () => ({ type: 'number' }) };
    const inputSchema: StandardSchema = { '~standard': { ...stub()['~standard'], jsonSchema } };
    const one = tool({ name: 't', inputSchema, handler });
    expect(found(one)).toEqual(['opaque_schema /t']);
    expect(found(one, { schemaSource: 'standard-input' })).toEqual([]);
    expect(
      found(tool({ name: 't', inputSchema: stub(), handler }), { schemaSource: 'standard-input' }),
    ).toEqual(['opaque_schema /t']);
  });

  test('tells where the profiles differ or one refuses, at the tool and not at every toolkit above', () => {
    const make = (name: string, instructions: string[], jsonSchema: unknown = {}) =>
      tool({ name, inputSchema: described(jsonSchema), instructions, handler });
    const root = toolkit(
      [
        make('order', ['a', 'B']),
        make('accents', ['é', 'e']),
        make('keys', [], { minLength: 1, minimum: 1 }),
      ],
      { name: 'root' },
    );
    expect(found(root)).toEqual(['profile /root/order', 'profile /root/accents', 'profile /root/keys']);
    expect(lint(root)[1]!.message).toMatch(/^It hashes as [0-9a-f]{64} under khora, and as CANON_KEY under/);
  });

  test('tells of a toolkit whose members the profiles sort differently, though they hash alike', () => {
    const kit = (name: string, ...names: string[]) =>
      toolkit(
        names.map((each) => tool({ name: each, inputSchema: described({}), handler })),
        { name },
      );
    const inner = kit('inner', 'aB', 'a_B');
    expect(inner.computeStaticHash({ profile: 'khora' })).not.toBe(
      inner.computeStaticHash({ profile: 'khora-icu' }),
    );
    // The one above differs only because this one does.
    expect(lint(toolkit([inner, kit('other', 'a', 'b')], { name: 'root' }))).toEqual([
      {
        code: 'profile',
        place: '/root/inner',
        message: 'Its members are sorted differently: "aB" comes first under khora, "a_B" under khora-icu.',
      },
    ]);
    expect(lint(kit('accents', 'é', 'e'))).toEqual([
      {
        code: 'profile',
        place: '/accents',
        message: 'khora-icu cannot sort its members: CANON_KEY.',
      },
    ]);
    expect(lint(kit('alone', 'é'))).toEqual([]);
  });

  test('tells of twins, of policies that share an id, and of what has no hash', () => {
    const make = (policies: ReturnType<typeof policy>[]) =>
      tool({ name: 'search', inputSchema: described({}), policies, handler });
    const [one, other] = [policy('same', () => true), policy('same', () => true)];
    const root = toolkit(
      [
        toolkit([make([one])], { name: 'a' }),
        toolkit([make([one, other])], { name: 'b' }),
        dynamicToolkit({ name: 'd', policies: [other], create: () => [] }),
        tool({ name: 'broken', inputSchema: described(undefined), handler }),
      ],
      { name: 'root' },
    );
    expect(found(root)).toEqual([
      'not_hashable /root',
      'twin /root/b/search',
      'policy_id /root/b/search',
      'policy_id /root/d',
      'not_hashable /root/broken',
    ]);
  });
});
