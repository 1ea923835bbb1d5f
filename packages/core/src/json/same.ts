import { JsonNumber, JsonObject, type JsonValue } from './value.ts';

/**
 * Whether two values are the same but for the order of keys. Numbers are the same when they are written alike, unless
 * `sameNumber` says otherwise of two that are not. After `most` containers it gives up and says no. Never recurses.
 */
export function sameValue(
  a: JsonValue,
  b: JsonValue,
  sameNumber: (x: JsonNumber, y: JsonNumber) => boolean = () => false,
  most: number = Number.POSITIVE_INFINITY,
): boolean {
  let left = most;
  const open: JsonValue[] = [a, b];
  while (open.length > 0) {
    const y = open.pop()!;
    const x = open.pop()!;
    if (x === y) continue;
    if (typeof x !== 'object' || typeof y !== 'object' || x === null || y === null) return false;
    if (!(x instanceof JsonNumber) && left-- <= 0) return false;
    if (x instanceof JsonObject) {
      if (!(y instanceof JsonObject) || x.size !== y.size) return false;
      const { keys, values } = x;
      for (let i = 0; i < keys.length; i++) {
        const at = keys[i] === y.keys[i] ? i : y.indexOf(keys[i]!);
        if (at < 0) return false;
        if (!push(open, values[i]!, y.values[at]!)) return false;
      }
    } else if (x instanceof JsonNumber) {
      if (!(y instanceof JsonNumber) || (x.lexeme !== y.lexeme && !sameNumber(x, y))) return false;
    } else {
      if (!Array.isArray(y) || x.length !== y.length) return false;
      for (let i = 0; i < x.length; i++) if (!push(open, x[i]!, y[i]!)) return false;
    }
  }
  return true;
}

/** Leaves a pair for later, unless it is seen at once whether it is the same. */
function push(open: JsonValue[], x: JsonValue, y: JsonValue): boolean {
  if (x === y) return true;
  if (typeof x !== 'object' || typeof y !== 'object') return false;
  open.push(x, y);
  return true;
}
