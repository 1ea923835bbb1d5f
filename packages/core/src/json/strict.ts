import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import { type ParseOptions, parse } from './parse.ts';
import { pointer } from './pointer.ts';
import type { JsonValue } from './value.ts';

/** How much of a document is read. */
export type Limits = Pick<ParseOptions, 'maxBytes' | 'maxDepth'>;

/** Most documents are small; what is larger is refused unread. */
const DEFAULT_DOCUMENT_BYTES: number = 1 << 20;

/**
 * Parses a document strictly. What the parser refuses is thrown under the code that is given for it, with the byte offset and,
 * where the text could be read up to it, the path of the place.
 */
export function parseStrictly(
  input: string | Uint8Array,
  limits: Limits,
  code: Code | ((refusal: Code) => Code),
  sentence: string,
): JsonValue {
  try {
    return parse(input, { maxBytes: DEFAULT_DOCUMENT_BYTES, ...limits });
  } catch (cause) {
    if (!(cause instanceof BullaError) || cause.offset === undefined) throw cause;
    const path = isUnread(input, cause.code) ? undefined : pathAt(input, cause.offset);
    throw new BullaError(
      typeof code === 'string' ? code : code(cause.code),
      `${sentence}: ${cause.message}`,
      {
        offset: cause.offset,
        ...(path !== undefined && { path }),
        cause,
      },
    );
  }
}

/** Whether the text was refused as a whole, before any of it was read as JSON. */
function isUnread(input: string | Uint8Array, code: Code): boolean {
  const whole = code === 'JSON_TOO_LARGE' || code === 'JSON_INVALID_UTF8' || code === 'JSON_BOM';
  return whole || (typeof input === 'string' && !input.isWellFormed());
}

interface Frame {
  readonly isObject: boolean;
  /** The key or index of the member that is being read; null where a key is expected. */
  member: string | number | null;
}

/** The path of the value or key at a byte offset, up to which the text is known to be JSON. */
function pathAt(input: string | Uint8Array, offset: number): string {
  const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input;
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  const text = utf8.decode(bytes);
  const end = utf8.decode(bytes.subarray(0, offset)).length;
  const frames: Frame[] = [];
  for (let i = 0; i <= end && i < text.length; i++) {
    const frame = frames.at(-1);
    const c = text.charAt(i);
    if (c === '"') {
      const after = stringEnd(text, i);
      if (after > text.length || (i < end && after > end)) break;
      // A repeated key is told of at its first quote, and belongs to the path.
      if (frame?.isObject && frame.member === null) frame.member = JSON.parse(text.slice(i, after)) as string;
      i = after - 1;
    } else if (i === end) {
      break;
    } else if (c === '{' || c === '[') {
      frames.push(c === '{' ? { isObject: true, member: null } : { isObject: false, member: 0 });
    } else if (c === '}' || c === ']') {
      frames.pop();
    } else if (c === ',' && frame !== undefined) {
      frame.member = frame.isObject ? null : (frame.member as number) + 1;
    }
  }
  return pointer(frames.flatMap(({ member }) => (member === null ? [] : [member])));
}

/** The index after the closing quote of the string that begins at `start`; beyond the text if there is none. */
function stringEnd(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text.charAt(i) !== '"') i += text.charAt(i) === '\\' ? 2 : 1;
  return i + 1;
}
