import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import { askRules, type LooseRule, looseRule, prepareInput } from '../policy/index.ts';
import type { Envelope } from './envelope.ts';
import type { FieldProblem } from './rails.ts';

// Rules of one's own, in CEL over the fields that bind. They can only refuse: what the rest of a policy does not permit
// no rule permits.

/** A rule as it stands in a policy. */
export interface RuleText {
  readonly id: string;
  readonly expr: string;
  /** For people: why it is refused. */
  readonly message: string;
}

const SHAPE = 'envelope';

/** Makes the rules ready; `refuse` is told of the first that could not be evaluated for any envelope, and throws. */
export function compileRules(
  rules: readonly RuleText[],
  refuse: (index: number, sentence: string) => never,
): LooseRule[] {
  return rules.map(({ id, expr, message }, i) => {
    const rule = looseRule({ name: id, expr, failure_msg: message }, SHAPE);
    if ('programs' in rule) return rule;
    const fault = rule[0]!;
    return refuse(i, `At its character ${fault.offset + 1}: ${fault.message}`);
  });
}

/** The rules that an envelope does not hold, or that could not be answered for it. */
export function ruleProblems(
  rules: readonly LooseRule[],
  envelope: Envelope,
  people: number,
): FieldProblem[] {
  if (rules.length === 0) return [];
  return askRules(rules, prepareInput(SHAPE, inputOf(envelope, people)))
    .filter(({ passed }) => !passed)
    .map(({ name, message }) => ({ path: '', message: `The rule ${name} refuses this: ${message}` }));
}

/** What a rule sees: `input.target.to`, and so on. What is null is absent. */
function inputOf(envelope: Envelope, people: number): JsonObject {
  const { version: _, policy_binding: __, metadata: ___, ...fields } = envelope;
  return objectOf({ ...fields, people });
}

/** The fields of an envelope are two deep. */
function objectOf(fields: object): JsonObject {
  const entries = Object.entries(fields).flatMap(([key, value]): [string, JsonValue][] =>
    value === null ? [] : [[key, jsonOf(value)]],
  );
  return JsonObject.from(entries);
}

function jsonOf(value: string | number | object): JsonValue {
  if (typeof value === 'number') return new JsonNumber(`${value}`);
  return typeof value === 'string' ? value : objectOf(value);
}
