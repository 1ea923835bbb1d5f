import { describe, expect, test } from 'vitest';
import { lockOf, tool } from '../../test/drift.ts';
import { JsonObject, type JsonValue, parse, stringify } from '../json/index.ts';
import { readLock } from '../lock/index.ts';
import { draftFromLock, snakeCase } from './draft.ts';
import { draftSchema } from './draft-schema.ts';

const draft = (...tools: string[]) => draftFromLock(lockOf({ tools }), 'files');
const scopeOf = (...tools: string[]) => {
  const { report } = draft(...tools);
  const { tools: drafted, permission_scopes } = report.manifest!;
  return permission_scopes.map(({ id, sensitivity }) => [
    id,
    sensitivity,
    drafted[0]!.permission_scope === id,
  ]);
};
const annotated = (annotations: Record<string, boolean>, name = 'look', description = 'Looks.') =>
  tool(name, { description, annotations });

describe('a draft from a lock', () => {
  test('is a valid manifest of the server', () => {
    const { report, document } = draft(
      tool('get-sum', {
        inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      }),
    );
    expect(report.problems).toEqual([]);
    expect(stringify(document)).toBe(
      JSON.stringify({
        schema_version: '1.0',
        agent_version: '0.1.0',
        tools: [
          {
            name: 'get_sum',
            description_i18n_key: 'agent.tools.get_sum.desc',
            input_schema: {
              type: 'object',
              properties: { a: { type: 'number' } },
              required: ['a'],
              additionalProperties: false,
            },
            permission_scope: 'files:use',
          },
        ],
        permission_scopes: [
          { id: 'files:use', label_i18n_key: 'agent.scopes.files_use.label', sensitivity: 'medium' },
        ],
        capability_flags: {
          supports_streaming: false,
          supports_artifacts: false,
          supports_voice: false,
          supports_group_chat: false,
        },
      }),
    );
  });

  test('tells what each tool was called', () => {
    const { bindings, notes } = draft(tool('get-sum'), tool('getSum'), tool('ok'), tool('数'));
    expect([...bindings.tools].map(([name, { tool }]) => [tool, name]).toSorted()).toEqual([
      ['get-sum', 'get_sum'],
      ['getSum', 'get_sum_2'],
      ['ok', 'ok'],
      ['数', 'tool_4'],
    ]);
    expect(notes.filter(({ code }) => code === 'name-changed').map(({ message }) => message)).toEqual([
      'The server calls it "get-sum".',
      'The server calls it "getSum".',
      'The server calls it "数".',
    ]);
  });

  test('needs the definitions', () => {
    const text = '{"version":"1.0","server_command":"node a","tools":{}}';
    expect(() => draftFromLock(readLock(new TextEncoder().encode(text)), 'files')).toThrow(
      expect.objectContaining({ code: 'LOCK_NO_DEFINITIONS' }),
    );
  });

  test('shows hostile names without letting them act', () => {
    const { notes } = draft(tool('a\u202e\nb'));
    expect(notes[0]!.message).toBe('The server calls it "a⟨U+202E⟩⟨U+000A⟩b".');
  });
});

describe('sensitivities are proposed from annotations and risk', () => {
  test.each([
    [annotated({ destructiveHint: true }), 'files:destroy', 'high'],
    [annotated({ openWorldHint: true }), 'files:reach', 'high'],
    [annotated({ readOnlyHint: true }), 'files:read', 'medium'],
    [annotated({ readOnlyHint: true, destructiveHint: false, openWorldHint: false }), 'files:read', 'medium'],
    [annotated({}), 'files:use', 'medium'],
    [annotated({ readOnlyHint: true }, 'shell', 'Executes a command'), 'files:run', 'high'],
    [annotated({ readOnlyHint: true, destructiveHint: true }), 'files:destroy', 'high'],
  ])('%s', (definition, scope, sensitivity) => {
    expect(scopeOf(definition)).toEqual([[scope, sensitivity, true]]);
  });

  test('what a server says of itself never lowers one', () => {
    const levels = ['low', 'medium', 'high'];
    for (const [name, description] of [
      ['look', 'Looks.'],
      ['remove_all', 'Deletes and executes.'],
    ]) {
      const bare = scopeOf(annotated({}, name, description))[0]![1] as string;
      for (const hint of ['readOnlyHint', 'destructiveHint', 'openWorldHint', 'idempotentHint']) {
        for (const value of [true, false]) {
          const said = scopeOf(annotated({ [hint]: value }, name, description))[0]![1] as string;
          expect(levels.indexOf(said)).toBeGreaterThanOrEqual(levels.indexOf(bare));
        }
      }
    }
  });
});

describe('schemas', () => {
  const of = (schema: unknown) => {
    const { schema: drafted, notes } = draftSchema(parse(JSON.stringify(schema)) as JsonValue);
    return { drafted: JSON.parse(stringify(drafted)), notes: notes.map(({ code }) => code) };
  };

  test('are closed where that is lawful', () => {
    expect(of({ type: 'object', properties: { a: {} } })).toEqual({
      drafted: { type: 'object', properties: { a: {} }, additionalProperties: false },
      notes: ['schema-closed'],
    });
    expect(of({ type: 'object', additionalProperties: false }).notes).toEqual([]);
  });

  test('stay closed to what is not described, also with patterns, which is told', () => {
    expect(of({ type: 'object', patternProperties: { '^x-': {} } }).notes).toEqual([
      'schema-closed',
      'schema-patterns',
    ]);
  });

  test.each([
    [{ additionalProperties: true }],
    [{ additionalProperties: { type: 'string' } }],
    [{ allOf: [{ properties: { a: {} } }] }],
    [{ anyOf: [{}] }],
    [{ $ref: '#/$defs/a', $defs: { a: {} } }],
    [{ if: {} }],
    [{ required: ['a'] }],
  ])('are left open where closing would refuse what is described: %j', (more) => {
    const schema = { type: 'object', ...more };
    expect(of(schema)).toEqual({ drafted: schema, notes: ['schema-open'] });
  });

  test('lose another dialect where all means the same, and keep it where it does not', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#';
    expect(of({ $schema, type: 'object', properties: { a: { items: { type: 'string' } } } })).toEqual({
      drafted: {
        type: 'object',
        properties: { a: { items: { type: 'string' } } },
        additionalProperties: false,
      },
      notes: ['dialect-dropped', 'schema-closed'],
    });
    for (const inner of [{ items: [{}] }, { dependencies: {} }, { $ref: '#/a', title: 'x' }, { $id: '#a' }])
      expect(of({ $schema, type: 'object', properties: { a: inner } }).notes).toEqual([
        'dialect-kept',
        'schema-closed',
      ]);
    expect(of({ $schema, type: 'object', properties: { items: { enum: [{ items: [] }] } } }).notes[0]).toBe(
      'dialect-dropped',
    );
  });

  test('say that they are of an object', () => {
    expect(of({}).drafted).toEqual({ type: 'object', additionalProperties: false });
    expect(stringify(draftSchema(undefined).schema)).toBe('{"type":"object","additionalProperties":false}');
    expect(draftSchema(new JsonObject()).notes.map(({ code }) => code)).toEqual([
      'type-added',
      'schema-closed',
    ]);
  });

  test('that could not be closed make a draft that is not valid yet, and says so', () => {
    const { report } = draft(tool('open', { inputSchema: { type: 'object', additionalProperties: true } }));
    expect(report.problems.map(({ code }) => code)).toEqual(['MANIFEST_INPUT_OPEN']);
  });
});

test.each([
  ['readFile', 'read_file'],
  ['read-file', 'read_file'],
  ['Read File', 'read_file'],
  ['HTTPServer', 'http_server'],
  ['a__b--c', 'a_b_c'],
  ['_x_', 'x'],
  ['2fa.reset', 'fa_reset'],
  ['café', 'cafe'],
  ['数', ''],
])('%s in snake_case', (name, expected) => {
  expect(snakeCase(name)).toBe(expected);
});
