import {
  type Assertion,
  type CharacterSet,
  isInSet,
  isWord,
  type Pattern,
  PatternSyntax,
  readPattern,
} from './pattern-syntax.ts';

// JavaScript's own regular expressions go back and try again, and a text can be made on which that takes for ever.
// This one walks the text once, with all the places that a match could be in at once (K. Thompson, 1968), and keeps
// the sets of places that it met, as RE2 does.

/** What matching may still cost. */
export interface Meter {
  left: number;
}

const MAX_STATES = 400;
const MAX_STEPS = 4000;
/** How many sets of places are kept; then they are forgotten and found again. */
const MAX_CACHED = 500;

type State =
  | { readonly kind: 'character'; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: 'fork'; readonly next: readonly number[] }
  | { readonly kind: 'assert'; readonly what: Assertion; readonly next: number }
  | { readonly kind: 'match' };

const MATCH = 0;

export class Matcher {
  readonly #states: readonly State[];
  readonly #start: number;
  #cache = new Map<string, StateSet>();

  /** Throws `PatternSyntax` for a pattern that is not understood or too large. */
  constructor(source: string) {
    const { states, start } = program(readPattern(source), source);
    this.#states = states;
    this.#start = start;
  }

  /**
   * Whether the pattern matches somewhere in the text. Takes time in proportion to the text. What is not yet known of
   * the sets of places is worked out and charged to the meter; throws when that is used up.
   */
  test(text: string, meter: Meter): boolean {
    let at = this.#stateSet([this.#start], true, false);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      let next = unit < 128 ? at.ascii[unit] : undefined;
      if (next === undefined) {
        const code = text.codePointAt(i)!;
        if (code > 0xffff) i++;
        next = this.#step(at, code, meter);
        if (unit < 128) at.ascii[unit] = next;
      }
      if (next === MATCHED) return true;
      at = next;
    }
    return this.#reached(at, false, true) === null;
  }

  /** The set of places between two characters, before it is known what follows. */
  #stateSet(set: readonly number[], atStart: boolean, afterWord: boolean): StateSet {
    const key = `${atStart ? 's' : afterWord ? 'w' : ''}${set.join()}`;
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    if (this.#cache.size >= MAX_CACHED) this.#cache = new Map();
    const made: StateSet = { set, atStart, afterWord, ascii: [] };
    this.#cache.set(key, made);
    return made;
  }

  #step(from: StateSet, code: number, meter: Meter): StateSet | typeof MATCHED {
    const now = this.#reached(from, isWord(code), false);
    if (now === null) return MATCHED;
    meter.left -= now.length;
    if (meter.left < 0) throw new Error('the meter is used up');
    const next = new Set([this.#start]);
    for (const state of now) {
      const found = this.#states[state]!;
      if (found.kind === 'character' && isInSet(found.set, code)) next.add(found.next);
    }
    const set = [...next].sort((a, b) => a - b);
    return this.#stateSet(set, false, isWord(code));
  }

  /** All states that are reached without a character; null when the match is among them. */
  #reached(from: StateSet, beforeWord: boolean, atEnd: boolean): number[] | null {
    const seen = new Set(from.set);
    for (const state of seen) {
      const found = this.#states[state]!;
      if (found.kind === 'match') return null;
      if (found.kind === 'fork') for (const next of found.next) seen.add(next);
      if (found.kind === 'assert' && holds(found.what, from, beforeWord, atEnd)) seen.add(found.next);
    }
    return [...seen];
  }
}

interface StateSet {
  readonly set: readonly number[];
  readonly atStart: boolean;
  readonly afterWord: boolean;
  /** Where each ASCII character leads, as far as it was met. */
  readonly ascii: (StateSet | typeof MATCHED)[];
}
const MATCHED = 'matched';

function holds(
  what: Assertion,
  { atStart, afterWord }: StateSet,
  beforeWord: boolean,
  atEnd: boolean,
): boolean {
  if (what === 'start') return atStart;
  if (what === 'end') return atEnd;
  return (afterWord !== beforeWord) === (what === 'boundary');
}

/** The states of a pattern, each built when those that follow it are known. */
function program(pattern: Pattern, source: string): { states: readonly State[]; start: number } {
  const states: State[] = [{ kind: 'match' }];
  const add = (state: State): number => {
    if (states.length >= MAX_STATES) throw new PatternSyntax('it is too large', source.length);
    return states.push(state) - 1;
  };
  // A repetition of nothing adds no state, and many of them inside each other would never end.
  let steps = 0;
  const build = (part: Pattern, next: number): number => {
    if (++steps > MAX_STEPS) throw new PatternSyntax('it is too large', source.length);
    switch (part.kind) {
      case 'set':
        return add({ kind: 'character', set: part.set, next });
      case 'assert':
        return add({ kind: 'assert', what: part.what, next });
      case 'sequence':
        return part.parts.reduceRight((after, inner) => build(inner, after), next);
      case 'choice':
        return add({ kind: 'fork', next: part.parts.map((inner) => build(inner, next)) });
      case 'repeat':
        return repeat(part, next);
    }
  };
  const repeat = ({ of, min, max }: Pattern & { kind: 'repeat' }, next: number): number => {
    let after = next;
    if (max === Number.POSITIVE_INFINITY) {
      const ways: number[] = [next];
      after = add({ kind: 'fork', next: ways });
      ways.push(build(of, after));
    } else {
      for (let i = min; i < max; i++) after = add({ kind: 'fork', next: [build(of, after), next] });
    }
    for (let i = 0; i < min; i++) after = build(of, after);
    return after;
  };
  return { start: build(pattern, MATCH), states };
}
