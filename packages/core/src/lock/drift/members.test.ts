import { describe, expect, test } from 'vitest';
import { between, check, lines, type Members, READ, read } from '../../../test/drift.ts';

const { inputSchema } = READ;
const PATH = inputSchema.properties.path;
const path = (members: Members) => properties({ path: { ...PATH, ...members } });
const properties = (members: Members) => ({
  inputSchema: { ...inputSchema, properties: { ...inputSchema.properties, ...members } },
});
const output = (members: Members) => ({ outputSchema: { type: 'object', ...members } });

/** A change of the one tool; what is told stands below it. */
type Row = readonly [name: string, before: Members, after: Members, ...expected: string[]];
const below = (at: string, expected: readonly string[]) =>
  expected.map((line) => line.replace(/ (?=\/|$)/, ` ${at}`));
const tools = (rows: readonly Row[]) =>
  check(
    rows.map(([name, before, after, ...expected]) => {
      return [name, { tools: [read(before)] }, { tools: [read(after)] }, below('/tools/read', expected)];
    }),
  );

describe('texts of a tool', () => {
  tools([
    [
      'description',
      {},
      { description: 'Reads one file.' },
      'critical description-changed /description prose',
    ],
    ['one that goes', {}, { description: undefined }, 'critical description-changed /description prose'],
    ['one that comes', { description: undefined }, {}, 'critical description-changed /description prose'],
    ['white space', {}, { description: 'Reads a  file.' }, 'critical description-changed /description prose'],
    ['title', { title: 'Read' }, { title: 'Get' }, 'critical title-changed /title prose'],
    [
      'title in the annotations',
      {},
      { annotations: { title: 'Read' } },
      'critical title-changed /annotations/title prose',
    ],
    [
      'description of an argument',
      {},
      path({ description: 'Its path' }),
      'critical description-changed /inputSchema/properties/path/description prose',
    ],
    [
      'description of an argument that goes',
      {},
      path({ description: undefined }),
      'critical description-changed /inputSchema/properties/path/description prose',
    ],
    [
      'title and comment of an argument',
      {},
      path({ title: 'Path', $comment: 'New' }),
      'critical text-added /inputSchema/properties/path/$comment prose',
      'critical title-changed /inputSchema/properties/path/title prose',
    ],
    [
      'descriptions that change places',
      { inputSchema: { properties: { a: { description: 'One' }, b: { description: 'Two' } } } },
      { inputSchema: { properties: { a: { description: 'Two' }, b: { description: 'One' } } } },
      'critical description-changed /inputSchema/properties/a/description prose',
      'critical description-changed /inputSchema/properties/b/description prose',
    ],
    [
      'description of an output',
      output({ description: 'A' }),
      output({ description: 'B' }),
      'critical description-changed /outputSchema/description prose',
    ],
    [
      'a sentence among the values',
      { inputSchema: { enum: ['a'] } },
      { inputSchema: { enum: ['the other one of them', 'a'] } },
      'moderate input-schema-changed /inputSchema',
      'critical text-added /inputSchema/enum/0 prose',
    ],
    [
      'a sentence as the name of an argument',
      {},
      properties({ 'what the person said': { type: 'string' } }),
      'moderate input-schema-changed /inputSchema',
      'critical text-added /inputSchema/properties/what the person said prose',
    ],
  ]);

  test('tell their words', () => {
    const [item] = between(
      { tools: [read()] },
      { tools: [read({ description: 'Reads a big file.' })] },
    ).items;
    expect(item).toMatchObject({ before: 'Reads a file.', after: 'Reads a big file.', prose: true });
    expect(item!.parts).toEqual([
      { kind: 'same', text: 'Reads a ' },
      { kind: 'added', text: 'big ' },
      { kind: 'same', text: 'file.' },
    ]);
    expect(item!.hashes!.before).toBe(
      'sha256:2ea6be57cad299955a905c64a6a0689d31192cdb6715fc98e61970138019cd3d',
    );
  });
});

describe('schemas of a tool', () => {
  const more = { type: 'boolean' };
  tools([
    ['new optional argument', {}, properties({ more }), 'moderate input-schema-changed /inputSchema'],
    [
      'new optional argument with a description, which is a new text',
      {},
      properties({ more: { ...more, description: 'Every one' } }),
      'moderate input-schema-changed /inputSchema',
      'critical description-changed /inputSchema/properties/more/description prose',
    ],
    [
      'new required argument',
      {},
      { inputSchema: { ...properties({ more }).inputSchema, required: ['path', 'more'] } },
      'critical input-schema-changed /inputSchema',
    ],
    ['argument gone', {}, { inputSchema: { type: 'object' } }, 'moderate input-schema-changed /inputSchema'],
    ['another type', {}, path({ type: 'integer' }), 'critical input-schema-changed /inputSchema'],
    ['wider type', {}, path({ type: ['string', 'null'] }), 'moderate input-schema-changed /inputSchema'],
    ['tighter limit', {}, path({ maxLength: 9 }), 'critical input-schema-changed /inputSchema'],
    [
      'no longer required',
      {},
      { inputSchema: { ...inputSchema, required: [] } },
      'moderate input-schema-changed /inputSchema',
    ],
    ['default', {}, path({ default: 'x' }), 'moderate input-schema-changed /inputSchema'],
    [
      'the same, written differently',
      {},
      { inputSchema: { ...inputSchema, allOf: [true] } },
      'info input-schema-changed /inputSchema',
    ],
    ['keyword that is not known', {}, path({ vendor: 1 }), 'critical input-schema-changed /inputSchema'],
    [
      'description that is no text',
      path({ description: 5 }),
      path({ description: 6 }),
      'moderate input-schema-changed /inputSchema',
    ],
    [
      'keyword by which clients send headers',
      {},
      path({ 'x-mcp-header': 'Path' }),
      'moderate input-schema-changed /inputSchema',
      'critical header-mirrored /inputSchema/properties/path/x-mcp-header',
    ],
    ['output schema that comes', {}, output({}), 'moderate output-schema-changed /outputSchema'],
    [
      'output that may lack a member',
      output({ required: ['a'] }),
      output({}),
      'critical output-schema-changed /outputSchema',
    ],
    [
      'output that promises more',
      output({}),
      output({ required: ['a'] }),
      'moderate output-schema-changed /outputSchema',
    ],
  ]);

  test('tell what it means for callers', () => {
    const after = read(properties({ to: { type: 'string' } }));
    const [item] = between({ tools: [read()] }, { tools: [after] }).items;
    expect(item!.sentence).toBe('The input schema has 1 new argument.');
    expect(item!.schema!.changes.map(({ kind, argument }) => [kind, argument])).toEqual([
      ['argument-added', 'to'],
    ]);
    const less = between({ tools: [read()] }, { tools: [read(path({ type: 'integer' }))] }).items[0]!;
    expect(less.sentence).toBe(
      'The input schema refuses calls that were good, and accepts others that were not.',
    );
    expect(less.schema!.changes.map(({ message }) => message)).toEqual([
      '"path" was string and is now integer.',
    ]);
    const result = between({ tools: [read(output({ required: ['a'] }))] }, { tools: [read(output({}))] });
    expect(result.items[0]!.sentence).toBe(
      'The output schema allows more: a caller can get what it never saw.',
    );
  });

  test('a number that changed beyond what a double holds', () => {
    const big = (digits: string) => ({ tools: [`{"name":"a","inputSchema":{"maximum":${digits}}}`] });
    expect(lines(between(big('18446744073709551615'), big('18446744073709551614')))).toEqual([
      'critical input-schema-changed /tools/a/inputSchema',
    ]);
  });

  test('one that leans on the network cannot be locked', () => {
    const found = between({ tools: [read()] }, { tools: [read(path({ $ref: 'https://x.example/s' }))] });
    expect(lines(found)).toContain('critical not-lockable /tools/read/inputSchema/properties/path/$ref');
  });
});

describe('other members of a tool', () => {
  const hints = (annotations: Members) => ({ annotations });
  tools([
    [
      'calls itself harmless',
      hints({ x: 1 }),
      hints({ x: 1, readOnlyHint: true }),
      'critical annotation-changed /annotations/readOnlyHint',
    ],
    [
      'no longer calls itself harmless',
      hints({ destructiveHint: false }),
      hints({ destructiveHint: true }),
      'critical annotation-changed /annotations/destructiveHint',
    ],
    [
      'says what is assumed anyway',
      {},
      hints({ openWorldHint: true }),
      'info annotation-changed /annotations/openWorldHint',
    ],
    [
      'annotation of less weight',
      {},
      hints({ idempotentHint: true }),
      'moderate annotation-changed /annotations/idempotentHint',
    ],
    ['empty annotations', {}, hints({}), 'info annotation-changed /annotations'],
    ['execution', {}, { execution: { taskSupport: 'required' } }, 'moderate execution-changed /execution'],
    ['metadata', { _meta: { 'a/b': 1 } }, { _meta: { 'a/b': 2 } }, 'moderate meta-changed /_meta'],
    [
      'page for the client',
      {},
      { _meta: { ui: { resourceUri: 'ui://x/y' } } },
      'moderate meta-changed /_meta',
      'critical client-steered /_meta/ui',
      'moderate content-unpinned /_meta/ui/resourceUri',
    ],
    [
      'icons',
      { icons: [{ src: 'data:,a' }] },
      { icons: [{ src: 'https://i.example/a.png' }] },
      'moderate icons-changed /icons',
      'moderate content-unpinned /icons/0/src',
    ],
    ['member that is not known', {}, { vendor: 1 }, 'moderate member-changed /vendor'],
    [
      'twin of a member',
      {},
      { Description: 'Reads all files.' },
      'moderate member-changed /Description',
      'critical not-lockable /Description',
    ],
    [
      'description that is no text',
      {},
      { description: 7 },
      'critical member-changed /description',
      'critical not-lockable /description',
      'moderate risk-changed ',
    ],
  ]);

  test('the risk level of the released program follows the words', () => {
    const risky = read({ description: 'Reads a file in a shell.' });
    const up = between({ tools: [read()] }, { tools: [risky] });
    expect(lines(up)).toEqual([
      'critical description-changed /tools/read/description',
      'moderate risk-changed /tools/read',
    ]);
    expect(up.items[1]).toMatchObject({
      before: 'LOW',
      after: 'MEDIUM',
      sentence:
        'The risk level of the released program, which counts parts of words, was LOW and is now MEDIUM.',
    });
    expect(lines(between({ tools: [risky] }, { tools: [read()] }))).toEqual([
      'critical description-changed /tools/read/description prose',
      'info risk-changed /tools/read',
    ]);
  });
});

describe('prompts', () => {
  const prompt = (members: Members) => ({
    prompts: [JSON.stringify({ name: 'p', description: 'Reviews code.', ...members })],
  });
  const args = (...list: Members[]) => prompt({ arguments: list });
  const code = { name: 'code', description: 'The code', required: true };
  const style = { name: 'style' };
  check([
    ['an argument added', args(code), args(code, style), ['critical argument-added /prompts/p/arguments/1']],
    ['one removed', args(code, style), args(code), ['critical argument-removed /prompts/p/arguments/1']],
    [
      'one now required',
      args(style),
      args({ ...style, required: true }),
      ['critical argument-required /prompts/p/arguments/0'],
    ],
    [
      'one now optional',
      args({ ...style, required: true }),
      args({ ...style, required: false }),
      ['critical argument-optional /prompts/p/arguments/0'],
    ],
    [
      'its texts',
      args(code),
      args({ ...code, description: 'Some code', title: 'Code' }),
      [
        'critical description-changed /prompts/p/arguments/0/description prose',
        'critical title-changed /prompts/p/arguments/0/title prose',
      ],
    ],
    [
      'another member',
      args(code),
      args({ ...code, x: 1 }),
      ['critical argument-changed /prompts/p/arguments/0'],
    ],
    ['the order', args(code, style), args(style, code), ['info arguments-reordered /prompts/p/arguments']],
    [
      'arguments that are none',
      args(code),
      prompt({ arguments: 'x' }),
      ['critical arguments-changed /prompts/p/arguments', 'critical not-lockable /prompts/p/arguments'],
    ],
    [
      'the description',
      prompt({}),
      prompt({ description: 'Reviews it.' }),
      ['critical description-changed /prompts/p/description prose'],
    ],
    ['the title', prompt({}), prompt({ title: 'R' }), ['critical title-changed /prompts/p/title prose']],
  ]);
});

describe('resources and templates', () => {
  const resource = (members: Members) => ({
    resources: [JSON.stringify({ uri: 'a:b', name: 'A', ...members })],
  });
  const template = (members: Members) => ({
    resourceTemplates: [JSON.stringify({ uriTemplate: 'a:{x}', name: 'A', ...members })],
  });
  check([
    [
      'the media type of a resource',
      resource({}),
      resource({ mimeType: 'text/html' }),
      ['critical mime-type-changed /resources/a:b/mimeType'],
    ],
    [
      'the display name',
      resource({}),
      resource({ name: 'B' }),
      ['critical name-changed /resources/a:b/name prose'],
    ],
    [
      'an annotation',
      resource({}),
      resource({ annotations: { priority: 1 } }),
      ['moderate annotation-changed /resources/a:b/annotations/priority'],
    ],
    [
      'the media type of a template',
      template({ mimeType: 'text/plain' }),
      template({ mimeType: 'text/html' }),
      ['critical mime-type-changed /resourceTemplates/a:{x}/mimeType'],
    ],
    [
      'the description of a template',
      template({ description: 'Old' }),
      template({ description: 'New' }),
      ['critical description-changed /resourceTemplates/a:{x}/description prose'],
    ],
  ]);
});
