import { describe, expect, test } from 'vitest';
import { manifestText, sampleManifest, toolOf } from '../../test/manifest.ts';
import { ManifestError, readManifest, validateManifest } from './validate.ts';

describe('size', () => {
  /** The sample with a description in its schema that makes the canonical form exactly this long. */
  const ofBytes = (bytes: number) =>
    manifestText(
      (m) => (m.tools[0].input_schema.description = 'x'.repeat(bytes - 614 - '"description":"",'.length)),
    );

  test('up to 131,072 bytes of canonical form are permitted', () => {
    const { manifest, warnings: told } = validateManifest(ofBytes(131_072));
    expect([manifest!.bytes, told.map(({ code }) => code)]).toEqual([131_072, ['MANIFEST_LARGE']]);
  });

  test('one more is MANIFEST_TOO_LARGE, HTTP 413', () => {
    const text = ofBytes(131_073);
    expect(validateManifest(text).problems.map(({ code }) => code)).toEqual(['MANIFEST_TOO_LARGE']);
    try {
      readManifest(text);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ManifestError);
      expect(error).toMatchObject({ code: 'MANIFEST_TOO_LARGE', httpStatus: 413 });
    }
  });

  test('a warning is given from 65,536 bytes on', () => {
    const codes = (bytes: number) => validateManifest(ofBytes(bytes)).warnings.map(({ code }) => code);
    expect([codes(65_535), codes(65_536)]).toEqual([[], ['MANIFEST_LARGE']]);
  });

  test('bytes count, not characters', () => {
    const text = manifestText((m) => (m.tools[0].input_schema.description = '字'.repeat(40_000)));
    expect(validateManifest(text).bytes).toBe(614 + '"description":"",'.length + 120_000);
  });

  test('white space does not count, up to the longest text that is read', () => {
    expect(validateManifest(`${' '.repeat(4_000_000)}${manifestText()}`).manifest!.bytes).toBe(614);
    const { problems: told } = validateManifest(`${' '.repeat(4_194_304)}${manifestText()}`);
    expect(told.map(({ code }) => code)).toEqual(['MANIFEST_TOO_LARGE']);
  });

  test('other problems of a manifest that is too large are told too', () => {
    const text = ofBytes(131_073).replace('fetch_web_page', 'Fetch_web_page');
    expect(validateManifest(text).problems.map(({ code }) => code)).toEqual([
      'MANIFEST_TOO_LARGE',
      'MANIFEST_TOOL_NAME',
    ]);
    expect(() => readManifest(text)).toThrow(expect.objectContaining({ code: 'MANIFEST_TOO_LARGE' }));
  });
});

describe('bad input', () => {
  test.each([
    ['', 'JSON_UNEXPECTED_END'],
    ['{', 'JSON_UNEXPECTED_END'],
    ['{"a":1,"a":2}', 'JSON_DUPLICATE_KEY'],
    ['\ufeff{}', 'JSON_BOM'],
    ['{} {}', 'JSON_TRAILING_DATA'],
    ['['.repeat(1001), 'JSON_TOO_DEEP'],
  ])('%j', (text, code) => {
    const { problems: told, manifest } = validateManifest(text.slice(0, 2000));
    expect([told.map((problem) => problem.code), manifest]).toEqual([[code], null]);
  });

  test('what is not an object', () => {
    expect(validateManifest('[]').problems.map(({ code }) => code)).toEqual(['MANIFEST_NOT_OBJECT']);
  });

  test('all problems are told at once, with places in the text', () => {
    const text = JSON.stringify(
      { ...sampleManifest(), agent_version: 'x', tools: [1, { ...toolOf('A'), x: 1 }], extra: null },
      null,
      2,
    );
    const told = validateManifest(text).problems;
    expect(told.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'MANIFEST_FIELD_UNKNOWN /extra',
      'MANIFEST_AGENT_VERSION /agent_version',
      'MANIFEST_FIELD_TYPE /tools/0',
      'MANIFEST_FIELD_UNKNOWN /tools/1/x',
      'MANIFEST_TOOL_NAME /tools/1/name',
    ]);
    expect(told.map(({ offset }) => text.slice(offset, offset! + 4))).toEqual([
      'null',
      '"x",',
      '1,\n ',
      '1\n  ',
      '"A",',
    ]);
    for (const { hint } of told) expect(hint).toMatch(/\.$/);
  });

  test('a missing member is told at the object that lacks it', () => {
    const text = manifestText((m) => delete m.tools[0].name);
    expect(validateManifest(text).problems[0]!.offset).toBe(text.indexOf('{"description_i18n_key"'));
  });

  test('10,000 tools are answered, the first 1,000 problems listed and all counted', () => {
    const text = manifestText((m) => {
      m.tools = Array.from({ length: 10_000 }, (_, i) => toolOf(`Tool_${i}`));
    });
    const report = validateManifest(text);
    expect([report.manifest, report.problems.length, report.count]).toEqual([null, 1000, 10_001]);
    expect(report.problems[0]!.code).toBe('MANIFEST_TOO_LARGE');
  });

  test('names in problems are visible and end no line', () => {
    const report = validateManifest(manifestText((m) => (m['a\n\u001b[31m\u202e'] = 1)));
    expect(report.problems[0]!.message).toBe('A manifest has no member "a⟨U+000A⟩⟨U+001B⟩[31m⟨U+202E⟩".');
  });
});
