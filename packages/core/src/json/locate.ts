import type { Span } from './parse.ts';

// Finds where values stand in a text that the parser has accepted. It checks nothing: it only tells brackets, commas and
// strings apart, and goes no deeper than it is asked to, so that a message costs no more than the members looked for.

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The span of the value of a text that `parse` accepted, as `parseWithSpans` would tell it. The parts of an object or
 * array are looked for when they are first asked for. The bytes must not be changed meanwhile.
 */
export function spanIn(bytes: Uint8Array): Span {
  const start = skipSpace(bytes, 0);
  return new Located(bytes, start, valueEnd(bytes, start));
}

class Located implements Span {
  readonly start: number;
  readonly end: number;
  readonly #bytes: Uint8Array;
  #parts: { readonly keys: Span[]; readonly children: Span[] } | undefined;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.start = start;
    this.end = end;
  }

  get keys(): Span[] | undefined {
    return this.#bytes[this.start] === BRACE ? this.#read().keys : undefined;
  }

  get children(): Span[] | undefined {
    const first = this.#bytes[this.start];
    return first === BRACE || first === BRACKET ? this.#read().children : undefined;
  }

  #read(): { readonly keys: Span[]; readonly children: Span[] } {
    if (this.#parts !== undefined) return this.#parts;
    const bytes = this.#bytes;
    const keys: Span[] = [];
    const children: Span[] = [];
    const isObject = bytes[this.start] === BRACE;
    const last = this.end - 1;
    for (let i = skipSpace(bytes, this.start + 1); i < last; i = skipSpace(bytes, i)) {
      if (isObject) {
        const end = stringEnd(bytes, i);
        keys.push({ start: i, end });
        // Past the colon.
        i = skipSpace(bytes, skipSpace(bytes, end) + 1);
      }
      const end = valueEnd(bytes, i);
      children.push(new Located(bytes, i, end));
      i = skipSpace(bytes, end);
      if (bytes[i] === COMMA) i++;
    }
    this.#parts = { keys, children };
    return this.#parts;
  }
}

function skipSpace(bytes: Uint8Array, i: number): number {
  let c = bytes[i];
  while (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) c = bytes[++i];
  return i;
}

/** The index after the value that begins at `i`. */
function valueEnd(bytes: Uint8Array, i: number): number {
  const first = bytes[i];
  if (first === QUOTE) return stringEnd(bytes, i);
  if (first !== BRACE && first !== BRACKET) {
    for (let c = bytes[i]; i < bytes.length; c = bytes[++i]) {
      if (c === COMMA || c === BRACKET_END || c === BRACE_END || c! <= 0x20) break;
    }
    return i;
  }
  let depth = 0;
  while (i < bytes.length) {
    const c = bytes[i];
    if (c === QUOTE) {
      i = stringEnd(bytes, i);
      continue;
    }
    i++;
    if (c === BRACE || c === BRACKET) depth++;
    else if ((c === BRACE_END || c === BRACKET_END) && --depth === 0) return i;
  }
  return i;
}

/** So far a loop is faster than the engine's own search. */
const NEAR = 64;

/** The index after the string that begins at `i`. */
function stringEnd(bytes: Uint8Array, i: number): number {
  const near = Math.min(bytes.length, i + NEAR);
  for (i++; i < near; i++) {
    const c = bytes[i];
    if (c === QUOTE) return i + 1;
    if (c === BACKSLASH) i++;
  }
  // The byte before `i` belongs to what was read: a backslash there was itself escaped.
  for (let from = i; ; ) {
    const quote = bytes.indexOf(QUOTE, from);
    if (quote < 0) return bytes.length;
    let before = quote;
    while (before > i && bytes[before - 1] === BACKSLASH) before--;
    if ((quote - before) % 2 === 0) return quote + 1;
    from = quote + 1;
  }
}
