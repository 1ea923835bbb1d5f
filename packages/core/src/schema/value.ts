import { createWriter, escapeString, JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import { decimal, isInteger, numberKey } from './decimal.ts';

/** The JSON types as bits. A number is whole or has a fraction; the two together are `number`. */
export const NULL = 1;
export const BOOLEAN = 2;
export const OBJECT = 4;
export const ARRAY = 8;
export const STRING = 16;
const INTEGER = 32;
export const FRACTION = 64;
export const NUMBER: number = INTEGER | FRACTION;
export const ANY = 127;

/** The types by the words of JSON Schema. */
export const TYPES: ReadonlyMap<string, number> = new Map([
  ['object', OBJECT],
  ['array', ARRAY],
  ['string', STRING],
  ['number', NUMBER],
  ['integer', INTEGER],
  ['boolean', BOOLEAN],
  ['null', NULL],
]);

/** The words for a set of types; `integer` is told only where `number` is not. */
export function typeWords(types: number): string[] {
  const words = [...TYPES].filter(([, bits]) => (types & bits) === bits).map(([word]) => word);
  return words.includes('number') ? words.filter((word) => word !== 'integer') : words;
}

/** The type of a value. A number that is beyond reason counts as both whole and not. */
export function typeOf(value: JsonValue): number {
  if (value === null) return NULL;
  if (typeof value === 'boolean') return BOOLEAN;
  if (typeof value === 'string') return STRING;
  if (Array.isArray(value)) return ARRAY;
  if (value instanceof JsonObject) return OBJECT;
  const number = decimal(value.lexeme);
  return number === undefined ? NUMBER : isInteger(number) ? INTEGER : FRACTION;
}

const writeKey = createWriter({
  double: (value) => String(value),
  lexeme: numberKey,
  escape: escapeString,
  order: (keys) => keys.map((_, i) => i).sort((i, j) => (keys[i]! < keys[j]! ? -1 : 1)),
  undefinedProperty: 'refuse',
});

/** The same text for values that JSON Schema holds for equal: the order of keys and the spelling of numbers aside. */
export function valueKey(value: JsonValue): string {
  return writeKey(value, Number.POSITIVE_INFINITY);
}

export function isNumber(value: JsonValue | undefined): value is JsonNumber {
  return value instanceof JsonNumber;
}
