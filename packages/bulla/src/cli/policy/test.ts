import { BullaError, pointer } from '@bulla/core/error';
import { JsonObject, type JsonValue, parse } from '@bulla/core/json';
import {
  evaluateCall,
  evaluateList,
  evaluateTool,
  type Policy,
  type PolicyVerdict,
  type PreparedInput,
  prepareInput,
  type RuleResult,
  SHAPE_NAMES,
  type Shape,
} from '@bulla/core/policy';
import { visible } from '@bulla/core/text';
import { EXIT, type Exit, type ReportOptions, readInput, report } from '../terminal/io.ts';
import { loadPolicy, type PolicyOptions } from './file.ts';

interface TestOptions extends PolicyOptions, ReportOptions {}

/** What a rule answered to one input. */
interface Answer extends RuleResult {
  /** Null where nothing was expected of it. */
  readonly expected: boolean | null;
  readonly asked: boolean;
}

interface Tested {
  readonly file: string;
  readonly shape: Shape;
  readonly passed: boolean;
  readonly outcome: 'PASS' | 'FAIL';
  readonly rules: readonly Answer[];
}

export async function test(files: string[], options: TestOptions): Promise<Exit> {
  const { policy, source } = loadPolicy(options);
  const inputs = files.map((file) => tested(policy, file));
  const failed = inputs.filter(({ passed }) => !passed).length;
  const document = { policy: { ...source, digest: policy.digest }, passed: failed === 0, inputs };
  await report(options, document, () => {
    const last = failed === 0 ? 'PASS: every answer is as expected' : 'FAIL: not as expected';
    return [...inputs.map(table), `${last} (${inputs.length - failed} of ${inputs.length} inputs).`].join(
      '\n',
    );
  });
  return failed === 0 ? EXIT.good : EXIT.bad;
}

/** Throws `POLICY_INPUT` with the path for a file that is no recorded input, and what `prepareInput` throws. */
function tested(policy: Policy, file: string): Tested {
  const document = parse(readInput(file));
  const refuse = (message: string, path: readonly string[]) =>
    new BullaError('POLICY_INPUT', `${file}: ${message}`, { path: pointer(path) });
  if (!(document instanceof JsonObject)) throw refuse('A recorded input is an object.', []);
  for (const key of document.keys)
    if (!['shape', 'input', 'expect'].includes(key)) throw refuse('This field is not known.', [key]);
  const shape = SHAPE_NAMES.find((known) => known === document.get('shape'));
  if (shape === undefined) throw refuse(`The shape is one of ${SHAPE_NAMES.join(', ')}.`, ['shape']);
  const expected = expectations(document.get('expect'), policy, refuse);
  const verdict = evaluate(policy, prepareInput(shape, document.get('input') ?? null));
  const rules = policy.rules.flatMap(({ name }): Answer[] => {
    const result = verdict.rules.find((rule) => rule.name === name);
    const wanted = expected?.get(name) ?? null;
    if (result !== undefined) return [{ ...result, expected: wanted, asked: true }];
    if (wanted === null) return [];
    const message = 'The rule is not asked about such an input.';
    return [{ name, severity: 'error', passed: false, message, code: null, expected: wanted, asked: false }];
  });
  const isMet = ({ asked, passed, expected: wanted }: Answer) =>
    wanted === null || (asked && passed === wanted);
  const passed =
    expected === null ? verdict.outcome === 'pass' && verdict.rules.length > 0 : rules.every(isMet);
  return { file, shape, passed, outcome: verdict.outcome === 'pass' ? 'PASS' : 'FAIL', rules };
}

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

function evaluate(policy: Policy, input: PreparedInput): PolicyVerdict {
  if (input.shape === 'tool') return evaluateTool(policy, input as PreparedInput<'tool'>);
  if (input.shape === 'call') return evaluateCall(policy, input as PreparedInput<'call'>);
  return evaluateList(policy, input as PreparedInput<'policy-check' | 'check'>);
}

function table({ file, shape, passed, outcome, rules }: Tested): string {
  const width = rules.reduce((most, { name }) => Math.max(most, visible(name).length), 0);
  const lines = rules.map((rule) => {
    const isMet = rule.expected === null || (rule.asked && rule.passed === rule.expected);
    const word = rule.expected === null ? '-   ' : isMet ? 'ok  ' : 'FAIL';
    const answer = rule.asked ? String(rule.passed) : 'none';
    const wanted = isMet ? '' : `, expected ${rule.expected}`;
    const why = rule.message === '' ? '' : `  ${visible(rule.message)}`;
    return `  ${word}  ${visible(rule.name).padEnd(width)}  ${answer}${wanted}${why}`;
  });
  const mark = passed ? 'ok  ' : 'FAIL';
  return [`${mark} ${visible(file)} (${shape}, the policy says ${outcome})`, ...lines].join('\n');
}
