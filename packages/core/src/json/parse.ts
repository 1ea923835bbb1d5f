import { BullaError } from '../error.ts';
import { escapedString, numberEnd, plainEnd, skipSpace } from './lex.ts';
import { decodeText, detach, fail, toByteOffsets } from './text.ts';
import { JsonNumber, JsonObject, type JsonValue } from './value.ts';

/** A rule of strict parsing that a caller may lift by name, to read a foreign file and explain it. */
export type Leniency = 'duplicate-keys' | 'non-finite' | 'lone-surrogates' | 'bom';

export interface ParseOptions {
  /** The deepest nesting accepted. Default 1,000. */
  maxDepth?: number;
  /** The longest text accepted, in UTF-8 bytes. Default 64 MiB. */
  maxBytes?: number;
  /**
   * Rules to lift: `duplicate-keys` (the last value wins), `non-finite` (Python's `NaN`, `Infinity` and
   * `-Infinity` tokens), `lone-surrogates`, `bom`. Default none.
   */
  allow?: readonly Leniency[];
}

/** Where a value stands in the text, in bytes from `start` up to, not including, `end`. */
export interface Span {
  start: number;
  end: number;
  /** Of an object: its keys with their quotes, in the order of `JsonObject.keys`. */
  keys?: Span[] | undefined;
  /** Of an object or array: its values. */
  children?: Span[] | undefined;
}

export const DEFAULT_MAX_DEPTH = 1000;

/**
 * Parses one JSON text (RFC 8259) strictly and without loss. Throws a `BullaError` with a `JSON_…` code and
 * the byte offset of the offence for everything that is not exactly JSON, for duplicate keys, lone
 * surrogates and a byte order mark, and for texts over the limits. Never recurses.
 */
export function parse(input: string | Uint8Array, options: ParseOptions = {}): JsonValue {
  return parseText(decodeText(input, options), options, undefined);
}

/**
 * As `parse`, and also tells where every value stands, so that a caller can edit the text by splicing.
 * Throws `JSON_SPANS_NEED_UNIQUE_KEYS` when duplicate keys are permitted: a dropped value has no place.
 */
export function parseWithSpans(
  input: string | Uint8Array,
  options: ParseOptions = {},
): { value: JsonValue; span: Span } {
  if (options.allow?.includes('duplicate-keys')) {
    throw new BullaError(
      'JSON_SPANS_NEED_UNIQUE_KEYS',
      'Spans cannot be told where duplicate keys are permitted.',
    );
  }
  const text = decodeText(input, options);
  const root: Span = { start: 0, end: 0, children: [] };
  const value = parseText(text, options, root);
  const span = root.children![0]!;
  toByteOffsets(text, span);
  return { value, span };
}

/** Above this many keys an index looks for duplicates; below, a scan is faster. */
const SCANNED_KEYS = 12;

/**
 * Keys repeat from record to record. The cache gives back the same string for the same key, which saves the
 * copy and lets later comparisons compare pointers. A miss costs only the copy.
 */
const keyCache: string[] = new Array(1024).fill('');
const CACHED_KEY_LENGTH = 48;

/** A container that is being read: where its keys and values begin on the common stacks. */
interface Open {
  isObject: boolean;
  firstKey: number;
  firstValue: number;
  /** The positions of the keys of a large object. */
  index: Map<string, number> | undefined;
  span: Span | undefined;
}

// One forward pass, with the open containers on an explicit stack: no input can overflow the call stack. Keys and
// values wait on two common stacks until their container closes, so that its lists are made in their final size.
function parseText(text: string, options: ParseOptions, rootSpan: Span | undefined): JsonValue {
  const maxDepth = options.maxDepth ?? DEFAULT_MAX_DEPTH;
  const lastWins = options.allow?.includes('duplicate-keys') ?? false;
  const nonFinite = options.allow?.includes('non-finite') ?? false;
  const loneSurrogates = options.allow?.includes('lone-surrogates') ?? false;

  const keys: string[] = [];
  const values: JsonValue[] = [];
  let keyCount = 0;
  let valueCount = 0;
  // One record a depth, used again by every container at that depth.
  const levels: Open[] = [{ isObject: false, firstKey: 0, firstValue: 0, index: undefined, span: rootSpan }];
  let depth = 0;
  let open = levels[0]!;

  let c = 0;
  let i = text.charCodeAt(0) === 0xfeff ? 1 : 0;

  for (;;) {
    i = skipSpace(text, i);
    c = text.charCodeAt(i);

    if (open.isObject) {
      if (c !== 34) fail(text, i, syntax(text, i), 'A key in double quotes was expected here.');
      const start = i + 1;
      let key: string;
      let hash = 0;
      i = start;
      for (c = text.charCodeAt(i); c !== 34 && c !== 92 && c >= 32; c = text.charCodeAt(++i)) {
        hash = (hash * 31 + c) | 0;
      }
      if (c === 34) {
        const slot = (hash ^ (hash >>> 10)) & 1023;
        key = keyCache[slot]!;
        if (key.length !== i - start || !text.startsWith(key, start)) {
          key = detach(text.slice(start, i));
          if (key.length <= CACHED_KEY_LENGTH) keyCache[slot] = key;
        }
        i++;
      } else {
        const escaped = escapedString(text, start, i, loneSurrogates);
        key = escaped.string;
        i = escaped.end;
      }
      // Where the last value wins, it does so when the object is closed.
      if (!lastWins && isRepeated(keys, keyCount, open, key)) duplicate(text, start - 1, key);
      keys[keyCount++] = key;
      if (open.span !== undefined) open.span.keys!.push({ start: start - 1, end: i });
      i = skipSpace(text, i);
      c = text.charCodeAt(i);
      if (c !== 58) fail(text, i, syntax(text, i), 'A colon was expected after the key.');
      i = skipSpace(text, i + 1);
      c = text.charCodeAt(i);
    }

    const start = i;
    let value: JsonValue = null;
    let closing = false;
    if (c === 34) {
      i = plainEnd(text, start + 1);
      if (text.charCodeAt(i) === 34) {
        value = text.slice(start + 1, i);
        i++;
      } else {
        const escaped = escapedString(text, start + 1, i, loneSurrogates);
        value = escaped.string;
        i = escaped.end;
      }
    } else if (c === 123 || c === 91) {
      if (depth === maxDepth) fail(text, i, 'JSON_TOO_DEEP', `The nesting is deeper than ${maxDepth}.`);
      const isObject = c === 123;
      const span =
        open.span && (isObject ? { start, end: 0, keys: [], children: [] } : { start, end: 0, children: [] });
      depth++;
      if (depth === levels.length) {
        levels.push({ isObject, firstKey: keyCount, firstValue: valueCount, index: undefined, span });
        open = levels[depth]!;
      } else {
        open = levels[depth]!;
        open.isObject = isObject;
        open.firstKey = keyCount;
        open.firstValue = valueCount;
        open.index = undefined;
        open.span = span;
      }
      i = skipSpace(text, i + 1);
      closing = text.charCodeAt(i) === c + 2;
      if (!closing) continue;
    } else if (c === 45 || (c >= 48 && c <= 57)) {
      i = nonFinite && text.startsWith('-Infinity', i) ? i + 9 : numberEnd(text, i);
      value = new JsonNumber(text.slice(start, i));
    } else if (c === 116 && text.startsWith('true', i)) {
      value = true;
      i += 4;
    } else if (c === 102 && text.startsWith('false', i)) {
      value = false;
      i += 5;
    } else if (c === 110 && text.startsWith('null', i)) {
      i += 4;
    } else if (nonFinite && (text.startsWith('NaN', i) || text.startsWith('Infinity', i))) {
      i += c === 78 ? 3 : 8;
      value = new JsonNumber(text.slice(start, i));
    } else {
      fail(text, i, syntax(text, i), 'A value was expected here.');
    }
    let span: Span | undefined = open.span && { start, end: i };

    // Give the value to its container, and close every container that ends here.
    for (;;) {
      if (!closing) {
        if (span !== undefined) open.span!.children!.push(span);
        i = skipSpace(text, i);
        c = text.charCodeAt(i);
        if (depth === 0) {
          if (i < text.length) fail(text, i, 'JSON_TRAILING_DATA', 'There is more text after the value.');
          return value;
        }
        values[valueCount++] = value;
        if (c === 44) {
          i++;
          break;
        }
        const close = open.isObject ? 125 : 93;
        if (c !== close) {
          fail(text, i, syntax(text, i), `A comma or ${String.fromCharCode(close)} was expected here.`);
        }
      }
      closing = false;
      i++;
      value = closed(open, keys, keyCount, values, valueCount, lastWins);
      keyCount = open.firstKey;
      valueCount = open.firstValue;
      span = open.span;
      if (span !== undefined) span.end = i;
      depth--;
      open = levels[depth]!;
    }
  }
}

/** The container whose end was read, made from its part of the stacks. */
function closed(
  { isObject, firstKey, firstValue, index }: Open,
  keys: readonly string[],
  keyCount: number,
  values: readonly JsonValue[],
  valueCount: number,
  lastWins: boolean,
): JsonValue {
  const ownValues = values.slice(firstValue, valueCount);
  if (!isObject) return ownValues;
  if (lastWins) return JsonObject.from(keys.slice(firstKey, keyCount).map((key, i) => [key, ownValues[i]!]));
  return new JsonObject(keyList(keys, firstKey, keyCount), ownValues, index);
}

/**
 * Objects of one kind have the same keys in the same order; they share one list of them, which halves what a
 * record costs in memory and lets the writer recognise its shape by a pointer.
 */
const keyLists: (readonly string[])[] = new Array(256).fill([]);
const SHARED_KEYS = 32;

function keyList(keys: readonly string[], first: number, end: number): readonly string[] {
  const size = end - first;
  if (size === 0 || size > SHARED_KEYS) return keys.slice(first, end);
  const head = keys[first]!;
  const tail = keys[end - 1]!;
  const slot =
    (head.charCodeAt(0) * 31 + head.length * 7 + tail.charCodeAt(0) * 5 + tail.length * 3 + size) & 255;
  const known = keyLists[slot]!;
  if (known.length === size) {
    let i = 0;
    while (i < size && known[i] === keys[first + i]) i++;
    if (i === size) return known;
  }
  const list = keys.slice(first, end);
  keyLists[slot] = list;
  return list;
}

/** Whether the innermost object has the key already; a large object gets an index for it. */
function isRepeated(keys: readonly string[], keyCount: number, open: Open, key: string): boolean {
  const { firstKey } = open;
  if (keyCount - firstKey < SCANNED_KEYS) {
    for (let i = firstKey; i < keyCount; i++) if (keys[i] === key) return true;
    return false;
  }
  if (open.index === undefined) {
    open.index = new Map();
    for (let i = firstKey; i < keyCount; i++) open.index.set(keys[i]!, i - firstKey);
  }
  if (open.index.has(key)) return true;
  open.index.set(key, keyCount - firstKey);
  return false;
}

function syntax(text: string, at: number): 'JSON_UNEXPECTED_END' | 'JSON_SYNTAX' {
  return at >= text.length ? 'JSON_UNEXPECTED_END' : 'JSON_SYNTAX';
}

function duplicate(text: string, at: number, key: string): never {
  fail(text, at, 'JSON_DUPLICATE_KEY', `The key ${JSON.stringify(key)} occurs twice in one object.`);
}
