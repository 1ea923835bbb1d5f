import { describe, expect, test } from 'vitest';
import { refusal } from '../../test/capability.ts';
import { computeInvocationContextHash } from './index.ts';
import { normalizeInvocationContextForHash } from './invocation.ts';

const refused = (context: unknown) => refusal(() => normalizeInvocationContextForHash(context));
const keys = (value: object) => Object.keys(value);

describe('what a context becomes', () => {
  test('keys sorted at every level, undefined left out, dates as ISO strings, lists in their order', () => {
    const normalized = normalizeInvocationContextForHash({
      z: { y: 1, b: undefined, a: [new Date(1e12), { d: 1, c: null }] },
      a: 'text',
      n: -0.5,
      gone: undefined,
    });
    expect(JSON.stringify(normalized)).toBe(
      '{"a":"text","n":-0.5,"z":{"a":["2001-09-09T01:46:40.000Z",{"c":null,"d":1}],"y":1}}',
    );
  });

  test('an object that lost all its members stays, and so does an empty root', () => {
    expect(JSON.stringify(normalizeInvocationContextForHash({ a: { b: undefined } }))).toBe('{"a":{}}');
    expect(JSON.stringify(normalizeInvocationContextForHash({}))).toBe('{}');
  });

  test('__proto__, constructor and toString are keys like any other', () => {
    const context = JSON.parse('{"__proto__":{"role":"admin"},"toString":1,"constructor":{"__proto__":2}}');
    const normalized = normalizeInvocationContextForHash(context);
    expect(keys(normalized)).toEqual(['__proto__', 'constructor', 'toString']);
    expect(JSON.stringify(normalized)).toBe(
      '{"__proto__":{"role":"admin"},"constructor":{"__proto__":2},"toString":1}',
    );
    expect(computeInvocationContextHash(context)).not.toBe(computeInvocationContextHash({}));
  });

  test('it is a copy: later changes do not reach it', () => {
    const inner = { a: 1 };
    const normalized = normalizeInvocationContextForHash({ inner });
    inner.a = 2;
    expect(JSON.stringify(normalized)).toBe('{"inner":{"a":1}}');
  });

  test('objects without a prototype are plain', () => {
    expect(computeInvocationContextHash(Object.assign(Object.create(null), { n: 1 }))).toBe(
      computeInvocationContextHash({ n: 1 }),
    );
  });
});

describe('what is refused', () => {
  test('a root that is no plain object; no context is never mistaken for one', () => {
    class Context {}
    for (const root of [undefined, null, [], 'x', 1, new Date(0), new Map(), new Context(), () => 1]) {
      expect(refused(root)).toBe('CAPABILITY_VALUE at ');
    }
  });

  test('functions, BigInts, symbols, numbers that are not finite, with their paths', () => {
    expect(refused({ a: { b: [0, () => 1] } })).toBe('CAPABILITY_VALUE at /a/b/1');
    expect(refused({ a: 1n })).toBe('CAPABILITY_VALUE at /a');
    expect(refused({ a: [Symbol('s')] })).toBe('CAPABILITY_VALUE at /a/0');
    expect(refused({ a: { [Symbol('s')]: 1 } })).toBe('CAPABILITY_VALUE at /a');
    expect(refused({ 'a/b': { '~': Number.NaN } })).toBe('CAPABILITY_VALUE at /a~1b/~0');
    expect(refused({ a: Number.POSITIVE_INFINITY })).toBe('CAPABILITY_VALUE at /a');
    expect(refused({ a: new Date(Number.NaN) })).toBe('CAPABILITY_VALUE at /a');
    expect(refused({ a: 'half \ud800' })).toBe('CAPABILITY_VALUE at /a');
    expect(refused({ a: { 'half \udc00': 1 } })).toBe('CAPABILITY_VALUE at /a');
    expect(refused({ toJSON: () => 'x' })).toBe('CAPABILITY_VALUE at /toJSON');
  });

  test('undefined and holes in lists: positions must not shift', () => {
    expect(refused({ a: [1, undefined, 2] })).toBe('CAPABILITY_VALUE at /a/1');
    const sparse = [1];
    sparse[2] = 2;
    expect(refused({ a: sparse })).toBe('CAPABILITY_VALUE at /a/1');
  });

  test('instances of classes, boxed values, typed arrays', () => {
    const instances = [new Map(), new Set(), /x/, new Uint8Array(1), Object(1), Object('s'), new URL('x:y')];
    for (const value of instances) expect(refused({ a: [value] })).toBe('CAPABILITY_VALUE at /a/0');
    // One that only says that it is a date is none.
    expect(refused({ a: Object.create(Date.prototype) })).toBe('CAPABILITY_VALUE at /a');
  });

  test('cycles, also through lists', () => {
    const self: Record<string, unknown> = {};
    self.self = self;
    expect(refused(self)).toBe('CAPABILITY_VALUE at /self');
    const list: unknown[] = [];
    list.push([list]);
    expect(refused({ list })).toBe('CAPABILITY_VALUE at /list/0/0');
    const mixed: { inside: unknown[] } = { inside: [] };
    mixed.inside.push({ again: mixed });
    expect(refused({ a: mixed })).toBe('CAPABILITY_VALUE at /a/inside/0/again');
  });

  test('the same object twice is no cycle', () => {
    const shared = { a: [1] };
    expect(JSON.stringify(normalizeInvocationContextForHash({ x: shared, y: [shared, shared.a] }))).toBe(
      '{"x":{"a":[1]},"y":[{"a":[1]},[1]]}',
    );
  });

  test('nesting is taken to 1,000 levels, and no stack overflows beyond', () => {
    const nested = (levels: number) => {
      let value: unknown = 1;
      for (let i = 1; i < levels; i++) value = i % 2 ? [value] : { a: value };
      return { a: value };
    };
    expect(refused(nested(1000))).toBe('ok');
    expect(refused(nested(1001))).toMatch(/^CAPABILITY_VALUE at \/a/);
    expect(refused(nested(200_000))).toMatch(/^CAPABILITY_VALUE at \/a/);
  });
});

describe('the allowlist', () => {
  const context = { subjectId: 'u', traceId: 't', bad: () => 1 };
  const normalized = (allowlist: readonly string[]) =>
    JSON.stringify(normalizeInvocationContextForHash(context, { allowlist }));

  test('lets through what it names, and does not look at the rest', () => {
    expect(normalized(['traceId', 'subjectId', 'absent', 'traceId'])).toBe('{"subjectId":"u","traceId":"t"}');
    expect(refusal(() => normalized(['bad']))).toBe('CAPABILITY_VALUE at /bad');
  });

  test('an empty one lets nothing through', () => {
    expect(normalized([])).toBe('{}');
    expect(computeInvocationContextHash(context, { allowlist: [] })).toBe(computeInvocationContextHash({}));
  });

  test('is a list of texts and nothing else', () => {
    for (const wrong of ['subjectId', [1], [undefined], null, { 0: 'subjectId' }])
      expect(refusal(() => normalized(wrong as never))).toBe('CAPABILITY_ARGUMENT at /allowlist');
  });

  test('names only what the context itself has', () => {
    expect(normalized(['constructor', 'toString', '__proto__'])).toBe('{}');
    const own = JSON.parse('{"__proto__":1,"a":2}');
    expect(JSON.stringify(normalizeInvocationContextForHash(own, { allowlist: ['__proto__'] }))).toBe(
      '{"__proto__":1}',
    );
  });
});
