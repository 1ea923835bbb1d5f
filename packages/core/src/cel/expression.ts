import {
  type ASTNode,
  TypeError as CheckError,
  EvaluationError,
  ParseError,
  type ParseResult,
} from '@marcbachmann/cel-js';
import type { Code } from '../codes.ts';
import { costOf, MAX_COST } from './cost.ts';
import { environmentOf, MATCHES, MAX_EXPRESSION, MAX_NESTING } from './environment.ts';
import { Matcher } from './pattern.ts';
import { PatternSyntax } from './pattern-syntax.ts';
import type { Vocabulary } from './records.ts';
import { NOTHING, type Size } from './size.ts';

/** An expression that can be evaluated for inputs of one shape. */
export interface Program {
  /** Throws what the library throws. */
  run(input: unknown): unknown;
  /** The most that it can cost for an input of this size. */
  cost(input: Size): number;
  /** Whether it may look at this member of the input. What is not named is never looked at. */
  reads(path: readonly string[]): boolean;
}

/** Why an expression cannot be evaluated, and where in it. */
export interface Fault {
  readonly code: Code;
  readonly message: string;
  readonly offset: number;
}

/** The standard functions without those for times, bytes and unsigned numbers, of which an input has none. */
const FUNCTIONS = new Set([
  ...['has', 'all', 'exists', 'exists_one', 'map', 'filter'],
  ...['size', 'contains', 'startsWith', 'endsWith', 'matches'],
  ...['type', 'dyn', 'bool', 'int', 'double', 'string'],
]);

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;
/** The library drops these from maps that an expression writes. */
const LOST_KEYS = ['__proto__', 'constructor', 'prototype'];

/**
 * Makes a program of an expression, or tells why none can be made: it cannot be parsed, it uses what an input of this
 * shape never has, its types do not fit, it does not give true or false, or it costs too much for any input.
 */
export function compile<Shape extends string>(
  text: string,
  vocabulary: Vocabulary<Shape>,
  shape: Shape,
): Program | readonly Fault[] {
  const { fields } = vocabulary;
  if (text.length > MAX_EXPRESSION)
    return [fault('POLICY_EXPRESSION_LIMIT', `An expression has at most ${MAX_EXPRESSION} characters.`, 0)];
  let parsed: ParseResult;
  try {
    parsed = environmentOf(vocabulary, shape).parse(text);
  } catch (error) {
    return [parseFault(error)];
  }
  const before = [...shapeFaults(parsed.ast)];
  if (before.length > 0) return before;
  const { valid, type, error } = parsed.check();
  if (!valid) return [typeFault(error, fields)];
  const after = [...fieldFaults(parsed.ast, fields)];
  if (type !== 'bool') {
    const message = `A rule must be true or false, and this is ${type === 'dyn' ? 'of no certain type; compare it with something' : `of type ${type}`}.`;
    after.push(fault('POLICY_EXPRESSION', message, 0));
  }
  if (after.length === 0 && costOf(parsed.ast, NOTHING) > MAX_COST) {
    const message = `This costs more than ${MAX_COST} steps whatever the input is.`;
    after.push(fault('POLICY_EXPRESSION_LIMIT', message, 0));
  }
  if (after.length > 0) return after;
  const named = namedPaths(parsed.ast);
  return {
    run: (input) => parsed({ input }),
    cost: (input) => costOf(parsed.ast, input),
    reads: (path) => named.some((used) => used.every((name, i) => i >= path.length || name === path[i])),
  };
}

/**
 * The members of the input that an expression names, each as far as the names are written out. Where the input or a part
 * of it is used as a whole, all of that part is named: the path ends there.
 */
function namedPaths(root: ASTNode): readonly (readonly string[])[] {
  const parents = new Map<ASTNode, ASTNode | null>();
  for (const [node, parent] of nodes(root)) parents.set(node, parent);
  return [...parents.keys()].flatMap((node) => {
    if (node.op !== 'id' || node.args !== 'input') return [];
    const path: string[] = [];
    for (let inner: ASTNode = node; ; ) {
      const outer = parents.get(inner);
      const name = outer == null ? null : memberName(outer, inner);
      if (name === null) return [path];
      path.push(name);
      inner = outer!;
    }
  });
}

/** The name by which a node takes a member of another one; null where it does something else with it. */
function memberName(node: ASTNode, of: ASTNode): string | null {
  if (node.op === '.' || node.op === '.?') {
    const name: unknown = node.args[1];
    return typeof name === 'string' ? name : null;
  }
  if ((node.op !== '[]' && node.op !== '[?]') || node.args[0] !== of) return null;
  const [, key] = node.args;
  return key.op === 'value' && typeof key.args === 'string' ? key.args : null;
}

function fault(code: Code, message: string, offset: number): Fault {
  return { code, message, offset };
}

function parseFault(error: unknown): Fault {
  // The parser recurses over signs that it does not count, so a chain of them can end its stack.
  if (error instanceof RangeError)
    return fault('POLICY_EXPRESSION_LIMIT', 'The expression is nested too deep.', 0);
  if (!(error instanceof ParseError)) throw error;
  const isLimit = error.code === 'limit_exceeded';
  const message = isLimit ? 'The expression is too large' : `This is not CEL: ${error.summary}`;
  return fault(
    isLimit ? 'POLICY_EXPRESSION_LIMIT' : 'POLICY_EXPRESSION',
    `${message}.`,
    error.range?.start ?? 0,
  );
}

function typeFault(error: unknown, fields: Vocabulary['fields']): Fault {
  if (error instanceof RangeError)
    return fault('POLICY_EXPRESSION_LIMIT', 'The expression is nested too deep.', 0);
  // The library's own complaint where it finds two ways to read an operator, as in `[].all(e, e > 0)`.
  if (!(error instanceof CheckError))
    return fault('POLICY_EXPRESSION', 'The types cannot be told; write dyn() around what is uncertain.', 0);
  const { code, summary, range, node } = error;
  const offset = range?.start ?? 0;
  if (code === 'no_such_key' && node !== undefined && (node.op === '.' || node.op === '[]')) {
    const key = node.op === '.' ? node.args[1] : String((node.args[1] as ASTNode).args);
    return missingField(key, fields.get(typeOf(node.args[0]) ?? ''), node.pos ?? offset);
  }
  if (code === 'unknown_variable') {
    const name = (node as ASTNode & { op: 'id' }).args;
    return fault('POLICY_EXPRESSION_FIELD', `There is no variable ${name}; a rule speaks of input.`, offset);
  }
  return fault('POLICY_EXPRESSION', `The types do not fit: ${summary}.`, offset);
}

function missingField(name: string, record: ReadonlyMap<string, unknown> | undefined, offset: number): Fault {
  const known = record === undefined ? '' : ` There are ${[...record.keys()].join(', ')}.`;
  return fault(
    'POLICY_EXPRESSION_FIELD',
    `The input never has a field ${JSON.stringify(name)} here.${known}`,
    offset,
  );
}

/** The type that the check found; the library keeps it on the node without saying so. */
function typeOf(node: ASTNode): string | undefined {
  return (node as { checkedType?: { name: string } }).checkedType?.name;
}

function children(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    case '!_':
    case '-_':
      return [node.args];
    default:
      return node.args;
  }
}

/** Every node, and how deep it lies, without recursion. */
function* nodes(root: ASTNode): Generator<[node: ASTNode, parent: ASTNode | null, depth: number]> {
  const open: [ASTNode, ASTNode | null, number][] = [[root, null, 0]];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    yield item;
    const [node, , depth] = item;
    for (const child of children(node)) open.push([child, node, depth + 1]);
  }
}

/** What can be told before types are known: sizes, names, literals. Puts our `matches` in place of the library's. */
function* shapeFaults(root: ASTNode): Generator<Fault> {
  for (const [node, parent, depth] of nodes(root)) {
    if (depth > MAX_NESTING) {
      yield fault('POLICY_EXPRESSION_LIMIT', 'The expression is nested too deep.', node.start);
      return;
    }
    if (node.op === 'id' && (node.args === 'cel' || node.args === 'google')) {
      const message = `There is no variable ${node.args}; a rule speaks of input.`;
      yield fault('POLICY_EXPRESSION_FIELD', message, node.start);
    }
    if (node.op === 'value' && typeof node.args === 'bigint') {
      const value = parent?.op === '-_' ? -node.args : node.args;
      if (value > MAX_INT || value < MIN_INT)
        yield fault('POLICY_EXPRESSION', 'This integer does not fit in 64 bits.', node.start);
    }
    if (node.op === 'value' && typeof node.args === 'object' && node.args !== null) {
      const isOurs = (node.args as object) instanceof Matcher;
      const message = 'No input has bytes or unsigned numbers, and they cannot be compared with what it has.';
      if (!isOurs) yield fault('POLICY_EXPRESSION', message, node.start);
    }
    if (node.op === 'map') {
      for (const [key] of node.args) {
        if (key.op !== 'value' || typeof key.args !== 'string' || LOST_KEYS.includes(key.args)) {
          const message = `A key of a map must be written as text, and none of ${LOST_KEYS.join(', ')}.`;
          yield fault('POLICY_EXPRESSION', message, key.start);
        }
      }
    }
    if (node.op === 'call' || node.op === 'rcall') yield* callFaults(node);
  }
}

const LOOPS = ['all', 'exists', 'exists_one', 'map', 'filter'];

function* callFaults(node: ASTNode & { op: 'call' | 'rcall' }): Generator<Fault> {
  const name = node.args[0];
  const args = node.op === 'call' ? node.args[1] : node.args[2];
  if (!FUNCTIONS.has(name)) {
    yield fault('POLICY_EXPRESSION', `There is no function ${name} for rules.`, node.start);
  } else if (node.op === 'rcall' && LOOPS.includes(name)) {
    const [variable] = args;
    if (variable?.op === 'id' && variable.args === 'input')
      yield fault('POLICY_EXPRESSION', 'The name input is taken.', variable.start);
  } else if (name === 'matches') {
    // The global form has the text first.
    const pattern = node.op === 'call' ? undefined : args[0];
    if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
      const message =
        'A pattern must be written out, as in text.matches("^a+$"), so that it can be checked here.';
      yield fault('POLICY_EXPRESSION', message, node.start);
      return;
    }
    try {
      (pattern as { args: unknown }).args = new Matcher(pattern.args);
      (node.args as [string, ...unknown[]])[0] = MATCHES;
    } catch (error) {
      if (!(error instanceof PatternSyntax)) throw error;
      const message = `The pattern cannot be used: at its character ${error.offset + 1}, ${error.message}.`;
      yield fault('POLICY_EXPRESSION', message, pattern.start);
    }
  }
}

/** What the library's check passes over: fields that `has` asks for in vain, and names that are worked out. */
function* fieldFaults(root: ASTNode, fields: Vocabulary['fields']): Generator<Fault> {
  for (const [node] of nodes(root)) {
    if (node.op === 'call' && node.args[0] === 'has') yield* hasFaults(node.args[1][0]!, fields);
    if (node.op === '[]' && fields.has(typeOf(node.args[0]) ?? '') && node.args[1].op !== 'value') {
      const message = 'The name of a field must be written out.';
      yield fault('POLICY_EXPRESSION_FIELD', message, node.args[1].start);
    }
  }
}

function* hasFaults(argument: ASTNode, fields: Vocabulary['fields']): Generator<Fault> {
  const path: (ASTNode & { op: '.' })[] = [];
  let node = argument;
  while (node.op === '.') {
    path.push(node);
    node = node.args[0];
  }
  let type = typeOf(node) ?? 'dyn';
  for (const step of path.toReversed()) {
    const [, name] = step.args;
    const record = fields.get(type);
    if (record !== undefined) {
      const field = record.get(name);
      if (field === undefined) {
        yield missingField(name, record, step.pos);
        return;
      }
      type = field.type.kind === 'record' ? field.type.record : field.type.kind;
    } else if (type === 'dyn' || type.startsWith('map')) {
      // A map of records has names that the input chose; what lies behind one is known by its own check.
      type = 'dyn';
    } else {
      yield fault('POLICY_EXPRESSION', `A ${type.replace(/<.*/, '')} has no fields.`, step.pos);
      return;
    }
  }
}

/** In a few words, without a value of the input, why an evaluation failed. */
export function evaluationFault(error: unknown): string {
  if (error instanceof RangeError) return 'it goes too deep';
  if (!(error instanceof EvaluationError)) return 'it failed';
  const { code, node, range } = error;
  const place = range === undefined ? '' : ` at its character ${range.start + 1}`;
  const field = code === 'no_such_key' && node?.op === '.' ? ` (${node.args[1]})` : '';
  return `${code.replaceAll('_', ' ')}${field}${place}`;
}
