import { describe, expect, test } from 'vitest';
import { parse, stringify } from '../json/index.ts';
import { compareSchemas, schemaArguments } from './index.ts';

const json = (value: unknown) => parse(JSON.stringify(value));
const changes = (before: unknown, after: unknown) => compareSchemas(json(before), json(after)).changes;
/** Kind, direction and sentence of each change. */
const told = (before: unknown, after: unknown) =>
  changes(before, after).map(({ kind, direction, message }) => [kind, direction, message]);
const places = (before: unknown, after: unknown) =>
  changes(before, after).map(({ kind, path, argument }) => [kind, path, argument]);
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const string = { type: 'string' };
const integer = { type: 'integer' };
/** A schema for one argument called `a`. */
const a = (schema: unknown, more: object = {}) => object({ a: schema }, more);

describe('each change by its name', () => {
  test.each([
    ['nothing', a(string), a(string), []],
    [
      'an argument',
      a(string),
      object({ a: string, b: integer }),
      [['argument-added', 'less', '"b" is new.']],
    ],
    [
      'an argument of a closed object',
      a(string, { additionalProperties: false }),
      object({ a: string, b: integer }, { additionalProperties: false }),
      [['argument-added', 'more', '"b" is new.']],
    ],
    [
      'an argument gone',
      a(string),
      object({}),
      [['argument-removed', 'more', '"a" is no longer described.']],
    ],
    [
      'required',
      a(string),
      a(string, { required: ['a'] }),
      [['required-added', 'less', '"a" must now be given.']],
    ],
    [
      'optional',
      a(string, { required: ['a'] }),
      a(string),
      [['required-removed', 'more', '"a" may now be left out.']],
    ],
    [
      'a wider type',
      a(integer),
      a({ type: ['integer', 'null'] }),
      [['type-widened', 'more', '"a" was integer and is now integer or null.']],
    ],
    [
      'a narrower type',
      a({}),
      a(string),
      [['type-narrowed', 'less', '"a" was of any type and is now string.']],
    ],
    ['another type', a(string), a(integer), [['type-changed', 'both', '"a" was string and is now integer.']]],
    [
      'types in another order',
      a({ type: ['string', 'null'], title: 'x' }),
      a({ type: ['null', 'string'] }),
      [['annotation-changed', 'none', '`title` of "a" was "x" and is gone.']],
    ],
    [
      'a type that became alternatives',
      a(string),
      a({ anyOf: [string, { type: 'null' }] }),
      [['type-widened', 'more', '"a" was string and is now string or null.']],
    ],
    [
      'values',
      a({ enum: ['x', 'y'] }),
      a({ enum: ['y', 'z', 'w'] }),
      [
        ['enum-removed', 'less', '"a" no longer takes "x".'],
        ['enum-added', 'more', '"a" now also takes "z", "w".'],
      ],
    ],
    [
      'values that were free',
      a(string),
      a({ ...string, enum: ['x'] }),
      [['constraint-tightened', 'less', '`enum` of "a" is now ["x"].']],
    ],
    [
      'the one value',
      a({ const: 1 }),
      a({ const: 2 }),
      [['const-changed', 'both', '"a" had to be 1 and now has to be 2.']],
    ],
    [
      'a limit raised',
      a({ maxLength: 3 }),
      a({ maxLength: 4 }),
      [['constraint-loosened', 'more', '`maxLength` of "a" was 3 and is now 4.']],
    ],
    [
      'a limit gone',
      a({ minimum: 3 }),
      a({}),
      [['constraint-loosened', 'more', '`minimum` of "a" was 3 and is gone.']],
    ],
    [
      'a limit in other words',
      a({ ...integer, exclusiveMinimum: 0 }),
      a({ ...integer, minimum: 1 }),
      [['constraint-changed', 'none', '`exclusiveMinimum` of "a" was 0 and is now minimum 1.']],
    ],
    [
      'a limit that does not apply',
      a({ ...integer, maxLength: 3 }),
      a(integer),
      [['constraint-changed', 'none', '`maxLength` of "a" was 3 and is gone.']],
    ],
    [
      'a pattern',
      a({ pattern: '^(a|b)$' }),
      a({ pattern: '^(b|c)$' }),
      [['pattern-changed', 'unknown', 'The pattern of "a" was "^(a|b)$" and is now "^(b|c)$".']],
    ],
    [
      'a new pattern',
      a(string),
      a({ ...string, pattern: '^(b|c)$' }),
      [['pattern-changed', 'less', 'The pattern of "a" is now "^(b|c)$".']],
    ],
    [
      'closing',
      a(string),
      a(string, { additionalProperties: false }),
      [['additional-closed', 'less', 'The input takes no members that are not described.']],
    ],
    [
      'opening',
      a(string, { additionalProperties: false }),
      a(string),
      [['additional-opened', 'more', 'The input now takes members that are not described.']],
    ],
    [
      'a default',
      a({ default: 1 }),
      a({ default: 2 }),
      [['default-changed', 'none', '`default` of "a" was 1 and is now 2.']],
    ],
    [
      'a description',
      a({ description: 'x' }),
      a({ description: 'y' }),
      [['description-changed', 'none', 'The description of "a" changed.']],
    ],
    [
      'the first description',
      {},
      { description: 'y' },
      [['description-changed', 'none', 'The description is new.']],
    ],
    [
      'a header',
      a(string),
      a({ ...string, 'x-mcp-header': 'T' }),
      [['annotation-changed', 'none', '`x-mcp-header` of "a" is now "T".']],
    ],
    [
      'a format',
      a({ format: 'uri' }),
      a({ format: 'email' }),
      [['annotation-changed', 'none', '`format` of "a" was "uri" and is now "email".']],
    ],
    [
      'an alternative',
      a({ anyOf: [string] }),
      a({ anyOf: [string, integer] }),
      [['alternative-added', 'more', '"a" has a new alternative.']],
    ],
    [
      'an alternative gone',
      a({ oneOf: [string, integer] }),
      a({ oneOf: [integer] }),
      [['alternative-removed', 'less', '"a" has lost an alternative.']],
    ],
    [
      'one more for all',
      a({ allOf: [string] }),
      a({ allOf: [string, { minLength: 1 }] }),
      [['constraint-tightened', 'less', '`allOf` of "a" is now {"minLength":1}.']],
    ],
    [
      'a keyword of nobody',
      a({ foo: 1 }),
      a({ foo: 2 }),
      [
        [
          'unknown-keyword-changed',
          'unknown',
          'The keyword `foo` of "a", whose meaning is not known here, was 1 and is now 2.',
        ],
      ],
    ],
    [
      'a keyword of another dialect',
      a({ nullable: true }),
      a({}),
      [
        [
          'unsupported-keyword-changed',
          'unknown',
          'The keyword `nullable` of "a", whose meaning is not known here, was true and is gone.',
        ],
      ],
    ],
    [
      'below a negation',
      a({ not: { minLength: 2 } }),
      a({ not: { minLength: 3 } }),
      [['constraint-tightened', 'more', '`minLength` of "a" was 2 and is now 3.']],
    ],
    [
      'below a choice of one',
      a({ oneOf: [{ maxLength: 2 }, integer] }),
      a({ oneOf: [{ maxLength: 3 }, integer] }),
      [['constraint-loosened', 'unknown', '`maxLength` of "a" was 2 and is now 3.']],
    ],
    [
      'a malformed keyword',
      a({ maxLength: 'x' }),
      a({ maxLength: 'y' }),
      [['constraint-changed', 'unknown', '`maxLength` of "a" was "x" and is now "y".']],
    ],
    [
      'a malformed map',
      { properties: 1 },
      { properties: 2 },
      [['constraint-changed', 'unknown', '`properties` was 1 and is now 2.']],
    ],
    [
      'everything to nothing',
      a(true),
      a(false),
      [['constraint-tightened', 'less', '"a" was true and is now false.']],
    ],
    [
      'the dialect',
      { $schema: 'http://json-schema.org/draft-07/schema#' },
      {},
      [
        [
          'annotation-changed',
          'none',
          '`$schema` was "http://json-schema.org/draft-07/schema#" and is gone.',
        ],
        ['dialect-changed', 'unknown', 'The dialect of the schema was "draft-07" and is now "2020-12".'],
      ],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(told(before, after)).toEqual(expected);
  });

  test('a long value is cut short in the sentence, and whole beside it', () => {
    const [change] = changes(a({ default: 'x'.repeat(200) }), a({}));
    expect(change!.message).toBe(`\`default\` of "a" was "${'x'.repeat(78)}… and is gone.`);
    expect(change!.before).toBe('x'.repeat(200));
    expect(change).not.toHaveProperty('after');
  });
});

describe('each change by its place', () => {
  test.each([
    [
      'nested',
      object({ o: a(string) }),
      object({ o: a(integer) }),
      [['type-changed', '/properties/o/properties/a', 'o.a']],
    ],
    [
      'elements',
      a({ items: string }),
      a({ items: integer }),
      [['type-changed', '/properties/a/items', 'a[]']],
    ],
    [
      'a position',
      a({ prefixItems: [{}, string] }),
      a({ prefixItems: [{}, integer] }),
      [['type-changed', '/properties/a/prefixItems/1', 'a[1]']],
    ],
    [
      'names that are not simple',
      object({ 'x y/z': string }),
      object({ 'x y/z': integer }),
      [['type-changed', '/properties/x y~1z', '["x y/z"]']],
    ],
    [
      'other names',
      a({ additionalProperties: string }),
      a({ additionalProperties: integer }),
      [['type-changed', '/properties/a/additionalProperties', 'a.*']],
    ],
    [
      'names by pattern',
      a({ patternProperties: { '^x': string } }),
      a({ patternProperties: { '^x': integer } }),
      [['type-changed', '/properties/a/patternProperties/^x', 'a{/^x/}']],
    ],
    [
      'required inside',
      object({ o: a(string) }),
      object({ o: a(string, { required: ['a'] }) }),
      [['required-added', '/properties/o/required', 'o.a']],
    ],
    [
      'what is gone, in the old schema',
      a({ items: string }),
      a({}),
      [['constraint-loosened', '/properties/a/items', 'a[]']],
    ],
    [
      'an alternative that moved',
      a({ anyOf: [string, { ...integer, minimum: 1 }] }),
      a({ anyOf: [{ ...integer, minimum: 2 }, string] }),
      [['constraint-tightened', '/properties/a/anyOf/0', 'a']],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(places(before, after)).toEqual(expected);
  });

  test('a shared definition is told once, where it stands, for the first argument that uses it', () => {
    const schema = (type: object) => ({
      properties: { a: { $ref: '#/$defs/t' }, b: { $ref: '#/$defs/t' } },
      $defs: { t: type },
    });
    expect(places(schema(string), schema(integer))).toEqual([['type-changed', '/$defs/t', 'a']]);
  });

  test('a definition that is used in two ways has the less certain direction', () => {
    const schema = (t: object) => ({
      allOf: [{ $ref: '#/$defs/t' }],
      not: { $ref: '#/$defs/t' },
      $defs: { t },
    });
    const [change] = changes(schema({ minLength: 1 }), schema({ minLength: 2 }));
    expect(change).toMatchObject({ kind: 'constraint-tightened', direction: 'unknown' });
  });

  test('a definition that nothing refers to is read too, and changes nothing', () => {
    const schema = (t: object, more: object = {}) => ({ ...string, $defs: { t, ...more } });
    const { relation, changes: found } = compareSchemas(
      json(schema({ description: 'x', minLength: 1 })),
      json(schema({ description: 'y', minLength: 2 }, { u: {} })),
    );
    expect(relation).toBe('same');
    expect(found.map(({ kind, path, direction }) => [kind, path, direction])).toEqual([
      ['definition-added', '/$defs/u', 'none'],
      ['description-changed', '/$defs/t', 'none'],
      ['constraint-tightened', '/$defs/t', 'none'],
    ]);
  });

  test('a definition further inside that nothing refers to is read too', () => {
    const schema = (description: string) => object({ o: { $defs: { t: { description } } } });
    expect(places(schema('x'), schema('y'))).toEqual([['description-changed', '/properties/o/$defs/t', 'o']]);
  });

  test('what became alternatives is there as a whole', () => {
    const [change] = changes(
      a(string),
      a({ anyOf: [{ ...string, description: 'hidden' }, { type: 'null' }] }),
    );
    expect(change!.kind).toBe('type-widened');
    expect(stringify(change!.after)).toContain('hidden');
  });

  test('a reference in place of what it leads to is no other change', () => {
    const inline = a({ ...string, description: 'd' });
    const referred = { ...a({ $ref: '#/$defs/s', description: 'd' }), $defs: { s: string } };
    expect(told(inline, referred)).toEqual([
      ['definition-added', 'none', 'The definition "s" is new.'],
      ['reference-changed', 'none', 'The reference of "a" is now "#/$defs/s".'],
    ]);
  });

  test('a recursive definition ends', () => {
    const tree = (value: object) => ({
      $ref: '#/$defs/n',
      $defs: { n: object({ value, next: { $ref: '#/$defs/n' } }) },
    });
    expect(places(tree(string), tree(integer))).toEqual([
      ['type-changed', '/$defs/n/properties/value', 'value'],
    ]);
  });

  test('beside what is not understood no change is judged', () => {
    const schema = (properties: object) => ({ allOf: [{ properties }], unevaluatedProperties: false });
    expect(changes(schema({ a: {} }), schema({ a: {}, b: {} }))).toMatchObject([
      { kind: 'argument-added', argument: 'b', direction: 'unknown' },
    ]);
  });
});

describe('schemaArguments', () => {
  test('names, types in words, what must be given, descriptions', () => {
    const schema = {
      type: 'object',
      properties: {
        path: { ...string, description: 'Where.' },
        depth: { type: ['integer', 'null'] },
        tags: { type: 'array', items: string },
        any: {},
        never: false,
        mode: { enum: ['fast', 'slow'] },
        one: { const: 1 },
        kind: { $ref: '#/$defs/kind' },
        union: { anyOf: [string, { type: 'null' }] },
        odd: { $ref: 'https://x.test' },
      },
      required: ['path', 'extra'],
      $defs: { kind: { type: 'boolean', description: 'Which.' } },
    };
    expect(schemaArguments(json(schema))).toEqual([
      { name: 'path', type: 'string', required: true, description: 'Where.' },
      { name: 'depth', type: 'integer or null', required: false },
      { name: 'tags', type: 'list of string', required: false },
      { name: 'any', type: 'anything', required: false },
      { name: 'never', type: 'nothing', required: false },
      { name: 'mode', type: 'one of "fast", "slow"', required: false },
      { name: 'one', type: '1', required: false },
      { name: 'kind', type: 'boolean', required: false, description: 'Which.' },
      { name: 'union', type: 'string or null', required: false },
      { name: 'odd', type: 'not understood', required: false },
      { name: 'extra', type: 'anything', required: true },
    ]);
  });

  test('through allOf and a reference at the top; many values are cut short', () => {
    const schema = {
      allOf: [
        { $ref: '#/$defs/a' },
        object({ b: { enum: Array.from({ length: 12 }, (_, i) => i) } }, { required: ['a'] }),
      ],
      $defs: { a: object({ a: string }) },
    };
    expect(schemaArguments(json(schema))).toEqual([
      { name: 'a', type: 'string', required: true },
      { name: 'b', type: 'one of 0, 1, 2, 3, 4, 5, 6, 7, 4 more', required: false },
    ]);
  });

  test('a schema that describes nothing has no arguments', () => {
    for (const schema of [true, false, 5, {}, { type: 'string' }])
      expect(schemaArguments(json(schema))).toEqual([]);
  });
});

test('before and after are the values themselves', () => {
  const [change] = changes(a({ enum: [1, 2] }), a({ enum: [1] }));
  expect(stringify(change!.before)).toBe('[2]');
  expect(change).toMatchObject({ keyword: 'enum', path: '/properties/a', argument: 'a' });
});
