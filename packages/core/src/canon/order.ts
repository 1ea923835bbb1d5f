import { BullaError } from '../error.ts';

export interface NameOrder {
  /** The order in a few words, for the profile table. */
  readonly text: string;
  /**
   * A string whose UTF-16 order among its like is the order of the names, so that the engine's own sort can do
   * the work. Throws for a name that has no place in the order.
   */
  sortKey(name: string): string;
  /** Different names can have the same sort key. */
  readonly hasTies?: true;
}

/** RFC 8785 §3.2.3: by UTF-16 code units, which is what JavaScript's `<` compares. */
export const utf16: NameOrder = { text: 'UTF-16 code units', sortKey: (name) => name };

const HIGH = /[\ud800-\uffff]/;

/**
 * By Unicode code points, which is also the order of the UTF-8 bytes. It differs from that of UTF-16 only in
 * that surrogates (D800–DFFF) stand below E000–FFFF there; exchanging the two ranges turns one into the other.
 */
export const codePoint: NameOrder = {
  text: 'Unicode code points',
  sortKey(name) {
    if (!HIGH.test(name)) return name;
    let key = '';
    for (let start = 0; start < name.length; start += 4096) {
      const units: number[] = [];
      for (let i = start; i < name.length && i < start + 4096; i++) {
        const unit = name.charCodeAt(i);
        units.push(unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);
      }
      key += String.fromCharCode(...units);
    }
    return key;
  },
};

/** The root collation of printable ASCII (CLDR), lowest first; letters are compared without case at first. */
const COLLATION = '\t\n\v\f\r _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz';
const IGNORED = /[\u0000-\u0008\u000e-\u001f\u007f]/g;

/**
 * The order that `localeCompare` gives under en-US, for ASCII names, from a table: the host's locale must not
 * change a byte. Names outside ASCII are refused, and different names that compare equal have the same sort
 * key, which `orderOf` refuses.
 */
export const collated: NameOrder = {
  text: 'en-US collation of ASCII; ties and other keys refused',
  hasTies: true,
  sortKey(name) {
    let letters = '';
    let cases = '';
    for (const c of name.replace(IGNORED, '')) {
      const lower = c >= 'A' && c <= 'Z' ? c.toLowerCase() : c;
      const rank = COLLATION.indexOf(lower);
      if (rank < 0) {
        throw new BullaError(
          'CANON_KEY',
          `${JSON.stringify(name)} has characters outside the collation table.`,
        );
      }
      letters += String.fromCharCode(rank + 1);
      cases += lower === c ? '0' : '1';
    }
    // Compared without case first, a prefix before what it begins; then lower case first.
    return `${letters}\u0000${cases}`;
  },
};

/**
 * The order in which a JavaScript engine keeps properties that were made in the given order: those named like an
 * array index (ECMA-262 §6.1.7) come first, by number.
 */
export function indexKeysFirst(order: NameOrder): NameOrder {
  return {
    text: `${order.text}; array-index keys first`,
    ...(order.hasTies && { hasTies: true }),
    sortKey(name) {
      const isIndex = /^(?:0|[1-9][0-9]{0,9})$/.test(name) && Number(name) <= 4294967294;
      return isIndex ? `0${name.padStart(10, '0')}` : `1${order.sortKey(name)}`;
    },
  };
}

/**
 * The positions of the names in their order. Equal names keep their places; different names with the same sort
 * key have no order, and `CANON_KEY` is thrown.
 */
export function orderOf(names: readonly string[], order: NameOrder): Uint32Array {
  if (order === utf16) return sortPositions(names);
  const sortKeys = names.map(order.sortKey);
  const positions = sortPositions(sortKeys);
  if (!order.hasTies) return positions;
  for (let i = 1; i < positions.length; i++) {
    const a = positions[i - 1]!;
    const b = positions[i]!;
    if (sortKeys[a] === sortKeys[b] && names[a] !== names[b]) tie(names[a]!, names[b]!);
  }
  return positions;
}

function tie(a: string, b: string): never {
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)];
  throw new BullaError('CANON_KEY', `${one} and ${other} compare equal, so their order is not defined.`);
}

const RUN = 16;

/**
 * A bottom-up merge sort of positions, stable and n·log n for every input. The engine's own sort would need a
 * callback for each comparison, which costs it more than all the rest.
 */
function sortPositions(keys: readonly string[]): Uint32Array {
  const count = keys.length;
  let from = new Uint32Array(count);
  let ascending = 1;
  while (ascending < count && keys[ascending - 1]! <= keys[ascending]!) ascending++;
  let descending = 1;
  while (descending < count && keys[descending - 1]! > keys[descending]!) descending++;
  if (ascending >= count || descending >= count) {
    for (let i = 0; i < count; i++) from[i] = ascending >= count ? i : count - 1 - i;
    return from;
  }
  for (let i = 0; i < count; i++) {
    const start = i - (i % RUN);
    let at = i;
    while (at > start && keys[from[at - 1]!]! > keys[i]!) from[at] = from[--at]!;
    from[at] = i;
  }
  if (count <= RUN) return from;
  let to = new Uint32Array(count);
  for (let width = RUN; width < count; width *= 2) {
    for (let low = 0; low < count; low += 2 * width) merge(keys, from, to, low, width);
    [from, to] = [to, from];
  }
  return from;
}

function merge(
  keys: readonly string[],
  from: Uint32Array,
  to: Uint32Array,
  low: number,
  width: number,
): void {
  const middle = Math.min(low + width, from.length);
  const high = Math.min(middle + width, from.length);
  if (middle < high && keys[from[middle - 1]!]! <= keys[from[middle]!]!) {
    to.set(from.subarray(low, high), low);
    return;
  }
  let left = low;
  let right = middle;
  for (let at = low; at < high; at++) {
    const takeRight = right < high && (left === middle || keys[from[left]!]! > keys[from[right]!]!);
    to[at] = takeRight ? from[right++]! : from[left++]!;
  }
}
