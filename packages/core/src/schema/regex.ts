/** A regular expression as a list of nodes, each after those inside it, so that no walk over it needs to recurse. */
export interface Expression {
  readonly nodes: readonly Node[];
  /** Code points at which sets of characters may begin or end. */
  readonly points: readonly number[];
}

export type Node =
  /** One character out of a set, written as it stands. */
  | { readonly kind: 'set'; readonly source: string }
  /** What takes no character: an anchor, an empty group, a lookaround. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'sequence'; readonly parts: readonly number[] }
  | { readonly kind: 'choice'; readonly parts: readonly number[] }
  | { readonly kind: 'repeat'; readonly body: number; readonly min: number; readonly max: number };

interface Group {
  readonly lookaround: boolean;
  readonly branches: number[];
  sequence: number[];
}

const QUANTIFIER = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/uy;
const OPENING = /\((?:\?(?::|(<?[=!])|<[^>]*>))?/uy;
const CLASS = /\[(?:[^\\\]]|\\.)*\]/uy;
const ESCAPE =
  /\\(?:([1-9]\d*|k<[^>]*>)|([bB])|[pP]\{[^}]*\}|u\{[^}]*\}|ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|.)/isuy;
const CODE =
  /\\u\{([\da-f]+)\}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u([\da-f]{4})|\\x([\da-f]{2})|./gisu;

/**
 * Takes apart a regular expression that the engine has accepted with the flag `u`. Undefined when it changes its own
 * flags midway, which is not followed here. Takes linear time.
 */
export function readExpression(pattern: string): Expression | undefined {
  const nodes: Node[] = [];
  const add = (node: Node) => nodes.push(node) - 1;
  const close = ({ branches, sequence }: Group) => {
    const all = [...branches, add({ kind: 'sequence', parts: sequence })];
    return all.length === 1 ? all[0]! : add({ kind: 'choice', parts: all });
  };
  const open: Group[] = [{ lookaround: false, branches: [], sequence: [] }];
  for (let i = 0; i < pattern.length; ) {
    const group = open.at(-1)!;
    const c = pattern[i]!;
    if (c === '(') {
      const [text, lookaround] = at(OPENING, pattern, i);
      if (text === '(' && pattern[i + 1] === '?') return undefined;
      open.push({ lookaround: lookaround !== undefined, branches: [], sequence: [] });
      i += text.length;
    } else if (c === ')') {
      open.pop();
      const whole = close(group);
      open.at(-1)!.sequence.push(group.lookaround ? add({ kind: 'empty' }) : whole);
      i++;
    } else if (c === '|') {
      group.branches.push(add({ kind: 'sequence', parts: group.sequence }));
      group.sequence = [];
      i++;
    } else if (c === '^' || c === '$') {
      i++;
    } else if ('*+?{'.includes(c)) {
      const [text, min, comma, max] = at(QUANTIFIER, pattern, i);
      const body = group.sequence.pop()!;
      const [low, high] =
        min === undefined
          ? [c === '+' ? 1 : 0, c === '?' ? 1 : Number.POSITIVE_INFINITY]
          : [Number(min), comma === '' ? Number(min) : max === '' ? Number.POSITIVE_INFINITY : Number(max)];
      group.sequence.push(add({ kind: 'repeat', body, min: low, max: high }));
      i += text.length;
    } else {
      const [text, back, border] =
        c === '\\' ? at(ESCAPE, pattern, i) : c === '[' ? at(CLASS, pattern, i) : [character(pattern, i)];
      if (back !== undefined) {
        // What a group took once more: anything, as far as can be told here.
        const body = add({ kind: 'set', source: '[^]' });
        group.sequence.push(add({ kind: 'repeat', body, min: 0, max: Number.POSITIVE_INFINITY }));
      } else if (border === undefined) group.sequence.push(add({ kind: 'set', source: text }));
      i += text.length;
    }
  }
  close(open[0]!);
  return { nodes, points: pointsOf(pattern) };
}

/** What the expression finds at this very place; the engine has accepted the pattern, so that it is there. */
function at(expression: RegExp, text: string, index: number): [string, ...(string | undefined)[]] {
  expression.lastIndex = index;
  const match = expression.exec(text);
  return match === null ? [character(text, index)] : [match[0], ...match.slice(1)];
}

function character(text: string, index: number): string {
  return String.fromCodePoint(text.codePointAt(index)!);
}

function pointsOf(pattern: string): number[] {
  return Array.from(pattern.matchAll(CODE), ([text, braced, four, two]) => {
    const hex = braced ?? four ?? two;
    if (hex !== undefined) return Number.parseInt(hex, 16);
    if (text.length < 12) return text.codePointAt(0)!;
    const [high, low] = [text.slice(2, 6), text.slice(8, 12)].map((part) => Number.parseInt(part, 16));
    return String.fromCharCode(high!, low!).codePointAt(0)!;
  });
}
