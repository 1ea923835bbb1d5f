import { BullaError } from '../error.ts';
import { escapeString } from './escape.ts';
import { DEFAULT_MAX_DEPTH } from './parse.ts';
import { pointer } from './pointer.ts';
import { head, type Shape, ShapeCache } from './shape.ts';
import { JsonNumber, JsonObject } from './value.ts';

/** A tree of keys (null for the elements of an array) whose leaves are places that always hold a float. */
export type FloatPaths = Map<string | null, FloatPaths | 'float'>;

/** How a JSON text is written. Every function may throw a `BullaError`; the writer adds the path to it. */
export interface WriteRules {
  /** Writes a JavaScript number; `float` tells that it stands at one of `floatPaths`. */
  double(value: number, float: boolean): string;
  /** Writes a number that is known by its digits: a parsed lexeme, or a BigInt. */
  lexeme(lexeme: string, float: boolean): string;
  /** Writes a BigInt; by its digits, as `lexeme` does, where this is not given. */
  bigint?: ((value: bigint, float: boolean) => string) | undefined;
  /** The characters of a string or a key as they stand between the quotes. */
  escape(value: string): string;
  /** The positions of the keys in writing order. */
  order(keys: readonly string[]): ArrayLike<number>;
  floatPaths?: FloatPaths | undefined;
  /** What happens to a property whose value is `undefined`. */
  undefinedProperty: 'refuse' | 'drop';
}

export type Writer = (value: unknown, maxDepth?: number) => string;

/**
 * Makes a writer for parsed values and plain JavaScript values. It throws a `BullaError` with a `VALUE_…`
 * code and the path for what JSON cannot hold: functions, symbols, `undefined`, cycles, sparse arrays, class
 * instances, nesting over `maxDepth`. Of a plain object its own enumerable properties count, of an array its
 * elements. Never recurses.
 */
export function createWriter(rules: WriteRules): Writer {
  const shapes = new ShapeCache(rules.order, rules.escape);
  return (value, maxDepth = DEFAULT_MAX_DEPTH) => write(value, rules, shapes, maxDepth);
}

/** A container that waits until the one inside it is written. */
interface Open {
  container: object;
  members: readonly unknown[];
  shape: Shape | undefined;
  next: number;
  size: number;
  floats: FloatPaths | undefined;
}

function write(root: unknown, rules: WriteRules, shapes: ShapeCache, maxDepth: number): string {
  // The innermost open container: its members, its shape if it is an object, the index of its next member.
  let container: object | undefined;
  let members: readonly unknown[] = [];
  let shape: Shape | undefined;
  let next = 0;
  let size = 0;
  let floats: FloatPaths | undefined;
  const outer: Open[] = [];

  let value = root;
  let place: FloatPaths | 'float' | undefined = rules.floatPaths;
  let whole = '';
  let out = '';
  // Whether the string written last still lacks its closing quote: it is written with what follows.
  let unquoted = false;
  // Whether a key is being written; what is wrong with it is told of its object.
  let inKey = false;
  try {
    for (;;) {
      const isString = typeof value === 'string';
      if (container !== undefined) {
        const form = (unquoted ? 2 : 0) + (isString ? 1 : 0);
        if (shape === undefined) out += next === 1 ? FIRST_ELEMENT[form] : NEXT_ELEMENT[form];
        else if (shape.heads !== undefined) out += shape.heads[(next - 1) * 4 + form];
        else {
          inKey = true;
          out += head(rules.escape(shape.keys[next - 1]!), next === 1, form);
          inKey = false;
        }
        if (out.length > CHUNK) {
          whole += flat(out);
          out = '';
        }
      } else if (isString) {
        out = '"';
      }
      unquoted = isString;
      if (typeof value === 'string') {
        out += rules.escape(value);
      } else if (typeof value === 'number') {
        out += rules.double(value, place === 'float');
      } else if (value === null) {
        out += 'null';
      } else if (typeof value === 'boolean') {
        out += value ? 'true' : 'false';
      } else if (value instanceof JsonNumber) {
        out += rules.lexeme(value.lexeme, place === 'float');
      } else if (typeof value === 'object') {
        const depth = outer.length + (container === undefined ? 1 : 2);
        if (depth > maxDepth || (depth >= 64 && (depth & (depth - 1)) === 0)) {
          checkDepth(ancestors(outer, container), value, maxDepth);
        }
        const keys = Array.isArray(value) ? undefined : keysOf(value, rules);
        const length = keys === undefined ? (value as unknown[]).length : keys.length;
        if (length === 0) {
          out += keys === undefined ? '[]' : '{}';
        } else {
          const inner = keys === undefined ? undefined : shapes.of(keys);
          if (container !== undefined) outer.push({ container, members, shape, next, size, floats });
          container = value;
          members = keys === undefined ? (value as unknown[]) : valuesOf(value, keys, rules);
          shape = inner;
          size = length;
          next = 0;
          floats = place === 'float' ? undefined : place;
        }
      } else if (typeof value === 'bigint') {
        const float = place === 'float';
        out += rules.bigint?.(value, float) ?? rules.lexeme(value.toString(), float);
      } else {
        refuse(value);
      }

      while (next === size) {
        if (container === undefined) return unquoted ? `${out}"` : out;
        out += shape === undefined ? (unquoted ? '"]' : ']') : unquoted ? '"}' : '}';
        unquoted = false;
        const open = outer.pop();
        if (open === undefined) return whole + out;
        ({ container, members, shape, next, size, floats } = open);
      }
      if (shape === undefined) {
        value = members[next++];
        place = floats === undefined ? undefined : floats.get(null);
        if (value === undefined && !(next - 1 in members)) {
          throw new BullaError('VALUE_NOT_JSON', 'The array has a hole here.');
        }
      } else {
        value = members[shape.order[next]!];
        place = floats === undefined ? undefined : floats.get(shape.keys[next]!);
        next++;
      }
    }
  } catch (error) {
    if (!(error instanceof BullaError) || error.path !== undefined) throw error;
    const path = outer.map((open) => open.shape?.keys[open.next - 1] ?? open.next - 1);
    if (next > 0 && !inKey) path.push(shape?.keys[next - 1] ?? next - 1);
    const cycle = error.code === 'VALUE_CYCLE';
    const length = cycle ? firstRepeat([...ancestors(outer, container), value]) : path.length;
    throw new BullaError(error.code, error.message, { path: pointer(path.slice(0, length)) });
  }
}

/** What stands before an element, in the same four forms as the heads of a shape. */
const FIRST_ELEMENT = ['[', '["', '"[', '"["'] as const;
const NEXT_ELEMENT = [',', ',"', '",', '","'] as const;

function keysOf(value: object, rules: WriteRules): readonly string[] {
  if (value instanceof JsonObject) return value.keys;
  if (!isPlain(value)) {
    const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
    throw new BullaError('VALUE_NOT_JSON', `An instance of ${String(name)} has no JSON form.`);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) {
    throw new BullaError('VALUE_NOT_JSON', 'A property that is named by a symbol has no JSON form.');
  }
  const keys = Object.keys(value);
  if (rules.undefinedProperty === 'refuse') return keys;
  return keys.filter((key) => (value as Record<string, unknown>)[key] !== undefined);
}

/**
 * The engine keeps a concatenation as a tree of its parts until somebody looks into it. In a long text those
 * trees would outgrow everything else in memory, so the text is made flat by the chunk.
 */
const CHUNK = 1 << 16;

/** A regular expression needs flat text, and unlike a plain look at a character it is never optimised away. */
function flat(text: string): string {
  ANYTHING.test(text);
  return text;
}
const ANYTHING = /^/;

function valuesOf(value: object, keys: readonly string[], rules: WriteRules): readonly unknown[] {
  if (value instanceof JsonObject) return value.values;
  if (rules.undefinedProperty === 'refuse') return Object.values(value);
  return keys.map((key) => (value as Record<string, unknown>)[key]);
}

/** An object literal's prototype, in this realm or another, or none. */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return (
    prototype === Object.prototype ||
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'))
  );
}

function refuse(value: unknown): never {
  if (value === undefined) throw new BullaError('VALUE_NOT_JSON', 'undefined has no JSON form.');
  if (typeof value === 'function') throw new BullaError('VALUE_NOT_JSON', 'A function has no JSON form.');
  throw new BullaError('VALUE_NOT_JSON', 'A symbol has no JSON form.');
}

/**
 * Called at depths 64, 128, 256… and beyond the limit, so that its cost stays constant per level. A value that
 * stands inside itself repeats all the way down; the first of these depths below its second occurrence finds it.
 */
function checkDepth(above: readonly unknown[], value: object, maxDepth: number): void {
  if (above.includes(value)) throw new BullaError('VALUE_CYCLE', 'The value contains itself.');
  if (above.length >= maxDepth)
    throw new BullaError('VALUE_TOO_DEEP', `The nesting is deeper than ${maxDepth}.`);
}

function ancestors(outer: readonly Open[], innermost: object | undefined): unknown[] {
  const above: unknown[] = outer.map((open) => open.container);
  if (innermost !== undefined) above.push(innermost);
  return above;
}

function firstRepeat(values: readonly unknown[]): number {
  const seen = new Set<unknown>();
  return values.findIndex((value) => seen.size === seen.add(value).size);
}

/**
 * Writes a parsed value back as compact JSON: keys in their order, numbers by their lexemes. Plain values are
 * accepted too. Throws a `BullaError` with a `VALUE_…` code and the path for what JSON cannot hold. Lone
 * surrogates, which only a lenient parse lets in, are written as escapes.
 */
export const stringify: (value: unknown, maxDepth?: number) => string = createWriter({
  double(value) {
    if (!Number.isFinite(value)) throw new BullaError('VALUE_NOT_FINITE', `${value} has no JSON form.`);
    return Object.is(value, -0) ? '-0' : `${value}`;
  },
  lexeme: (lexeme) => lexeme,
  escape: escapeString,
  order: (keys) => keys.map((_, position) => position),
  undefinedProperty: 'refuse',
});
