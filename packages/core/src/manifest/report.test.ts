import { describe, expect, test } from 'vitest';
import { type Loose, manifestText, toolOf } from '../../test/manifest.ts';
import { diffManifests } from './diff.ts';
import { diffJson, diffText } from './report.ts';
import { diffMarkdown } from './report-markdown.ts';
import { readManifest } from './validate.ts';

const between = (before: (m: Loose) => void, after: (m: Loose) => void) =>
  diffManifests(readManifest(manifestText(before)), readManifest(manifestText(after)));

/** A change as agents make them. */
const diff = between(
  (m) => m.tools.push(toolOf('list_notes')),
  (m) => {
    m.agent_version = '2.0.0';
    m.tools[0].input_schema.required.push('method');
    m.tools[0].input_schema.properties.url.description = 'The address';
    m.tools[0].description_i18n_key = 'agent.tools.fetch_page.desc';
    m.tools.push(toolOf('find_notes', { properties: { words: { type: 'string' } }, required: ['words'] }));
    m.permission_scopes[0].sensitivity = 'high';
  },
);

describe('as text', () => {
  test('it reads like a review: the verdict, what is breaking and why, what to do, then the rest', () => {
    expect(diffText(diff)).toBe(`Breaking: 3 changes that people must review, and 3 others.

BREAKING  tool fetch_web_page
  The input accepts less: calls that were good can fail now. [input-schema-changed]
    - "method" must now be given.
    - The description of "url" is new.
    - For example {"url":""} was good and is refused now.
    → Callers: give "method"; check calls against the new schema.

BREAKING  tool list_notes
  The tool "list_notes" is gone. [tool-removed]
    → Callers: stop calling it.

BREAKING  scope network:http
  The sensitivity of "network:http" was medium and is now high: a person is asked at every call. It is needed by "fetch_web_page" and "find_notes". [sensitivity-raised]
    → People: expect to be asked more often.

other  tool fetch_web_page
  The tool "fetch_web_page" is described by another text. [tool-description-changed]
    | agent.tools.[-fetch_web-]{+fetch_page+}.desc

other  tool find_notes
  The tool "find_notes" is new. It needs "network:http" (high), which people may have allowed already. [tool-added]
    - "words": string, must be given

other  manifest
  The agent calls itself version "2.0.0", where it was "1.0.0". [agent-version-changed]
`);
  });

  test('nothing to tell, and nothing that is breaking', () => {
    const none = () => {};
    expect(diffText(between(none, none))).toBe('Nothing changed.\n');
    expect(diffText(between(none, (m) => (m.agent_version = '1.0.1')))).toMatch(
      /^Not breaking: 1 change that nobody needs to review\.\n/,
    );
  });

  test('colours go where they are asked for', () => {
    const text = diffText(diff, { color: (tone, piece) => `<${tone}>${piece}</>` });
    expect(text).toContain('<breaking>BREAKING</>  <name>tool list_notes</>');
    expect(text).toContain('agent.tools.<removed>fetch_web</><added>fetch_page</>.desc');
  });
});

test('as JSON: code, path and message, by whether it is breaking', () => {
  const { breaking, non_breaking } = JSON.parse(diffJson(diff));
  expect(breaking.map(({ code, path }: Loose) => `${code} ${path}`)).toEqual([
    'input-schema-changed /tools/0/input_schema',
    'tool-removed /tools/1',
    'sensitivity-raised /permission_scopes/0/sensitivity',
  ]);
  expect(non_breaking).toEqual([
    {
      code: 'tool-description-changed',
      path: '/tools/0/description_i18n_key',
      message: 'The tool "fetch_web_page" is described by another text.',
    },
    {
      code: 'tool-added',
      path: '/tools/1',
      message:
        'The tool "find_notes" is new. It needs "network:http" (high), which people may have allowed already.',
    },
    {
      code: 'agent-version-changed',
      path: '/agent_version',
      message: 'The agent calls itself version "2.0.0", where it was "1.0.0".',
    },
  ]);
});

describe('as Markdown', () => {
  test('a verdict, a table and the details', () => {
    const text = diffMarkdown(diff);
    expect(text).toMatch(/^### ❌ Manifest\n\nBreaking: 3 changes/);
    expect(text).toContain('| 🔴 breaking | tool `list_notes` | tool-removed |');
    expect(text).toContain('<details><summary>🔴 <code>tool list&#95;notes</code></summary>');
    expect(
      diffMarkdown(
        between(
          () => {},
          () => {},
        ),
      ),
    ).toBe('### ✅ Manifest\n\nNothing changed.\n');
  });

  test('what has no room is counted', () => {
    const many = between(
      () => {},
      (m) => m.tools.push(...Array.from({ length: 300 }, (_, i) => toolOf(`tool_${i}`))),
    );
    const text = diffMarkdown(many, { maxLength: 4000 });
    expect(text.length).toBeLessThanOrEqual(4000);
    expect(text).toMatch(/And \d+ rows more, for which there is no room here\.\n$/);
    expect(diffMarkdown(many, { maxLength: 20_000 })).toMatch(/The details of \d+ more are left out/);
  });
});

describe('hostile text', () => {
  const evil = '`` | </details>\u202e\u001b[31m <img src=x> @all [x](http://e)\r\n# head';
  const hostile = between(
    (m) => {
      m.tools[0].input_schema.properties.url.description = 'Plain.';
      m.permission_scopes[0].label_i18n_key = '](x) `a`';
    },
    (m) => {
      m.tools[0].input_schema.properties[evil] = { enum: [evil], description: evil };
      m.tools[0].input_schema.properties.url.description = evil;
      m.permission_scopes[0].label_i18n_key = '<b>`` | @all';
      m.permission_scopes[0].id = '|`](x)<b>';
      m.tools[0].permission_scope = '|`](x)<b>';
    },
  );

  test.each([
    ['text', diffText(hostile)],
    ['JSON', JSON.parse(diffJson(hostile)).breaking[0].message as string],
    ['Markdown', diffMarkdown(hostile)],
  ])('moves no cursor, hides nothing and ends no line in %s', (_, text) => {
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(text).not.toMatch(/^# head/m);
    expect(text).toContain('⟨U+202E⟩');
  });

  test('is no markup in Markdown: outside of code and fences nothing of it stands', () => {
    let fence: string | null = null;
    const outside: string[] = [];
    for (const line of diffMarkdown(hostile).split('\n')) {
      const mark = /^(`{3,})(?:text)?$/.exec(line)?.[1];
      if (fence === null && mark !== undefined) fence = mark;
      else if (fence !== null && line === fence) fence = null;
      else if (fence === null) outside.push(line.replace(/(`+)(?!`).*?[^`]\1(?!`)/g, ''));
    }
    expect(fence).toBe(null);
    expect(outside.join('\n')).not.toMatch(/<img|<b>|@all|\]\(/);
  });
});
