import { isDouble, JsonNumber, JsonObject } from '../json/index.ts';

/**
 * Whether `jcs` keeps the digits of every number. The value must have been written before, so that its depth and its
 * numbers are known to be fit. Never recurses.
 */
export function isExact(root: unknown): boolean {
  const open: unknown[] = [root];
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    if (typeof value === 'bigint' || value instanceof JsonNumber) {
      const lexeme = typeof value === 'bigint' ? value.toString() : value.lexeme;
      if (!isDouble(lexeme)) return false;
    } else if (typeof value === 'object' && value !== null) {
      const inner = Array.isArray(value)
        ? value
        : value instanceof JsonObject
          ? value.values
          : Object.values(value);
      for (const each of inner) if (each !== null && typeof each !== 'string') open.push(each);
    }
  }
  return true;
}
