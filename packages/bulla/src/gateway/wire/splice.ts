import { toUtf8 } from '@bulla/core/crypto';
import { JsonObject, type JsonValue, type Span, stringify } from '@bulla/core/json';
import { type Frame, spanOf } from '../../mcp/index.ts';

/** A replacement of bytes; without `bytes` they are cut. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly bytes?: Uint8Array;
}

/** A value of a message, and where it stands. */
export interface Located {
  readonly value: JsonValue;
  readonly span: Span;
}

/** The bytes with edits that do not overlap; every other byte is the sender's. */
export function splice(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return bytes;
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const { start, end, bytes: instead } of edits.toSorted((a, b) => a.start - b.start)) {
    parts.push(bytes.subarray(from, start));
    if (instead !== undefined) parts.push(instead);
    from = end;
  }
  parts.push(bytes.subarray(from));
  return Buffer.concat(parts);
}

/** The value at a path in a message; null where there is none. */
export function locate(frame: Frame, ...path: readonly string[]): Located | null {
  let value: JsonValue = frame.message;
  const places: number[] = [];
  for (const key of path) {
    const index: number = value instanceof JsonObject ? value.indexOf(key) : -1;
    if (index < 0) return null;
    value = (value as JsonObject).values[index]!;
    places.push(index);
  }
  // Only what is there is looked for in the bytes.
  return { value, span: places.reduce((span, index) => span.children![index]!, spanOf(frame)) };
}

/** The bytes of a value, exactly as they were sent. */
export function bytesOf(frame: Frame, { span }: Located): Uint8Array {
  return frame.bytes.subarray(span.start, span.end);
}

export function replace({ span: { start, end } }: Located, bytes: Uint8Array): Edit {
  return { start, end, bytes };
}

/** Cuts items out of an array, with the commas that would be left over. */
export function cutItems(array: Span, isDoomed: (index: number) => boolean): Edit[] {
  return cut(array.children!, isDoomed);
}

/** Cuts members out of an object, with the commas that would be left over. */
export function cutMembers(object: Span, isDoomed: (index: number) => boolean): Edit[] {
  const members = object.keys!.map(({ start }, i) => ({ start, end: object.children![i]!.end }));
  return cut(members, isDoomed);
}

type Piece = string | Uint8Array;

/** JSON from pieces, and lists of them: texts, and bytes that are taken as they are. */
export function raw(...pieces: readonly (Piece | readonly Piece[])[]): Uint8Array {
  const flat = pieces.flat() as readonly Piece[];
  return Buffer.concat(flat.map((piece) => (typeof piece === 'string' ? toUtf8(piece) : piece)));
}

/** A member of an object, with the bytes of its value. */
export type Member = readonly [name: string, value: Uint8Array];

/** Gives an object members in place of any of the same name, and cuts others by their names. */
export function setMembers(
  { value, span }: Located,
  members: readonly Member[],
  doomed: readonly string[] = [],
): Edit[] {
  const { keys } = value as JsonObject;
  const names = new Set([...members.map(([name]) => name), ...doomed]);
  if (members.length === 0) return cutMembers(span, (i) => names.has(keys[i]!));
  const isLast = keys.every((key) => names.has(key));
  const texts = members.flatMap(([name, bytes], i) => [`${i > 0 ? ',' : ''}${stringify(name)}:`, bytes]);
  const at = span.start + 1;
  const inserted = { start: at, end: at, bytes: raw(texts, isLast ? '' : ',') };
  return [inserted, ...cutMembers(span, (i) => names.has(keys[i]!))];
}

/** Cuts each part up to the next one, and the parts at the end from the end of the last that stays. */
function cut(parts: readonly { start: number; end: number }[], isDoomed: (index: number) => boolean): Edit[] {
  const edits: Edit[] = [];
  let last = parts.length - 1;
  while (last >= 0 && isDoomed(last)) last--;
  for (let i = 0; i < last; i++) {
    if (isDoomed(i)) edits.push({ start: parts[i]!.start, end: parts[i + 1]!.start });
  }
  if (last < parts.length - 1) {
    const start = last < 0 ? parts[0]!.start : parts[last]!.end;
    edits.push({ start, end: parts.at(-1)!.end });
  }
  return edits;
}
