import { UNSPACED } from './characters.ts';

/** A piece of two texts: in both, only in the first, or only in the second. */
export interface DiffPart {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/**
 * Words, runs of white space, and single other characters with their marks; where a script puts no spaces between
 * words, each letter counts as one. Longer runs count as several. Plain character classes, not
 * `Intl.Segmenter`, whose words depend on the version of the engine's dictionaries.
 */
const WORDS = new RegExp(
  `[${UNSPACED}]\\p{M}{0,65535}|[[\\p{L}\\p{N}_]--[${UNSPACED}]][[\\p{L}\\p{M}\\p{N}_]--[${UNSPACED}]]{0,65535}|\\s{1,65535}|[^]\\p{M}{0,65535}`,
  'gv',
);

/** Over this many differences between two stretches the exact search stops; it bounds time and memory. */
const MAX_DIFFERENCES = 400;

/**
 * What changed between two texts, word by word. The parts `same` and `removed` joined give `before`, `same` and
 * `added` joined give `after`, exactly. Of a change the removed part comes first; white space alone between two
 * changes belongs to them. The shortest difference is found (Myers) where it is at most 400 words; where two
 * stretches differ more, they are cut at words that occur once in each (patience), and a stretch in between that still
 * differs more is told as wholly removed and added. So the time grows with the length, not with its square.
 */
export function wordDiff(before: string, after: string): DiffPart[] {
  return diff(before.match(WORDS) ?? [], after.match(WORDS) ?? []);
}

/** A stretch of both lists: `[a0, a1)` and `[b0, b1)`. */
interface Box {
  readonly a0: number;
  readonly a1: number;
  readonly b0: number;
  readonly b1: number;
}

function diff(before: readonly string[], after: readonly string[]): DiffPart[] {
  const numbers = new Map<string, number>();
  const number = (token: string) => {
    const known = numbers.get(token) ?? numbers.size;
    numbers.set(token, known);
    return known;
  };
  const a = Int32Array.from(before, number);
  const b = Int32Array.from(after, number);
  // For each token of `after` its partner in `before`, or -1.
  const partner = new Int32Array(b.length).fill(-1);
  const whole = match(a, b, partner, { a0: 0, a1: a.length, b0: 0, b1: b.length });
  if (whole !== undefined) {
    for (const box of anchored(a, b, partner, whole)) match(a, b, partner, box);
  }
  return joined(before, after, partner);
}

/** Pairs the equal tokens of a box; returns what is left of it, without its equal ends, if that differs too much. */
function match(a: Int32Array, b: Int32Array, partner: Int32Array, box: Box): Box | undefined {
  let { a0, a1, b0, b1 } = box;
  while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) partner[b0++] = a0++;
  while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]) partner[--b1] = --a1;
  const rest = { a0, a1, b0, b1 };
  return myers(a, b, partner, rest) ? undefined : rest;
}

/**
 * E. Myers, "An O(ND) Difference Algorithm and Its Variations": the furthest reaching paths for 0, 1, 2 … differences,
 * and back along them. False if there are more than `MAX_DIFFERENCES`.
 */
function myers(a: Int32Array, b: Int32Array, partner: Int32Array, { a0, a1, b0, b1 }: Box): boolean {
  const n = a1 - a0;
  const m = b1 - b0;
  if (n === 0 || m === 0) return true;
  if (Math.abs(n - m) > MAX_DIFFERENCES) return false;
  const trace: Int32Array[] = [];
  const middle = MAX_DIFFERENCES + 1;
  const reach = new Int32Array(2 * middle + 1);
  for (let d = 0; d <= MAX_DIFFERENCES; d++) {
    trace.push(reach.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[middle + k - 1]! < reach[middle + k + 1]!);
      let x = down ? reach[middle + k + 1]! : reach[middle + k - 1]! + 1;
      let y = x - k;
      while (x < n && y < m && a[a0 + x] === b[b0 + y]) {
        x++;
        y++;
      }
      reach[middle + k] = x;
      if (x >= n && y >= m) {
        walkBack(trace, partner, a0, b0, n, m);
        return true;
      }
    }
  }
  return false;
}

function walkBack(
  trace: Int32Array[],
  partner: Int32Array,
  a0: number,
  b0: number,
  n: number,
  m: number,
): void {
  let [x, y] = [n, m];
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d]!;
    const at = (k: number) => reach[k + d + 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const [fromX, fromK] = d === 0 ? [0, 0] : down ? [at(k + 1), k + 1] : [at(k - 1), k - 1];
    const fromY = fromX - fromK;
    // The diagonal comes after the one step down or right.
    const startX = d === 0 ? 0 : down ? fromX : fromX + 1;
    while (x > startX) partner[b0 + --y] = a0 + --x;
    [x, y] = [fromX, fromY];
  }
}

/**
 * Pairs the tokens that occur once in each list of a box, in the longest order that both share, and returns the
 * stretches between them.
 */
function anchored(a: Int32Array, b: Int32Array, partner: Int32Array, box: Box): Box[] {
  const once = new Map<number, number>();
  for (let i = box.a0; i < box.a1; i++) once.set(a[i]!, once.has(a[i]!) ? -1 : i);
  const inAfter = new Map<number, number>();
  for (let j = box.b0; j < box.b1; j++) inAfter.set(b[j]!, inAfter.has(b[j]!) ? -1 : j);
  const pairs: { i: number; j: number; previous: number }[] = [];
  // The ends of the best increasing runs of each length, as indices into `pairs`.
  const ends: number[] = [];
  for (const [token, j] of inAfter) {
    const i = once.get(token) ?? -1;
    if (i < 0 || j < 0) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]!]!.i < i) low = middle + 1;
      else high = middle;
    }
    pairs.push({ i, j, previous: low === 0 ? -1 : ends[low - 1]! });
    ends[low] = pairs.length - 1;
  }
  const boxes: Box[] = [];
  let { a1, b1 } = box;
  for (let at = ends.at(-1) ?? -1; at >= 0; at = pairs[at]!.previous) {
    const { i, j } = pairs[at]!;
    partner[j] = i;
    boxes.push({ a0: i + 1, a1, b0: j + 1, b1 });
    [a1, b1] = [i, j];
  }
  boxes.push({ a0: box.a0, a1, b0: box.b0, b1 });
  return boxes;
}

/** The parts in order, neighbours of one kind joined. */
function joined(before: readonly string[], after: readonly string[], partner: Int32Array): DiffPart[] {
  const parts: DiffPart[] = [];
  let [same, removed, added] = ['', '', ''];
  const flush = () => {
    if (removed !== '') parts.push({ kind: 'removed', text: removed });
    if (added !== '') parts.push({ kind: 'added', text: added });
    [removed, added] = ['', ''];
  };
  const change = () => {
    if (same === '') return;
    if ((removed !== '' || added !== '') && /^\s+$/.test(same)) {
      removed += same;
      added += same;
    } else {
      flush();
      parts.push({ kind: 'same', text: same });
    }
    same = '';
  };
  let i = 0;
  for (let j = 0; j <= after.length; j++) {
    const end = j < after.length ? partner[j]! : before.length;
    if (end < 0) {
      change();
      added += after[j];
      continue;
    }
    if (i < end) change();
    while (i < end) removed += before[i++];
    if (j < after.length) {
      same += after[j];
      i++;
    }
  }
  flush();
  if (same !== '') parts.push({ kind: 'same', text: same });
  return parts;
}
