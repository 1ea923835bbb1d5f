import '@hyperjump/json-schema/draft-07';
import { registerSchema, unregisterSchema, validate } from '@hyperjump/json-schema/draft-2020-12';
import { describe, expect, inject, test } from 'vitest';
import { Chance, inDraft7, type Json, mutated, type Schema, schema, value } from '../../test/schemas.ts';
import { parse, stringify, toPlain } from '../json/index.ts';
import { compareSchemas, type SchemaComparison, type SchemaRelation } from './index.ts';

/** Undefined where the schema leads back to itself without end, which means nothing. */
type Accepts = (instance: Json) => boolean | undefined;

let count = 0;

/** What the oracle says of a schema; undefined when it refuses the schema itself. */
async function oracle(source: Schema): Promise<Accepts | undefined> {
  const uri = `https://example.com/${count++}`;
  try {
    registerSchema(structuredClone(source) as never, uri, 'https://json-schema.org/draft/2020-12/schema');
    const accepts = await validate(uri);
    return (instance) => {
      try {
        return accepts(instance as never).valid;
      } catch (error) {
        if (error instanceof RangeError) return undefined;
        throw error;
      }
    };
  } catch {
    return undefined;
  } finally {
    unregisterSchema(uri);
  }
}

/** Instances by chance, and those that the comparison itself offers. */
function instances(chance: Chance, { refused, admitted }: SchemaComparison): Json[] {
  const offered = [refused, admitted].flatMap((instance) =>
    instance === undefined ? [] : [toPlain(instance) as Json],
  );
  return [...offered, ...Array.from({ length: 60 }, () => value(chance))];
}

/** Two schemas that often have much in common. */
function pair(chance: Chance, draft7: boolean): [before: Schema, after: Schema] {
  const before = schema(chance);
  const after = chance.often(85) ? mutated(before, chance) : schema(chance);
  const said = (source: Schema) => (draft7 && chance.often(70) ? inDraft7(source) : source);
  return [said(before), said(after)];
}

describe('the claims hold for an independent validator', { timeout: 120_000 * inject('soak') }, () => {
  const rounds = 250 * inject('soak');

  test.each([
    ['2020-12', false],
    ['draft 7, and one against the other', true],
  ])('%s', async (_, draft7) => {
    const tally: Record<SchemaRelation, number> = {
      same: 0,
      'accepts-less': 0,
      'accepts-more': 0,
      both: 0,
      unknown: 0,
    };
    for (let seed = 1; seed <= rounds; seed++) {
      const chance = new Chance(Math.imul(seed, 2654435761));
      const [before, after] = pair(chance, draft7);
      const [old, now] = [await oracle(before), await oracle(after)];
      if (old === undefined || now === undefined) continue;
      const [b, a] = [JSON.stringify(before), JSON.stringify(after)];
      const result = compareSchemas(parse(b), parse(a));
      const { relation, changes, refused, admitted } = result;
      tally[relation]++;
      const where = `seed ${seed}: ${relation}\n${b}\n${a}\n`;
      const directions = new Set(changes.map(({ direction }) => direction));
      const told = !directions.has('unknown') && !directions.has('both');
      for (const instance of instances(chance, result)) {
        const [was, is] = [old(instance), now(instance)];
        if (was === undefined || is === undefined || was === is) continue;
        const at = where + JSON.stringify(instance);
        // Refused now: then it was never claimed that all old calls pass, and some change said so.
        expect(['same', was ? 'accepts-more' : 'accepts-less'], at).not.toContain(relation);
        if (told) expect(directions.has(was ? 'less' : 'more'), at).toBe(true);
      }
      if (refused !== undefined) {
        const instance = toPlain(refused) as Json;
        expect([old(instance) ?? true, now(instance) ?? false], where + stringify(refused)).toEqual([
          true,
          false,
        ]);
      }
      if (admitted !== undefined) {
        const instance = toPlain(admitted) as Json;
        expect([old(instance) ?? false, now(instance) ?? true], where + stringify(admitted)).toEqual([
          false,
          true,
        ]);
      }
      if (relation === 'both') expect([refused, admitted], where).not.toContain(undefined);
    }
    // Claims are made, not avoided.
    expect(tally.unknown).toBeLessThan(rounds * 0.12);
    for (const relation of ['same', 'accepts-less', 'accepts-more', 'both'] as const) {
      expect(tally[relation]).toBeGreaterThan(rounds * 0.02);
    }
  });
});
