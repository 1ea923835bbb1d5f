import { describe, expect, test } from 'vitest';
import { type JsonObject, parse } from '../json/index.ts';
import { validator } from './validator.ts';

const SCHEMA = validator(
  parse(
    '{"type":"object","properties":{"path":{"type":"string","minLength":1},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}',
  ),
);

const faults = (text: string) => SCHEMA.faults(parse(text) as JsonObject);

describe('a schema that is asked about arguments', () => {
  test.each([
    ['{"path":"a"}', true, []],
    ['{"path":"a","n":1.0}', true, []],
    ['{}', false, ['"path" is missing']],
    ['{"path":""}', false, ['"path" is not as described']],
    ['{"path":"a","n":1.5}', false, ['"n" is not as described']],
    ['{"path":"a","Path":"b"}', false, ['"Path" is not known']],
    ['{"n":"x","z":1}', false, ['"path" is missing', '"n" is not as described', '"z" is not known']],
  ])('%s', (text, isAccepted, found) => {
    expect(SCHEMA.accepts(parse(text))).toBe(isAccepted);
    expect(faults(text)).toEqual(found);
  });

  test('is undecided where it says something that is not understood', () => {
    const odd = validator(parse('{"type":"object","$dynamicRef":"#x"}'));
    expect(odd.accepts(parse('{}'))).toBeUndefined();
  });

  test('tells no member where they are wrong only together', () => {
    const either = validator(parse('{"oneOf":[{"required":["a"]},{"required":["b"]}]}'));
    const both = parse('{"a":1,"b":2}') as JsonObject;
    expect(either.accepts(both)).toBe(false);
    expect(either.faults(both)).toEqual([]);
  });
});
