import { canonicalize, sortNames } from '@bulla/core/canon';
import { JsonObject, type JsonValue, parse, stringify } from '@bulla/core/json';
import libraryCanonicalize from 'canonicalize';
import { auditRecord, fullCapsule } from './data.ts';
import { compare, interleave, median, type Row, round3 } from './measure.ts';

/** Takes the next of a list at each call, so that no cache sees the same object all the time. */
function inTurn<T>(items: T[]): () => T {
  let next = 0;
  return () => items[next++ % items.length]!;
}

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export function canon(): Row[] {
  return [...serialising(), ...parsing(), ...growth(), ...manyKeys()];
}

function serialising(): Row[] {
  const records = Array.from({ length: 64 }, (_, i) => copy(auditRecord(i)));
  const capsules = Array.from({ length: 64 }, (_, i) => copy(fullCapsule(i)));
  const bundle = Array.from({ length: 69 }, (_, i) => copy(auditRecord(i)));
  const quoted = records.map((value) =>
    copy({ ...value, outcome: { ...value.outcome, summary: 'wrote "CHANGELOG"\n' } }),
  );
  const [escaped, escapedPeer] = [quoted, quoted].map((list) => inTurn<unknown>(list));
  const [record, peer, other, capsule, capsulePeer] = [records, records, records, capsules, capsules].map(
    (list) => inTurn<unknown>(list),
  );
  return [
    ...compare('canon', `jcs, record of ${size(records[0])}`, () => canonicalize(record!(), 'jcs'), {
      'JSON.stringify': () => JSON.stringify(peer!()),
      'canonicalize 5': () => libraryCanonicalize(other!()),
    }),
    ...compare(
      'canon',
      'jcs, the same with a text that needs escapes',
      () => canonicalize(escaped!(), 'jcs'),
      {
        'JSON.stringify': () => JSON.stringify(escapedPeer!()),
      },
    ),
    ...compare('canon', `jcs, bundle of ${size(bundle)}`, () => canonicalize(bundle, 'jcs'), {
      'JSON.stringify': () => JSON.stringify(bundle),
      'canonicalize 5': () => libraryCanonicalize(bundle),
    }),
    ...compare('canon', `cps, full capsule of ${size(capsules[0])}`, () => canonicalize(capsule!(), 'cps'), {
      'JSON.stringify': () => JSON.stringify(capsulePeer!()),
    }),
  ];
}

function size(value: unknown): string {
  const bytes = JSON.stringify(value).length;
  return bytes < 10_000 ? `${(bytes / 1000).toFixed(1)} KB` : `${Math.round(bytes / 1000)} KB`;
}

function parsing(): Row[] {
  const one = JSON.stringify(auditRecord(1));
  const many = JSON.stringify(Array.from({ length: 69 }, (_, i) => auditRecord(i)));
  const bytes = new TextEncoder().encode(many);
  const decoder = new TextDecoder();
  return [
    ...compare('canon', 'strict parse of 1.5 KB', () => parse(one), { 'JSON.parse': () => JSON.parse(one) }),
    ...compare('canon', 'strict parse of 100 KB', () => parse(many), {
      'JSON.parse': () => JSON.parse(many),
    }),
    ...compare('canon', 'strict parse of 100 KB of bytes', () => parse(bytes), {
      'TextDecoder and JSON.parse': () => JSON.parse(decoder.decode(bytes)),
    }),
  ];
}

/** Time a byte at 10 MB over time a byte at 100 KB: many records, and chains as deep as the default limit allows. */
function growth(): Row[] {
  const wide = (bytes: number) => {
    const text = JSON.stringify(auditRecord(1));
    return `[${new Array(Math.round(bytes / text.length)).fill(text).join(',')}]`;
  };
  const chain = '{"a":['.repeat(499) + ']}'.repeat(499);
  const deep = (bytes: number) => `[${new Array(Math.round(bytes / chain.length)).fill(chain).join(',')}]`;
  return Object.entries({ wide, deep }).flatMap(([shape, make]) => {
    const [small, large] = [make(100_000), make(10_000_000)];
    const [smallValue, largeValue] = [small, large].map((text) => parse(text)) as [JsonValue, JsonValue];
    const times = interleave({
      parseSmall: () => parse(small),
      parseLarge: () => parse(large),
      nativeSmall: () => JSON.parse(small),
      nativeLarge: () => JSON.parse(large),
      writeSmall: () => canonicalize(smallValue, 'jcs'),
      writeLarge: () => canonicalize(largeValue, 'jcs'),
    });
    const row = (what: string, smallTimes: number[], largeTimes: number[]): Row => ({
      bench: 'canon',
      case: `${what}, ${shape}, 100 KB to 10 MB`,
      value: round3((median(largeTimes) * 1e6) / large.length),
      unit: 'ns/byte',
      ratio: round3(median(largeTimes) / large.length / (median(smallTimes) / small.length)),
      against: 'time a byte at 100 KB',
    });
    return [
      row('parse', times.parseSmall, times.parseLarge),
      row('JSON.parse, for comparison', times.nativeSmall, times.nativeLarge),
      row('jcs', times.writeSmall, times.writeLarge),
    ];
  });
}

/** What ordering 100,000 keys costs beyond writing the same bytes, over the engine's own sort of the same keys. */
function manyKeys(): Row[] {
  const count = 100_000;
  const random = Array.from({ length: count }, (_, i) => `k${((i * 2654435761) >>> 0).toString(36)}`);
  const ascending = random.toSorted();
  const orders: Record<string, string[]> = {
    random,
    sorted: ascending,
    reversed: ascending.toReversed(),
    'organ pipe': ascending.map((_, i, all) => all[i % 2 ? count - 1 - (i >> 1) : i >> 1]!),
    'long common prefix': random.map((key) => `${'prefix/'.repeat(12)}${key}`),
    'astral and U+FFxx': random.map((key, i) => `${key}${i % 2 ? '\u{1f600}' : '\uff5e'}${i}`),
  };
  return Object.entries(orders).flatMap(([order, names]) =>
    (['jcs', 'cps'] as const).map((profile) => {
      const value = parse(`{${names.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`) as JsonObject;
      const { keys } = value;
      const inOrder = new JsonObject(sortNames(keys, profile), value.values);
      const times = interleave({
        ordered: () => canonicalize(value, profile),
        written: () => stringify(inOrder),
        sorted: () => keys.slice().sort(),
      });
      return {
        bench: 'canon',
        case: `${profile}, object of 100,000 keys, ${order}`,
        value: round3(median(times.ordered)),
        unit: 'ms',
        ratio: round3(median(times.ordered.map((ms, i) => (ms - times.written[i]!) / times.sorted[i]!))),
        against: 'native sort, on top of the per-byte cost',
      };
    }),
  );
}
