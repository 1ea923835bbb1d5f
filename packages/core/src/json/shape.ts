/** The keys of an object in writing order. */
export interface Shape {
  /** The keys as the object has them. */
  readonly source: readonly string[];
  /** The keys in writing order. */
  readonly keys: readonly string[];
  /** For each key in writing order, its position in `source`. */
  readonly order: ArrayLike<number>;
  /** The heads of each key in writing order, four forms a key; only a shape that is kept has them. */
  readonly heads?: readonly string[];
}

/**
 * What is written before a value, from the comma or opening brace to the colon. Form 1 adds the quote that opens
 * a string, form 2 begins with the quote that closes the string before, form 3 does both; so a member costs two
 * concatenations, and a string none for its quotes.
 */
export function head(escapedKey: string, first: boolean, form: number): string {
  return `${form >= 2 ? '"' : ''}${first ? '{' : ','}"${escapedKey}":${form % 2 === 1 ? '"' : ''}`;
}

/** Larger objects are rare, and not worth keeping. */
const MAX_CACHED_KEYS = 32;
const MAX_CACHED_LENGTH = 1024;
const MAX_CACHED_SHAPES = 512;
const SHAPES_PER_FIRST_KEY = 8;

/**
 * Records of one kind have the same keys in the same order. Sorting and quoting them once and comparing
 * pointers afterwards is what makes canonical writing nearly as fast as `JSON.stringify`. The cache is
 * bounded and starts anew when it is full, so hostile input can only make it useless.
 */
export class ShapeCache {
  #shapes = new Map<string, Shape[]>();
  #count = 0;
  readonly #order: (keys: readonly string[]) => ArrayLike<number>;
  readonly #escape: (key: string) => string;

  /** The functions may throw for a key; `of` then throws the same. */
  constructor(order: (keys: readonly string[]) => ArrayLike<number>, escapeKey: (key: string) => string) {
    this.#order = order;
    this.#escape = escapeKey;
  }

  /** The shape of a non-empty list of distinct keys. */
  of(source: readonly string[]): Shape {
    const known = source.length > MAX_CACHED_KEYS ? undefined : this.#shapes.get(source[0]!);
    if (known !== undefined) {
      for (const shape of known) if (sameKeys(shape.source, source)) return shape;
    }
    const order = this.#order(source);
    const keys = new Array<string>(source.length);
    for (let i = 0; i < keys.length; i++) keys[i] = source[order[i]!]!;
    if (keys.length > MAX_CACHED_KEYS || keys.reduce((sum, key) => sum + key.length, 0) > MAX_CACHED_LENGTH) {
      return { source, keys, order };
    }
    const heads = keys.flatMap((key, i) =>
      [0, 1, 2, 3].map((form) => head(this.#escape(key), i === 0, form)),
    );
    return this.#cache({ source, keys, order, heads }, known);
  }

  #cache(shape: Shape, known: Shape[] | undefined): Shape {
    if (this.#count >= MAX_CACHED_SHAPES || (known !== undefined && known.length >= SHAPES_PER_FIRST_KEY)) {
      this.#shapes.clear();
      this.#count = 0;
      known = undefined;
    }
    if (known === undefined) this.#shapes.set(shape.source[0]!, [shape]);
    else known.push(shape);
    this.#count++;
    return shape;
  }
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 1; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
