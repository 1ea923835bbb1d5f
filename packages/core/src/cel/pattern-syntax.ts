/**
 * Reads the part of RE2's syntax whose matching needs no going back: characters, classes, groups, alternatives,
 * repetitions, anchors and word boundaries. What is left out is refused, never read in another way.
 */
export type Pattern =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly of: Pattern; readonly min: number; readonly max: number }
  | { readonly kind: 'assert'; readonly what: Assertion };

export type Assertion = 'start' | 'end' | 'boundary' | 'inside';

/** Ranges of code points, both ends in it. */
export type CharacterSet = readonly (readonly [from: number, to: number])[];

/** A pattern that is not understood, and where. */
export class PatternSyntax extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

const MAX_LENGTH = 1000;
const MAX_GROUPS = 20;
/** RE2's own limit of a counted repetition. */
const MAX_COUNT = 1000;
const LAST = 0x10ffff;

const DIGIT: CharacterSet = [[48, 57]];
const WORD: CharacterSet = [...DIGIT, [65, 90], [95, 95], [97, 122]];
const SPACE: CharacterSet = [
  [9, 10],
  [12, 13],
  [32, 32],
];
const CLASSES: Readonly<Record<string, CharacterSet>> = { d: DIGIT, w: WORD, s: SPACE };
const CONTROLS: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };
/** The two characters beyond ASCII that are the same letter in another case. */
const TWINS: readonly (readonly [letter: number, twin: number])[] = [
  [115, 0x17f],
  [107, 0x212a],
];

/** Reads a pattern. Throws `PatternSyntax`. */
export function readPattern(source: string): Pattern {
  if (source.length > MAX_LENGTH) throw new PatternSyntax(`it is longer than ${MAX_LENGTH} characters`, 0);
  const [, flags = ''] = /^\(\?([is]+)\)/.exec(source) ?? [];
  const [ignoresCase, dotAll] = [flags.includes('i'), flags.includes('s')];
  let at = flags === '' ? 0 : flags.length + 3;
  let groups = 0;
  if (ignoresCase && /[^\0-\x7f]/.test(source))
    throw new PatternSyntax('case can be ignored in ASCII patterns alone', 0);

  const fail = (message: string, offset = at): never => {
    throw new PatternSyntax(message, offset);
  };
  const peek = () => source[at];
  const take = () => {
    const code = source.codePointAt(at) ?? fail('it ends too early');
    at += code > 0xffff ? 2 : 1;
    return code;
  };
  const folded = (set: CharacterSet) => (ignoresCase ? withBothCases(set) : set);

  const choice = (): Pattern => {
    const parts = [sequence()];
    while (peek() === '|') {
      at++;
      parts.push(sequence());
    }
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
  };

  const sequence = (): Pattern => {
    const parts: Pattern[] = [];
    while (at < source.length && peek() !== '|' && peek() !== ')') parts.push(repeated());
    return { kind: 'sequence', parts };
  };

  const repeated = (): Pattern => {
    const start = at;
    const of = atom();
    const count = counts();
    if (count === null) return of;
    if (of.kind === 'assert') fail('an anchor is repeated', start);
    // Lazily or not, the same texts match.
    if (peek() === '?') at++;
    const again = at;
    if (counts() !== null) fail('a repetition is repeated', again);
    return { kind: 'repeat', of, ...count };
  };

  const counts = (): { min: number; max: number } | null => {
    const sign = peek();
    if (sign === '*' || sign === '+' || sign === '?') {
      at++;
      return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY };
    }
    const [whole, least, comma, most] = /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(at, at + 20)) ?? [];
    if (whole === undefined || (comma === '' && most !== '')) return null;
    const min = Number(least);
    const max = comma === '' ? min : most === '' ? Number.POSITIVE_INFINITY : Number(most);
    if (min > MAX_COUNT || (max > MAX_COUNT && max !== Number.POSITIVE_INFINITY) || min > max)
      fail('a repetition cannot be counted so');
    at += whole.length;
    return { min, max };
  };

  const atom = (): Pattern => {
    const character = peek()!;
    if (character === '(') return group();
    if (character === '[') return { kind: 'set', set: bracket() };
    if (character === '*' || character === '+' || character === '?') fail('there is nothing to repeat');
    if (character === '{') fail('a brace that counts nothing is written \\{');
    if (character === '\\') return escaped();
    at++;
    if (character === '^') return { kind: 'assert', what: 'start' };
    if (character === '$') return { kind: 'assert', what: 'end' };
    if (character === '.') return { kind: 'set', set: dotAll ? [[0, LAST]] : negated([[10, 10]]) };
    at--;
    const code = take();
    return { kind: 'set', set: folded([[code, code]]) };
  };

  const group = (): Pattern => {
    const start = at;
    const opening = /^\((?:\?(?::|P?<\w+>))?/.exec(source.slice(at, at + 100))![0];
    at += opening.length;
    if (peek() === '?') fail('this kind of group is not supported', start);
    if (++groups > MAX_GROUPS) fail('its groups are nested too deep', start);
    const inner = choice();
    if (peek() !== ')') fail('a group is not closed', start);
    at++;
    groups--;
    return inner;
  };

  const escaped = (): Pattern => {
    const letter = source[at + 1];
    const assertion = ({ A: 'start', z: 'end', b: 'boundary', B: 'inside' } as const)[letter ?? ''];
    if (assertion !== undefined) {
      at += 2;
      return { kind: 'assert', what: assertion };
    }
    return { kind: 'set', set: escapedSet() };
  };

  /** A class or one character after a backslash. */
  const escapedSet = (): CharacterSet => {
    const start = at;
    at++;
    const letter = peek() ?? fail('it ends with a backslash', start);
    const lower = CLASSES[letter.toLowerCase()];
    if (lower !== undefined) {
      at++;
      return letter === letter.toLowerCase() ? folded(lower) : negated(folded(lower));
    }
    if (CONTROLS[letter] !== undefined) {
      at++;
      return [[CONTROLS[letter]!, CONTROLS[letter]!]];
    }
    const [hex, two, more] =
      /^x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(source.slice(at, at + 10)) ?? [];
    if (hex !== undefined) {
      const code = Number.parseInt(two ?? more!, 16);
      if (code > LAST) fail('there is no such character', start);
      at += hex.length;
      return folded([[code, code]]);
    }
    if (!/[!-/:-@[-`{-~]/.test(letter)) fail(`\\${letter} is not supported`, start);
    const code = take();
    return [[code, code]];
  };

  const bracket = (): CharacterSet => {
    const start = at;
    at++;
    const isNegated = peek() === '^';
    if (isNegated) at++;
    const set: (readonly [number, number])[] = [];
    for (let isFirst = true; isFirst || peek() !== ']'; isFirst = false) {
      if (at >= source.length) fail('a class is not closed', start);
      if (source.startsWith('[:', at)) fail('named classes are not supported');
      const place = at;
      const low = peek() === '\\' ? escapedSet() : single();
      const isRange = peek() === '-' && at + 1 < source.length && source[at + 1] !== ']';
      if (!isRange) {
        set.push(...low);
        continue;
      }
      at++;
      const high = peek() === '\\' ? escapedSet() : single();
      const [from, to] = [low[0]![0], high[0]![0]];
      const isOne = (part: CharacterSet) => part.length === 1 && part[0]![0] === part[0]![1];
      if (!isOne(low) || !isOne(high) || from > to) fail('a range is not one', place);
      set.push([from, to]);
    }
    at++;
    const both = folded(set);
    return isNegated ? negated(both) : both;
  };

  const single = (): CharacterSet => {
    const code = take();
    return [[code, code]];
  };

  const pattern = choice();
  if (at < source.length) fail('a group is closed that is not open');
  return pattern;
}

function negated(set: CharacterSet): CharacterSet {
  const out: (readonly [number, number])[] = [];
  let next = 0;
  for (const [from, to] of set.toSorted(([a], [b]) => a - b)) {
    if (from > next) out.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= LAST) out.push([next, LAST]);
  return out;
}

function withBothCases(set: CharacterSet): CharacterSet {
  const out = [...set];
  const has = (code: number) => set.some(([from, to]) => from <= code && code <= to);
  for (let lower = 97; lower <= 122; lower++) {
    const [one, other] = [has(lower), has(lower - 32)];
    if (one && !other) out.push([lower - 32, lower - 32]);
    if (other && !one) out.push([lower, lower]);
    if (!one && !other) continue;
    for (const [letter, twin] of TWINS) if (letter === lower && !has(twin)) out.push([twin, twin]);
  }
  return out;
}

export function isInSet(set: CharacterSet, code: number): boolean {
  for (const [from, to] of set) if (code >= from && code <= to) return true;
  return false;
}

/** RE2's word characters, for `\b`. */
export function isWord(code: number): boolean {
  return isInSet(WORD, code);
}
