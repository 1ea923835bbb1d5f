import { Environment } from '@marcbachmann/cel-js';
import { Matcher, type Meter } from './pattern.ts';
import type { Vocabulary } from './records.ts';

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

/** The name under which our own `matches` is known to the library; a policy cannot write it. */
export const MATCHES = 'bulla_matches';

const environments = new WeakMap<Vocabulary, Map<string, Environment>>();
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
export function environmentOf<Shape extends string>(
  vocabulary: Vocabulary<Shape>,
  shape: Shape,
): Environment {
  const made = environments.get(vocabulary) ?? new Map<string, Environment>();
  environments.set(vocabulary, made);
  const known = made.get(shape);
  if (known !== undefined) return known;
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const [name, fields] of vocabulary.fields) {
    const types = Object.fromEntries([...fields].map(([field, { written }]) => [field, written]));
    environment.registerType(name, { ctor: vocabulary.classes.get(name)!, fields: types });
  }
  environment.registerType('Pattern', { ctor: Matcher, fields: {} });
  environment.registerVariable('input', vocabulary.shapes[shape]);
  const matches = (text: string, matcher: Matcher) => matcher.test(text, meter);
  environment.registerFunction(`string.${MATCHES}(Pattern): bool`, matches, { async: false });
  made.set(shape, environment);
  return environment;
}
