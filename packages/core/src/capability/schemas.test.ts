import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import * as zm from 'zod/mini';
import { refusal, rejection } from '../../test/capability.ts';
import { sha256Hex } from '../crypto/index.ts';
import {
  captureAgentSnapshotEnvelope,
  createRegisteredAgent,
  evaluateComposable,
  executeTool,
  lint,
  policy,
  type StandardSchema,
  staticPayload,
  tool,
  toolkit,
  verifyEnvelope,
} from './index.ts';
import { compareSnapshots } from './snapshot-diff.ts';
import { schemaToHashInput } from './standard-schema.ts';

const handler = async () => null;
const hashOf = (inputSchema: StandardSchema) => tool({ name: 't', inputSchema, handler }).computeStaticHash();

const library = {
  zod: z.object({ city: z.string(), days: z.optional(z.number()) }),
  'zod mini': zm.object({ city: zm.string(), days: zm.optional(zm.number()) }),
  valibot: v.object({ city: v.string(), days: v.optional(v.number()) }),
  arktype: type({ city: 'string', 'days?': 'number' }),
};

describe.each(Object.entries(library))('%s', (_, inputSchema) => {
  test('validates before the handler runs', async () => {
    const seen: unknown[] = [];
    const one = tool({
      name: 'weather',
      inputSchema,
      handler: (_ctx, input) => {
        expectTypeOf(input.city).toEqualTypeOf<string>();
        seen.push(input);
        return `${input.city} ${input.days ?? 1}`;
      },
    });
    const spec = (await evaluateComposable(one, { env: {} })).tools.get('weather')!;
    expect(await executeTool(spec, { env: {} }, { city: 'Ur', days: 3 })).toBe('Ur 3');
    const bad = executeTool(spec, { env: {} }, { city: 7 }) as Promise<unknown>;
    expect(await rejection(bad)).toBe('CAPABILITY_INPUT_INVALID at /city');
    expect(seen).toEqual([{ city: 'Ur', days: 3 }]);
  });

  test('gives an envelope that recomputes', async () => {
    const gate = policy('p', () => true);
    const one = tool({ name: 'weather', inputSchema, policies: [gate], handler });
    for (const schemaSource of ['toJSONSchema', 'standard-input'] as const) {
      const hashing = { schemaSource };
      const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable: one, hashing });
      const { envelope } = await captureAgentSnapshotEnvelope({ agent, ctx: { env: {} } });
      expect(verifyEnvelope(JSON.stringify(envelope)).outcome).toBe('ok');
    }
  });
});

describe('what is hashed of a schema', () => {
  test('zod: the JSON Schema that it gives, to the letter', () => {
    const one = tool({ name: 't', inputSchema: library.zod, handler });
    expect(one.opaque).toBe(false);
    expect(staticPayload(one)).toMatchObject({ schema: library.zod.toJSONSchema() });
    expect(one.computeStaticHash()).toBe(
      sha256Hex(
        '{"description":null,"instructions":[],"kind":"tool","name":"t","policies":[],"schema":' +
          '{"$schema":"https://json-schema.org/draft/2020-12/schema","additionalProperties":false,' +
          '"properties":{"city":{"type":"string"},"days":{"type":"number"}},"required":["city"],"type":"object"}}',
      ),
    );
  });

  test('zod mini, valibot and arktype: who made it, and nothing else; the tool is marked and lint tells', () => {
    for (const [name, other] of [
      ['zod mini', zm.string()],
      ['valibot', v.string()],
      ['arktype', type('string')],
    ] as const) {
      const inputSchema = library[name];
      const vendor = name.split(' ')[0];
      expect(schemaToHashInput(inputSchema)).toEqual({ vendor, version: 1 });
      expect(hashOf(inputSchema)).toBe(hashOf(other));
      const one = tool({ name: 't', inputSchema, handler });
      expect(one.opaque).toBe(true);
      expect(lint(one).map(({ code }) => code)).toEqual(['opaque_schema']);
    }
  });

  test('arktype by Standard JSON Schema: two different schemas have two hashes', () => {
    const hashing = { schemaSource: 'standard-input' } as const;
    const [one, other] = [library.arktype, type({ city: 'number' })].map((inputSchema) =>
      tool({ name: 't', inputSchema, handler }),
    );
    expect(staticPayload(one!, hashing)).toMatchObject({
      schema: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'number' } },
        required: ['city'],
      },
    });
    expect(one!.computeStaticHash(hashing)).not.toBe(other!.computeStaticHash(hashing));
    expect(one!.computeStaticHash()).toBe(other!.computeStaticHash());
    expect(lint(one!, hashing)).toEqual([]);
  });

  test('Standard JSON Schema knows what goes in from what comes out; toJSONSchema() stays where there is one', () => {
    const parsed = type('string.numeric.parse');
    expect(schemaToHashInput(parsed, 'standard-input')).toMatchObject({ type: 'string' });
    expect(schemaToHashInput(parsed, 'standard-output')).toMatchObject({ type: 'number' });
    const same = [undefined, 'standard-input', 'standard-output'] as const;
    for (const source of same)
      expect(schemaToHashInput(library.zod, source)).toEqual(library.zod.toJSONSchema());
  });

  test('arktype calls what JSON Schema has no word for anything, so that such schemas still hash alike', () => {
    for (const schema of [type('Date'), type('bigint')]) {
      expect(schemaToHashInput(schema, 'standard-input')).toEqual({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
      });
    }
  });

  test('what zod cannot put into JSON Schema has no hash, and is refused', () => {
    expect(refusal(() => hashOf(z.object({ at: z.date() })))).toBe('CAPABILITY_SCHEMA at /schema');
  });
});

describe('the diff of real schemas', () => {
  test('tells a caller of zod what breaks', async () => {
    const capture = async (inputSchema: StandardSchema) => {
      const one = tool({ name: 'weather', inputSchema, handler });
      const agent = createRegisteredAgent({
        agentId: 'a',
        name: 'A',
        rootComposable: toolkit([one], { name: 'r' }),
      });
      return (await captureAgentSnapshotEnvelope({ agent, ctx: { env: {} } })).envelope;
    };
    const before = await capture(z.object({ city: z.string() }));
    const wider = await capture(z.object({ city: z.string(), days: z.number().optional() }));
    const narrower = await capture(z.object({ city: z.string().max(3) }));
    expect(compareSnapshots(before, wider)).toMatchObject({
      diff: { changes: [{ schema: { relation: 'accepts-more' } }] },
    });
    expect(compareSnapshots(before, narrower)).toMatchObject({
      diff: { changes: [{ schema: { relation: 'accepts-less' } }] },
    });
  });
});
