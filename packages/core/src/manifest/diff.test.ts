import { describe, expect, test } from 'vitest';
import { type Loose, manifestText, sampleManifest, toolOf } from '../../test/manifest.ts';
import { diffManifests } from './diff.ts';
import { CHANGE_CODES } from './diff-codes.ts';
import { readManifest } from './validate.ts';

/** A manifest with three tools and three scopes. */
function richer(m: Loose): void {
  m.tools.push(
    toolOf('read_note', { properties: { path: { type: 'string' } }, required: ['path'] }),
    toolOf('delete_note', { properties: { path: { type: 'string' }, force: { type: 'boolean' } } }),
  );
  m.tools[1].permission_scope = 'filesystem:read';
  m.tools[2].permission_scope = 'notes:write';
  m.permission_scopes.push(
    { id: 'filesystem:read', label_i18n_key: 'agent.scopes.fs.label', sensitivity: 'medium' },
    { id: 'notes:write', label_i18n_key: 'agent.scopes.notes.label', sensitivity: 'high' },
  );
}

const diff = (change: (m: Loose) => void) =>
  diffManifests(
    readManifest(manifestText(richer)),
    readManifest(
      manifestText((m) => {
        richer(m);
        change(m);
      }),
    ),
  );

/** `code /path` of each change, the breaking ones first. */
const told = (change: (m: Loose) => void) => {
  const { breaking, non_breaking } = diff(change);
  const line = ({ code, path }: { code: string; path: string }) => `${code} ${path}`;
  return { breaking: breaking.map(line), other: non_breaking.map(line) };
};

describe('breaking, by the specification', () => {
  test('a tool is removed', () => {
    expect(told((m) => m.tools.splice(1, 1))).toEqual({ breaking: ['tool-removed /tools/1'], other: [] });
  });

  test.each([
    ['a field is gone', (s: Loose) => delete s.properties.method],
    ['a type is another', (s: Loose) => (s.properties.url.type = 'integer')],
    ['a field must be given', (s: Loose) => s.required.push('method')],
    ['a field is new', (s: Loose) => (s.properties.depth = { type: 'integer' })],
    ['a description is another', (s: Loose) => (s.properties.url.description = 'x')],
    ['a field need not be given', (s: Loose) => (s.required = [])],
    ['the same is written differently', (s: Loose) => s.properties.method.enum.reverse()],
  ])('input_schema changes in any way: %s', (_, change) => {
    expect(told((m) => change(m.tools[0].input_schema))).toEqual({
      breaking: ['input-schema-changed /tools/0/input_schema'],
      other: [],
    });
  });

  test('a tool moves to a scope of higher sensitivity', () => {
    expect(told((m) => (m.tools[1].permission_scope = 'notes:write')).breaking).toEqual([
      'tool-scope-raised /tools/1/permission_scope',
    ]);
  });

  test('the sensitivity of a scope is raised', () => {
    const { breaking } = diff((m) => (m.permission_scopes[0].sensitivity = 'high'));
    expect(breaking.map(({ code, path, message }) => ({ code, path, message }))).toEqual([
      {
        code: 'sensitivity-raised',
        path: '/permission_scopes/0/sensitivity',
        message:
          'The sensitivity of "network:http" was medium and is now high: a person is asked at every call. It is needed by "fetch_web_page".',
      },
    ]);
  });

  test('a scope is removed', () => {
    const change = (m: Loose) => {
      m.tools.splice(2, 1);
      m.permission_scopes.splice(2, 1);
    };
    expect(told(change).breaking).toEqual(['tool-removed /tools/2', 'scope-removed /permission_scopes/2']);
  });

  test('a flag goes from true to false', () => {
    expect(told((m) => (m.capability_flags.supports_streaming = false))).toEqual({
      breaking: ['flag-withdrawn /capability_flags/supports_streaming'],
      other: [],
    });
  });
});

describe('not breaking, by the specification', () => {
  test.each([
    ['a new tool', (m: Loose) => m.tools.push(toolOf('list_notes')), 'tool-added /tools/3'],
    [
      'a new scope',
      (m: Loose) => m.permission_scopes.push({ id: 'a:b', label_i18n_key: 'a.b', sensitivity: 'high' }),
      'scope-added /permission_scopes/3',
    ],
    [
      'another description_i18n_key',
      (m: Loose) => (m.tools[0].description_i18n_key = 'a.b'),
      'tool-description-changed /tools/0/description_i18n_key',
    ],
    [
      'another label_i18n_key',
      (m: Loose) => (m.permission_scopes[0].label_i18n_key = 'a.b'),
      'scope-label-changed /permission_scopes/0/label_i18n_key',
    ],
    [
      'a flag from false to true',
      (m: Loose) => (m.capability_flags.supports_voice = true),
      'flag-announced /capability_flags/supports_voice',
    ],
    [
      'another agent_version',
      (m: Loose) => (m.agent_version = '2.0.0'),
      'agent-version-changed /agent_version',
    ],
  ])('%s', (_, change, expected) => {
    expect(told(change)).toEqual({ breaking: [], other: [expected] });
  });
});

describe('what the specification leaves open', () => {
  test('a sensitivity that is lowered is breaking: silence would follow', () => {
    expect(told((m) => (m.permission_scopes[0].sensitivity = 'low'))).toEqual({
      breaking: ['sensitivity-lowered /permission_scopes/0/sensitivity'],
      other: [],
    });
  });

  test('a tool that moves to a milder scope is breaking', () => {
    expect(told((m) => (m.tools[2].permission_scope = 'network:http'))).toEqual({
      breaking: ['tool-scope-lowered /tools/2/permission_scope'],
      other: [],
    });
  });

  test('a tool that moves to a scope of the same level is breaking: that scope was allowed for other tools', () => {
    const { breaking } = diff((m) => (m.tools[0].permission_scope = 'filesystem:read'));
    expect(breaking.map(({ message }) => message)).toEqual([
      'The tool "fetch_web_page" moved to another scope of the same level: from "network:http" (medium) to "filesystem:read" (medium).',
    ]);
  });

  test.each([
    [60_000, 'A call of "fetch_web_page" may take 60000 ms, where it was 10000 ms: calls may take longer.'],
    [
      50,
      'A call of "fetch_web_page" may take 50 ms, where it was 10000 ms: calls that take longer fail from now on.',
    ],
    [undefined, 'The default of 10000 ms is no longer written for "fetch_web_page"; it was meant before.'],
  ])('timeout_ms is not breaking: %s', (ms, message) => {
    const { breaking, non_breaking } = diff((m) => (m.tools[0].timeout_ms = ms));
    expect([breaking, non_breaking.map((change) => [change.code, change.message])]).toEqual([
      [],
      [['timeout-changed', message]],
    ]);
  });

  test('a tool that becomes required is breaking, the reverse is not, and to write the default changes nothing', () => {
    expect(told((m) => (m.tools[0].required = true)).breaking).toEqual(['tool-required /tools/0/required']);
    expect(told((m) => (m.tools[0].required = false)).other).toEqual(['required-written /tools/0/required']);
    const [old, now] = [true, false].map((required) =>
      readManifest(manifestText((m) => (m.tools[0].required = required))),
    );
    expect(diffManifests(old!, now!)).toMatchObject({
      breaking: [],
      non_breaking: [{ code: 'tool-not-required' }],
    });
  });

  test('another order is not breaking, and is told once for each list', () => {
    const change = (m: Loose) => {
      m.tools.reverse();
      m.permission_scopes.reverse();
    };
    expect(told(change)).toEqual({
      breaking: [],
      other: ['tools-reordered /tools', 'scopes-reordered /permission_scopes'],
    });
  });

  test('what is put in front or taken out is no other order', () => {
    expect(told((m) => m.tools.unshift(toolOf('list_notes'))).other).toEqual(['tool-added /tools/0']);
    expect(told((m) => m.tools.shift())).toEqual({ breaking: ['tool-removed /tools/0'], other: [] });
  });

  test('the description of a scope is words', () => {
    expect(told((m) => (m.permission_scopes[0].description_i18n_key = 'a.b'))).toEqual({
      breaking: [],
      other: ['scope-description-changed /permission_scopes/0/description_i18n_key'],
    });
  });

  test('a scope that is removed while a tool still needs it makes the manifest invalid', () => {
    const text = manifestText((m) => (m.permission_scopes = []));
    expect(() => readManifest(text)).toThrow(expect.objectContaining({ code: 'MANIFEST_SCOPE_UNKNOWN' }));
  });

  test('the same content has no changes, however it is written', () => {
    const [a, b] = [
      JSON.stringify(sampleManifest()),
      JSON.stringify(sampleManifest(), null, 2).replace('10000', '1e4'),
    ];
    expect(diffManifests(readManifest(a), readManifest(b))).toEqual({ breaking: [], non_breaking: [] });
  });
});

describe('renames', () => {
  test('a tool under another name is told once, as breaking', () => {
    const { breaking, non_breaking } = diff((m) => (m.tools[2].name = 'trash_note'));
    expect(non_breaking).toEqual([]);
    expect(breaking).toMatchObject([
      {
        code: 'tool-renamed',
        path: '/tools/2/name',
        name: 'trash_note',
        before: 'delete_note',
        after: 'trash_note',
      },
    ]);
  });

  test('also when its description has another key, if it takes the same', () => {
    const change = (m: Loose) =>
      Object.assign(m.tools[2], { name: 'trash_note', description_i18n_key: 'x.y' });
    expect(told(change)).toEqual({
      breaking: ['tool-renamed /tools/2/name'],
      other: ['tool-description-changed /tools/2/description_i18n_key'],
    });
  });

  test('also when it takes something else, which is told too: a swap under a new name is seen', () => {
    const change = (m: Loose) => {
      m.tools[2].name = 'trash_note';
      m.tools[2].input_schema.properties.target = { type: 'string' };
    };
    expect(told(change).breaking).toEqual([
      'tool-renamed /tools/2/name',
      'input-schema-changed /tools/2/input_schema',
    ]);
  });

  test('tools that take nothing are not taken for one another', () => {
    const [old, now] = ['ping_one', 'ping_two'].map((name) =>
      readManifest(manifestText((m) => m.tools.push(toolOf(name)))),
    );
    expect(diffManifests(old!, now!)).toMatchObject({
      breaking: [{ code: 'tool-removed' }],
      non_breaking: [{ code: 'tool-added' }],
    });
  });

  test('where two could be the one, neither is', () => {
    const make = (...names: string[]) =>
      readManifest(
        manifestText((m) =>
          m.tools.push(...names.map((name) => toolOf(name, { properties: { x: { type: 'null' } } }))),
        ),
      );
    const { breaking, non_breaking } = diffManifests(make('one'), make('two', 'three'));
    expect([...breaking, ...non_breaking].map(({ code }) => code)).toEqual([
      'tool-removed',
      'tool-added',
      'tool-added',
    ]);
  });

  test('a scope under another id is told once, with the tools that follow it', () => {
    const change = (m: Loose) => {
      m.permission_scopes[2].id = 'notes:change';
      m.tools[2].permission_scope = 'notes:change';
    };
    const { breaking, non_breaking } = diff(change);
    expect(non_breaking).toEqual([]);
    expect(breaking.map(({ code, message }) => [code, message])).toEqual([
      ['scope-renamed', 'The scope "notes:write" is now "notes:change". It is needed by "delete_note".'],
    ]);
  });

  test('a scope that is renamed and made milder is told of both', () => {
    const change = (m: Loose) => {
      Object.assign(m.permission_scopes[2], { id: 'notes:change', sensitivity: 'low' });
      m.tools[2].permission_scope = 'notes:change';
    };
    expect(told(change).breaking).toEqual([
      'scope-renamed /permission_scopes/2/id',
      'sensitivity-lowered /permission_scopes/2/sensitivity',
    ]);
  });
});

describe('what a change of an input means to a caller', () => {
  const relation = (change: (schema: Loose) => void) => {
    const { schema, message } = diff((m) => change(m.tools[0].input_schema)).breaking[0]!;
    return [schema!.relation, message];
  };

  test.each([
    [
      (s: Loose) => s.required.push('method'),
      'accepts-less',
      'The input of "fetch_web_page" accepts less: calls that were good can fail now. "method" must now be given.',
    ],
    [
      (s: Loose) => (s.properties.depth = { type: 'integer' }),
      'accepts-more',
      'The input of "fetch_web_page" accepts more than before; calls that were good still are. "depth" is new and may be left out.',
    ],
    [
      (s: Loose) => (s.properties.method.enum = ['GET', 'PUT']),
      'both',
      'The input of "fetch_web_page" refuses calls that were good, and accepts others that were not. "method" no longer takes "POST". "method" now also takes "PUT".',
    ],
    [
      (s: Loose) => s.properties.method.enum.reverse(),
      'same',
      'The input of "fetch_web_page" is written differently and accepts the same.',
    ],
    [
      (s: Loose) => (s.properties.url.pattern = '^h[a-z]+:'),
      'accepts-less',
      'The input of "fetch_web_page" accepts less: calls that were good can fail now. The pattern of "url" is now "^h[a-z]+:".',
    ],
  ])('%s', (change, expected, message) => {
    expect(relation(change)).toEqual([expected, message]);
  });
});

test('each code has a decision and a reason', () => {
  for (const [code, { breaking, by, reason }] of Object.entries(CHANGE_CODES)) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)+$/);
    expect([typeof breaking, ['specification', 'decision'].includes(by), reason.endsWith('.')]).toEqual([
      'boolean',
      true,
      true,
    ]);
  }
});
