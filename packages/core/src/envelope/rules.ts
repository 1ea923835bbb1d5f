import {
  askRules,
  type CelRule,
  celRule,
  prepareInput,
  type Vocabulary,
  vocabularyOf,
} from '../cel/index.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
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

let made: Vocabulary<'envelope'> | undefined;

/** What binds of an execution envelope, where null is absent, and how many people signed. */
function vocabulary(): Vocabulary<'envelope'> {
  // Not when this file is loaded: the rule engine is large, and most envelopes meet no rule.
  made ??= vocabularyOf(
    {
      EnvelopeInput: {
        intent_id: 'string',
        execution_id: 'string',
        tenant_id: 'string',
        action_type: 'string',
        rail: 'EnvelopeRail',
        actor: 'EnvelopeActor',
        target: 'EnvelopeTarget',
        constraints: 'EnvelopeConstraints',
        people: 'dyn',
      },
      EnvelopeRail: { type: 'string', network: 'string', 'chain_id?': 'dyn', 'contract?': 'string' },
      EnvelopeActor: { caller: 'string', 'role?': 'string' },
      EnvelopeTarget: {
        to: 'string',
        asset: 'string',
        'asset_class?': 'dyn',
        amount: 'string',
        decimals: 'dyn',
      },
      EnvelopeConstraints: { ttl: 'dyn', nonce: 'dyn', replay_scope: 'string' },
    },
    { envelope: 'EnvelopeInput' },
  );
  return made;
}

/** Makes the rules ready; `refuse` is told of the first that could not be evaluated for any envelope, and throws. */
export function compileRules(
  rules: readonly RuleText[],
  refuse: (index: number, sentence: string) => never,
): CelRule[] {
  return rules.map(({ id, expr, message }, i) => {
    const rule = celRule({ name: id, expr, failure_msg: message }, vocabulary(), 'envelope');
    if ('programs' in rule) return rule;
    const fault = rule[0]!;
    return refuse(i, `At its character ${fault.offset + 1}: ${fault.message}`);
  });
}

/** The rules that an envelope does not hold, or that could not be answered for it. */
export function ruleProblems(rules: readonly CelRule[], envelope: Envelope, people: number): FieldProblem[] {
  if (rules.length === 0) return [];
  return askRules(rules, prepareInput(vocabulary(), 'envelope', inputOf(envelope, people)))
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
