import { isDouble, JsonNumber, JsonObject, pointer } from '../json/index.ts';

interface Trail {
  readonly key: string | number;
  readonly parent: Trail | undefined;
}

/**
 * The JSON Pointer of the first number whose digits `jcs` does not keep, or undefined. One pass over the value, which
 * must have been written before, so that its depth and its numbers are known to be fit. Never recurses.
 */
export function firstInexact(root: unknown): string | undefined {
  const open: {
    values: readonly unknown[];
    keys: readonly string[] | undefined;
    at: number;
    trail: Trail | undefined;
  }[] = [];
  const enter = (value: object, trail: Trail | undefined) => {
    if (Array.isArray(value)) open.push({ values: value, keys: undefined, at: 0, trail });
    else if (value instanceof JsonObject) open.push({ values: value.values, keys: value.keys, at: 0, trail });
    else open.push({ values: Object.values(value), keys: Object.keys(value), at: 0, trail });
  };
  const found = (trail: Trail | undefined) => {
    const segments: (string | number)[] = [];
    for (let step = trail; step !== undefined; step = step.parent) segments.push(step.key);
    return pointer(segments.reverse());
  };
  enter([root], undefined);
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const { values, keys } = level;
    const trailTo = (index: number): Trail | undefined =>
      open.length === 1 ? undefined : { key: keys?.[index] ?? index, parent: level!.trail };
    let inner: object | undefined;
    while (inner === undefined && level.at < values.length) {
      const index = level.at++;
      const value = values[index];
      if (typeof value === 'bigint' || value instanceof JsonNumber) {
        const lexeme = typeof value === 'bigint' ? value.toString() : value.lexeme;
        if (!isDouble(lexeme)) return found(trailTo(index));
      } else if (typeof value === 'object' && value !== null) {
        inner = value;
      }
    }
    if (inner === undefined) open.pop();
    else enter(inner, trailTo(level.at - 1));
  }
  return undefined;
}
