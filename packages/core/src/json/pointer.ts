import type { Span } from './parse.ts';
import { JsonObject, type JsonValue } from './value.ts';

/** Where a value stands in a document: the keys and indices that lead to it. */
export type Path = readonly (string | number)[];

/** Writes a path as a JSON Pointer (RFC 6901); the root is the empty string. */
export function pointer(path: Path): string {
  let out = '';
  for (const step of path) {
    out += `/${typeof step === 'number' ? step : step.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return out;
}

/** A path by its last step, so that the places of a walk share what they have in common; undefined is the root. */
export interface Trail {
  readonly key: string | number;
  readonly parent: Trail | undefined;
}

export function trailPointer(trail: Trail | undefined): string {
  const path: (string | number)[] = [];
  for (let step = trail; step !== undefined; step = step.parent) path.unshift(step.key);
  return pointer(path);
}

/**
 * The steps of a JSON Pointer, an index as its digits; null for a text that is none (RFC 6901 §3: tokens that each begin
 * with a slash, in which `~` stands only before 0 and 1).
 */
export function parsePointer(text: string): string[] | null {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return null;
  return text.slice(1).split('/').map(unescapeToken);
}

function unescapeToken(token: string): string {
  return token.includes('~') ? token.replaceAll('~1', '/').replaceAll('~0', '~') : token;
}

/** RFC 6901 §4: an index has no leading zero. */
const INDEX = /^(?:0|[1-9][0-9]*)$/;

/** The position of the member or element that a step names; -1, or one beyond the end, where there is none. */
export function positionOf(value: JsonValue | undefined, step: string): number {
  if (value instanceof JsonObject) return value.indexOf(step);
  return Array.isArray(value) && INDEX.test(step) ? Number(step) : -1;
}

/** The value to which the steps lead; undefined where there is none. */
export function valueAt(root: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined {
  let value = root;
  for (const step of steps) {
    const inner = value instanceof JsonObject ? value.values : (value as readonly JsonValue[]);
    const position = positionOf(value, step);
    if (position < 0) return undefined;
    value = inner[position];
  }
  return value;
}

/** Where the deepest value on the way stands in the text, and its key where it has one. */
export function spanAt(
  root: JsonValue,
  whole: Span,
  steps: readonly string[],
): { readonly value: Span; readonly key: Span | undefined } {
  let at: { value: Span; key: Span | undefined } = { value: whole, key: undefined };
  let value: JsonValue | undefined = root;
  for (const step of steps) {
    const position = positionOf(value, step);
    const inner = at.value.children?.[position];
    if (inner === undefined) break;
    at = { value: inner, key: at.value.keys?.[position] };
    value = value instanceof JsonObject ? value.values[position] : (value as JsonValue[])[position];
  }
  return at;
}
