import { describe, expect, test } from 'vitest';
import { type JsonValue, parse } from '../json/index.ts';
import { PatternBudget, schemaFaults } from './faults.ts';

const faults = (schema: unknown) =>
  schemaFaults(parse(typeof schema === 'string' ? schema : JSON.stringify(schema))).map(
    ({ kind, at }) => `${kind} /${at.join('/')}`,
  );

describe('keywords have the values that the meta-schema of Draft 2020-12 permits', () => {
  test.each([
    ['{"type":"strin"}', 'form /type'],
    ['{"type":[]}', 'form /type'],
    ['{"type":["string","string"]}', 'form /type'],
    ['{"type":null}', 'form /type'],
    ['{"properties":[]}', 'form /properties'],
    ['{"properties":{"a":1}}', 'form /properties/a'],
    ['{"properties":{"a":null}}', 'form /properties/a'],
    ['{"items":[{}]}', 'form /items'],
    ['{"allOf":[]}', 'form /allOf'],
    ['{"anyOf":{}}', 'form /anyOf'],
    ['{"oneOf":[1]}', 'form /oneOf/0'],
    ['{"prefixItems":[]}', 'form /prefixItems'],
    ['{"required":["a","a"]}', 'form /required'],
    ['{"required":"a"}', 'form /required'],
    ['{"minLength":-1}', 'form /minLength'],
    ['{"minLength":1.5}', 'form /minLength'],
    ['{"maxItems":"1"}', 'form /maxItems'],
    ['{"multipleOf":0}', 'form /multipleOf'],
    ['{"multipleOf":-1}', 'form /multipleOf'],
    ['{"multipleOf":0e5}', 'form /multipleOf'],
    ['{"minimum":"1"}', 'form /minimum'],
    ['{"uniqueItems":1}', 'form /uniqueItems'],
    ['{"enum":"a"}', 'form /enum'],
    ['{"pattern":1}', 'form /pattern'],
    ['{"description":1}', 'form /description'],
    ['{"dependentRequired":{"a":"b"}}', 'form /dependentRequired'],
    ['{"$anchor":"1a"}', 'form /$anchor'],
    ['{"$id":"http://a/#b"}', 'form /$id'],
    ['{"$vocabulary":{"a":1}}', 'form /$vocabulary'],
    ['{"not":[]}', 'form /not'],
    ['[]', 'form /'],
    ['"x"', 'form /'],
  ])('%s', (schema, fault) => {
    expect(faults(schema)).toEqual([fault]);
  });

  test.each([
    'true',
    'false',
    '{}',
    '{"type":["string","null"],"minLength":1.0,"maxLength":1e2}',
    '{"multipleOf":0.01,"minimum":-1.5}',
    '{"enum":[],"const":null,"default":{"$ref":"http://a"},"examples":[{"type":1}]}',
    '{"items":false,"prefixItems":[true],"contains":{},"minContains":0}',
    '{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"http://a/b"}',
    '{"x-anything":{"type":1}}',
    '{"properties":{"type":{"type":"string"},"$ref":{"type":"string"},"__proto__":{}}}',
  ])('%s is a schema', (schema) => {
    expect(faults(schema)).toEqual([]);
  });

  test('every fault is told, each at its place', () => {
    expect(faults({ type: 1, properties: { 'a/b': { minLength: -1 }, c: { items: [] } } })).toEqual([
      'form /type',
      'form /properties/a/b/minLength',
      'form /properties/c/items',
    ]);
  });

  test('a keyword without a meaning is told, and nothing in it is a schema', () => {
    expect(faults({ requierd: ['a'], definitions: { a: { type: 1 } } })).toEqual([
      'keyword-unknown /requierd',
      'form /definitions/a/type',
    ]);
  });
});

describe('dialects', () => {
  test('another dialect, and one named inside, are told', () => {
    expect(faults({ $schema: 'http://json-schema.org/draft-07/schema#' })).toEqual(['dialect /$schema']);
    expect(
      faults({ items: { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'http://a/b' } }),
    ).toEqual(['dialect /items/$schema', 'identifier /items/$id']);
  });
});

describe('references', () => {
  test.each([
    ['http://example.com/a.json', 'reference-remote /$ref'],
    ['//example.com/a', 'reference-remote /$ref'],
    ['file:///etc/passwd', 'reference-remote /$ref'],
    ['other.json#/a', 'reference-remote /$ref'],
    ['#/$defs/b', 'reference-broken /$ref'],
    ['#nowhere', 'reference-broken /$ref'],
    ['#/$defs', 'reference-broken /$ref'],
    ['#/$defs/a/enum/0', 'reference-broken /$ref'],
    ['#/%zz', 'reference-broken /$ref'],
    ['#/title', 'reference-broken /$ref'],
  ])('%s', (reference, fault) => {
    expect(faults({ $ref: reference, title: 'x', $defs: { a: { enum: [{}] } } })).toEqual([fault]);
  });

  test.each(['#/$defs/a', '#b', '#/$defs/a~1b', '#/$defs/c%25d', '#/allOf/0', '#/$defs/yes'])(
    '%s leads to a schema',
    (reference) => {
      const $defs = { a: { $anchor: 'b' }, 'a/b': {}, 'c%d': {}, yes: true };
      expect(faults({ properties: { x: { $ref: reference } }, allOf: [{}], $defs })).toEqual([]);
    },
  );

  test('an anchor that stands twice is told', () => {
    expect(faults({ $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } })).toEqual([
      'form /$defs/b/$anchor',
    ]);
  });

  test('a circle that goes into the value is a schema', () => {
    expect(faults({ properties: { next: { $ref: '#' } } })).toEqual([]);
    expect(faults({ $defs: { tree: { items: { $ref: '#/$defs/tree' } } }, $ref: '#/$defs/tree' })).toEqual(
      [],
    );
  });

  test.each([
    [{ $ref: '#' }, ['reference-endless /$ref']],
    [{ allOf: [{ $ref: '#' }] }, ['reference-endless /allOf/0/$ref']],
    [{ not: { $ref: '#' } }, ['reference-endless /not/$ref']],
    [
      { $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } },
      ['reference-endless /$defs/a/$ref', 'reference-endless /$defs/b/anyOf/0/$ref'],
    ],
    [
      // `b` is entered when the rest of its circle has been searched.
      {
        $defs: {
          a: { $ref: '#/$defs/c' },
          b: { $ref: '#/$defs/d' },
          c: { allOf: [{ $ref: '#/$defs/b' }, { $ref: '#/$defs/d' }] },
          d: { $ref: '#/$defs/a' },
        },
      },
      ['/a/$ref', '/b/$ref', '/c/allOf/0/$ref', '/c/allOf/1/$ref', '/d/$ref'].map(
        (at) => `reference-endless /$defs${at}`,
      ),
    ],
    [
      { if: { dependentSchemas: { a: { $dynamicRef: '#' } } } },
      ['reference-endless /if/dependentSchemas/a/$dynamicRef'],
    ],
  ])('a circle that never does is told: %j', (schema, expected) => {
    expect(faults(schema)).toEqual(expected);
  });
});

describe('patterns', () => {
  test('what is no expression, and what explodes, is told of pattern and patternProperties', () => {
    expect(
      faults({
        pattern: '(',
        patternProperties: { '(a+)+$': {}, '[': {}, '^x-': {} },
        items: { pattern: '\\@' },
      }),
    ).toEqual([
      'pattern-invalid /pattern',
      'pattern-explodes /patternProperties/(a+)+$',
      'pattern-invalid /patternProperties/[',
      'pattern-invalid /items/pattern',
    ]);
  });

  test('a document with more intricate patterns than there are steps for is answered all the same', () => {
    const hard = (i: number) => `(?:${Array.from({ length: 60 }, (_, k) => `[a-y]${k}_${i}z?`).join('|')})*`;
    const schema = { anyOf: Array.from({ length: 200 }, (_, i) => ({ pattern: hard(i) })) };
    const kinds = new Set(
      schemaFaults(parse(JSON.stringify(schema)) as JsonValue, new PatternBudget()).map(({ kind }) => kind),
    );
    expect(kinds.has('pattern-unproven')).toBe(true);
  });
});

test('a schema as deep as JSON may be is judged without recursion', () => {
  const deep = `${'{"not":'.repeat(999)}{"type":1}${'}'.repeat(999)}`;
  expect(schemaFaults(parse(deep)).map(({ at }) => at.length)).toEqual([1000]);
});
