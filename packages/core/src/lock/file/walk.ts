import { JsonObject, type JsonValue } from '../../json/index.ts';

/** A container on the way down to a value. */
export interface Parent {
  readonly container: JsonObject | readonly JsonValue[];
  readonly key: string | number;
  readonly above: Parent | null;
}

type Visit = (value: JsonValue, key: string | number, above: Parent) => void;

/**
 * Calls `visit` for every value inside a container, at every depth, members and elements in their order
 * within one container. Never recurses.
 */
export function walk(root: JsonValue, visit: Visit): void {
  if (typeof root !== 'object' || !isContainer(root)) return;
  const open: Parent[] = [{ container: root, key: '', above: null }];
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    const { container } = parent;
    const keys = container instanceof JsonObject ? container.keys : null;
    const values = container instanceof JsonObject ? container.values : container;
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      const key = keys === null ? i : keys[i]!;
      visit(value, key, parent);
      if (typeof value === 'object' && isContainer(value))
        open.push({ container: value, key, above: parent });
    }
  }
}

function isContainer(value: JsonValue): value is JsonObject | JsonValue[] {
  return value instanceof JsonObject || Array.isArray(value);
}

/** The keys and indices that lead from the root to `key` in the container at `above`. */
export function pathTo(key: string | number, above: Parent): (string | number)[] {
  const path = [key];
  for (let parent = above; parent.above !== null; parent = parent.above) path.unshift(parent.key);
  return path;
}
