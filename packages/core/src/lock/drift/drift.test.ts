import { describe, expect, test } from 'vitest';
import { between, check, lines, lockOf, READ, read, tool } from '../../../test/drift.ts';
import { options, refusal, type SurfaceText, surface, utf8, whole } from '../../../test/surface.ts';
import {
  type Artifact,
  drift,
  NO_AUTHORIZATION,
  readLock,
  type Severity,
  verdict,
  writeLock,
} from '../index.ts';

const prompt = (name: string) => JSON.stringify({ name, description: 'Reviews code.' });
const resource = (uri: string, size = 1) => JSON.stringify({ uri, name: 'A', size });
const template = (uriTemplate: string) => JSON.stringify({ uriTemplate, name: 'A' });

describe('nothing changed', () => {
  test('a surface with one of everything has not drifted from its own lock', () => {
    const lock = readLock(utf8(writeLock(whole, options).text));
    const found = drift(lock, whole, { identity: options.identity, authorization: NO_AUTHORIZATION });
    expect(found).toEqual({
      items: [],
      counts: { critical: 0, moderate: 0, info: 0, total: 0 },
      version: '3.0',
      sha256: lock.sha256,
      server: 'sample',
      stored: true,
      unseen: [],
      leftOut: [],
    });
  });

  test('what is not given is not compared, and said so', () => {
    expect(drift(lockOf({}), surface()).unseen).toEqual(['identity', 'authorization']);
  });

  const number = (lexeme: string) => ({ tools: [`{"name":"a","inputSchema":{"maximum":${lexeme}}}`] });
  const dated = (year: number) => ({
    resources: [`{"uri":"a:b","name":"A","size":${year},"annotations":{"lastModified":"${year}-01-01"}}`],
  });
  check([
    [
      'the order of lists and keys',
      { tools: [tool('a'), tool('b')] },
      { tools: ['{"inputSchema":{"type":"object"},"name":"b"}', tool('a')] },
      [],
    ],
    ['the spelling of a number', number('10'), number('1e1'), []],
    ['what the digests leave out', dated(2025), dated(2026), []],
  ]);
});

describe('added and removed', () => {
  check([
    ['a tool added', {}, { tools: [read()] }, ['critical tool-added /tools/read']],
    ['a tool removed', { tools: [read()] }, {}, ['critical tool-removed /tools/read']],
    ['a prompt added', {}, { prompts: [prompt('p')] }, ['critical prompt-added /prompts/p']],
    ['a prompt removed', { prompts: [prompt('p')] }, {}, ['critical prompt-removed /prompts/p']],
    ['a resource added', {}, { resources: [resource('a:b')] }, ['critical resource-added /resources/a:b']],
    [
      'a resource removed',
      { resources: [resource('a:b')] },
      {},
      ['critical resource-removed /resources/a:b'],
    ],
    [
      'a template added',
      {},
      { resourceTemplates: [template('a:/{x}')] },
      ['critical template-added /resourceTemplates/a:~1{x}'],
    ],
    [
      'a template removed',
      { resourceTemplates: [template('a:/{x}')] },
      {},
      ['critical template-removed /resourceTemplates/a:~1{x}'],
    ],
    [
      'several, by name',
      { tools: [tool('d'), tool('b')] },
      { tools: [tool('c'), tool('a')] },
      [
        'critical tool-added /tools/a',
        'critical tool-removed /tools/b',
        'critical tool-added /tools/c',
        'critical tool-removed /tools/d',
      ],
    ],
  ]);

  test('what was there and what is there', () => {
    const [removed, added] = between({ tools: [tool('a')] }, { tools: [tool('b')] }).items;
    expect(removed).toMatchObject({
      kind: 'tool',
      name: 'a',
      change: 'removed',
      sentence: 'The tool is gone.',
    });
    expect(removed!.before).toBeDefined();
    expect(removed!.after).toBeUndefined();
    expect(added).toMatchObject({ kind: 'tool', name: 'b', change: 'added', sentence: 'The tool is new.' });
    expect(added!.before).toBeUndefined();
    expect(added!.after).toBeDefined();
  });
});

describe('renamed', () => {
  const digits = (name: string, last: number) =>
    tool(name, READ).replace('"required"', `"maxProperties":1844674407370955161${last},"required"`);
  check([
    ['a tool', { tools: [read()] }, { tools: [tool('fetch', READ)] }, ['critical tool-renamed /tools/fetch']],
    [
      'a tool with another title',
      { tools: [read({ title: 'Read' })] },
      { tools: [tool('fetch', { ...READ, title: 'Fetch' })] },
      ['critical tool-renamed /tools/fetch', 'critical title-changed /tools/fetch/title prose'],
    ],
    [
      'to a look-alike',
      { tools: [read()] },
      { tools: [tool('re\u0430d', READ)] },
      [
        'critical tool-renamed /tools/re\u0430d',
        'critical mixed-script /tools/re\u0430d',
        'critical confusable-name /tools/re\u0430d',
      ],
    ],
    [
      'a prompt',
      { prompts: [prompt('p')] },
      { prompts: [prompt('q')] },
      ['critical prompt-renamed /prompts/q'],
    ],
    [
      'a resource, what its digest leaves out aside',
      { resources: [resource('a:b', 1)] },
      { resources: [resource('a:c', 2)] },
      ['critical resource-renamed /resources/a:c'],
    ],
    [
      'a template',
      { resourceTemplates: [template('a:{x}')] },
      { resourceTemplates: [template('b:{x}')] },
      ['critical template-renamed /resourceTemplates/b:{x}'],
    ],
    [
      'not known by a body that says nothing',
      { tools: [tool('a')] },
      { tools: [tool('b')] },
      ['critical tool-removed /tools/a', 'critical tool-added /tools/b'],
    ],
    [
      'not known by a body that differs in a digit that no double holds',
      { tools: [digits('a', 5)] },
      { tools: [digits('b', 4)] },
      ['critical tool-removed /tools/a', 'critical tool-added /tools/b'],
    ],
    [
      'of several with one body each finds one',
      { tools: [tool('a', READ), tool('b', READ), tool('c', READ)] },
      { tools: [tool('x', READ), tool('b', READ), tool('y', READ), tool('z', READ)] },
      ['critical tool-renamed /tools/x', 'critical tool-renamed /tools/y', 'critical tool-added /tools/z'],
    ],
  ]);

  test('say from what', () => {
    const [item] = between({ tools: [read()] }, { tools: [tool('fetch', READ)] }).items;
    expect(item).toMatchObject({
      change: 'renamed',
      name: 'fetch',
      from: 'read',
      sentence: 'The tool "read" is now called "fetch"; its definition is otherwise the same.',
    });
    const before = { tools: [tool('b', READ), tool('a', READ)] };
    const { items } = between(before, { tools: [tool('d', READ), tool('c', READ)] });
    expect(items.map(({ from, name }) => [from, name])).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
  });
});

describe('two locks', () => {
  test('are compared by their definitions', () => {
    const found = drift(lockOf({ tools: [read()] }), lockOf({ tools: [read({ description: 'Reads it.' })] }));
    expect(lines(found)).toEqual(['critical description-changed /tools/read/description prose']);
    expect(found.unseen).toEqual([]);
  });

  test('and by what only a file says', () => {
    const artifact = (version: string): Artifact => ({
      ...{ type: 'npm', name: 'a', version, registry: null, integrity: null, tarball_url: null },
      ...{ tarball_sha256: null, tarball_size: null, image: null, digest: null, provenance: null },
      tree: null,
    });
    const after = lockOf({}, { artifact: artifact('1.0.1'), exclude: { tools: ['/_meta'] } });
    const found = drift(lockOf({}, { artifact: artifact('1.0.0') }), after);
    expect(lines(found)).toEqual([
      'critical artifact-changed /artifact',
      'moderate exclusions-changed /excluded/tools',
    ]);
    expect(found.items[0]!.details).toEqual(['version was "1.0.0" and is now "1.0.1"']);
  });

  test('under the exclusions of the first', () => {
    const meta = (value: number) => ({ tools: [tool('a', { _meta: { x: value } })] });
    const exclude = { tools: ['/_meta'] };
    expect(lines(drift(lockOf(meta(1), { exclude }), lockOf(meta(2))))).toEqual([
      'moderate exclusions-changed /excluded/tools',
    ]);
    expect(lines(drift(lockOf(meta(1)), lockOf(meta(2), { exclude })))).toEqual([
      'moderate exclusions-changed /excluded/tools',
      'moderate meta-changed /tools/a/_meta',
    ]);
  });
});

describe('what cannot be compared is refused', () => {
  test.each<[string, SurfaceText, string]>([
    ['two of one name', { tools: [tool('a'), tool('a')] }, 'LOCK_DUPLICATE /tools/1/name'],
    ['one without a name', { tools: ['{"inputSchema":{}}'] }, 'LOCK_DEFINITION /tools/0/name'],
    ['a number that no double holds', { tools: ['{"name":"a","x":1e999}'] }, 'CANON_NOT_FINITE /tools/a/x'],
  ])('%s', (_, text, expected) => {
    expect(refusal(() => drift(lockOf({ tools: [tool('a')] }), surface(text)))).toBe(expected);
  });
});

describe('the verdict', () => {
  const found = between(
    { tools: [read()], serverInfo: '{"name":"s","version":"1"}' },
    { tools: [read({ vendor: 1 })], serverInfo: '{"name":"s","version":"2"}' },
  );
  test.each<[Severity, string, number]>([
    ['critical', 'PASS', 0],
    ['moderate', 'FAIL', 1],
    ['info', 'FAIL', 2],
  ])('at %s: %s', (failOn, outcome, failing) => {
    expect(found.counts).toEqual({ critical: 0, moderate: 1, info: 1, total: 2 });
    expect(verdict(found, failOn)).toEqual({ outcome, failing });
  });

  test('is at critical unless told otherwise, and knows no other word', () => {
    expect(verdict(found)).toEqual(verdict(found, 'critical'));
    expect(refusal(() => verdict(found, 'safe' as Severity))).toBe('USAGE');
  });
});
