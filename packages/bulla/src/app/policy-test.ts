import type { RuleResult } from '@bulla/core/cel';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, parse, pointer } from '@bulla/core/json';
import {
  type Demand,
  evaluate,
  type Policy,
  prepareInput,
  SHAPE_NAMES,
  type Shape,
} from '@bulla/core/policy';

/** What a rule answered to one input. */
interface RuleAnswer extends RuleResult {
  /** Null where nothing was expected of it. */
  readonly expected: boolean | null;
  readonly asked: boolean;
}

/** Whether an answer is the expected one. */
export function isMet({ asked, passed, expected }: RuleAnswer): boolean {
  return expected === null || (asked && passed === expected);
}

export interface TestedInput {
  readonly file: string;
  readonly shape: Shape;
  readonly passed: boolean;
  readonly outcome: 'PASS' | 'DEMAND' | 'FAIL';
  /** Where nothing forbids the call: what it needs. */
  readonly demands: readonly Demand[];
  readonly rules: readonly RuleAnswer[];
}

/**
 * Asks the rules of a policy about a recorded input, and compares the answers. Throws `POLICY_INPUT` with the path for
 * a file that is no recorded input, and what `prepareInput` throws.
 */
export function testPolicy(policy: Policy, input: Uint8Array, file: string): TestedInput {
  const document = parse(input);
  const refuse = (message: string, path: readonly string[]) =>
    new BullaError('POLICY_INPUT', `${file}: ${message}`, { path: pointer(path) });
  if (!(document instanceof JsonObject)) throw refuse('A recorded input is an object.', []);
  for (const key of document.keys)
    if (!['shape', 'input', 'expect'].includes(key)) throw refuse('This field is not known.', [key]);
  const shape = SHAPE_NAMES.find((known) => known === document.get('shape'));
  if (shape === undefined) throw refuse(`The shape is one of ${SHAPE_NAMES.join(', ')}.`, ['shape']);
  const expected = expectations(document.get('expect'), policy, refuse);
  const verdict = evaluate(policy, prepareInput(shape, document.get('input') ?? null));
  const rules = policy.rules.flatMap(({ name }): RuleAnswer[] => {
    const result = verdict.rules.find((rule) => rule.name === name);
    const wanted = expected?.get(name) ?? null;
    if (result !== undefined) return [{ ...result, expected: wanted, asked: true }];
    if (wanted === null) return [];
    const message = 'The rule is not asked about such an input.';
    return [{ name, severity: 'error', passed: false, message, code: null, expected: wanted, asked: false }];
  });
  const passed =
    expected === null ? verdict.outcome === 'pass' && verdict.rules.length > 0 : rules.every(isMet);
  const { demands } = verdict;
  return { file, shape, passed, outcome: OUTCOMES[verdict.outcome], demands, rules };
}

const OUTCOMES = { pass: 'PASS', demand: 'DEMAND', fail: 'FAIL' } as const;

type Refuse = (message: string, path: readonly string[]) => BullaError;

function expectations(
  value: JsonValue | undefined,
  { rules }: Policy,
  refuse: Refuse,
): Map<string, boolean> | null {
  if (value === undefined) return null;
  if (!(value instanceof JsonObject) || value.size === 0)
    throw refuse('What is expected is given by the names of rules, at least one.', ['expect']);
  return new Map(
    [...value].map(([name, answer]) => {
      if (!rules.some((rule) => rule.name === name)) throw refuse('There is no such rule.', ['expect', name]);
      if (typeof answer !== 'boolean') throw refuse('True or false is expected here.', ['expect', name]);
      return [name, answer];
    }),
  );
}
