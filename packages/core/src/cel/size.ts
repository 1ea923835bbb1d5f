/**
 * How large a value is, as far as the cost of a rule depends on it. A list or map is known by its length and by one
 * part that is as large as the largest of its elements in every respect; a record by its fields.
 */
export interface Size {
  /** Of a list or map: how many elements. */
  readonly length: number;
  /** Of a string, or of the longest key of a map: how long. */
  readonly text: number;
  /** How much there is to compare, in all: a unit a value, and one for 64 characters. */
  readonly weight: number;
  readonly part?: Size;
  readonly fields?: ReadonlyMap<string, Size>;
}

export const NOTHING: Size = { length: 0, text: 0, weight: 1 };

export function textSize(length: number): Size {
  return { length: 0, text: length, weight: 1 + length / 64 };
}

/** A list or map of `length` elements that are no larger than `part`. */
export function listSize(length: number, part: Size, weight: number, text = 0): Size {
  return { length, text, weight, part };
}

/** Any element of a list or value of a map. */
export function partOf({ part }: Size): Size {
  return part ?? NOTHING;
}

export function fieldOf(size: Size, name: string): Size {
  return size.fields === undefined ? partOf(size) : (size.fields.get(name) ?? NOTHING);
}

/** As large as the larger of both in every respect. No deeper than an input may be. */
export function larger(a: Size, b: Size): Size {
  if (a === NOTHING) return b;
  if (b === NOTHING || a === b) return a;
  const part = a.part === undefined ? b.part : b.part === undefined ? a.part : larger(a.part, b.part);
  const fields =
    a.fields === undefined ? b.fields : b.fields === undefined ? a.fields : largerFields(a.fields, b.fields);
  return {
    length: Math.max(a.length, b.length),
    text: Math.max(a.text, b.text),
    weight: Math.max(a.weight, b.weight),
    ...(part !== undefined && { part }),
    ...(fields !== undefined && { fields }),
  };
}

function largerFields(a: ReadonlyMap<string, Size>, b: ReadonlyMap<string, Size>): Map<string, Size> {
  const out = new Map(a);
  for (const [name, size] of b) out.set(name, larger(out.get(name) ?? NOTHING, size));
  return out;
}
