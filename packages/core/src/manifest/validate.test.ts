import { describe, expect, test } from 'vitest';
import { type Loose, manifestText, sampleManifest, toolOf } from '../../test/manifest.ts';
import { digest } from '../canon/index.ts';
import { readManifest, validateManifest } from './validate.ts';

/** `CODE /path` for each problem of the sample after a change. */
const problems = (change: (manifest: Loose) => void) =>
  validateManifest(manifestText(change)).problems.map(({ code, path }) => `${code} ${path}`);
const warnings = (change: (manifest: Loose) => void) =>
  validateManifest(manifestText(change)).warnings.map(({ code, path }) => `${code} ${path}`);

describe('the sample of the specification', () => {
  const report = validateManifest(manifestText());

  test('is valid and has nothing to warn of', () => {
    expect([report.problems, report.warnings, report.count]).toEqual([[], [], 0]);
    expect(report.bytes).toBe(614);
  });

  test('has the hash of its RFC 8785 form', () => {
    expect(report.manifest!.hash).toBe('b676b0b7c73cc4a2dda7ee48eeee91bc3d190bbe96330c1b2cea2dfec40af010');
    expect(digest(sampleManifest(), 'jcs')).toBe(report.manifest!.hash);
  });

  test('says what it says', () => {
    const { manifest } = report;
    expect(manifest).toMatchObject({
      schema_version: '1.0',
      agent_version: '1.0.0',
      permission_scopes: [
        { id: 'network:http', label_i18n_key: 'agent.scopes.network_http.label', sensitivity: 'medium' },
      ],
      capability_flags: sampleManifest().capability_flags,
    });
    const { input_schema, ...tool } = manifest!.tools[0]!;
    expect(tool).toEqual({
      name: 'fetch_web_page',
      description_i18n_key: 'agent.tools.fetch_web.desc',
      permission_scope: 'network:http',
      timeout_ms: 10000,
      required: false,
    });
    expect(digest(input_schema, 'jcs')).toBe(digest(sampleManifest().tools[0]!.input_schema, 'jcs'));
  });

  test('has the same hash however it is written', () => {
    const text = JSON.stringify(sampleManifest(), null, 4).replace('10000', '1.0e4');
    const bytes = new TextEncoder().encode(text);
    expect(validateManifest(bytes).manifest!.hash).toBe(report.manifest!.hash);
  });
});

describe('schema_version', () => {
  test.each(['2.0', '1', '1.0 ', 1, null])('%j is not known, and nothing else is judged', (version) => {
    expect(
      problems((m) => {
        m.schema_version = version;
        m.tools = 'none';
      }),
    ).toEqual(['MANIFEST_SCHEMA_VERSION /schema_version']);
  });

  test('is needed', () => {
    expect(problems((m) => delete m.schema_version)).toEqual(['MANIFEST_SCHEMA_VERSION /schema_version']);
  });
});

describe('agent_version is SemVer', () => {
  test.each([
    '0.0.0',
    '1.2.3-alpha.1',
    '1.0.0-0.3.7',
    '1.0.0-x-y-z.--',
    '1.0.0+001',
    '1.0.0-beta+exp.sha-5114f85',
    '99999999999999999999.0.0',
  ])('%s', (version) => {
    expect(problems((m) => (m.agent_version = version))).toEqual([]);
  });

  test.each(['1', '1.2', '01.0.0', '1.0.0-01', '1.0.0-', 'v1.0.0', '1.0.0+', '1.0.0-a..b', '１.0.0'])(
    '%s is not',
    (version) => {
      expect(problems((m) => (m.agent_version = version))).toEqual(['MANIFEST_AGENT_VERSION /agent_version']);
    },
  );
});

describe('tools', () => {
  test.each(['a', 'fetch_web_page', 'x1_2y'])('%s is snake_case', (name) => {
    expect(problems((m) => (m.tools[0].name = name))).toEqual([]);
  });

  test.each(['Fetch', 'fetchPage', 'fetch-page', '_a', 'a_', 'a__b', '1a', 'a b', 'é'])(
    '%s is not',
    (name) => {
      expect(problems((m) => (m.tools[0].name = name))).toEqual(['MANIFEST_TOOL_NAME /tools/0/name']);
    },
  );

  test('have names of their own', () => {
    expect(problems((m) => m.tools.push(structuredClone(m.tools[0])))).toEqual([
      'MANIFEST_DUPLICATE /tools/1/name',
    ]);
  });

  test.each([
    ['Fetch_Web_Page', 'case'],
    ['fetch\u200b_web_page', 'a character that is not seen'],
    ['ｆetch_web_page', 'the width of a letter'],
  ])('%s is a twin by %s', (name) => {
    expect(problems((m) => m.tools.push(toolOf(name)))).toContain('MANIFEST_NAME_TWIN /tools/1/name');
  });

  test('that look alike are worth a look', () => {
    expect(
      warnings((m) => {
        m.tools.push(toolOf('list_1'), toolOf('list_l'));
      }),
    ).toEqual(['MANIFEST_NAME_CONFUSABLE /tools/2/name']);
  });

  test.each(['name', 'description_i18n_key', 'input_schema', 'permission_scope'])('need %s', (key) => {
    expect(problems((m) => delete m.tools[0][key])).toEqual([`MANIFEST_FIELD_MISSING /tools/0/${key}`]);
  });

  test('do not need timeout_ms, which is 10000 then, nor required', () => {
    const { manifest } = validateManifest(manifestText((m) => delete m.tools[0].timeout_ms));
    expect([manifest!.tools[0]!.timeout_ms, manifest!.tools[0]!.required]).toEqual([10000, false]);
    expect(readManifest(manifestText((m) => (m.tools[0].required = true))).tools[0]!.required).toBe(true);
  });

  test.each([0, -1, 1.5, 2147483648])('timeout_ms is not %d', (ms) => {
    expect(problems((m) => (m.tools[0].timeout_ms = ms))).toEqual(['MANIFEST_TIMEOUT /tools/0/timeout_ms']);
  });

  test('refer to a scope that exists', () => {
    expect(problems((m) => (m.tools[0].permission_scope = 'network:smtp'))).toEqual([
      'MANIFEST_SCOPE_UNKNOWN /tools/0/permission_scope',
    ]);
  });

  test('may be none', () => {
    expect(
      problems((m) => {
        m.tools = [];
        m.permission_scopes = [];
      }),
    ).toEqual([]);
  });
});

describe('input_schema', () => {
  const inSchema = (change: (schema: Loose) => void) => problems((m) => change(m.tools[0].input_schema));

  test.each([['array'], [['object']], [undefined]])('is of an object, not %j', (type) => {
    expect(inSchema((schema) => (schema.type = type))).toEqual([
      'MANIFEST_INPUT_OBJECT /tools/0/input_schema/type',
    ]);
  });

  test.each([true, undefined, { type: 'string' }])('is closed, not %j', (additional) => {
    expect(inSchema((schema) => (schema.additionalProperties = additional))).toEqual([
      'MANIFEST_INPUT_OPEN /tools/0/input_schema/additionalProperties',
    ]);
  });

  test.each([
    [{ url: { type: 'strin' } }, 'MANIFEST_INPUT_SCHEMA', '/url/type'],
    [{ url: { minLength: -1 } }, 'MANIFEST_INPUT_SCHEMA', '/url/minLength'],
    [{ url: { $ref: 'https://example.com/s.json' } }, 'MANIFEST_INPUT_REF_REMOTE', '/url/$ref'],
    [{ url: { $ref: '#/$defs/none' } }, 'MANIFEST_INPUT_REF_BROKEN', '/url/$ref'],
    [{ url: { $ref: '#/properties/url' } }, 'MANIFEST_INPUT_REF_ENDLESS', '/url/$ref'],
    [{ url: { pattern: '(' } }, 'MANIFEST_INPUT_PATTERN', '/url/pattern'],
    [{ url: { pattern: '^(a+)+$' } }, 'MANIFEST_INPUT_PATTERN_EXPLODES', '/url/pattern'],
    [{ url: { $id: 'https://example.com/s.json' } }, 'MANIFEST_INPUT_ID', '/url/$id'],
    [
      { url: { $schema: 'https://json-schema.org/draft/2020-12/schema' } },
      'MANIFEST_INPUT_DIALECT',
      '/url/$schema',
    ],
  ])('%j: %s', (properties, code, path) => {
    expect(inSchema((schema) => (schema.properties = properties))).toEqual([
      `${code} /tools/0/input_schema/properties${path}`,
    ]);
  });

  test('may refer to itself through a property', () => {
    const properties = { url: { type: 'string' }, next: { $ref: '#' } };
    expect(inSchema((schema) => (schema.properties = properties))).toEqual([]);
  });

  test('warns of a keyword without a meaning, and of an argument that cannot be given', () => {
    expect(
      warnings((m) => {
        m.tools[0].input_schema.requierd = ['url'];
        m.tools[0].input_schema.required = ['uri'];
      }),
    ).toEqual([
      'MANIFEST_INPUT_KEYWORD /tools/0/input_schema/requierd',
      'MANIFEST_INPUT_IMPOSSIBLE /tools/0/input_schema/required/0',
    ]);
  });

  test('holds no number that would be hashed as another', () => {
    const text = manifestText((m) => (m.tools[0].input_schema.properties.url.maxLength = 12345)).replace(
      '12345',
      '9007199254740993',
    );
    expect(validateManifest(text).problems.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'MANIFEST_NUMBER /tools/0/input_schema/properties/url/maxLength',
    ]);
    const two = text.replace('9007199254740993', '1e999').replace('"GET"', '0.1000000000000000055');
    expect(validateManifest(two).problems.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'MANIFEST_NUMBER /tools/0/input_schema/properties/url/maxLength',
      'MANIFEST_NUMBER /tools/0/input_schema/properties/method/enum/0',
    ]);
  });
});

describe('permission_scopes', () => {
  test.each(['id', 'label_i18n_key', 'sensitivity'])('need %s', (key) => {
    const expected = [`MANIFEST_FIELD_MISSING /permission_scopes/0/${key}`];
    if (key === 'id') expected.push('MANIFEST_SCOPE_UNKNOWN /tools/0/permission_scope');
    expect(problems((m) => delete m.permission_scopes[0][key])).toEqual(expected);
  });

  test('may have a description', () => {
    const text = manifestText((m) => (m.permission_scopes[0].description_i18n_key = 'a.b'));
    expect(readManifest(text).permission_scopes[0]!.description_i18n_key).toBe('a.b');
  });

  test.each(['HIGH', 'none', ''])('%j is no sensitivity', (sensitivity) => {
    expect(problems((m) => (m.permission_scopes[0].sensitivity = sensitivity))).toEqual([
      'MANIFEST_SENSITIVITY /permission_scopes/0/sensitivity',
    ]);
  });

  test('have ids of their own, that a person can tell apart', () => {
    const add = (id: string) => (m: Loose) => m.permission_scopes.push({ ...m.permission_scopes[0], id });
    expect(problems(add('network:http'))).toEqual(['MANIFEST_DUPLICATE /permission_scopes/1/id']);
    expect(problems(add('Network:HTTP'))).toEqual(['MANIFEST_NAME_TWIN /permission_scopes/1/id']);
    expect(problems(add('network\u2060:http'))).toEqual([
      'MANIFEST_TEXT_HIDDEN /permission_scopes/1/id',
      'MANIFEST_NAME_TWIN /permission_scopes/1/id',
    ]);
  });

  test('of another form than <domain>:<action> are permitted with a hint', () => {
    const change = (m: Loose) => {
      m.permission_scopes[0].id = 'Web';
      m.tools[0].permission_scope = 'Web';
    };
    expect([problems(change), warnings(change)]).toEqual([
      [],
      ['MANIFEST_SCOPE_FORM /permission_scopes/0/id'],
    ]);
  });

  test('that no tool needs are worth a look', () => {
    expect(warnings((m) => m.permission_scopes.push({ ...m.permission_scopes[0], id: 'a:b' }))).toEqual([
      'MANIFEST_SCOPE_UNUSED /permission_scopes/1/id',
    ]);
  });

  test.each([
    ['location:read', 'medium'],
    ['filesystem:read', 'low'],
    ['clipboard:read', 'low'],
  ])('the preset %s cannot be made %s', (id, sensitivity) => {
    const change = (m: Loose) => {
      Object.assign(m.permission_scopes[0], { id, sensitivity });
      m.tools[0].permission_scope = id;
    };
    expect(problems(change)).toEqual(['MANIFEST_PRESET_LOWERED /permission_scopes/0/sensitivity']);
  });

  test('a preset may be graver than usual', () => {
    const change = (m: Loose) => {
      Object.assign(m.permission_scopes[0], { id: 'notification:send', sensitivity: 'high' });
      m.tools[0].permission_scope = 'notification:send';
    };
    expect([problems(change), warnings(change)]).toEqual([
      [],
      ['MANIFEST_PRESET_RAISED /permission_scopes/0/sensitivity'],
    ]);
  });
});

describe('capability_flags', () => {
  test.each(['supports_streaming', 'supports_artifacts', 'supports_voice', 'supports_group_chat'])(
    'need %s, true or false',
    (flag) => {
      const place = `/capability_flags/${flag}`;
      expect(problems((m) => delete m.capability_flags[flag])).toEqual([`MANIFEST_FIELD_MISSING ${place}`]);
      expect(problems((m) => (m.capability_flags[flag] = 1))).toEqual([`MANIFEST_FIELD_TYPE ${place}`]);
    },
  );
});

describe('unknown fields are refused', () => {
  test.each([
    [(m: Loose) => (m.name = 'x'), '/name'],
    [(m: Loose) => (m.tools[0].description = 'x'), '/tools/0/description'],
    [(m: Loose) => (m.permission_scopes[0].label = 'x'), '/permission_scopes/0/label'],
    [(m: Loose) => (m.capability_flags.supports_video = true), '/capability_flags/supports_video'],
    [(m: Loose) => (m.tools[0].Name = 'x'), '/tools/0/Name'],
    [(m: Loose) => Object.defineProperty(m, '__proto__', { value: 1, enumerable: true }), '/__proto__'],
  ])('%s', (change, path) => {
    expect(problems(change)).toEqual([`MANIFEST_FIELD_UNKNOWN ${path}`]);
  });

  test('with what was probably meant', () => {
    const report = validateManifest(
      manifestText((m) => {
        m.tools[0].timeoutMs = 1;
        delete m.tools[0].timeout_ms;
      }),
    );
    expect(report.problems[0]!.hint).toBe('Perhaps `timeout_ms` is meant.');
  });
});

describe('texts that people are shown', () => {
  test.each(['', ' ', '\n'])('%j is empty', (text) => {
    expect(problems((m) => (m.tools[0].description_i18n_key = text))).toEqual([
      'MANIFEST_TEXT_EMPTY /tools/0/description_i18n_key',
    ]);
  });

  test.each(['a\u202eb', 'a\u{e0041}', 'a\u0007', 'a\nb', 'a\u00a0b'])('%j hides something', (text) => {
    expect(problems((m) => (m.permission_scopes[0].label_i18n_key = text))).toEqual([
      'MANIFEST_TEXT_HIDDEN /permission_scopes/0/label_i18n_key',
    ]);
  });

  test('may be in any script', () => {
    expect(problems((m) => (m.permission_scopes[0].label_i18n_key = '网络 访问'))).toEqual([]);
  });
});
