import { readFileSync } from 'node:fs';
import type { BullaError } from '@bulla/core/error';
import { parseDuration } from '@bulla/core/text';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { parseConfig } from './config.ts';
import { duration } from './values.ts';

// The published schema and the loader take the same documents.

interface Published {
  readonly examples: readonly object[];
}
const schema: Published = JSON.parse(
  readFileSync(new URL('../../../schema/bulla.schema.json', import.meta.url), 'utf8'),
);
const accepts = new Ajv2020({ ownProperties: true }).compile(schema);

/** Whether the form of a document is right for the loader. What no schema can see is no matter of form. */
function isRead(text: string): boolean {
  try {
    parseConfig(text, '/');
    return true;
  } catch (error) {
    const { code } = error as BullaError;
    if (code === 'CONFIG_UNSOUND') return true;
    if (code === 'CONFIG_INVALID' || code === 'CONFIG_SECRET') return false;
    throw error;
  }
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Every object and list in a value, and the value itself. */
function inside(value: Json): Json[] {
  if (typeof value !== 'object' || value === null) return [value];
  return [value, ...Object.values(value).flatMap(inside)];
}

const [example] = schema.examples as [Json];
const values = inside(example);
const texts = values.filter((value) => typeof value === 'string');
const names = [
  ...new Set(values.flatMap((value) => (typeof value === 'object' ? Object.keys(value ?? {}) : []))),
  ...['__proto__', 'constructor', 'toString', '', 'a', 'value', 'tokenhash'],
];
const smallest: Json = { servers: { a: { command: 'x', lock: 'l' } } };
const remote: Json = {
  servers: {
    a: { url: 'http://a', lock: 'l', oauth: true, headers: { A: 'env:A' } },
    b: { command: 'x', lock: 'l', confine: false },
  },
  agents: { x: { token: { command: ['x'] } } },
};

/** A text with one character more, less, or another. */
const misspelt = fc
  .tuple(fc.constantFrom(...texts), fc.nat(), fc.constantFrom('insert', 'remove', 'replace'), character())
  .map(([text, at, change, letter]) => {
    const i = at % (text.length + 1);
    return (
      text.slice(0, i) + (change === 'remove' ? '' : letter) + text.slice(change === 'insert' ? i : i + 1)
    );
  });

function character(): fc.Arbitrary<string> {
  return fc.constantFrom(...'aA0zZ9_-.:/@*~#[]= \n\0\u202e\u00e9\u{1f600}'.split(/(?:)/u), 'm', 's', 'ms');
}

const anything: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...values) },
  { weight: 4, arbitrary: misspelt },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }) as fc.Arbitrary<Json> },
  { weight: 1, arbitrary: fc.constantFrom<Json>(null, true, false, 0, 1, 1000, 1001, -1, 1.5, '', [], {}) },
);

interface Change {
  readonly place: number;
  readonly member: number;
  readonly kind: 'replace' | 'remove' | 'add' | 'rename' | 'repeat';
  readonly name: string;
  readonly value: Json;
}
const change: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(),
  member: fc.nat(),
  kind: fc.constantFrom('replace', 'remove', 'add', 'rename', 'repeat'),
  name: fc.constantFrom(...names),
  value: anything,
});

function changed(document: Json, { place, member, kind, name, value }: Change): Json {
  const copy = structuredClone(document);
  const holders = inside(copy).filter((one) => typeof one === 'object' && one !== null);
  const holder = holders[place % holders.length];
  if (holder === undefined) return value;
  if (Array.isArray(holder)) {
    const i = member % (holder.length + 1);
    if (kind === 'remove') holder.splice(i, 1);
    else if (kind === 'repeat') holder.push(...structuredClone(holder.slice(0, 1)));
    else holder.splice(i, kind === 'add' ? 0 : 1, value);
    return copy;
  }
  const keys = Object.keys(holder);
  const key = keys[member % keys.length];
  const put = (at: string, what: Json) =>
    Object.defineProperty(holder, at, { value: what, enumerable: true, configurable: true, writable: true });
  if (kind === 'add' || key === undefined) put(name, value);
  else if (kind === 'replace' || kind === 'repeat') put(key, value);
  else {
    const was = holder[key]!;
    delete holder[key];
    if (kind === 'rename') put(name, was);
  }
  return copy;
}

test('they agree about the examples, however these are changed', () => {
  const counts = { accepted: 0, refused: 0 };
  const runs = 6000 * inject('soak');
  fc.assert(
    fc.property(
      fc.constantFrom(example, smallest, remote),
      fc.array(change, { maxLength: 3 }),
      (document, changes) => {
        const text = JSON.stringify(changes.reduce(changed, document));
        const isAccepted = accepts(JSON.parse(text));
        counts[isAccepted ? 'accepted' : 'refused']++;
        expect([text, isRead(text)]).toEqual([text, isAccepted]);
      },
    ),
    { numRuns: runs },
  );
  // Neither is rare among the documents.
  expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(runs / 10);
});

/** The document with another value at each place in turn, and without what is there. */
function* everywhere(document: Json, others: readonly Json[]): Generator<Json> {
  const holders = inside(document).filter((one) => typeof one === 'object' && one !== null);
  for (const holder of holders as { [key: string]: Json }[]) {
    for (const key of Object.keys(holder)) {
      const was = holder[key]!;
      for (const other of others) {
        holder[key] = other;
        yield document;
      }
      holder[key] = was;
      if (Array.isArray(holder)) continue;
      delete holder[key];
      yield document;
      holder[key] = was;
    }
    if (Array.isArray(holder)) continue;
    for (const name of names.filter((one) => !Object.hasOwn(holder, one))) {
      Object.defineProperty(holder, name, { value: 'a', enumerable: true, configurable: true });
      yield document;
      delete holder[name];
    }
  }
}

test('they agree about every place of the examples, whatever of the others stands there', () => {
  const found = new Set(values.map((value) => JSON.stringify(value)));
  const others: Json[] = [...found].map((text) => JSON.parse(text));
  others.push(null, false, 0, 1, 1000, 1001, -1, 1.5, '', 'a', [], {});
  for (const document of [example, smallest, remote]) {
    const before = JSON.stringify(document);
    for (const one of everywhere(document, others)) {
      const isAccepted = accepts(one);
      const text = JSON.stringify(one);
      if (isRead(text) !== isAccepted) expect([text, isRead(text)]).toEqual([text, isAccepted]);
    }
    // The members changed their order, and nothing else.
    expect(JSON.stringify(document).length).toBe(before.length);
  }
});

test('a duration has the form of the schema exactly where the command line can read it', () => {
  const pattern = new RegExp(duration().schema.pattern as string, 'u');
  const part = fc.tuple(
    fc.constantFrom('0', '1', '007', '1.5', '0.0001', '.5', '1.', '9'.repeat(15), '1'.repeat(16), '-1', ''),
    fc.constantFrom('d', 'h', 'm', 's', 'ms', '', ' s', 'D'),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
      const text = parts.map((one) => one.join('')).join('');
      const ms = parseDuration(text);
      if (ms !== null) expect([text, pattern.test(text)]).toEqual([text, true]);
      // What has the form and is still none is no whole number of milliseconds, or too many.
      else if (pattern.test(text)) expect(text).toMatch(/\.[0-9]+ms|\d{10}/);
    }),
    { numRuns: 2000 * inject('soak') },
  );
});
