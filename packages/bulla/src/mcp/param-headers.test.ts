import { parse } from '@bulla/core/json';
import { describe, expect, test } from 'vitest';
import { headersFor, paramHeaders, paramValues } from './param-headers.ts';

const schema = (properties: object, more: object = {}) =>
  parse(JSON.stringify({ type: 'object', properties, ...more }));

describe('parameters that stand in headers', () => {
  test('are found under properties, at any depth', () => {
    const marked = schema({
      region: { type: 'string', 'x-mcp-header': 'Region' },
      deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
      plain: { type: 'string', default: { 'x-mcp-header': 'no mark' } },
    });
    expect(paramHeaders(marked)?.toSorted((a, b) => (a.header < b.header ? -1 : 1))).toEqual([
      { header: 'mcp-param-n', path: ['deep', 'n'] },
      { header: 'mcp-param-region', path: ['region'] },
    ]);
  });

  test.each([
    ['of an empty name', { a: { type: 'string', 'x-mcp-header': '' } }],
    ['of a name with a space', { a: { type: 'string', 'x-mcp-header': 'a b' } }],
    ['of a name with a line end', { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } }],
    ['that is no text', { a: { type: 'string', 'x-mcp-header': 1 } }],
    ['of a number', { a: { type: 'number', 'x-mcp-header': 'A' } }],
    ['of an object', { a: { type: 'object', 'x-mcp-header': 'A' } }],
    ['of no type', { a: { 'x-mcp-header': 'A' } }],
    ['in items', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }],
    ['in a choice', { a: { anyOf: [{ type: 'string', 'x-mcp-header': 'A' }] } }],
    ['behind a choice', { a: { anyOf: [{ properties: { b: { type: 'string', 'x-mcp-header': 'A' } } }] } }],
    [
      'twice, in another case',
      { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
    ],
  ])('a mark %s makes the tool unusable', (_, properties) => {
    expect(paramHeaders(schema(properties))).toBeNull();
  });

  test('a mark behind a reference or at the root makes it unusable', () => {
    const definition = { $defs: { a: { type: 'string', 'x-mcp-header': 'A' } } };
    expect(paramHeaders(schema({ a: { $ref: '#/$defs/a' } }, definition))).toBeNull();
    expect(paramHeaders(schema({}, { 'x-mcp-header': 'A' }))).toBeNull();
  });

  test('have the value that the arguments have', () => {
    const headers = paramHeaders(
      schema(
        Object.fromEntries(
          ['s', 'i', 'b', 'absent', 'nil', 'odd'].map((name) => [
            name,
            { type: name === 'i' ? 'integer' : name === 'b' ? 'boolean' : 'string', 'x-mcp-header': name },
          ]),
        ),
      ),
    )!;
    const args = parse('{"s":"us-west1","i":42.0,"b":false,"nil":null,"odd":" 世界"}');
    expect(headersFor(paramValues(headers, args)!)).toEqual({
      'mcp-param-s': 'us-west1',
      'mcp-param-i': '42',
      'mcp-param-b': 'false',
      'mcp-param-odd': '=?base64?IOS4lueVjA==?=',
    });
    expect(paramValues(headers, parse('{"i":9007199254740993}'))).toBeNull();
    expect(paramValues(headers, parse('{"s":{"a":1}}'))).toBeNull();
  });
});
