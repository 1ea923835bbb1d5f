import { JsonNumber, JsonObject, type JsonValue } from './value.ts';

/** An object, parsed or plain. */
export type AnyObject = JsonObject | Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is AnyObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
  );
}

/** The value at the end of a path through the own members of objects; undefined where that leads nowhere. */
export function memberAt(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined;
export function memberAt(value: unknown, path: readonly string[]): unknown;
export function memberAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) found = isObject(found) ? member(found, key) : undefined;
  return found;
}

/** The same where it is a text, else null. */
export function textAt(value: unknown, path: readonly string[]): string | null {
  const found = memberAt(value, path);
  return typeof found === 'string' ? found : null;
}

/** The value of an own member, or undefined when there is none. */
export function member(object: AnyObject, key: string): unknown {
  if (object instanceof JsonObject) return object.get(key);
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

export function keysOf(object: AnyObject): readonly string[] {
  return object instanceof JsonObject ? object.keys : Object.keys(object);
}

/** The values that belong to `keysOf`, in the same order. */
export function valuesOf(object: AnyObject): readonly unknown[] {
  return object instanceof JsonObject ? object.values : Object.values(object);
}

/** An integer as it is written: `5.0` and `1e0` are floats, as they are for Python. */
export function isInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value);
  return typeof value === 'bigint' || (value instanceof JsonNumber && /^-?[0-9]+$/.test(value.lexeme));
}

/** The nearest double, or undefined for what is not a number. */
export function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (value instanceof JsonNumber) return value.toNumber();
  return typeof value === 'bigint' ? Number(value) : undefined;
}
