import { JsonObject, type JsonValue, type Span } from '@bulla/core/json';
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
  let place: Located = { value: frame.message, span: spanOf(frame) };
  for (const key of path) {
    const { value, span } = place;
    const index = value instanceof JsonObject ? value.indexOf(key) : -1;
    if (index < 0) return null;
    place = { value: (value as JsonObject).values[index]!, span: span.children![index]! };
  }
  return place;
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
