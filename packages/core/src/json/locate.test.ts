import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseWithSpans, type Span, spanIn } from './index.ts';

const encoder = new TextEncoder();

/** All of it, in plain objects. */
function whole({ start, end, keys, children }: Span): Span {
  return {
    ...{ start, end },
    ...(keys && { keys: keys.map(whole) }),
    ...(children && { children: children.map(whole) }),
  };
}

function expectSame(text: string): void {
  expect(whole(spanIn(encoder.encode(text)))).toEqual(whole(parseWithSpans(text).span));
}

test.each([
  ' { "é" : [ 1.0 , { } , [ ] , "😀\\n" ] ,\n"b":{"c" :null, "d":-0}, "e":true } ',
  '  "é"  ',
  '-1.5e+7',
  '\t[\r\n]\n',
  '[[],[[]],{"a":{"b":[{}]}}]',
  '{"\\"":"\\\\","}":"]{[,:\\u0022","":""}',
  ...[62, 63, 64, 65].flatMap((length) =>
    ['\\\\', '\\"', '"', '\\\\\\"'].map((end) => `["${'x'.repeat(length)}${end === '"' ? '' : end}","}]"]`),
  ),
  `["${'\\\\'.repeat(500)}","${'\\"'.repeat(500)}",1]`,
])('spans are found where the parser tells them: %s', (text) => {
  expectSame(text);
});

test('the same holds of any text', () => {
  const space = fc.constantFrom('', ' ', '\n', '\t \r\n');
  const text = fc.oneof(
    fc.string(),
    fc.string({ minLength: 55, maxLength: 80, unit: fc.constantFrom('\\', '"', 'x', '}', 'é', '\n') }),
  );
  const { document } = fc.letrec<{ document: string }>((tie) => ({
    document: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('null', 'true', 'false', '0', '-1.5e+7'),
      text.filter((value) => value.isWellFormed()).map((value) => JSON.stringify(value)),
      fc
        .tuple(space, fc.array(tie('document'), { maxLength: 4 }))
        .map(([s, all]) => `[${s}${all.join(`${s},${s}`)}${s}]`),
      fc
        .tuple(
          space,
          fc.uniqueArray(
            text.filter((key) => key.isWellFormed()),
            { maxLength: 4 },
          ),
          fc.array(tie('document'), { minLength: 4, maxLength: 4 }),
        )
        .map(
          ([s, keys, values]) =>
            `{${s}${keys.map((key, i) => `${JSON.stringify(key)}${s}:${s}${values[i]}`).join(`${s},${s}`)}${s}}`,
        ),
    ),
  }));
  fc.assert(fc.property(space, document, (s, inner) => expectSame(`${s}${inner}${s}`)));
});
