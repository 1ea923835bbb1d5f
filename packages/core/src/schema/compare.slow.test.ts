import { describe, expect, test } from 'vitest';
import { JsonObject, type JsonValue, parse, stringify } from '../json/index.ts';
import { SchemaDocument } from './document.ts';
import { compareSchemas, type SchemaRelation } from './index.ts';

const json = (value: unknown) => parse(typeof value === 'string' ? value : JSON.stringify(value));
const compare = (before: unknown, after: unknown, options?: { maxSteps?: number }) =>
  compareSchemas(json(before), json(after), options);
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

const conditional = (condition: object, then: object, more: object = {}) => ({
  ...more,
  ...Object.fromEntries([
    ['if', condition],
    ['then', then],
  ]),
});

const REVERSE: Record<SchemaRelation, SchemaRelation> = {
  same: 'same',
  'accepts-more': 'accepts-less',
  'accepts-less': 'accepts-more',
  both: 'both',
  unknown: 'unknown',
};

/** Each pair is compared in both directions. */
function relations(
  rows: readonly (readonly [name: string, before: unknown, after: unknown, SchemaRelation])[],
) {
  test.each(rows)('%s', (_, before, after, relation) => {
    expect(compare(before, after).relation).toBe(relation);
    expect(compare(after, before).relation).toBe(REVERSE[relation]);
  });
}

const string = { type: 'string' };
const integer = { type: 'integer' };

describe('what a caller meets', () => {
  describe('types and values', () => {
    relations([
      [
        'the same in another order',
        '{"type":"string","minLength":1}',
        '{"minLength":1,"type":"string"}',
        'same',
      ],
      ['1 and 1.0', '{"minimum":1}', '{"minimum":1.0}', 'same'],
      ['true and the empty schema', true, {}, 'same'],
      ['false and what accepts nothing', false, { not: {} }, 'same'],
      ['bounds that cross', false, { type: 'integer', minimum: 2, maximum: 1 }, 'same'],
      ['everything and nothing', true, false, 'accepts-less'],
      ['a type more', string, { type: ['string', 'null'] }, 'accepts-more'],
      ['integer to number', integer, { type: 'number' }, 'accepts-more'],
      ['another type', string, integer, 'both'],
      ['types as alternatives', { type: ['string', 'null'] }, { anyOf: [string, { type: 'null' }] }, 'same'],
      [
        'all types and none named',
        { type: ['object', 'array', 'string', 'number', 'boolean', 'null'] },
        {},
        'same',
      ],
      ['a value more', { enum: ['a', 'b'] }, { enum: ['b', 'a', 'c'] }, 'accepts-more'],
      ['other values', { enum: ['a'] }, { enum: ['b'] }, 'both'],
      ['const as enum', { const: 1 }, { enum: [1.0] }, 'same'],
      [
        'a value that its type excludes',
        { type: 'string', enum: ['a', 1] },
        { type: 'string', enum: ['a'] },
        'same',
      ],
      ['values and their type', { enum: ['a', 'b'] }, string, 'accepts-more'],
      ['boolean and its values', { type: 'boolean' }, { enum: [true, false] }, 'same'],
      ['objects with keys in another order', { const: { a: 1, b: 2 } }, { const: { b: 2, a: 1 } }, 'same'],
    ]);
  });

  describe('numbers, exactly', () => {
    relations([
      ['a lower bound raised', { minimum: 1 }, { minimum: 2 }, 'accepts-less'],
      ['open and closed', { minimum: 1 }, { exclusiveMinimum: 1 }, 'accepts-less'],
      [
        'open and closed for integers',
        { ...integer, exclusiveMinimum: 0 },
        { ...integer, minimum: 1 },
        'same',
      ],
      ['a fraction as bound of integers', { ...integer, maximum: 2.5 }, { ...integer, maximum: 2 }, 'same'],
      [
        'the same of numbers',
        { type: 'number', maximum: 2.5 },
        { type: 'number', maximum: 2 },
        'accepts-less',
      ],
      ['beyond doubles', '{"maximum":9007199254740993}', '{"maximum":9007199254740992}', 'accepts-less'],
      ['far beyond doubles', '{"maximum":1e400}', '{"maximum":1e401}', 'accepts-more'],
      ['digits beyond doubles', '{"minimum":0.1}', '{"minimum":0.10000000000000000001}', 'accepts-less'],
      ['negative integers', { ...integer, minimum: -2.5 }, { ...integer, exclusiveMinimum: -3 }, 'same'],
      ['a multiple of a multiple', { multipleOf: 4 }, { multipleOf: 2 }, 'accepts-more'],
      ['exact decimals', { multipleOf: 0.3 }, { multipleOf: 0.1 }, 'accepts-more'],
      ['a multiple of one is whole', { type: 'number', multipleOf: 1 }, integer, 'same'],
      [
        'halves are not whole',
        { type: 'number', multipleOf: 0.5 },
        { ...integer, multipleOf: 0.5 },
        'accepts-less',
      ],
      ['multiples that do not divide', { multipleOf: 2 }, { multipleOf: 3 }, 'both'],
      ['bounds of strings', { ...string, minimum: 3 }, string, 'same'],
    ]);
  });

  describe('strings', () => {
    relations([
      ['longer', { maxLength: 3 }, { maxLength: 4 }, 'accepts-more'],
      ['the same pattern', { pattern: '^(a|b)+$', title: 'x' }, { pattern: '^(a|b)+$' }, 'same'],
      ['a pattern more', string, { ...string, pattern: '^(a|b)+$' }, 'accepts-less'],
      ['a pattern that finds itself everywhere', string, { ...string, pattern: '' }, 'same'],
      ['format, an annotation', string, { ...string, format: 'email' }, 'same'],
      ['lengths of numbers', { ...integer, minLength: 1 }, integer, 'same'],
    ]);

    test('another pattern cannot be told', () => {
      expect(compare({ pattern: '^(a|b)+$' }, { pattern: '^(b|a)+$' }).relation).toBe('unknown');
    });
  });

  describe('objects', () => {
    const closed = { additionalProperties: false };
    relations([
      ['a new optional argument of an open object', object({}), object({ a: string }), 'accepts-less'],
      ['one that takes anything', object({}), object({ a: {} }), 'same'],
      [
        'a new optional argument of a closed object',
        object({}, closed),
        object({ a: string }, closed),
        'accepts-more',
      ],
      [
        'a new required argument of a closed object',
        object({}, closed),
        object({ a: string }, { ...closed, required: ['a'] }),
        'both',
      ],
      [
        'an argument that the others were like',
        object({}, { additionalProperties: string }),
        object({ a: string }, { additionalProperties: string }),
        'same',
      ],
      ['closing', object({ a: string }), object({ a: string }, closed), 'accepts-less'],
      ['required', object({ a: string }), object({ a: string }, { required: ['a'] }), 'accepts-less'],
      ['an argument widened', object({ a: integer }), object({ a: { type: 'number' } }), 'accepts-more'],
      ['deep inside', object({ o: object({ d: integer }) }), object({ o: object({ d: string }) }), 'both'],
      ['required twice', object({}, { required: ['a', 'a'] }), object({}, { required: ['a'] }), 'same'],
      [
        'required implies a count',
        { type: 'object', required: ['a', 'b'] },
        { type: 'object', required: ['a', 'b'], minProperties: 2 },
        'same',
      ],
      [
        'closed implies a count',
        object({ a: {} }, closed),
        object({ a: {} }, { ...closed, maxProperties: 1 }),
        'same',
      ],
      [
        'names',
        object({ a: {} }, closed),
        object({ a: {} }, { ...closed, propertyNames: { maxLength: 1 } }),
        'same',
      ],
      [
        'a pattern of names more',
        object({}),
        object({}, { patternProperties: { '^x-': string } }),
        'accepts-less',
      ],
      [
        'a pattern of names opens a closed object',
        object({}, closed),
        object({}, { ...closed, patternProperties: { '^x-': string } }),
        'accepts-more',
      ],
      [
        'a name that a pattern surely covers',
        object({ 'x-a': {} }, { patternProperties: { '^x-': string } }),
        object({ 'x-a': string }, { patternProperties: { '^x-': string } }),
        'same',
      ],
      ['needed together', object({}), object({}, { dependentRequired: { a: ['b'] } }), 'accepts-less'],
      [
        'needed together, yet always there',
        object({}, { required: ['b'] }),
        object({}, { required: ['b'], dependentRequired: { a: ['b'] } }),
        'same',
      ],
      [
        'needed together with what cannot be',
        object({ a: false }),
        object({ a: false }, { dependentRequired: { a: ['b'] } }),
        'same',
      ],
      [
        'a schema that depends on a name',
        object({}),
        object({}, { dependentSchemas: { a: { required: ['b'] } } }),
        'accepts-less',
      ],
      ['a required argument that accepts nothing', false, object({ a: false }, { required: ['a'] }), 'same'],
      [
        'unevaluated alone is additional',
        object({ a: {} }, { unevaluatedProperties: false }),
        object({ a: {} }, closed),
        'same',
      ],
      ['keywords of objects for strings', { ...string, required: ['a'] }, string, 'same'],
    ]);

    test('a name that an involved pattern may or may not cover is not decided', () => {
      const pattern = { patternProperties: { '^(a|b)*$': string } };
      const before = object({}, { ...pattern, additionalProperties: integer });
      expect(compare(before, object({ a: string }, pattern)).relation).toBe('unknown');
      expect(compare(before, object({ a: integer }, pattern)).relation).toBe('unknown');
      expect(compare(object({ a: string }), object({ a: string }, pattern)).relation).toBe('accepts-less');
      // Were the pattern decided wrongly, the new schema would seem to ask for a string or for nothing.
      expect(compare(object({ a: integer }), object({ a: integer }, pattern)).relation).not.toBe('same');
    });
  });

  describe('arrays', () => {
    const list = (items: object, more: object = {}) => ({ type: 'array', items, ...more });
    relations([
      ['elements widened', list(integer), list({ type: 'number' }), 'accepts-more'],
      ['positions', { prefixItems: [string] }, { prefixItems: [string, integer] }, 'accepts-less'],
      ['a position like the rest', list(string), list(string, { prefixItems: [string] }), 'same'],
      [
        'a position that cannot be',
        list(string, { maxItems: 1 }),
        list(integer, { maxItems: 1, prefixItems: [string] }),
        'same',
      ],
      ['no element', list({}, { maxItems: 0 }), { ...list({}), items: false }, 'same'],
      ['unique', list({}), list({}, { uniqueItems: true }), 'accepts-less'],
      [
        'one alone is unique',
        list({}, { maxItems: 1 }),
        list({}, { maxItems: 1, uniqueItems: true }),
        'same',
      ],
      ['contains', list({}), list({}, { contains: string }), 'accepts-less'],
      [
        'contains by having elements',
        list(string, { minItems: 1 }),
        list(string, { minItems: 1, contains: string }),
        'same',
      ],
      ['contains less', { contains: integer }, { contains: { type: 'number' } }, 'accepts-more'],
      [
        'at most',
        { contains: integer, maxContains: 1 },
        { contains: integer, maxContains: 2 },
        'accepts-more',
      ],
      ['none needed', { contains: integer, minContains: 0 }, true, 'same'],
      [
        'a required element that accepts nothing',
        false,
        { type: 'array', minItems: 1, items: false },
        'same',
      ],
    ]);
  });

  describe('alternatives, negation and conditions', () => {
    const tagged = (tag: string) => object({ k: { const: tag } }, { required: ['k'] });
    relations([
      [
        'an alternative more',
        { anyOf: [string, integer] },
        { anyOf: [integer, { type: 'null' }, string] },
        'accepts-more',
      ],
      [
        'one that the others cover',
        { anyOf: [string, integer] },
        { anyOf: [string, integer, { const: 'a' }] },
        'same',
      ],
      [
        'one of disjoint kinds more',
        { oneOf: [tagged('a'), tagged('b')] },
        { oneOf: [tagged('a'), tagged('b'), tagged('c')] },
        'accepts-more',
      ],
      [
        'one of, in another order',
        { oneOf: [string, { minLength: 2 }] },
        { oneOf: [{ minLength: 2 }, string] },
        'same',
      ],
      [
        'any of and one of disjoint kinds',
        { anyOf: [string, integer] },
        { oneOf: [string, integer] },
        'same',
      ],
      ['any of and one of kinds that meet', { anyOf: [string, {}] }, { oneOf: [string, {}] }, 'accepts-less'],
      ['all of as one', { allOf: [string, { minLength: 1 }] }, { type: 'string', minLength: 1 }, 'same'],
      ['one more for all', { allOf: [string] }, { allOf: [string, { maxLength: 3 }] }, 'accepts-less'],
      ['negation turns it round', { not: { minLength: 1 } }, { not: { minLength: 2 } }, 'accepts-more'],
      ['not another type', { not: integer }, { not: { type: 'number' } }, 'accepts-less'],
      [
        'a condition',
        conditional(string, { minLength: 1 }),
        conditional(string, { minLength: 2 }),
        'accepts-less',
      ],
      [
        'a condition that always holds',
        conditional(string, { minLength: 1 }, string),
        { ...string, minLength: 1 },
        'same',
      ],
    ]);

    test('one of overlapping kinds more can refuse what was accepted', () => {
      const { relation, refused } = compare(
        { oneOf: [string, integer] },
        { oneOf: [string, integer, { minLength: 3 }] },
      );
      expect(relation).toBe('both');
      expect(stringify(refused)).toBe('0');
    });
  });

  describe('references', () => {
    const tree = (value: object, name = 'n') => ({
      $ref: `#/$defs/${name}`,
      $defs: { [name]: object({ value, next: { $ref: `#/$defs/${name}` } }) },
    });
    relations([
      ['recursive', tree(integer), tree({ type: 'number' }), 'accepts-more'],
      ['recursive, under another name', tree(integer), tree(integer, 'm'), 'same'],
      ['recursive, the other way', tree(integer), tree(string), 'both'],
      ['inline', { $ref: '#/$defs/a', $defs: { a: string } }, string, 'same'],
      ['by anchor', { $ref: '#x', $defs: { a: { $anchor: 'x', ...string } } }, string, 'same'],
      [
        'by identifier',
        { $id: 'https://x.test/a', $ref: 'https://x.test/a#/$defs/a', $defs: { a: string } },
        string,
        'same',
      ],
      ['escaped', { $ref: '#/$defs/a~1b%25', $defs: { 'a/b%': string } }, string, 'same'],
      [
        'beside other keywords',
        { $ref: '#/$defs/a', minLength: 1, $defs: { a: string } },
        { ...string, minLength: 1 },
        'same',
      ],
      [
        'to the root',
        { items: { $ref: '#' }, type: 'array' },
        { items: { $ref: '#' }, type: 'array', maxItems: 3 },
        'accepts-less',
      ],
    ]);

    test.each([
      ['the network', { $ref: 'https://x.test/s.json' }],
      ['another file', { $ref: 'other.json' }],
      ['nowhere', { $ref: '#/$defs/missing' }],
      ['an anchor that stands twice', { $ref: '#x', $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } }],
      ['a place that depends on who asks', { $dynamicRef: '#x', $defs: { a: { $dynamicAnchor: 'x' } } }],
      ['a document inside', { $ref: '#/$defs/a', $defs: { a: { $id: 'https://x.test/a', ...string } } }],
      ['itself', { $ref: '#' }],
      ['itself, through others', { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#' }] } } }],
    ])('to %s: cannot be told', (_, schema) => {
      expect(compare(schema, { ...schema, title: 'x', minLength: 1 }).relation).toBe('unknown');
      expect(compare(true, schema).relation).not.toBe('same');
    });

    test('an unchanged schema is the same whatever it means, unless it depends on another place', () => {
      const dynamic = { $dynamicRef: '#x', $defs: { a: { $dynamicAnchor: 'x' } }, foo: [] };
      expect(compare(dynamic, dynamic)).toEqual({ relation: 'same', changes: [] });
      const remote = object({ a: { $ref: 'https://x.test/s.json' } });
      const { relation, changes } = compare(remote, remote);
      expect(relation).toBe('unknown');
      expect(changes.map(({ kind, argument }) => [kind, argument])).toEqual([['reference-unresolved', 'a']]);
    });

    test('a proof that leaned on a claim is forgotten when the claim fails', () => {
      // The second alternative of `p` fails only at `n`; until then `c` seemed to hold.
      const schema = (n: object) => ({
        properties: { p: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] }, q: { $ref: '#/$defs/c' } },
        $defs: {
          a: { type: 'object', properties: { c: { $ref: '#/$defs/c' }, n }, required: ['c'] },
          c: { type: 'object', properties: { a: { $ref: '#/$defs/a' } } },
        },
      });
      expect(compare(schema({ type: 'number' }), schema(integer)).relation).toBe('accepts-less');
    });

    test('remote references are those that lead out, and only those', () => {
      const schema = json({
        $ref: '#/$defs/a',
        properties: { $ref: { $ref: 'https://b.test/x#/y' }, default: { $ref: 'a.json' } },
        default: { $ref: 'https://data.test' },
        $defs: {
          a: { $id: 'https://in.test/a', $ref: 'https://in.test/a#b' },
          b: { $dynamicRef: 'https://c.test' },
        },
      });
      expect(new SchemaDocument('', schema).remote).toEqual([
        'a.json',
        'https://b.test/x#/y',
        'https://c.test',
      ]);
    });
  });

  describe('dialects', () => {
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' };
    const draft2019 = { $schema: 'https://json-schema.org/draft/2019-09/schema' };
    const draft2020 = { $schema: 'https://json-schema.org/draft/2020-12/schema' };
    relations([
      [
        'the same in another dialect',
        { ...draft7, ...object({ a: string }) },
        { ...draft2020, ...object({ a: string }) },
        'same',
      ],
      [
        'positions',
        { ...draft7, items: [string], additionalItems: false },
        { ...draft2020, prefixItems: [string], items: false },
        'same',
      ],
      [
        'positions of 2019-09',
        { ...draft2019, items: [string] },
        { ...draft2020, prefixItems: [string] },
        'same',
      ],
      [
        'dependencies',
        { ...draft7, dependencies: { a: ['b'], c: string } },
        { ...draft2020, dependentRequired: { a: ['b'] }, dependentSchemas: { c: string } },
        'same',
      ],
      ['definitions', { ...draft7, $ref: '#/definitions/a', definitions: { a: string } }, string, 'same'],
    ]);

    test.each([
      [
        'what stands beside a reference in draft 7',
        { ...draft7, $ref: '#/definitions/a', minLength: 1, definitions: { a: string } },
      ],
      ['a list of items in 2020-12', { items: [string] }],
      ['dependencies in 2020-12', { dependencies: { a: ['b'] } }],
      ['prefixItems in draft 7', { ...draft7, prefixItems: [string] }],
      ['nullable', { ...string, nullable: true }],
      ['a draft 4 bound', { minimum: 1, exclusiveMinimum: true }],
      ['an unknown dialect', { $schema: 'https://x.test/schema', ...string }],
      ['an unknown type', { type: 'date' }],
      ['a number that is none', { minimum: '1' }],
      ['no alternatives', { anyOf: [] }],
      [
        'unevaluatedProperties beside what applies in place',
        { allOf: [object({ a: {} })], unevaluatedProperties: false },
      ],
    ])('%s: cannot be told when it changes, and is no reason to claim less', (_, schema) => {
      expect(compare(schema, { ...schema, maxLength: 5, uniqueItems: true }).relation).toBe('unknown');
      expect(compare(schema, { ...schema, title: 'x' }).relation).toBe(
        '$schema' in schema && schema.$schema === 'https://x.test/schema' ? 'unknown' : 'same',
      );
      expect(['accepts-less', 'unknown']).toContain(compare(true, schema).relation);
    });
  });

  test('a keyword that nobody knows is an annotation until it changes', () => {
    expect(compare({ foo: 1, ...string }, { foo: 1, ...string, minLength: 1 }).relation).toBe('accepts-less');
    expect(compare({ foo: 1, ...string }, { foo: 2, ...string }).relation).toBe('unknown');
    expect(compare({ 'x-mcp-header': 'A', ...string }, { 'x-mcp-header': 'B', ...string }).relation).toBe(
      'same',
    );
  });

  test('what is no schema at all', () => {
    expect(compare('5', '5').relation).toBe('same');
    expect(compare('5', '"x"').relation).toBe('unknown');
    expect(compare('null', {}).relation).toBe('accepts-more');
  });
});

describe('examples', () => {
  test('a call that breaks and one that is new', () => {
    const before = object({ mode: { enum: ['fast', 'slow'] }, path: string }, { required: ['path'] });
    const after = object({ mode: { enum: ['slow', 'safe'] }, path: string }, { required: ['path'] });
    const { relation, refused, admitted } = compare(before, after);
    expect([relation, stringify(refused), stringify(admitted)]).toEqual([
      'both',
      '{"path":"","mode":"fast"}',
      '{"path":"","mode":"safe"}',
    ]);
  });

  test('only what was found', () => {
    expect(compare(string, { ...string, pattern: '^(a|b)+$' })).not.toHaveProperty('refused');
  });
});

describe('hostile schemas', () => {
  const nested = (depth: number, wrap: (inner: JsonValue) => Record<string, JsonValue>, leaf: string) => {
    let schema: JsonValue = JsonObject.from([['type', leaf]]);
    for (let i = 0; i < depth; i++) schema = JsonObject.from(Object.entries(wrap(schema)));
    return schema;
  };
  const text = JsonObject.from([['type', 'string']]);

  test.each([
    ['items', (inner: JsonValue) => ({ type: 'array', items: inner }), 'accepts-more'],
    ['properties', (inner: JsonValue) => ({ properties: JsonObject.from([['a', inner]]) }), 'accepts-more'],
    ['allOf', (inner: JsonValue) => ({ allOf: [inner] }), 'accepts-more'],
    ['not', (inner: JsonValue) => ({ not: inner }), 'unknown'],
    ['anyOf', (inner: JsonValue) => ({ anyOf: [inner, text] }), 'unknown'],
    ['oneOf', (inner: JsonValue) => ({ oneOf: [inner, text] }), 'unknown'],
    ['then', (inner: JsonValue) => ({ if: text, ...Object.fromEntries([['then', inner]]) }), 'unknown'],
  ])('%s, 1,000 deep', (_, wrap, relation) => {
    const compared = compareSchemas(nested(1000, wrap, 'integer'), nested(1000, wrap, 'number'));
    expect(compared.relation).toBe(relation);
    expect(compared.changes.length).toBe(1);
  });

  test('deeper than that', () => {
    const wrap = (inner: JsonValue) => ({ items: inner });
    expect(compareSchemas(nested(20_000, wrap, 'integer'), nested(20_000, wrap, 'number')).relation).toBe(
      'unknown',
    );
  });

  /** Definitions each of which refers twice to the next: 2^n paths. */
  const web = (size: number, leaf: object, rule: (reference: object) => object) => ({
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length: size }, (_, i) => [
        `d${i}`,
        i === size - 1 ? leaf : rule({ $ref: `#/$defs/d${i + 1}` }),
      ]),
    ),
  });

  test.each([
    ['allOf', (r: object) => ({ allOf: [r, { allOf: [r] }] }), 'accepts-more'],
    ['properties', (r: object) => ({ properties: { a: r, b: r } }), 'accepts-more'],
    ['oneOf', (r: object) => ({ oneOf: [{ properties: { a: r } }, { items: r }] }), 'unknown'],
    ['anyOf', (r: object) => ({ anyOf: [object({ a: r }), { type: 'array', items: r }] }), 'accepts-more'],
  ])('a web of references through %s ends', (_, rule, relation) => {
    expect(compare(web(60, integer, rule), web(60, { type: 'number' }, rule)).relation).toBe(relation);
  });

  test('a product of alternatives ends', () => {
    const product = (shift: number) => ({
      allOf: Array.from({ length: 12 }, (_, i) => ({
        anyOf: Array.from({ length: 4 }, (_, j) => ({ properties: { [`p${i}`]: { const: j + shift } } })),
      })),
    });
    expect(compare(product(0), product(1)).relation).toBe('unknown');
  });

  test('a pattern is never run that could run away', () => {
    const name = `${'a'.repeat(60)}!`;
    const schema = (type: string) =>
      object({ [name]: string }, { patternProperties: { '^(a+)+$': { type } } });
    expect(compare(schema('integer'), schema('number')).relation).toBe('unknown');
  });

  test('numbers beyond reason are not computed with', () => {
    expect(compare('{"multipleOf":1e-999999999}', '{"multipleOf":3}').relation).toBe('unknown');
    expect(compare(`{"minimum":${'9'.repeat(50_000)}}`, `{"minimum":${'8'.repeat(50_000)}}`).relation).toBe(
      'unknown',
    );
    expect(
      compare('{"type":"array","minItems":9007199254740991}', '{"type":"array","minItems":2}').relation,
    ).toBe('accepts-more');
  });

  test('more alternatives than can be told one by one', () => {
    const many = (shift: number) => ({
      anyOf: Array.from({ length: 12_000 }, (_, i) => ({ const: 2 * i + shift })),
    });
    const { relation, changes } = compare(many(0), many(1));
    expect(relation).toBe('unknown');
    expect(changes.at(-1)).toMatchObject({ kind: 'too-many', direction: 'unknown' });
  });
});
