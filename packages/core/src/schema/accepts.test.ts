import { expect, test } from 'vitest';
import { parse } from '../json/index.ts';
import { accepts } from './index.ts';

const schema = parse(
  `{"type":"object","properties":{"url":{"type":"string","pattern":"^https:","format":"uri"},
    "page":{"type":"integer","maximum":9007199254740993}},"required":["url"],"additionalProperties":false}`,
);

test.each([
  ['{"url":"https://a.example"}', true],
  ['{"url":"https://a.example","page":9007199254740993}', true],
  ['{"url":"https://a.example","page":9007199254740994}', false],
  ['{"url":5}', false],
  ['{"url":"http://a.example"}', false],
  ['{}', false],
  ['{"url":"https://a.example","more":1}', false],
  ['[]', false],
])('%s: %s', (value, expected) => {
  expect(accepts(schema, parse(value))).toBe(expected);
});

test('what cannot be told within the steps is not told', () => {
  expect(accepts(schema, parse('{"url":"https://a.example"}'), 1)).toBe(undefined);
});
