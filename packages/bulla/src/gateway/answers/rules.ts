import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import { evaluate, type Policy, prepareInput, reads, resultInput } from '@bulla/core/policy';
import type { ErrorFrame, ResultFrame } from '../../mcp/index.ts';
import { Denial } from '../denial.ts';
import { type AskedCall, askedCall, readable, why } from '../gates/asked.ts';
import type { GatedCall } from '../gates/gate.ts';

/** Asks the rules about what a call gave. Throws a denial for what is withheld. */
export type CheckRules = (answer: ResultFrame | ErrorFrame) => void;

/** How long the texts of a result may be together, in UTF-16 units, for a rule to read them. */
const MAX_TEXT = 1024 * 1024;

/**
 * The operator's rules about the results of a call, which is kept until it is answered; null where there are none, or
 * for what is no call of a tool.
 */
export function rulesCheck(given: readonly Policy[], lock: Lock): (call: GatedCall) => CheckRules | null {
  const policies = given.filter(({ rules }) => rules.some(({ phase }) => phase === 'result'));
  const isTextRead = policies.some((policy) => reads(policy, 'result', ['result', 'text']));
  return (call) => {
    if (policies.length === 0 || call.frame.method !== 'tools/call') return null;
    const about = askedCall(call, lock);
    if (about === null) return null;
    return (answer) => {
      const text = textOf(answer);
      if (isTextRead && text.length > MAX_TEXT) throw withheld('its text is too long for the rules to read');
      const facts = { ...factsOf(answer), text: isTextRead ? text : '' };
      check(policies, about, facts);
    };
  };
}

function check(
  policies: readonly Policy[],
  { definition, args, origin }: AskedCall,
  facts: Parameters<typeof resultInput>[3],
): void {
  const input = readable(
    () => prepareInput('result', resultInput(definition, args, origin, facts)),
    ({ message }) => withheld(`the rules cannot read it. ${message}`),
  );
  for (const policy of policies) {
    const { outcome, rules } = evaluate(policy, input);
    if (outcome !== 'pass')
      throw withheld(`a rule forbids it. ${why(rules.filter(({ passed }) => !passed))}`);
  }
}

function factsOf(answer: ResultFrame | ErrorFrame) {
  const bytes = answer.bytes.length;
  if (answer.kind === 'error') return { isError: true, structured: answer.error.data, bytes };
  const { result } = answer;
  return {
    isError: result.get('isError') === true,
    structured: result.get('structuredContent'),
    bytes,
  };
}

/** The texts of blocks and of embedded resources, a line each; of an error its message. */
function textOf(answer: ResultFrame | ErrorFrame): string {
  if (answer.kind === 'error') return answer.error.message;
  const content = answer.result.get('content');
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((block) => [member(block, 'text'), member(member(block, 'resource'), 'text')])
    .filter((text) => typeof text === 'string')
    .join('\n');
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.get(name) : undefined;
}

function withheld(reason: string): Denial {
  const end = reason.endsWith('.') ? '' : '.';
  const message = `The call was made, but its result is withheld: ${reason}${end}`;
  return new Denial('policy', 'GATEWAY_RESULT_WITHHELD', message);
}
