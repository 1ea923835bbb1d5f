import { Environment } from '@marcbachmann/cel-js';
import { Matcher, type Meter } from './pattern.ts';
import { FIELDS, RECORDS, type RecordName, SHAPES, type Shape } from './shape.ts';

/** How large an expression may be. The library walks it by recursion, which `MAX_NESTING` keeps short. */
export const MAX_EXPRESSION = 8192;
export const MAX_NESTING = 200;
const LIMITS = {
  maxAstNodes: 4000,
  maxDepth: 60,
  maxListElements: 1000,
  maxMapEntries: 100,
  maxCallArguments: 3,
};

/** An instance of a record: a field that is absent is not there. */
export type RecordValue = Record<string, unknown>;

type Constructor = new () => RecordValue;

/** A class a record, so that the library knows what it holds in its hands. */
export const CLASSES: Readonly<Record<RecordName, Constructor>> = Object.fromEntries(
  Object.keys(RECORDS).map((name) => [name, { [name]: class {} }[name]!]),
) as unknown as Record<RecordName, Constructor>;

/** The name under which our own `matches` is known to the library; a policy cannot write it. */
export const MATCHES = 'bulla_matches';

const environments = new Map<Shape, Environment>();
let meter: Meter = { left: 0 };

/**
 * Runs with a meter for what patterns cost. Evaluation is synchronous: there is one at a time. Where a loop goes on
 * over errors, each of them would take the engine as long as dozens of steps to note where it was made, which nobody
 * asks, so it notes nothing while a rule runs.
 */
export function metered<Result>(current: Meter, action: () => Result): Result {
  const limit = Error.stackTraceLimit;
  meter = current;
  Error.stackTraceLimit = 0;
  try {
    return action();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** The environment of a shape, with `input` as its only variable. */
export function environmentOf(shape: Shape): Environment {
  const known = environments.get(shape);
  if (known !== undefined) return known;
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const name of Object.keys(RECORDS) as RecordName[]) {
    const types: Readonly<Record<string, string>> = RECORDS[name];
    const fields = [...FIELDS[name].values()].map((field) => [
      field.name,
      types[`${field.name}${field.isOptional ? '?' : ''}`]!,
    ]);
    environment.registerType(name, { ctor: CLASSES[name], fields: Object.fromEntries(fields) });
  }
  environment.registerType('Pattern', { ctor: Matcher, fields: {} });
  environment.registerVariable('input', SHAPES[shape]);
  const matches = (text: string, matcher: Matcher) => matcher.test(text, meter);
  environment.registerFunction(`string.${MATCHES}(Pattern): bool`, matches, { async: false });
  environments.set(shape, environment);
  return environment;
}
