import type { Code } from '@bulla/core/codes';
import { fromUtf8 } from '@bulla/core/crypto';
import { BullaError, pointer } from '@bulla/core/error';
import { JsonNumber, JsonObject, type JsonValue, parse } from '@bulla/core/json';
import { isTimestamp } from './timestamp.ts';

// How the keyring file is taken apart: every member known, there, and of its type, or refused with its path.

export type Path = readonly (string | number)[];

export function parseJson(bytes: Uint8Array): JsonValue {
  try {
    return parse(fromUtf8(bytes), { maxDepth: 8 });
  } catch (cause) {
    const { message } = cause as BullaError;
    throw new BullaError('KEYRING_MALFORMED', `The keyring is not strict JSON: ${message}`, { cause });
  }
}

export function members(
  value: JsonValue,
  path: Path,
  required: string[],
  optional: string[] = [],
): JsonObject {
  if (!(value instanceof JsonObject)) throw wrongType(path, 'an object');
  for (const name of value.keys) {
    if (!required.includes(name) && !optional.includes(name))
      throw at('KEYRING_MALFORMED', `Bulla does not know the member ${JSON.stringify(name)}.`, [
        ...path,
        name,
      ]);
  }
  for (const name of required) {
    if (!value.has(name)) throw at('KEYRING_MALFORMED', `The member ${name} is missing.`, path);
  }
  return value;
}

export function text(object: JsonObject, name: string, path: Path): string {
  const value = object.get(name);
  if (typeof value !== 'string') throw wrongType([...path, name], 'a string');
  return value;
}

export function integer(object: JsonObject, name: string, path: Path): number {
  const value = object.get(name);
  const number = value instanceof JsonNumber && /^\d+$/.test(value.lexeme) ? value.toNumber() : -1;
  if (!Number.isSafeInteger(number) || number < 0) throw wrongType([...path, name], 'a whole number');
  return number;
}

export function readFlag(object: JsonObject, name: string, path: Path): boolean {
  if (!object.has(name)) return false;
  if (object.get(name) !== true) throw wrongType([...path, name], 'true where it is given');
  return true;
}

export function time(object: JsonObject, name: string, path: Path): string {
  const value = text(object, name, path);
  if (isTimestamp(value)) return value;
  const message = 'Times are written like 2026-01-31T12:00:00+00:00, with no fraction or six digits.';
  throw at('KEYRING_TIME', message, [...path, name]);
}

export function optionalTime(object: JsonObject, name: string, path: Path): string | null {
  return object.has(name) ? time(object, name, path) : null;
}

export function wrongType(path: Path, wanted: string): BullaError {
  return at(
    'KEYRING_MALFORMED',
    `${path.length === 0 ? 'A keyring' : 'What stands here'} must be ${wanted}.`,
    path,
  );
}

export function at(code: Code, message: string, path: Path): BullaError {
  return new BullaError(code, message, { path: pointer(path) });
}
