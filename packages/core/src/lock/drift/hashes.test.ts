import { describe, expect, test } from 'vitest';
import { hasVectors, readBytes, readText } from '#test-files';
import { lines, lockOf, type Members, READ, read, tool } from '../../../test/drift.ts';
import { options, type SurfaceText, surface, utf8 } from '../../../test/surface.ts';
import { JsonObject, parse } from '../../json/index.ts';
import { type Drift, drift, type Lock, readLock } from '../index.ts';

const FORMATS = ['v1', 'v2', 'v3'] as const;
const hashed = (text: SurfaceText, format: (typeof FORMATS)[number]) => lockOf(text, { format });

describe.each(FORMATS)('a file of %s has hashes alone', (format) => {
  const from = (before: SurfaceText, after: SurfaceText): Drift =>
    drift(hashed(before, format), surface(after));

  test('and says what it could not see', () => {
    const found = from({}, {});
    expect(found.stored).toBe(false);
    expect(found.unseen).toEqual([
      ...['identity', 'authorization', 'serverInfo', 'instructions', 'capabilities'],
      ...(format === 'v3'
        ? ['resources', 'contents']
        : ['prompts', 'resources', 'resourceTemplates', 'contents']),
    ]);
  });

  test.each<[string, string[], string[], string[]]>([
    ['nothing', [read()], [read()], []],
    ['what it does not hold', [read()], [read({ title: 'T', annotations: { readOnlyHint: true } })], []],
    ['added', [], [read()], ['critical tool-added /tools/read']],
    ['removed', [read()], [], ['critical tool-removed /tools/read']],
    ['renamed', [read()], [tool('fetch', READ)], ['critical tool-renamed /tools/fetch']],
    [
      'not renamed, when the body says nothing',
      [tool('a')],
      [tool('b')],
      ['critical tool-removed /tools/a', 'critical tool-added /tools/b'],
    ],
    [
      'description',
      [read()],
      [read({ description: 'Reads.' })],
      ['critical description-changed /tools/read/description'],
    ],
    [
      'schema',
      [read()],
      [read({ inputSchema: { type: 'object' } })],
      ['critical input-schema-changed /tools/read/inputSchema'],
    ],
    [
      'risk level',
      [read()],
      [read({ description: 'Reads in a shell.' })],
      ['critical description-changed /tools/read/description', 'moderate risk-changed /tools/read'],
    ],
    [
      'what is suspicious in a text that changed, new or not',
      [read()],
      [read({ description: 'See https://a.example/.' })],
      [
        'critical description-changed /tools/read/description',
        'critical destination-added /tools/read/description',
      ],
    ],
    [
      'a look-alike',
      [read()],
      [read(), tool('re4d'), tool('READ')],
      [
        'critical tool-added /tools/READ',
        'critical confusable-name /tools/READ',
        'critical tool-added /tools/re4d',
      ],
    ],
    [
      'one that cannot be hashed in one way',
      [read()],
      [read({ Description: 'Other' })],
      ['critical not-lockable /tools/read/Description'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(lines(from({ tools: before }, { tools: after }))).toEqual(expected);
  });

  test('so that the difference cannot be shown, but what is there now can', () => {
    const [text, found] = from({ tools: [read()] }, { tools: [read({ description: 'See a.com.' })] }).items;
    expect(text).toMatchObject({
      sentence: 'The description changed; only hashes can be compared, so the difference cannot be shown.',
      after: 'See a.com.',
    });
    expect(text!.before).toBeUndefined();
    expect(text!.parts).toBeUndefined();
    expect(text!.prose).toBeUndefined();
    expect(found!.sentence).toBe(
      'The description names an address or a file; whether it did before cannot be told.',
    );
  });

  test('under either number rule', () => {
    const number = (lexeme: string) => ({ tools: [`{"name":"a","inputSchema":{"maximum":${lexeme}}}`] });
    for (const compatGo of [true, false]) {
      const lock = lockOf(number('1.0'), { format, compatGo });
      expect(lines(drift(lock, surface(number('1.0'))))).toEqual([]);
      expect(lines(drift(lock, surface(number('2.0'))))).toEqual([
        'critical input-schema-changed /tools/a/inputSchema',
      ]);
      const renamed = { tools: [`{"name":"b","description":"D","inputSchema":{"maximum":1.0}}`] };
      const old = { tools: [`{"name":"a","description":"D","inputSchema":{"maximum":1.0}}`] };
      expect(lines(drift(lockOf(old, { format, compatGo }), surface(renamed)))).toEqual([
        'critical tool-renamed /tools/b',
      ]);
    }
  });

  test('in both directions', () => {
    const [before, after] = [{ tools: [read()] }, { tools: [read({ description: 'Reads.' })] }];
    for (const [lock, current] of [
      [lockOf(before), hashed(after, format)],
      [hashed(before, format), lockOf(after)],
      [hashed(before, format), hashed(after, format)],
    ] as [Lock, Lock][]) {
      expect(lines(drift(lock, current))).toEqual(['critical description-changed /tools/read/description']);
      expect(lines(drift(lock, lock))).toEqual([]);
    }
    expect(lines(drift(lockOf(before), hashed(before, format)))).toEqual([]);
  });
});

describe('version 3 also has', () => {
  const from = (before: SurfaceText, after: SurfaceText) =>
    lines(drift(hashed(before, 'v3'), surface(after)));
  const prompt = (members: Members) => ({ prompts: [JSON.stringify({ name: 'p', ...members })] });
  const template = (members: Members) => ({
    resourceTemplates: [JSON.stringify({ uriTemplate: 'a:{x}', name: 'A', ...members })],
  });
  test.each<[string, SurfaceText, SurfaceText, string[]]>([
    ['a prompt added', {}, prompt({}), ['critical prompt-added /prompts/p']],
    ['a prompt removed', prompt({}), {}, ['critical prompt-removed /prompts/p']],
    [
      'its arguments',
      prompt({ arguments: [{ name: 'a' }] }),
      prompt({ arguments: [{ name: 'a', required: true }] }),
      ['critical arguments-changed /prompts/p/arguments'],
    ],
    [
      'their order, which does not count',
      prompt({ arguments: [{ name: 'a' }, { name: 'b' }] }),
      prompt({ arguments: [{ name: 'b' }, { name: 'a' }] }),
      [],
    ],
    [
      'its description',
      prompt({ description: 'A' }),
      prompt({ description: 'B' }),
      ['critical description-changed /prompts/p/description'],
    ],
    [
      'a description that comes, which the released program does not see',
      prompt({}),
      prompt({ description: 'B' }),
      ['critical description-changed /prompts/p/description'],
    ],
    [
      'white space at the ends of lines, which does not count',
      prompt({ description: 'A \r\nB' }),
      prompt({ description: 'A\nB' }),
      [],
    ],
    ['a template added', {}, template({}), ['critical template-added /resourceTemplates/a:{x}']],
    [
      'its media type',
      template({}),
      template({ mimeType: 'text/html' }),
      ['critical mime-type-changed /resourceTemplates/a:{x}/mimeType'],
    ],
    [
      'its name',
      template({}),
      template({ name: 'B' }),
      ['critical name-changed /resourceTemplates/a:{x}/name'],
    ],
    [
      'its description',
      template({ description: 'A' }),
      template({}),
      ['critical description-changed /resourceTemplates/a:{x}/description'],
    ],
    [
      'the name of the server',
      {},
      { serverInfo: '{"name":"other"}' },
      ['moderate server-name-changed /serverInfo/name'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(from(before, after)).toEqual(expected);
  });

  test('a hash that nothing has', () => {
    const text = JSON.stringify({
      ...{ lockFileVersion: '3.0', meta: { generator: 'g', updatedAt: 't' }, server: { name: 'sample' } },
      prompts: { definitions: { p: { argumentsHash: 'x', titleHash: 'y' } } },
      resources: { templates: [{ uriTemplate: 'a:{x}', templateHash: 'z' }] },
      tools: { a: { description_hash: 'x', input_schema_hash: 'y', risk_level: 'LOW' } },
    });
    const now = {
      tools: [tool('a')],
      prompts: ['{"name":"p","title":"T"}'],
      resourceTemplates: ['{"uriTemplate":"a:{x}"}'],
    };
    expect(lines(drift(readLock(utf8(text)), surface(now)))).toEqual([
      'critical description-changed /tools/a/description',
      'critical input-schema-changed /tools/a/inputSchema',
      'critical arguments-changed /prompts/p/arguments',
      'critical title-changed /prompts/p/title',
      'critical template-changed /resourceTemplates/a:{x}/mimeType',
    ]);
  });
});

describe.skipIf(!hasVectors)('files of the released program', () => {
  const list = async (file: string, key: string) => {
    const { result } = JSON.parse(await readText(`mcptrust/mcp/${file}`)) as {
      result: Record<string, unknown[]>;
    };
    return result[key]!.map((definition) => JSON.stringify(definition));
  };
  const served = async (): Promise<SurfaceText> => ({
    serverInfo: '{"name":"test-server","version":"1"}',
    prompts: await list('prompts_list.json', 'prompts'),
    resourceTemplates: await list('resources_templates_list.json', 'resourceTemplates'),
  });

  test('its golden file is no drift from what it was made of', async () => {
    const lock = readLock(await readBytes('mcptrust/golden/mcp-lock.v3.json'));
    const found = drift(lock, surface(await served()), { identity: options.identity });
    expect(found.items).toEqual([]);
    expect(found.unseen).toContain('identity');
  });

  test('each of its hashes tells a change', async () => {
    const lock = readLock(await readBytes('mcptrust/golden/mcp-lock.v3.json'));
    const { prompts, resourceTemplates, ...rest } = await served();
    const edit = (texts: readonly string[] = []) =>
      texts.map((text) => text.replaceAll(/"(description|mimeType)":\s*"/g, '"$1":"New '));
    const found = drift(
      lock,
      surface({ ...rest, prompts: edit(prompts), resourceTemplates: edit(resourceTemplates) }),
    );
    expect(lines(found)).toEqual([
      'critical arguments-changed /prompts/code_review/arguments',
      'critical description-changed /prompts/code_review/description',
      'critical description-changed /prompts/summarize/description',
      'critical arguments-changed /prompts/translate/arguments',
      'critical description-changed /prompts/translate/description',
      'critical description-changed /resourceTemplates/db:~1~1table~1{table_name}/description',
      'critical mime-type-changed /resourceTemplates/file:~1~1~1{path}/mimeType',
      'critical description-changed /resourceTemplates/file:~1~1~1{path}/description',
    ]);
  });

  test('a schema that it hashed by its own number rule is no drift', async () => {
    const { canon } = JSON.parse(await readText('mcptrust/observed.json')) as {
      canon: { name: string; input?: string; hashjson?: string }[];
    };
    const schemas = canon.filter(({ input, hashjson }) => hashjson !== undefined && isObject(input));
    expect(schemas.map(({ name }) => name)).toEqual([
      ...['html_and_controls', 'key_order_astral', 'empty_obj', 'mixed', 'ascii_key_order', 'empty_key'],
      ...['proto_key', 'leading_ws'],
    ]);
    for (const { input, hashjson } of schemas) {
      const file = {
        ...{ version: '2.0', server_command: 's' },
        tools: { a: { description_hash: EMPTY, input_schema_hash: hashjson, risk_level: 'LOW' } },
      };
      const now = surface({ tools: [`{"name":"a","inputSchema":${input}}`] });
      expect(lines(drift(readLock(utf8(JSON.stringify(file))), now))).toEqual([]);
    }
  });
});

function isObject(text: string | undefined): text is string {
  try {
    return parse(text ?? '') instanceof JsonObject;
  } catch {
    return false;
  }
}

const EMPTY = 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
