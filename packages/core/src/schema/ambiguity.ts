import { circles } from './circles.ts';
import { type Expression, type Node, readExpression } from './regex.ts';
import type { Budget } from './steps.ts';

/**
 * What is known of the time that a pattern can take: `safe`, never exponential in the length of a text; `explodes`,
 * there are texts on which a backtracking engine takes exponential time; `unproven`, it is too intricate to tell.
 * A pattern that is merely quadratic is `safe` here.
 */
type PatternCost = 'safe' | 'explodes' | 'unproven';

/** Repetitions whose bounds, multiplied with those around and inside, stay below this cost little whatever they do. */
const SMALL = 16;
/** More positions for characters than this are not gone through. */
const MAX_POSITIONS = 400;

/**
 * A pattern explodes if one text can be read in two ways and the reader can be back where it was after both: then each
 * repetition doubles the ways. This is decided on the automaton of the pattern's positions (Glushkov), in which a step
 * that the pattern allows in two ways counts as two. Sets of characters are compared on a sample: all of ASCII, all
 * that the pattern writes with its neighbours, and a spread over the rest of Unicode. The pattern must be one that the
 * engine accepts with the flag `u`; it is never run.
 */
export function patternCost(pattern: string, budget: Budget): PatternCost {
  if (!/[*+{]/.test(pattern)) return 'safe';
  const expression = readExpression(pattern);
  if (expression === undefined) return 'unproven';
  const loops = realLoops(expression);
  if (!loops.some((real, i) => real && hasChoice(expression.nodes, i))) return 'safe';
  const automaton = automatonOf(expression, loops, budget);
  if (automaton === undefined) return 'unproven';
  return automaton.explodes ? 'explodes' : isAmbiguous(automaton, expression, budget);
}

/** Which repetitions count as endless. Bounds that are small, alone and together, do not. */
function realLoops({ nodes }: Expression): boolean[] {
  const inside = nodes.map(() => 1);
  nodes.forEach((node, i) => {
    if (node.kind === 'repeat') inside[i] = inside[node.body]! * Math.max(1, node.max);
    else if (node.kind === 'choice') inside[i] = node.parts.reduce((sum, part) => sum + inside[part]!, 0);
    else if (node.kind === 'sequence')
      inside[i] = node.parts.reduce((most, part) => Math.max(most, inside[part]!), 1);
  });
  const around = nodes.map(() => 1);
  const real = nodes.map(() => false);
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i]!;
    if (node.kind === 'repeat') {
      // A fixed number of times inside another repetition adds no way to share a text out.
      const fixed = node.min === node.max && around[i]! > 1;
      real[i] = node.max > 1 && !fixed && around[i]! * inside[i]! > SMALL;
      around[node.body] = around[i]! * Math.max(1, node.max);
    } else if (node.kind === 'choice' || node.kind === 'sequence') {
      for (const part of node.parts) around[part] = around[i]!;
    }
  }
  return real;
}

/** Whether what is repeated can itself be read in several ways: without that a loop has one way for each text. */
function hasChoice(nodes: readonly Node[], loop: number): boolean {
  const node = nodes[loop]!;
  const open = node.kind === 'repeat' ? [node.body] : [];
  for (let i = open.pop(); i !== undefined; i = open.pop()) {
    const inner = nodes[i]!;
    if (inner.kind === 'choice' || (inner.kind === 'repeat' && inner.min !== inner.max)) return true;
    if (inner.kind === 'repeat') open.push(inner.body);
    if (inner.kind === 'sequence') for (const part of inner.parts) open.push(part);
  }
  return false;
}

/** Places, each with in how many ways it is met: one, or several. */
type Ways = Map<number, 1 | 2>;

interface Fragment {
  readonly nullable: 0 | 1 | 2;
  readonly first: Ways;
  readonly last: Ways;
}

interface Automaton {
  /** The set of characters of each position. */
  readonly sources: readonly string[];
  readonly next: readonly Ways[];
  /** It is seen at once that there are too many ways. */
  readonly explodes: boolean;
}

function automatonOf(
  { nodes }: Expression,
  loops: readonly boolean[],
  budget: Budget,
): Automaton | undefined {
  const sources: string[] = [];
  const next: Ways[] = [];
  let explodes = false;
  const link = (from: Ways, to: Ways): boolean => {
    if (!budget.take(from.size * to.size)) return false;
    for (const [position, ways] of from)
      for (const [target, more] of to) enter(next[position]!, target, times(ways, more));
    return true;
  };
  const fragments: Fragment[] = [];
  for (const [i, node] of nodes.entries()) {
    if (!budget.take(1)) return undefined;
    if (node.kind === 'set') {
      if (sources.length === MAX_POSITIONS) return undefined;
      const position: Ways = new Map([[sources.length, 1]]);
      sources.push(node.source);
      next.push(new Map());
      fragments.push({ nullable: 0, first: position, last: position });
    } else if (node.kind === 'empty') {
      fragments.push(EMPTY);
    } else if (node.kind === 'choice') {
      const parts = node.parts.map((part) => fragments[part]!);
      if (!budget.take(parts.reduce((sum, { first, last }) => sum + first.size + last.size, 0)))
        return undefined;
      const nullable = parts.reduce<0 | 1 | 2>((sum, part) => plus(sum, part.nullable), 0);
      const first = joined(parts.map((part) => part.first));
      fragments.push({ nullable, first, last: joined(parts.map((part) => part.last)) });
    } else if (node.kind === 'sequence') {
      let whole = EMPTY;
      for (const part of node.parts) {
        const own = fragments[part]!;
        if (!link(whole.last, own.first) || !budget.take(own.first.size + own.last.size)) return undefined;
        whole = {
          nullable: times(whole.nullable, own.nullable),
          first:
            whole.nullable === 0 ? whole.first : joined([whole.first, scaled(own.first, whole.nullable)]),
          last: own.nullable === 0 ? own.last : joined([scaled(whole.last, own.nullable), own.last]),
        };
      }
      fragments.push(whole);
    } else {
      const body = fragments[node.body]!;
      if (loops[i]) {
        // Iterations that take nothing are permitted as long as the least number is not reached.
        if (body.nullable > 0 && body.first.size > 0 && node.min >= SMALL / 2) explodes = true;
        if (!link(body.last, body.first)) return undefined;
      }
      fragments.push(node.min === 0 ? { ...body, nullable: 1 } : body);
    }
  }
  return { sources, next, explodes };
}

const EMPTY: Fragment = { nullable: 1, first: new Map(), last: new Map() };

function enter(ways: Ways, position: number, more: 1 | 2): void {
  ways.set(position, ways.has(position) ? 2 : more);
}

function joined(all: readonly Ways[]): Ways {
  if (all.length === 1) return all[0]!;
  const whole: Ways = new Map();
  for (const ways of all) for (const [position, more] of ways) enter(whole, position, more);
  return whole;
}

function scaled(ways: Ways, by: 1 | 2): Ways {
  return by === 1 ? ways : new Map(Array.from(ways.keys(), (position) => [position, 2]));
}

const plus = (a: number, b: number) => Math.min(2, a + b) as 0 | 1 | 2;
const times = <A extends 0 | 1 | 2>(a: A, b: A) => Math.min(2, a * b) as A;

/**
 * Whether two different ways lead from a position back to it over the same text: pairs of positions that can be reached
 * together are followed, from equal ones to different ones and back.
 */
function isAmbiguous({ sources, next }: Automaton, expression: Expression, budget: Budget): PatternCost {
  const circle = circles(next.keys(), (position) => [...next[position]!.keys()]);
  const inner = next.map((ways, position) =>
    [...ways].filter(([target]) => circle.has(position) && circle.get(target) === circle.get(position)),
  );
  if (inner.some((steps) => steps.some(([, ways]) => ways === 2))) return 'explodes';
  // Looking through the sample is the dear part.
  if (!budget.take(new Set(sources).size * (SPREAD.length + expression.points.length))) return 'unproven';
  const overlaps = overlapping(sources, expression.points);
  const seen = new Set<number>();
  const open: [number, number][] = inner.flatMap((steps, position) =>
    steps.length === 0 ? [] : [[position, position] as [number, number]],
  );
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [a, b] = pair;
    if (!budget.take(inner[a]!.length * inner[b]!.length)) return 'unproven';
    for (const [x] of inner[a]!) {
      for (const [y] of inner[b]!) {
        if (x === y) {
          if (a !== b) return 'explodes';
          continue;
        }
        const key = Math.min(x, y) * sources.length + Math.max(x, y);
        if (seen.has(key) || !overlaps(x, y)) continue;
        seen.add(key);
        open.push([x, y]);
      }
    }
  }
  return 'safe';
}

/** Whether two positions can take the same character, as far as the sample tells. */
function overlapping(
  sources: readonly string[],
  points: readonly number[],
): (a: number, b: number) => boolean {
  const sample = new Set<number>(SPREAD);
  for (const point of points) for (const near of [point - 1, point, point + 1]) sample.add(near);
  const characters = [...sample]
    .filter((point) => point >= 0 && point <= 0x10ffff && (point & 0xfffff800) !== 0xd800)
    .map((point) => String.fromCodePoint(point));
  const taken = new Map<string, ReadonlySet<string>>();
  const takes = (source: string) => {
    const known = taken.get(source);
    if (known !== undefined) return known;
    const expression = new RegExp(`^(?:${source})$`, 'u');
    const found = new Set(characters.filter((character) => expression.test(character)));
    taken.set(source, found);
    return found;
  };
  const known = new Map<string, boolean>();
  return (a, b) => {
    const [one, other] = [sources[a]!, sources[b]!];
    if (one === other) return true;
    const key = one < other ? `${one} ${other}` : `${other} ${one}`;
    const answer = known.get(key) ?? characters.some((c) => takes(one).has(c) && takes(other).has(c));
    known.set(key, answer);
    return answer;
  };
}

const SPREAD: readonly number[] = [
  ...Array.from({ length: 0x180 }, (_, i) => i),
  ...Array.from({ length: 0x1fd }, (_, i) => 0x180 + i * 0x80),
  ...[0x10000, 0x10400, 0x1d400, 0x1f600, 0x20000, 0xe0041],
];
