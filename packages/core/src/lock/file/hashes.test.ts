import { describe, expect, test } from 'vitest';
import { object, refusal } from '../../../test/surface.ts';
import { sha256Hex } from '../../crypto/index.ts';
import { parse } from '../../json/index.ts';
import { hashPrompt, hashTemplate, hashTool, riskKeywords, riskLevel } from '../index.ts';
import { hashNormalized, hashSchema, hashText } from './hashes.ts';

const NOTHING = 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const hashOf = (text: string) => `sha256:${sha256Hex(text)}`;

describe('a tool', () => {
  test('its description is hashed as it is; none, null and the empty one alike', () => {
    for (const text of ['{"name":"t"}', '{"name":"t","description":null}', '{"name":"t","description":""}'])
      expect(hashTool(object(text), 'mcptrust-v1').description_hash).toBe(NOTHING);
    const raw = object('{"name":"t","description":" a \\r\\n b \\t"}');
    expect(hashTool(raw, 'mcptrust-v1').description_hash).toBe(hashOf(' a \r\n b \t'));
    expect(hashText('é')).toBe('sha256:4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
  });

  test('no schema has no hash; any other is hashed in canonical form', () => {
    for (const schema of [undefined, null, parse('{}')]) expect(hashSchema(schema, 'mcptrust-v1')).toBe('');
    const schema = parse('{"b":"<","a":[1,{"d":null,"c":true}]}');
    expect(hashSchema(schema, 'mcptrust-v1')).toBe(hashOf('{"a":[1,{"c":true,"d":null}],"b":"\\u003c"}'));
  });

  test('the two rules part where a number does not survive a double in its digits', () => {
    const both = (text: string) =>
      (['mcptrust-v1', 'mcptrust-v1-go'] as const).map((rule) => hashSchema(parse(text), rule));
    expect(both('{"maximum":1.0}')).toEqual([hashOf('{"maximum":1.0}'), hashOf('{"maximum":1}')]);
    expect(both('{"maximum":9007199254740993}')).toEqual([
      hashOf('{"maximum":9007199254740993}'),
      hashOf('{"maximum":9007199254740992}'),
    ]);
    expect(both('{"maximum":-0}')).toEqual([hashOf('{"maximum":-0}'), hashOf('{"maximum":-0}')]);
    expect(refusal(() => hashSchema(parse('[1e400]'), 'mcptrust-v1-go'))).toBe('CANON_NOT_FINITE /0');
  });

  test.each([
    ['{"name":"t","description":1}', 'LOCK_DEFINITION /description'],
    ['{"name":"t","inputSchema":[]}', 'LOCK_DEFINITION /inputSchema'],
    ['{"name":"t","inputSchema":"x"}', 'LOCK_DEFINITION /inputSchema'],
    ['{"name":"t","description":"good","Description":"bad"}', 'LOCK_CASE_TWIN /Description'],
    ['{"name":"t","de\u017fcription":"bad"}', 'LOCK_CASE_TWIN /de\u017fcription'],
    ['{"name":"t","INPUTSCHEMA":{}}', 'LOCK_CASE_TWIN /INPUTSCHEMA'],
    ['{"name":"t","descriptions":"other"}', 'ok'],
  ])('%s: %s', (text, expected) => {
    expect(refusal(() => hashTool(object(text), 'mcptrust-v1'))).toBe(expected);
  });
});

describe('a prompt', () => {
  test('its arguments are sorted by their bytes and keep only what counts', () => {
    const prompt = object(
      '{"name":"p","arguments":[{"name":"🎉"},{"name":"～","required":false,"description":""},{"name":"b","required":true,"title":"B"},{"name":"a","description":"x"}]}',
    );
    expect(hashPrompt(prompt)).toEqual({
      argumentsHash: hashOf(
        '[{"description":"x","name":"a"},{"name":"b","required":true},{"name":"～"},{"name":"🎉"}]',
      ),
      titleHash: null,
      descriptionHash: null,
    });
  });

  test('none, null and no arguments are alike', () => {
    for (const text of ['{"name":"p"}', '{"name":"p","arguments":null}', '{"name":"p","arguments":[]}'])
      expect(hashPrompt(object(text)).argumentsHash).toBe(hashOf('[]'));
  });

  test('its description is normalised: line ends, and spaces before them', () => {
    expect(hashNormalized('a \t\r\n  b\r\rc \n')).toBe(hashOf('a\n  b\n\nc\n'));
    expect(hashNormalized(`${' '.repeat(200_000)}x`)).toBe(hashOf(`${' '.repeat(200_000)}x`));
    expect(hashNormalized('a\u00a0\u2003\v')).toBe(hashOf('a\u00a0\u2003\v'));
  });

  test.each([
    ['{"name":"p","arguments":{}}', 'LOCK_DEFINITION /arguments'],
    ['{"name":"p","arguments":["x"]}', 'LOCK_DEFINITION /arguments/0'],
    ['{"name":"p","arguments":[{"name":"a","required":"yes"}]}', 'LOCK_DEFINITION /arguments/0/required'],
    ['{"name":"p","arguments":[{"name":"a"},{"name":"a"}]}', 'LOCK_DUPLICATE /arguments/1'],
    ['{"name":"p","arguments":[{"name":"a","Required":true}]}', 'LOCK_CASE_TWIN /arguments/0/Required'],
  ])('%s: %s', (text, expected) => {
    expect(refusal(() => hashPrompt(object(text)))).toBe(expected);
  });
});

test('a template is hashed with its type, and its name and description apart', () => {
  expect(
    hashTemplate(object('{"uriTemplate":"x://{a}","name":"N ","mimeType":"","description":"d"}')),
  ).toEqual({
    uriTemplate: 'x://{a}',
    templateHash: hashOf('{"uriTemplate":"x://{a}"}'),
    nameHash: hashOf('N'),
    descriptionHash: hashOf('d'),
    mimeType: null,
  });
  expect(hashTemplate(object('{"uriTemplate":"x://{a}","mimeType":"a/b"}'))).toEqual({
    uriTemplate: 'x://{a}',
    templateHash: hashOf('{"mimeType":"a/b","uriTemplate":"x://{a}"}'),
    nameHash: null,
    descriptionHash: null,
    mimeType: 'a/b',
  });
});

describe('risk', () => {
  test.each([
    ['add', 'Adds two numbers', 'LOW', []],
    ['execute', '', 'HIGH', ['exec', 'execute']],
    ['list', 'Gives information', 'MEDIUM', ['rm']],
    ['terminal', '', 'HIGH', ['rm', 'terminal']],
    ['x', 'offset', 'MEDIUM', ['fs']],
    ['x', 'Evaluate the file SYSTEM', 'HIGH', ['eval', 'system']],
    ['k\u0130ll', '', 'MEDIUM', ['kill']],
    ['\u212aILL', '', 'MEDIUM', ['kill']],
    ['ru', 'n', 'LOW', []],
  ] as const)('%s, %s: %s', (name, description, level, keywords) => {
    expect([riskLevel(name, description), riskKeywords(name, description)]).toEqual([level, keywords]);
  });
});
