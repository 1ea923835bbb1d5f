import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import { type Validator, validator } from '@bulla/core/schema';
import type { ErrorFrame, ResultFrame } from '../../mcp/index.ts';
import { Denial } from '../denial.ts';

/** Checks what a tool, prompt or resource gave, after the call was made. Throws a denial for what is withheld. */
export type CheckOutput = (method: string, name: string | null, answer: ResultFrame | ErrorFrame) => void;

/** Members that only the gateway writes. */
const RESERVED = /^bulla\//i;
/** How the gateway's own errors begin. */
const OWN_ERROR = /^[\p{C}\p{Z}]*bulla[\p{C}\p{Z}]*:/iu;
/**
 * Sequences that make a terminal do something (ECMA-48): any that begins with an escape or one of its single-character
 * forms, except those that choose colours.
 */
const ESCAPES = /\u001b(?!\[[0-9;:]*m)|[\u0090\u0098\u009b\u009d-\u009f]/;

export interface OutputRules {
  /** Whether results may hold sequences that make a terminal do something else than choose colours. Default false. */
  readonly escapes?: boolean | undefined;
}

/**
 * What a tool gives is as its locked output schema says, holds nothing that a terminal would obey, and does not speak in
 * the name of the gateway.
 */
export function outputCheck({ native }: Lock, { escapes = false }: OutputRules): CheckOutput {
  const validators = new Map<string, Validator | null>();
  const schemaOf = (tool: string): Validator | null => {
    const known = validators.get(tool);
    if (known !== undefined) return known;
    const definition = native?.tools.get(tool)?.definition;
    const schema = definition instanceof JsonObject ? definition.get('outputSchema') : undefined;
    const made = schema === undefined ? null : validator(schema);
    validators.set(tool, made);
    return made;
  };
  return (method, name, answer) => {
    const value = answer.kind === 'result' ? answer.result : (answer.error.data ?? null);
    if (answer.kind === 'error' && OWN_ERROR.test(answer.error.message)) throw imitates();
    for (const text of leaves(value)) {
      if (!escapes && ESCAPES.test(text)) throw withheld('it holds sequences that a terminal would obey');
    }
    if (answer.kind === 'error' || method !== 'tools/call' || name === null) return;
    const { result } = answer;
    const isPlain = result.get('isError') === true || (result.get('resultType') ?? 'complete') !== 'complete';
    const schema = isPlain ? null : schemaOf(name);
    if (schema === null) return;
    const structured = result.get('structuredContent');
    if (structured === undefined) throw withheld('it lacks the structured content that its schema requires');
    if (schema.accepts(structured) === false) throw withheld("it is not as the tool's output schema says");
  };
}

/** Every string in a value, at any depth, without recursion. Throws a denial for a member that only the gateway writes. */
function* leaves(root: JsonValue): Generator<string> {
  const open: JsonValue[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === 'string') yield value;
    else if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (value instanceof JsonObject) {
      for (const [i, key] of value.keys.entries()) {
        if (RESERVED.test(key)) throw imitates();
        yield key;
        open.push(value.values[i]!);
      }
    }
  }
}

function imitates(): Denial {
  return withheld('it speaks in the name of the gateway');
}

function withheld(why: string): Denial {
  const message = `The call was made, but its result is withheld: ${why}.`;
  return new Denial('server', 'GATEWAY_RESULT_WITHHELD', message);
}
