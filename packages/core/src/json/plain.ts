import { BullaError } from '../error.ts';
import { type Trail, trailPointer } from './pointer.ts';
import { JsonNumber, JsonObject, type JsonValue } from './value.ts';

/** What `toPlain` returns: ordinary JavaScript objects, arrays and numbers. */
type Plain = null | boolean | string | number | Plain[] | { [key: string]: Plain };

/**
 * Turns a parsed value into plain JavaScript, for code that only reads it. Throws `VALUE_INEXACT_NUMBER` with
 * the path for an integer beyond ±(2⁵³−1) and for a number beyond the range of doubles, because they would
 * become other numbers; a fraction becomes the nearest double. Never recurses.
 */
export function toPlain(value: JsonValue): Plain {
  const holder: { root: Plain } = { root: null };
  const open: { source: JsonValue; target: object; key: string | number; path: Trail | undefined }[] = [
    { source: value, target: holder, key: 'root', path: undefined },
  ];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { source, target, key, path } = item;
    let plain: Plain;
    if (source instanceof JsonNumber) {
      plain = toDouble(source, path);
    } else if (source instanceof JsonObject) {
      plain = {};
      // Properties are made in order, so that the plain object keeps it wherever JavaScript can.
      for (let i = 0; i < source.size; i++) define(plain, source.keys[i]!, null);
      for (let i = 0; i < source.size; i++) {
        const name = source.keys[i]!;
        open.push({ source: source.values[i]!, target: plain, key: name, path: { key: name, parent: path } });
      }
    } else if (Array.isArray(source)) {
      plain = new Array(source.length);
      for (let i = 0; i < source.length; i++) {
        open.push({ source: source[i]!, target: plain, key: i, path: { key: i, parent: path } });
      }
    } else {
      plain = source;
    }
    define(target, key, plain);
  }
  return holder.root;
}

function toDouble(number: JsonNumber, path: Trail | undefined): number {
  const double = Number(number.lexeme);
  const exact = /[.eE]/.test(number.lexeme) ? Number.isFinite(double) : Number.isSafeInteger(double);
  if (exact) return double;
  throw new BullaError('VALUE_INEXACT_NUMBER', `${number.lexeme} cannot be held exactly as a number here.`, {
    path: trailPointer(path),
  });
}

/** Plain assignment, except that `__proto__` becomes an ordinary property. */
function define(target: object, key: string | number, value: Plain): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    (target as Record<string | number, Plain>)[key] = value;
  }
}
