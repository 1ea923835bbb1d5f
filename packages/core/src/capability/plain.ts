import { BullaError } from '../error.ts';
import { DEFAULT_MAX_DEPTH, isPlain, type Path, pointer } from '../json/index.ts';

/** JSON as ordinary JavaScript values. Objects have no prototype, so that `__proto__` is a key like any other. */
export type PlainJson = null | boolean | number | string | PlainJson[] | { [key: string]: PlainJson };

/** An object with these entries and nothing inherited. */
export function dictionary<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const made: Record<string, T> = Object.create(null);
  for (const [key, value] of entries) made[key] = value;
  return made;
}

/** Without the members that are undefined. */
export function defined<T extends object>(members: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}

interface Open {
  readonly source: object;
  readonly keys: readonly string[] | undefined;
  readonly size: number;
  readonly target: PlainJson[] | { [key: string]: PlainJson };
  next: number;
}

/**
 * A copy of a value that is JSON: keys sorted, properties that are undefined left out, a Date as its ISO string.
 * Throws `CAPABILITY_VALUE` with the path for functions, BigInts, symbols, properties named by a symbol, numbers that
 * are not finite, invalid dates, half surrogate pairs, holes and undefined in lists, instances of classes, a value that
 * contains itself through objects or lists, and nesting over 1,000. Never recurses.
 */
export function copyPlain(root: unknown, at: Path = []): PlainJson {
  const open: Open[] = [];
  const above = new Set<object>();
  const path = () => pointer([...at, ...open.map(({ keys, next }) => keys?.[next - 1] ?? next - 1)]);
  const refuse = (message: string): never => {
    throw new BullaError('CAPABILITY_VALUE', message, { path: path() });
  };

  const enter = (source: object): PlainJson => {
    if (above.has(source)) refuse('The value contains itself.');
    if (open.length >= DEFAULT_MAX_DEPTH) refuse(`The nesting is deeper than ${DEFAULT_MAX_DEPTH}.`);
    const keys = Array.isArray(source) ? undefined : sortedKeys(source, refuse);
    const size = keys?.length ?? (source as unknown[]).length;
    const target: Open['target'] = keys === undefined ? new Array(size) : Object.create(null);
    above.add(source);
    open.push({ source, keys, size, target, next: 0 });
    return target;
  };

  const copy = (value: unknown): PlainJson => {
    switch (typeof value) {
      case 'string':
        return value.isWellFormed() ? value : refuse(HALF_PAIR);
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) ? value : refuse(`${value} has no JSON form.`);
      case 'object':
        if (value === null) return null;
        return isoString(value, refuse) ?? enter(value);
      default:
        return refuse(`${NAMES[typeof value]} has no JSON form.`);
    }
  };

  const result = copy(root);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (top.next === top.size) {
      above.delete(top.source);
      open.pop();
      continue;
    }
    const key = top.keys?.[top.next] ?? top.next;
    top.next++;
    if (top.keys === undefined && !(key in top.source)) refuse('The list has a hole here.');
    const value = (top.source as Record<string | number, unknown>)[key];
    if (value === undefined && top.keys !== undefined) continue;
    (top.target as Record<string | number, PlainJson>)[key] = copy(value);
  }
  return result;
}

const HALF_PAIR = 'The text holds half of a surrogate pair.';
const NAMES: Readonly<Record<string, string>> = {
  undefined: 'undefined',
  function: 'A function',
  bigint: 'A BigInt',
  symbol: 'A symbol',
};

type Refuse = (message: string) => never;

function sortedKeys(source: object, refuse: Refuse): readonly string[] {
  if (!isPlain(source)) {
    const { name } = (source as { constructor?: { name?: unknown } }).constructor ?? {};
    refuse(`Only plain objects are taken, not an instance of ${String(name)}.`);
  }
  if (Object.getOwnPropertySymbols(source).length > 0)
    refuse('A property that is named by a symbol has no JSON form.');
  const keys = Object.keys(source).sort();
  if (!keys.every((key) => key.isWellFormed())) refuse(HALF_PAIR);
  return keys;
}

/** The ISO string of a date, of any realm; undefined for anything else. */
function isoString(value: object, refuse: Refuse): string | undefined {
  if (Array.isArray(value) || isPlain(value)) return undefined;
  let time: number;
  try {
    time = Date.prototype.getTime.call(value as Date);
  } catch {
    return undefined;
  }
  return Number.isNaN(time) ? refuse('The date is invalid.') : new Date(time).toISOString();
}
