import { BullaError } from '../error.ts';
import { JsonNumber, JsonObject, type JsonValue, type Path, pointer, significand } from '../json/index.ts';
import type { FieldType, Vocabulary } from './records.ts';
import { larger, listSize, NOTHING, type Size, textSize } from './size.ts';

/** An input that rules can be asked about. It can only come from `prepareInput`. */
export interface PreparedInput<Shape extends string = string> {
  readonly shape: Shape;
  readonly value: unknown;
  readonly size: Size;
}

/** Deeper than schemas and arguments are in earnest. The library compares by recursion. */
const MAX_DEPTH = 100;

interface Sized {
  readonly value: unknown;
  readonly size: Size;
}

/**
 * Reads an input of a shape. Throws `POLICY_INPUT` with the path for a field that is missing, unknown or of another
 * type, for a number beyond the range of doubles, and for what is nested more than 100 deep.
 */
export function prepareInput<Shape extends string>(
  vocabulary: Vocabulary<string>,
  shape: Shape,
  input: JsonValue,
): PreparedInput<Shape> {
  return { shape, ...record(vocabulary, input, vocabulary.shapes[shape]!, []) };
}

function refuse(message: string, path: Path): BullaError {
  return new BullaError('POLICY_INPUT', message, { path: pointer(path) });
}

/** Recurses over the table of shapes, not over the input. */
function read(vocabulary: Vocabulary, value: JsonValue, type: FieldType, path: Path): Sized {
  switch (type.kind) {
    case 'string':
      if (typeof value !== 'string') throw refuse('A text is expected here.', path);
      return { value, size: textSize(value.length) };
    case 'bool':
      if (typeof value !== 'boolean') throw refuse('True or false is expected here.', path);
      return { value, size: NOTHING };
    case 'int': {
      const whole = value instanceof JsonNumber ? celNumber(value, path) : null;
      if (typeof whole !== 'bigint') throw refuse('A whole number is expected here.', path);
      return { value: whole, size: NOTHING };
    }
    case 'dyn':
      return json(value, path);
    case 'record':
      return record(vocabulary, value, type.record, path);
    case 'list': {
      if (!Array.isArray(value)) throw refuse('A list is expected here.', path);
      const items = value.map((item, i) => read(vocabulary, item, type.of, [...path, i]));
      return { value: items.map((item) => item.value), size: sizeOfAll(items, 0) };
    }
    case 'map': {
      if (!(value instanceof JsonObject)) throw refuse('An object is expected here.', path);
      if (type.of.kind === 'dyn') return json(value, path);
      const map = new PlainMap();
      const items: Sized[] = [];
      for (const [key, inner] of value) {
        const item = read(vocabulary, inner, type.of, [...path, key]);
        map.set(key, item.value);
        items.push(item);
      }
      return { value: map, size: sizeOfAll(items, longest(value.keys)) };
    }
  }
}

function sizeOfAll(items: readonly Sized[], keys: number): Size {
  let [part, weight] = [NOTHING, 1];
  for (const { size } of items) {
    part = larger(part, size);
    weight += size.weight;
  }
  return listSize(items.length, part, weight, keys);
}

function longest(texts: readonly string[]): number {
  let length = 0;
  for (const text of texts) if (text.length > length) length = text.length;
  return length;
}

function record(vocabulary: Vocabulary, value: JsonValue, name: string, path: Path): Sized {
  if (!(value instanceof JsonObject)) throw refuse('An object is expected here.', path);
  const known = vocabulary.fields.get(name)!;
  for (const key of value.keys)
    if (!known.has(key)) throw refuse('This field is not known here.', [...path, key]);
  const instance = new (vocabulary.classes.get(name)!)();
  const fields = new Map<string, Size>();
  let weight = 1;
  for (const field of known.values()) {
    const member = value.get(field.name);
    if (member === undefined) {
      if (field.isOptional) continue;
      throw refuse('This field is missing.', [...path, field.name]);
    }
    const inner = read(vocabulary, member, field.type, [...path, field.name]);
    instance[field.name] = inner.value;
    fields.set(field.name, inner.size);
    weight += inner.size.weight;
  }
  return { value: instance, size: { length: 0, text: 0, weight, fields } };
}

/**
 * What somebody else chose. Objects become maps, because a key may be called `constructor`. The library works out the
 * type of what a list or map begins with and keeps every type that it ever met; a map of ours tells it nothing, so
 * that nobody can make it keep ever more.
 */
class PlainMap extends Map<string, unknown> {
  override entries(): MapIterator<[string, unknown]> {
    return NO_ENTRIES.entries();
  }
}
const NO_ENTRIES = new Map<string, unknown>();
Object.defineProperty(PlainMap.prototype, 'constructor', { value: Map });

/** Never recurses. */
function json(root: JsonValue, path: Path): Sized {
  const holder: unknown[] = [];
  const open: { source: JsonValue; put(value: unknown): void; depth: number }[] = [
    { source: root, put: (value) => holder.push(value), depth: 0 },
  ];
  /** The longest list, map and string at each depth. */
  const lengths: number[] = [];
  const texts: number[] = [];
  let weight = 0;
  const see = (seen: number[], depth: number, length: number) => {
    if (!(length <= seen[depth]!)) seen[depth] = length;
  };
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { source, put, depth } = item;
    weight++;
    if (depth > MAX_DEPTH) throw refuse(`This is nested more than ${MAX_DEPTH} deep.`, path);
    if (source instanceof JsonObject) {
      const map = new PlainMap();
      put(map);
      see(lengths, depth, source.size);
      for (const [key, inner] of source) {
        see(texts, depth, key.length);
        weight += key.length / 64;
        open.push({ source: inner, put: (value) => map.set(key, value), depth: depth + 1 });
      }
    } else if (Array.isArray(source)) {
      const list: unknown[] = new Array(source.length);
      put(list);
      see(lengths, depth, source.length);
      source.forEach((inner, i) => {
        const place = (value: unknown) => {
          list[i] = value;
        };
        open.push({ source: inner, put: place, depth: depth + 1 });
      });
    } else if (source instanceof JsonNumber) {
      put(celNumber(source, path));
    } else {
      if (typeof source === 'string') {
        see(texts, depth, source.length);
        weight += source.length / 64;
      }
      put(source);
    }
  }
  let size = NOTHING;
  for (let depth = Math.max(lengths.length, texts.length) - 1; depth >= 0; depth--) {
    const [length, text] = [lengths[depth] ?? 0, texts[depth] ?? 0];
    // What lies at this depth holds no more than all, and no more than its own elements.
    const most = Math.min(weight, 1 + text / 64 + length * (size.weight + text / 64));
    size = listSize(length, size, most, text);
  }
  return { value: holder[0], size };
}

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;

/**
 * A JSON number as CEL sees it: a whole number that fits in 64 bits is an int, however it is written (`100`, `100.0`,
 * `1e2`); any other is the nearest double. Throws `POLICY_INPUT` for one beyond the range of doubles.
 */
function celNumber({ lexeme }: JsonNumber, path: Path): bigint | number {
  const whole = wholeNumber(lexeme);
  if (whole !== null && whole >= MIN_INT && whole <= MAX_INT) return whole;
  const double = Number(lexeme);
  if (Number.isFinite(double)) return double;
  throw refuse('A number is beyond what a rule can compare.', path);
}

/** The value of a lexeme that is a whole number of at most 19 digits. */
function wholeNumber(lexeme: string): bigint | null {
  const { negative, digits, shift, exponent } = significand(lexeme)!;
  if (digits === '0') return 0n;
  const zeros = Number(exponent) + shift;
  if (zeros < 0 || digits.length + zeros > 19) return null;
  return BigInt(`${negative ? '-' : ''}${digits}${'0'.repeat(zeros)}`);
}
