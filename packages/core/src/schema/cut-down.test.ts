import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { type JsonValue, parse, stringify } from '../json/index.ts';
import { compareSchemas } from './compare.ts';
import { cutDown } from './cut-down.ts';

const value = (schema: unknown) => parse(JSON.stringify(schema)) as JsonValue;
const cut = (before: unknown, after: unknown, refers = false) =>
  cutDown(value(before), value(after), refers).map((schema) => JSON.parse(stringify(schema)));
const closed = (properties: Record<string, unknown>, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

describe('properties that have no bearing on a comparison are left out', () => {
  test('those that both describe alike and neither requires', () => {
    const before = closed({ a: { type: 'string' }, b: { type: 'integer' }, c: {} }, ['b']);
    const after = closed({ c: {}, a: { type: 'string' }, b: { type: 'integer' }, d: {} }, ['b']);
    expect(cut(before, after)).toEqual([
      closed({ b: { type: 'integer' } }, ['b']),
      closed({ b: { type: 'integer' }, d: {} }, ['b']),
    ]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ ...closed({ a: {} }), additionalProperties: true }, 'an open object'],
    [{ ...closed({ a: {} }), minProperties: 1 }, 'a number of properties'],
    [{ ...closed({ a: {} }), dependentRequired: { b: ['a'] } }, 'a dependency'],
    [{ ...closed({ a: {} }), allOf: [{ required: ['a'] }] }, 'something in place'],
    [{ ...closed({ a: {} }), patternProperties: {} }, 'patterns'],
    [{ ...closed({ a: {} }), $schema: 'http://json-schema.org/draft-07/schema#' }, 'another dialect'],
  ])('not from %j: %s', (schema) => {
    const other = { ...schema, title: 'x' };
    expect(cut(schema, other)).toEqual([schema, other]);
  });

  test('not where something refers elsewhere', () => {
    const before = closed({ a: {} });
    expect(cut(before, { ...before, title: 'x' }, true)).toEqual([before, { ...before, title: 'x' }]);
  });
});

test('a property that both have alike changes nothing in what is found', () => {
  const schema = fc.constantFrom<unknown>(
    {},
    { type: 'string' },
    { type: 'integer', minimum: 1 },
    { enum: ['a', 'b'] },
    false,
    { type: 'string', description: 'x' },
    { unknown: 1 },
  );
  const properties = fc.dictionary(fc.constantFrom('a', 'b', 'c'), schema);
  const required = fc.subarray(['a', 'b', 'c']);
  fc.assert(
    fc.property(properties, required, properties, required, schema, (p, r, q, s, idle) => {
      const bare = compareSchemas(value(closed(p, r)), value(closed(q, s)));
      const more = compareSchemas(value(closed({ ...p, idle }, r)), value(closed({ ...q, idle }, s)));
      expect(more.relation).toBe(bare.relation);
      expect(more.changes.map(({ message }) => message)).toEqual(bare.changes.map(({ message }) => message));
    }),
    { numRuns: 300 * inject('soak') },
  );
});
