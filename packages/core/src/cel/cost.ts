import type { ASTNode } from '@marcbachmann/cel-js';
import { MATCHES } from './environment.ts';
import { fieldOf, larger, listSize, NOTHING, partOf, type Size, textSize } from './size.ts';

// The library cannot stop an evaluation that takes too long, so nothing is started that could. What an expression
// costs at most is reckoned from its text and from the sizes of the lists and strings that it will meet. A unit is
// about one step of the library's; the limit is the released program's.

/** What one rule may cost. */
export const MAX_COST = 1_000_000;
/** What all rules of a policy together may cost in one evaluation. */
export const MAX_TOTAL_COST = 10_000_000;

interface Estimate {
  readonly cost: number;
  readonly size: Size;
}

type Scope = ReadonlyMap<string, Size>;

/** The most that an expression can cost for an input of this size. */
export function costOf(expression: ASTNode, input: Size): number {
  return estimate(expression, new Map([['input', input]])).cost;
}

/** The nesting of an expression is limited before it comes here. */
function estimate(node: ASTNode, scope: Scope): Estimate {
  const of = (inner: ASTNode) => estimate(inner, scope);
  switch (node.op) {
    case 'value':
      return { cost: 1, size: typeof node.args === 'string' ? textSize(node.args.length) : NOTHING };
    case 'id':
      return { cost: 1, size: scope.get(node.args) ?? NOTHING };
    case '.':
    case '.?': {
      const left = of(node.args[0]);
      return { cost: left.cost + 1, size: fieldOf(left.size, node.args[1]) };
    }
    case '[]':
    case '[?]': {
      const [left, index] = node.args.map(of) as [Estimate, Estimate];
      const key = node.args[1].op === 'value' ? node.args[1].args : undefined;
      const size = typeof key === 'string' ? fieldOf(left.size, key) : partOf(left.size);
      return { cost: left.cost + index.cost + 1, size };
    }
    case 'list':
      return literal(node.args.map(of));
    case 'map':
      return literal(node.args.flatMap(([key, value]) => [of(key), of(value)]));
    case '?:': {
      const [condition, yes, no] = node.args.map(of) as [Estimate, Estimate, Estimate];
      return {
        cost: condition.cost + Math.max(yes.cost, no.cost) + 1,
        size: larger(yes.size, no.size),
      };
    }
    case '!_':
    case '-_':
      return { cost: of(node.args).cost + 1, size: NOTHING };
    case 'call':
      return call(node.args[0], node.args[1].map(of));
    case 'rcall':
      return method(node.args, scope);
    default: {
      const [left, right] = (node.args as [ASTNode, ASTNode]).map(of) as [Estimate, Estimate];
      return binary(node.op, left, right);
    }
  }
}

function literal(elements: readonly Estimate[]): Estimate {
  const part = elements.reduce((size, element) => larger(size, element.size), NOTHING);
  const weight = elements.reduce((sum, { size }) => sum + size.weight, 1);
  const cost = elements.reduce((sum, element) => sum + element.cost, 1);
  return { cost, size: listSize(elements.length, part, weight) };
}

function binary(op: string, left: Estimate, right: Estimate): Estimate {
  const cost = left.cost + right.cost + 1;
  const [a, b] = [left.size, right.size];
  switch (op) {
    case '==':
    case '!=':
      return { cost: cost + Math.min(a.weight, b.weight), size: NOTHING };
    case 'in':
      return { cost: cost + b.length * (1 + Math.min(a.weight, partOf(b).weight)), size: NOTHING };
    case '+': {
      const length = a.length + b.length;
      const text = a.text + b.text;
      const size = listSize(length, larger(partOf(a), partOf(b)), a.weight + b.weight, text);
      return { cost: cost + length + text / 64, size };
    }
    case '<':
    case '<=':
    case '>':
    case '>=':
      return { cost: cost + Math.min(a.text, b.text) / 64, size: NOTHING };
    default:
      return { cost, size: NOTHING };
  }
}

function call(name: string, args: readonly Estimate[]): Estimate {
  const cost = args.reduce((sum, argument) => sum + argument.cost, 1);
  const size = args[0]?.size ?? NOTHING;
  // `has` walks a path that was charged already; the others look at a text once.
  if (name === 'has' || name === 'type') return { cost, size: NOTHING };
  if (name === 'dyn') return { cost, size };
  // The text of a number is short.
  return { cost: cost + size.text / 16, size: name === 'string' ? textSize(size.text + 32) : NOTHING };
}

const QUANTIFIERS = ['all', 'exists', 'exists_one'];

function method([name, receiver, args]: (ASTNode & { op: 'rcall' })['args'], scope: Scope): Estimate {
  const range = estimate(receiver, scope);
  const isLoop = QUANTIFIERS.includes(name) || name === 'map' || name === 'filter';
  if (!isLoop) {
    const others = args.map((argument) => estimate(argument, scope));
    const cost = others.reduce((sum, argument) => sum + argument.cost, range.cost + 1);
    return { cost: cost + reading(name, range.size.text, others[0]?.size.text ?? 0), size: NOTHING };
  }
  // Over a map the keys are walked, whose length is the map's text.
  const part = partOf(range.size);
  const each = new Map(scope).set((args[0] as ASTNode & { op: 'id' }).args, {
    ...part,
    text: Math.max(part.text, range.size.text),
  });
  const steps = args.slice(1).map((step) => estimate(step, each));
  const step = steps.reduce((sum, { cost }) => sum + cost, 1);
  const { length } = range.size;
  const cost = range.cost + 1 + length * step;
  if (QUANTIFIERS.includes(name)) return { cost, size: NOTHING };
  if (name === 'filter') return { cost, size: range.size };
  const made = steps.at(-1)!.size;
  return { cost, size: listSize(length, made, 1 + length * made.weight) };
}

/** What it costs to read a text for another. */
function reading(name: string, text: number, other: number): number {
  switch (name) {
    case 'startsWith':
    case 'endsWith':
      return Math.min(text, other) / 64;
    case 'contains':
      // At worst every place of the text is compared with a part of the other.
      return (text / 64) * Math.max(1, other / 4);
    case MATCHES:
      return text / 8;
    default:
      return text / 16;
  }
}
