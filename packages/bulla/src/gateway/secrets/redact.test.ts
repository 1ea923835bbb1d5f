import { JsonObject, type JsonValue, parse, stringify } from '@bulla/core/json';
import { expect, test } from 'vitest';
import { findSecrets } from './find.ts';
import { redact } from './redact.ts';

const json = (text: string): JsonValue => parse(new TextEncoder().encode(text));
const redacted = (text: string, pointers: string[], found: string[] = []) => {
  const value = json(text);
  const copy = redact(
    value,
    pointers,
    found.map((pointer) => ({ pointer, kind: 'x' })),
  );
  expect(stringify(value)).toBe(stringify(json(text)));
  return stringify(copy);
};

test('what stands at a pointer is replaced, whatever it is', () => {
  const text = '{"a":"x","b":{"c":[1.50,"y",{"d":null}]},"2":true,"__proto__":{"e":"z"}}';
  expect(redacted(text, [])).toBe(text);
  expect(redacted(text, ['/a'])).toBe(text.replace('"x"', '"[redacted]"'));
  expect(redacted(text, ['/b/c/1', '/b/c/2/d'], ['/a', '/b/c/1'])).toBe(
    '{"a":"[redacted]","b":{"c":[1.50,"[redacted]",{"d":"[redacted]"}]},"2":true,"__proto__":{"e":"z"}}',
  );
  expect(redacted(text, ['/__proto__/e', '/2'])).toBe(
    '{"a":"x","b":{"c":[1.50,"y",{"d":null}]},"2":"[redacted]","__proto__":{"e":"[redacted]"}}',
  );
  expect(redacted(text, ['/b/c/0'])).toBe(text.replace('1.50', '"[redacted]"'));
  for (const order of [
    ['/b', '/b/c/1'],
    ['/b/c/1', '/b'],
  ])
    expect(redacted(text, order)).toBe('{"a":"x","b":"[redacted]","2":true,"__proto__":{"e":"z"}}');
  expect(redacted(text, [''])).toBe('"[redacted]"');
  expect(redacted('"x"', [], [''])).toBe('"[redacted]"');
});

test('names are read as RFC 6901 writes them', () => {
  expect(redacted('{"a/b":{"~1":"x","":["y"]}}', ['/a~1b/~01', '/a~1b//0'])).toBe(
    '{"a/b":{"~1":"[redacted]","":["[redacted]"]}}',
  );
  for (const wrong of ['a', '/a~', '/~2', '#/a'])
    expect(() => redact(json('{"a":1}'), [wrong], [])).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

test('a pointer that leads nowhere changes nothing', () => {
  const text = '{"a":["x"],"b":"y","c":null}';
  const nowhere = [
    '/d',
    '/a/1',
    '/a/-',
    '/a/00',
    '/a/length',
    '/b/0',
    '/c/x',
    '/a/0/x',
    '/toString',
    '/a/1e0',
  ];
  expect(redacted(text, nowhere)).toBe(text);
  expect(redacted('5', ['/a'])).toBe('5');
});

test('a part that stands in two places is redacted in one', () => {
  const part = json('{"a":"x"}');
  const value = new JsonObject(['b', 'c'], [part, [part]]);
  expect(stringify(redact(value, ['/c/0/a'], []))).toBe('{"b":{"a":"x"},"c":[{"a":"[redacted]"}]}');
});

test('nothing of what was found is left, nor of what was not searched', async () => {
  const token = `ghp_${'Ab3'.repeat(12)}`;
  const value = json(JSON.stringify({ a: ['x', `run ${token}`], b: { [token]: 1, c: 2 }, d: 'y' }));
  const copy = stringify(redact(value, [], await findSecrets(value)));
  expect(copy).toBe('{"a":["x","[redacted]"],"b":"[redacted]","d":"y"}');
  const large = [token, ' '.repeat(1 << 20)];
  expect(redact(large, [], await findSecrets(large))).toBe('[redacted]');
});
