import { toUtf8 } from '@bulla/core/crypto';
import { number } from '@bulla/core/json';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { idKey, parseFrame } from '../../mcp/index.ts';
import {
  bytesOf,
  cutItems,
  cutMembers,
  locate,
  type Member,
  raw,
  replace,
  setMembers,
  splice,
} from './splice.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const frameOf = (result: string) => parseFrame(toUtf8(`{"jsonrpc":"2.0","id":1,"result":${result}}`));

test.each([
  ['{"a":[ 1 , 2 ,3 ]}', [0], '{"a":[ 2 ,3 ]}'],
  ['{"a":[ 1 , 2 ,3 ]}', [1], '{"a":[ 1 , 3 ]}'],
  ['{"a":[ 1 , 2 ,3 ]}', [2], '{"a":[ 1 , 2 ]}'],
  ['{"a":[ 1 , 2 ,3 ]}', [1, 2], '{"a":[ 1 ]}'],
  ['{"a":[ 1 , 2 ,3 ]}', [0, 2], '{"a":[ 2 ]}'],
  ['{"a":[ 1 , 2 ,3 ]}', [0, 1, 2], '{"a":[  ]}'],
  ['{"a":[]}', [], '{"a":[]}'],
])('items are cut with their commas: %s without %j', (result, doomed, expected) => {
  const frame = frameOf(result);
  const edits = cutItems(locate(frame, 'result', 'a')!.span, (i) => doomed.includes(i));
  expect(text(splice(frame.bytes, edits))).toBe(`{"jsonrpc":"2.0","id":1,"result":${expected}}`);
});

test('members are cut with their keys, and values replaced', () => {
  const frame = frameOf('{ "\u00e9" : {"x":1} , "b":"\u{1f600}","c":null}');
  const place = locate(frame, 'result')!;
  const edits = [...cutMembers(place.span, (i) => i !== 1), replace(locate(frame, 'id')!, toUtf8('"new"'))];
  expect(text(splice(frame.bytes, edits))).toBe('{"jsonrpc":"2.0","id":"new","result":{ "b":"\u{1f600}"}}');
  expect(text(bytesOf(frame, locate(frame, 'result', 'b')!))).toBe('"\u{1f600}"');
  expect(locate(frame, 'result', 'b', 'x')).toBeNull();
  expect(locate(frame, 'params')).toBeNull();
});

test('whatever is cut, what is left is what was not', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.jsonValue(), fc.boolean())), fc.nat(3), (items, indent) => {
      const result = JSON.stringify({ list: items.map(([value]) => value) }, null, indent);
      const frame = frameOf(result);
      const edits = cutItems(locate(frame, 'result', 'list')!.span, (i) => items[i]![1]);
      const left = JSON.parse(text(splice(frame.bytes, edits))).result.list;
      const kept = items.filter(([, doomed]) => !doomed).map(([value]) => value);
      expect(left).toEqual(JSON.parse(JSON.stringify(kept)));
    }),
    { numRuns: 100 * inject('soak') },
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue(), fc.boolean()), { selector: ([key]) => key }),
      (members) => {
        const body = members
          .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
          .join(',');
        const frame = frameOf(`{${body}}`);
        const edits = cutMembers(locate(frame, 'result')!.span, (i) => members[i]![2]);
        const left = members.filter(([, , doomed]) => !doomed);
        const rest = left.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',');
        expect(text(splice(frame.bytes, edits))).toBe(`{"jsonrpc":"2.0","id":1,"result":{${rest}}}`);
      },
    ),
    { numRuns: 100 * inject('soak') },
  );
});

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const id = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map((value) => number(`${value}`)),
);
/** A request whose members stand in any order, with any space between the tokens. */
const message = fc
  .record({
    method: fc.string({ unit: 'grapheme' }),
    value: fc.json(),
    spaces: fc.array(space, { minLength: 18, maxLength: 18 }),
    order: fc.shuffledSubarray(['jsonrpc', 'id', 'method', 'params'], { minLength: 4 }),
  })
  .map(({ method, value, spaces, order }) => (own: string) => {
    const texts: Record<string, string> = {
      jsonrpc: '"2.0"',
      id: own,
      method: JSON.stringify(method),
      params: `{"value":${value},"id":"inner"}`,
    };
    const members = order.map(
      (name, i) => `${spaces[i]}"${name}"${spaces[i + 4]}:${spaces[i + 8]}${texts[name]}${spaces[i + 12]}`,
    );
    return `${spaces[16]}{${members.join(',')}}${spaces[17]}`;
  });

test('an id is replaced, and no other byte', () => {
  fc.assert(
    fc.property(message, id, id, (write, own, other) => {
      const frame = parseFrame(toUtf8(write(idKey(own))));
      const edit = replace(locate(frame, 'id')!, toUtf8(idKey(other)));
      expect(text(splice(frame.bytes, [edit]))).toBe(write(idKey(other)));
    }),
    { numRuns: 100 * inject('soak') },
  );
});

describe('members of an object', () => {
  const set = (text: string, members: readonly Member[], doomed: readonly string[] = []): string => {
    const frame = parseFrame(toUtf8(`{"jsonrpc":"2.0","method":"m","params":${text}}`));
    const place = locate(frame, 'params')!;
    const { start } = place.span;
    const bytes = splice(frame.bytes, setMembers(place, members, doomed));
    return Buffer.from(bytes).toString().slice(start, -1);
  };
  const a = ['a', raw('1.50')] as const;

  test.each<[string, readonly Member[], readonly string[], string]>([
    ['{}', [a], [], '{"a":1.50}'],
    ['{ }', [a], [], '{"a":1.50 }'],
    ['{"b": 2}', [a, ['c', raw('[]')]], [], '{"a":1.50,"c":[],"b": 2}'],
    ['{"a":9}', [a], [], '{"a":1.50}'],
    ['{ "a" : 9 , "b":2}', [a], [], '{"a":1.50, "b":2}'],
    ['{"b":2, "a":9}', [a], [], '{"a":1.50,"b":2}'],
    ['{"b":2,"c":3}', [a], ['b', 'c'], '{"a":1.50}'],
    ['{"b":2,"c":3,"d":4}', [], ['b', 'd'], '{"c":3}'],
    ['{"b":2}', [], [], '{"b":2}'],
    ['{"b":2}', [['\u00e9"', raw('null')]], [], '{"\u00e9\\"":null,"b":2}'],
  ])('of %s are set and cut, and the others keep their bytes', (text, members, doomed, expected) => {
    expect(set(text, members, doomed)).toBe(expected);
  });
});
