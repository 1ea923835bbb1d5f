import { type JsonValue, parse, stringify } from '@bulla/core/json';
import { expect, test } from 'vitest';
import type { Keep } from '../record/index.ts';
import { keepOf } from './keep.ts';

const json = (text: string): JsonValue => parse(new TextEncoder().encode(text));
/** What is kept of a text, with the value as JSON. */
const kept = async (text: string, ...pointers: string[]): Promise<unknown> =>
  shown(await keepOf(json(text), pointers));
const shown = (keep: Keep): unknown =>
  typeof keep === 'string' || 'unkept' in keep ? keep : [stringify(keep.value), ...keep.removed.map(word)];
const word = ({ pointer, by, kind }: { pointer: string; by: string; kind?: string | undefined }): string =>
  `${by}${kind === undefined ? '' : ` ${kind}`} ${pointer}`;
/** So many characters that repeat; a scanner of repositories takes no test for a leak. */
const of = (length: number, letters = 'Ab3') => letters.repeat(length).slice(0, length);
const [AWS, GOOGLE, OURS] = [`AKIA${'IOSFODNN7EXAMPLE'}`, `AIza${of(35)}`, `hsk_${of(40)}`];
const JWT = `eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2Ui${of(20)}.${of(43)}`;

test('a value is kept as it is where nothing had to be removed', async () => {
  for (const text of ['{"a":1.50,"b":[9007199254740993]}', '{}', '"x"', '{"a":"[redacted]"}'])
    expect(await kept(text, '/password', '/a/0', '/b/-')).toBe('whole');
});

test('what pointers lead to is removed, and each of them that led somewhere is told', async () => {
  expect(
    await kept('{"password":"x","n":[1,{"k":2.50}],"m":3}', '/password', '/n/1/k', '/none', '/n/2'),
  ).toEqual(['{"password":"[redacted]","n":[1,{"k":"[redacted]"}],"m":3}', 'rule /password', 'rule /n/1/k']);
  expect(await kept('{"a/b":{"~1":"x","~":{"":null}}}', '/a~1b/~01', '/a~1b/~0/')).toEqual([
    '{"a/b":{"~1":"[redacted]","~":{"":"[redacted]"}}}',
    'rule /a~1b/~01',
    'rule /a~1b/~0/',
  ]);
  expect(await kept('{"a":{"b":"x"}}', '/a', '/a/b')).toEqual(['{"a":"[redacted]"}', 'rule /a', 'rule /a/b']);
  expect(await kept('{"a":"x"}', '')).toEqual(['"[redacted]"', 'rule ']);
});

test.each([
  ['aws', AWS],
  ['google', GOOGLE],
  ['jwt', JWT],
  ['bulla', OURS],
  ['github', `ghp_${of(36)}`],
])('a secret of the kind %s is removed with the string that it stands in', async (kind, secret) => {
  const told = (await kept(JSON.stringify({ a: ['b', `use ${secret} now`], c: 'd' }))) as string[];
  expect(told).toEqual(['{"a":["b","[redacted]"],"c":"d"}', `secret ${kind} /a/1`]);
  // Nothing can be removed from the name of a member: the object around it goes.
  expect(await kept(JSON.stringify({ a: { [secret]: 1, b: 2 }, c: 'd' }))).toEqual([
    '{"a":"[redacted]","c":"d"}',
    `secret ${kind} /a`,
  ]);
  expect(await kept(JSON.stringify({ [secret]: 1 }))).toEqual(['"[redacted]"', `secret ${kind} `]);
});

test('what a rule removes is not searched', async () => {
  expect(await kept(JSON.stringify({ a: AWS, b: JWT }), '/a')).toEqual([
    '{"a":"[redacted]","b":"[redacted]"}',
    'rule /a',
    'secret jwt /b',
  ]);
});

test('what is too large to be searched is not kept, unless a rule removes enough of it', async () => {
  const large = { blob: 'x'.repeat(10 * 1024 * 1024), a: AWS };
  expect(await kept(JSON.stringify(large))).toEqual({ unkept: 'RECORD_REDACTION_TOO_LARGE' });
  expect(await kept(JSON.stringify(large), '/a')).toEqual({ unkept: 'RECORD_REDACTION_TOO_LARGE' });
  expect(await kept(JSON.stringify(large), '/blob')).toEqual([
    '{"blob":"[redacted]","a":"[redacted]"}',
    'rule /blob',
    'secret aws /a',
  ]);
});

test('a value that nests deep is searched to its end', async () => {
  const deep = (inner: string) => `${'{"a":'.repeat(990)}${inner}${'}'.repeat(990)}`;
  expect(await kept(deep(JSON.stringify(AWS)))).toEqual([
    deep('"[redacted]"'),
    `secret aws ${'/a'.repeat(990)}`,
  ]);
  expect(await kept(deep('"x"'), '/a'.repeat(990))).toEqual([
    deep('"[redacted]"'),
    `rule ${'/a'.repeat(990)}`,
  ]);
  expect(await kept(deep('"x"'))).toBe('whole');
});

test('where it cannot be searched, nothing is kept and nobody is stopped', async () => {
  expect(await keepOf({} as never, ['not a pointer'])).toEqual({ unkept: 'RECORD_REDACTION_FAILED' });
});
