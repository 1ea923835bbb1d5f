import { JsonObject, type JsonValue, parsePointer, valueAt } from '../json/index.ts';
import { patternCost } from './ambiguity.ts';
import { circles } from './circles.ts';
import { KEYWORD_FORMS, type KeywordForm } from './keyword-forms.ts';
import { Budget } from './steps.ts';

/**
 * What can be wrong with a schema.
 * - `form`: a keyword has a value that Draft 2020-12 does not permit, or a schema is neither an object nor a boolean.
 * - `dialect`: it names another dialect, or a part of it names any.
 * - `identifier`: a part has an `$id` of its own, which would move where references lead.
 * - `reference-remote`: a reference leaves the document. Nothing here ever fetches one.
 * - `reference-broken`: a reference leads to no schema of the document.
 * - `reference-endless`: following references comes back without having gone into the value; no validator ends on it.
 * - `pattern-invalid`, `pattern-explodes`, `pattern-unproven`: a regular expression that ECMA-262 does not accept with
 *   the flag `u`; one on which validators can take exponential time; one of which this cannot be ruled out.
 * - `keyword-unknown`: Draft 2020-12 gives the keyword no meaning. It is lawful, and often a slip of the pen.
 */
type SchemaFaultKind =
  | 'form'
  | 'dialect'
  | 'identifier'
  | 'reference-remote'
  | 'reference-broken'
  | 'reference-endless'
  | 'pattern-invalid'
  | 'pattern-explodes'
  | 'pattern-unproven'
  | 'keyword-unknown';

export interface SchemaFault {
  readonly kind: SchemaFaultKind;
  /** Where it lies in the schema. */
  readonly at: readonly (string | number)[];
  /** What a value of this form must be, where the kind is `form`. */
  readonly expected?: string;
}

export const DIALECT_2020_12 = 'https://json-schema.org/draft/2020-12/schema';

/**
 * How much work the patterns of a document may cost before the rest of them is `pattern-unproven`; a caller with many
 * schemas in a document shares one.
 */
export class PatternBudget {
  readonly #budget = new Budget(1_000_000);
  readonly #known = new Map<string, SchemaFaultKind | null>();

  /** What is wrong with a pattern, or null. It is never run. */
  faultOf(pattern: string): SchemaFaultKind | null {
    let verdict = this.#known.get(pattern);
    if (verdict === undefined) {
      verdict = patternFault(pattern, this.#budget);
      this.#known.set(pattern, verdict);
    }
    return verdict;
  }
}

function patternFault(pattern: string, budget: Budget): SchemaFaultKind | null {
  try {
    new RegExp(pattern, 'u');
  } catch {
    return 'pattern-invalid';
  }
  const cost = patternCost(pattern, budget);
  return cost === 'safe' ? null : cost === 'explodes' ? 'pattern-explodes' : 'pattern-unproven';
}

/** A schema on its way through the walk, with the way that led to it. */
interface Step {
  readonly node: JsonValue;
  readonly key: string | number;
  readonly up: Step | undefined;
}

/** A reference, and from where. */
interface Reference {
  readonly from: Step;
  readonly node: JsonObject;
  readonly keyword: string;
  readonly text: string;
}

/** Adds a fault of the schema at a step, or of something below it. */
type Report = (kind: SchemaFaultKind, step: Step, below: readonly string[], expected?: string) => void;

/**
 * Everything that is wrong with a JSON Schema of Draft 2020-12, by the rules of its meta-schema and of references;
 * empty for a schema that is fit to be used. Never throws and never recurses.
 */
export function schemaFaults(
  schema: JsonValue,
  patterns: PatternBudget = new PatternBudget(),
): SchemaFault[] {
  const faults: SchemaFault[] = [];
  const report: Report = (kind, step, below, expected) => {
    faults.push({ kind, at: [...pathTo(step), ...below], ...(expected !== undefined && { expected }) });
  };
  const references: Reference[] = [];
  const anchors = new Map<string, JsonObject>();
  const root: Step = { node: schema, key: '', up: undefined };
  const open: Step[] = [root];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { node } = step;
    if (!(node instanceof JsonObject)) {
      if (typeof node !== 'boolean') report('form', step, [], 'a schema: an object, true or false');
      continue;
    }
    const { keys, values } = node;
    for (let i = 0; i < keys.length; i++) {
      const keyword = keys[i]!;
      const value = values[i]!;
      const form = KEYWORD_FORMS.get(keyword);
      if (form === undefined) {
        if (!keyword.startsWith('x-')) report('keyword-unknown', step, [keyword]);
        continue;
      }
      const expected = form.fault(value);
      if (expected !== null) {
        report('form', step, [keyword], expected);
        continue;
      }
      if (form.holds !== 'nothing') enter(open, step, keyword, value, form);
      switch (keyword) {
        case '$schema':
          if (step !== root || (value as string).replace(/#$/, '') !== DIALECT_2020_12)
            report('dialect', step, [keyword]);
          break;
        case '$id':
          if (step !== root) report('identifier', step, [keyword]);
          break;
        case '$ref':
        case '$dynamicRef':
          references.push({ from: step, node, keyword, text: value as string });
          break;
        case '$anchor':
        case '$dynamicAnchor':
          if ((anchors.get(value as string) ?? node) !== node)
            report('form', step, [keyword], 'a name that no other schema here has');
          anchors.set(value as string, node);
          break;
        case 'pattern': {
          const kind = patterns.faultOf(value as string);
          if (kind !== null) report(kind, step, [keyword]);
          break;
        }
        case 'patternProperties':
          for (const pattern of (value as JsonObject).keys) {
            const kind = patterns.faultOf(pattern);
            if (kind !== null) report(kind, step, [keyword, pattern]);
          }
      }
    }
  }
  if (references.length > 0) followAll(schema, references, anchors, report);
  return faults;
}

function enter(open: Step[], up: Step, keyword: string, value: JsonValue, form: KeywordForm): void {
  const at: Step = { node: value, key: keyword, up };
  if (form.holds === 'schema') {
    open.push(at);
  } else if (form.holds === 'list') {
    const list = value as readonly JsonValue[];
    for (let i = list.length - 1; i >= 0; i--) open.push({ node: list[i]!, key: i, up: at });
  } else {
    const { keys, values } = value as JsonObject;
    for (let i = keys.length - 1; i >= 0; i--) open.push({ node: values[i]!, key: keys[i]!, up: at });
  }
}

function pathTo(step: Step): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at = step; at.up !== undefined; at = at.up) path.push(at.key);
  return path.reverse();
}

/** Reports references that leave the document, lead nowhere or lead round without end. */
function followAll(
  root: JsonValue,
  references: readonly Reference[],
  anchors: ReadonlyMap<string, JsonObject>,
  report: Report,
): void {
  const targets = new Map<JsonObject, JsonObject[]>();
  const sound: Reference[] = [];
  for (const reference of references) {
    const { from, node, keyword, text } = reference;
    const kind = text.startsWith('#') || text === '' ? 'reference-broken' : 'reference-remote';
    const target = kind === 'reference-remote' ? undefined : targetOf(root, text, anchors);
    if (target === undefined) {
      report(kind, from, [keyword]);
      continue;
    }
    sound.push(reference);
    if (target instanceof JsonObject) targets.set(node, [...(targets.get(node) ?? []), target]);
  }
  // Schemas that come back to themselves without going into the value that they judge.
  const endless = circles(targets.keys(), (node) => [...(targets.get(node) ?? []), ...besides(node)]);
  for (const { from, node, keyword } of sound) {
    if (endless.has(node)) report('reference-endless', from, [keyword]);
  }
}

/** The schema that a local reference leads to; undefined for a place where none stands. */
function targetOf(
  root: JsonValue,
  text: string,
  anchors: ReadonlyMap<string, JsonObject>,
): JsonValue | undefined {
  let fragment: string;
  try {
    fragment = decodeURIComponent(text.slice(1));
  } catch {
    return undefined;
  }
  const steps = parsePointer(fragment);
  if (steps === null) return anchors.get(fragment);
  let node: JsonValue | undefined = root;
  for (let i = 0; i < steps.length; i++) {
    const keyword = steps[i]!;
    const form = KEYWORD_FORMS.get(keyword);
    if (!(node instanceof JsonObject) || form === undefined || form.holds === 'nothing') return undefined;
    node = node.get(keyword);
    if (form.holds === 'schema') continue;
    const name = steps[++i];
    if (name === undefined) return undefined;
    node = valueAt(node, [name]);
  }
  return node instanceof JsonObject || typeof node === 'boolean' ? node : undefined;
}

/** The schemas inside one that judge the same value. */
function besides(node: JsonObject): JsonObject[] {
  const found: JsonObject[] = [];
  for (const [keyword, value] of node) {
    const form = KEYWORD_FORMS.get(keyword);
    if (form === undefined || !form.inPlace || form.fault(value) !== null) continue;
    const held =
      form.holds === 'schema' ? [value] : Array.isArray(value) ? value : (value as JsonObject).values;
    for (const schema of held) if (schema instanceof JsonObject) found.push(schema);
  }
  return found;
}
