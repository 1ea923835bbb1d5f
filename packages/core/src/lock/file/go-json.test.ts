import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { refusal } from '../../../test/surface.ts';
import { parse } from '../../json/index.ts';
import { goIndented } from './go-json.ts';

test('two spaces a level, empty containers closed at once, HTML characters escaped, digits kept', () => {
  const text =
    '{"b":[],"a":{},"<k>":["&",1.50,-0,null,true],"c":{"\\u2028":"\\u0008/\\u007f\\ud83c\\udf89"}}';
  expect(goIndented(parse(text))).toBe(`{
  "b": [],
  "a": {},
  "\\u003ck\\u003e": [
    "\\u0026",
    1.50,
    -0,
    null,
    true
  ],
  "c": {
    "\\u2028": "\\b/\u007f🎉"
  }
}`);
});

describe('any value', { timeout: 60_000 * inject('soak') }, () => {
  const text = fc.string({ unit: 'binary' });
  // A key that looks like an array index would move to the front in a plain object.
  const key = text.map((name) => `k${name}`);
  const html = (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;

  test('is what JSON.stringify indents, with the HTML characters escaped', () => {
    fc.assert(
      fc.property(
        fc.object({ key, values: [text, fc.boolean(), fc.integer(), fc.constant(null)] }),
        (value) => {
          const expected = JSON.stringify(value, null, 2).replace(/[<>&\u2028\u2029]/g, html);
          expect(goIndented(parse(JSON.stringify(value)))).toBe(expected);
        },
      ),
      { numRuns: 500 * inject('soak') },
    );
  });

  test('reads back as it was', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6, stringUnit: 'binary' }), (json) => {
        expect(parse(goIndented(parse(json)))).toEqual(parse(json));
      }),
      { numRuns: 300 * inject('soak') },
    );
  });
});

test('1,000 levels are written, 1,001 are refused', () => {
  const nested = (depth: number) => parse('['.repeat(depth) + ']'.repeat(depth), { maxDepth: 2000 });
  expect(parse(goIndented(nested(1000)))).toEqual(nested(1000));
  expect(refusal(() => goIndented(nested(1001)))).toBe('VALUE_TOO_DEEP');
});
