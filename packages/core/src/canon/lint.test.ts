import { describe, expect, test } from 'vitest';
import { parse } from '../json/index.ts';
import { digest, families, lint, type ProfileId, profiles } from './index.ts';

test('the families are those of the table', () => {
  expect(families).toEqual(['jcs', 'cps', 'envelope', 'mcptrust', 'khora']);
});

test('a document on which everyone agrees has no findings', () => {
  expect(
    lint(parse('{"a":{"b":[1,-5,"x",true,null]},"c":"é"}'), ['jcs', 'envelope', 'mcptrust', 'khora']),
  ).toEqual([]);
});

describe('numbers', () => {
  test('each profile is shown with what it writes', () => {
    expect(lint(parse('{"a":[1,1.0]}'), ['mcptrust'])).toEqual([
      {
        family: 'mcptrust',
        rule: 'number',
        path: '/a/1',
        forms: { 'mcptrust-v1': '1.0', 'mcptrust-v1-go': '1', 'mcptrust-v2': '1' },
      },
    ]);
  });

  test('a number that is no longer itself as a double is inexact', () => {
    expect(lint(parse('[9007199254740993,333333333.33333329,0.1,1e2,1.50,0.0e5]'), ['jcs'])).toEqual([
      { family: 'jcs', rule: 'inexact', path: '/0', forms: { jcs: '9007199254740992' } },
      { family: 'jcs', rule: 'inexact', path: '/1', forms: { jcs: '333333333.3333333' } },
    ]);
    const forms = { khora: 'CANON_BIGINT', 'khora-icu': 'CANON_BIGINT' };
    expect(lint({ a: 1n }, ['khora'])).toEqual([{ family: 'khora', rule: 'refused', path: '/a', forms }]);
    expect(lint(2n ** 53n + 1n, ['jcs'])).toEqual([
      { family: 'jcs', rule: 'inexact', path: '', forms: { jcs: '9007199254740992' } },
    ]);
    expect(lint(parse('1e-400'), ['jcs'])).toEqual([
      { family: 'jcs', rule: 'inexact', path: '', forms: { jcs: '0' } },
    ]);
  });

  test('hostile digits take linear time', () => {
    const digits = `1${'0'.repeat(1_000_000)}1`;
    expect(lint(parse(digits), ['mcptrust']).map((finding) => finding.rule)).toEqual(['refused']);
    expect(lint(parse(`0.${digits}`), ['jcs']).map((finding) => finding.rule)).toEqual(['inexact']);
  });

  test('a number that a profile refuses', () => {
    expect(lint(parse('{"n":1.5}'), ['envelope'])).toEqual([
      {
        family: 'envelope',
        rule: 'refused',
        path: '/n',
        forms: { 'envelope-v1': 'CANON_NUMBER', 'envelope-v1-nul': 'CANON_NUMBER' },
      },
    ]);
  });

  test('the float paths of a capsule', () => {
    expect(
      lint(parse('{"reasoning":{"confidence":1}}'), ['cps']).filter((f) => f.rule !== 'members'),
    ).toEqual([
      {
        family: 'cps',
        rule: 'number',
        path: '/reasoning/confidence',
        forms: { cps: '1.0', 'cps-python': '1', 'cps-ts': '1.0' },
      },
    ]);
  });
});

test('strings and keys that are escaped differently', () => {
  expect(lint({ '<a>': 'b&c' }, ['mcptrust'])).toEqual([
    {
      family: 'mcptrust',
      rule: 'string',
      path: '/<a>',
      forms: {
        'mcptrust-v1': '"\\u003ca\\u003e"',
        'mcptrust-v1-go': '"\\u003ca\\u003e"',
        'mcptrust-v2': '"<a>"',
      },
    },
    {
      family: 'mcptrust',
      rule: 'string',
      path: '/<a>',
      forms: { 'mcptrust-v1': '"b\\u0026c"', 'mcptrust-v1-go': '"b\\u0026c"', 'mcptrust-v2': '"b&c"' },
    },
  ]);
});

test('key orders part at the first key that differs', () => {
  expect(lint({ o: { a: 1, B: 2, c: 3 } }, ['khora'])).toEqual([
    { family: 'khora', rule: 'key-order', path: '/o', forms: { khora: '"B"', 'khora-icu': '"a"' } },
  ]);
  expect(lint([{ a: 1, é: 2 }], ['khora'])).toEqual([
    {
      family: 'khora',
      rule: 'refused',
      path: '/0',
      forms: { khora: '', 'khora-icu': 'CANON_KEY' },
    },
  ]);
});

test('members that not every profile hashes', () => {
  const twelve = Object.fromEntries(
    ['id', 'type', 'domain', 'parent_id', 'sequence', 'previous_hash', 'trigger', 'context', 'reasoning'].map(
      (key) => [key, null],
    ),
  );
  expect(
    lint({ ...twelve, authority: null, execution: null, outcome: null, signature: 'x' }, ['cps']),
  ).toEqual([
    {
      family: 'cps',
      rule: 'members',
      path: '',
      forms: { cps: '', 'cps-python': '', 'cps-ts': 'spec_version' },
    },
  ]);
});

test('what is not JSON at all is an error, not a finding', () => {
  expect(() => lint({ a: [() => 1] })).toThrow(
    expect.objectContaining({ code: 'VALUE_NOT_JSON', path: '/a/0' }),
  );
});

test('no findings in a family means one digest in it, and findings mean several or a refusal', () => {
  const documents = [
    '{}',
    '{"a":1}',
    '{"a":1.0}',
    '{"B":1,"a":2}',
    '"<"',
    '[1e16]',
    '{"é":{"b":1}}',
    '1e400',
    '{"1":0,"b":0}',
  ];
  for (const text of documents) {
    const value = parse(text);
    for (const family of ['mcptrust', 'khora']) {
      const ids = (Object.keys(profiles) as ProfileId[]).filter((id) => profiles[id].family === family);
      const digests = new Set(
        ids.map((id) => {
          try {
            return digest(value, id);
          } catch {
            return `refused by ${id}`;
          }
        }),
      );
      const refused = [...digests].some((text) => text.startsWith('refused'));
      expect([text, family, lint(value, [family]).length === 0]).toEqual([
        text,
        family,
        digests.size === 1 && !refused,
      ]);
    }
  }
});
