import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, parsePointer, positionOf } from '@bulla/core/json';
import type { FoundSecret } from './find.ts';

const REDACTED = '[redacted]';
type Inside = JsonObject | JsonValue[];

/**
 * A copy of a value in which `"[redacted]"` stands at the pointers and where secrets were found, whatever stood there.
 * A pointer that leads nowhere changes nothing. The value itself stays as it is. Throws `USAGE` for a text that is not a
 * JSON Pointer (RFC 6901).
 */
export function redact(
  value: JsonValue,
  pointers: readonly string[],
  found: readonly FoundSecret[],
): JsonValue {
  const paths = [...new Set([...pointers, ...found.map(({ pointer }) => pointer)])].map(stepsOf);
  if (paths.some((path) => path.length === 0)) return REDACTED;
  if (!isInside(value)) return value;
  const copies: Copies = new Map();
  const copy = copyOf(value, copies);
  for (const path of paths) replace(copy, path, copies);
  return copy;
}

/** The lists and objects that are ours to change, each with its values. */
type Copies = Map<Inside, JsonValue[]>;

function copyOf(value: Inside, copies: Copies): Inside {
  const values = [...(value instanceof JsonObject ? value.values : value)];
  const copy = value instanceof JsonObject ? new JsonObject(value.keys, values) : values;
  copies.set(copy, values);
  return copy;
}

/** Replaces what stands at the end of a path, and copies what stands on the way and is not copied yet. */
function replace(root: Inside, path: readonly string[], copies: Copies): void {
  let at = root;
  for (const [i, step] of path.entries()) {
    const values = copies.get(at)!;
    const position = positionOf(at, step);
    const inner = values[position];
    if (inner === undefined) return;
    if (i === path.length - 1) values[position] = REDACTED;
    else if (!isInside(inner)) return;
    else {
      at = copies.has(inner) ? inner : copyOf(inner, copies);
      values[position] = at;
    }
  }
}

function isInside(value: JsonValue): value is Inside {
  return Array.isArray(value) || value instanceof JsonObject;
}

function stepsOf(pointer: string): string[] {
  const steps = parsePointer(pointer);
  if (steps === null)
    throw new BullaError('USAGE', 'What is to be redacted is named by a JSON Pointer, such as /a/0.');
  return steps;
}
