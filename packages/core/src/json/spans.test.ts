import { expect, test } from 'vitest';
import { JsonObject, type JsonValue, parse, parseWithSpans, type Span, stringify } from './index.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Every value of a document with the text that its span cuts out of the bytes. */
function cuts(text: string): [JsonValue, string][] {
  const bytes = encoder.encode(text);
  const { value, span } = parseWithSpans(text);
  const found: [JsonValue, string][] = [];
  const walk = (v: JsonValue, s: Span) => {
    found.push([v, decoder.decode(bytes.subarray(s.start, s.end))]);
    if (v instanceof JsonObject) {
      for (let i = 0; i < v.size; i++) {
        expect(parse(decoder.decode(bytes.subarray(s.keys![i]!.start, s.keys![i]!.end)))).toBe(v.keys[i]);
        walk(v.values[i]!, s.children![i]!);
      }
    } else if (Array.isArray(v)) {
      for (let i = 0; i < v.length; i++) walk(v[i]!, s.children![i]!);
    }
  };
  walk(value, span);
  return found;
}

test('each span cuts out exactly the text of its value', () => {
  const text = ' { "é" : [ 1.0 , { } , [ ] , "😀\\n" ] ,\n"b":{"c" :null, "d":-0}, "e":true } ';
  const found = cuts(text);
  expect(found.map(([, cut]) => cut)).toEqual([
    text.trim(),
    '[ 1.0 , { } , [ ] , "😀\\n" ]',
    '1.0',
    '{ }',
    '[ ]',
    '"😀\\n"',
    '{"c" :null, "d":-0}',
    'null',
    '-0',
    'true',
  ]);
  for (const [value, cut] of found) expect(stringify(parse(cut))).toBe(stringify(value));
});

test('a bare value has a span too', () => {
  expect(parseWithSpans('  "é"  ').span).toEqual({ start: 2, end: 6 });
});

test('splicing at a span changes that value and no other byte', () => {
  const text = '{"jsonrpc":"2.0", "id": 7 , "params":{"x":"ü","_meta":{"k":1e2}}}';
  const bytes = encoder.encode(text);
  const { value, span } = parseWithSpans(bytes);
  const id = span.children![(value as JsonObject).indexOf('id')]!;
  const edited = `${decoder.decode(bytes.subarray(0, id.start))}"a-7"${decoder.decode(bytes.subarray(id.end))}`;
  expect(edited).toBe('{"jsonrpc":"2.0", "id": "a-7" , "params":{"x":"ü","_meta":{"k":1e2}}}');
});

test('spans and permitted duplicate keys do not go together', () => {
  expect(() => parseWithSpans('{}', { allow: ['duplicate-keys'] })).toThrow(
    expect.objectContaining({ code: 'JSON_SPANS_NEED_UNIQUE_KEYS' }),
  );
});
