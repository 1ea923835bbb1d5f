import { JsonObject, type JsonValue, parsePointer, valueAt } from '../json/index.ts';
import { patternCost } from './ambiguity.ts';
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
  readonly keyword: string;
  readonly text: string;
}

/**
 * Everything that is wrong with a JSON Schema of Draft 2020-12, by the rules of its meta-schema and of references;
 * empty for a schema that is fit to be used. Never throws and never recurses.
 */
export function schemaFaults(
  schema: JsonValue,
  patterns: PatternBudget = new PatternBudget(),
): SchemaFault[] {
  const faults: SchemaFault[] = [];
  const references: Reference[] = [];
  const anchors = new Map<string, JsonObject>();
  const root: Step = { node: schema, key: '', up: undefined };
  const open: Step[] = [root];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { node } = step;
    if (!(node instanceof JsonObject)) {
      if (typeof node !== 'boolean')
        faults.push({ kind: 'form', at: placeOf(step), expected: 'a schema: an object, true or false' });
      continue;
    }
    const { keys, values } = node;
    for (let i = 0; i < keys.length; i++) {
      const keyword = keys[i]!;
      const value = values[i]!;
      const form = KEYWORD_FORMS.get(keyword);
      if (form === undefined) {
        if (!keyword.startsWith('x-')) tell(faults, step, 'keyword-unknown', keyword);
        continue;
      }
      const expected = form.fault(value);
      if (expected !== null) {
        faults.push({ kind: 'form', at: [...placeOf(step), keyword], expected });
        continue;
      }
      if (form.holds !== 'nothing') enter(open, step, keyword, value, form);
      switch (keyword) {
        case '$schema':
          if (step !== root || (value as string).replace(/#$/, '') !== DIALECT_2020_12)
            tell(faults, step, 'dialect', keyword);
          break;
        case '$id':
          if (step !== root) tell(faults, step, 'identifier', keyword);
          break;
        case '$ref':
        case '$dynamicRef':
          references.push({ from: step, keyword, text: value as string });
          break;
        case '$anchor':
        case '$dynamicAnchor':
          if (anchors.has(value as string) && anchors.get(value as string) !== node)
            faults.push({ kind: 'form', at: [...placeOf(step), keyword], expected: UNIQUE });
          anchors.set(value as string, node);
          break;
        case 'pattern': {
          const kind = patterns.faultOf(value as string);
          if (kind !== null) tell(faults, step, kind, keyword);
          break;
        }
        case 'patternProperties':
          for (const pattern of (value as JsonObject).keys) {
            const kind = patterns.faultOf(pattern);
            if (kind !== null) tell(faults, step, kind, keyword, pattern);
          }
      }
    }
  }
  if (references.length > 0) followAll(schema, references, anchors, faults);
  return faults;
}

function tell(faults: SchemaFault[], step: Step, kind: SchemaFaultKind, ...below: string[]): void {
  faults.push({ kind, at: [...placeOf(step), ...below] });
}

const UNIQUE = 'a name that no other schema here has';

function enter(open: Step[], up: Step, keyword: string, value: JsonValue, form: KeywordForm): void {
  if (form.holds === 'schema') {
    open.push({ node: value, key: keyword, up });
    return;
  }
  const map: Step = { node: value, key: keyword, up };
  if (form.holds === 'list') {
    const list = value as readonly JsonValue[];
    for (let i = list.length - 1; i >= 0; i--) open.push({ node: list[i]!, key: i, up: map });
  } else {
    const { keys, values } = value as JsonObject;
    for (let i = keys.length - 1; i >= 0; i--) open.push({ node: values[i]!, key: keys[i]!, up: map });
  }
}

function placeOf(step: Step): (string | number)[] {
  const place: (string | number)[] = [];
  for (let at = step; at.up !== undefined; at = at.up) place.push(at.key);
  return place.reverse();
}

/** Tells of references that leave the document, lead nowhere or lead round without end. */
function followAll(
  root: JsonValue,
  references: readonly Reference[],
  anchors: ReadonlyMap<string, JsonObject>,
  faults: SchemaFault[],
): void {
  const targets = new Map<JsonValue, JsonObject[]>();
  const sound: Reference[] = [];
  for (const reference of references) {
    const { from, keyword, text } = reference;
    const kind = text.startsWith('#') || text === '' ? 'reference-broken' : 'reference-remote';
    const target = kind === 'reference-remote' ? undefined : targetOf(root, text, anchors);
    if (target === undefined) {
      faults.push({ kind, at: [...placeOf(from), keyword] });
      continue;
    }
    sound.push(reference);
    if (target instanceof JsonObject) targets.set(from.node, [...(targets.get(from.node) ?? []), target]);
  }
  const endless = nodesOnCircles(targets);
  for (const { from, keyword } of sound) {
    if (endless.has(from.node)) faults.push({ kind: 'reference-endless', at: [...placeOf(from), keyword] });
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

/** The schemas that come back to themselves without going into the value that they judge. */
function nodesOnCircles(targets: ReadonlyMap<JsonValue, readonly JsonObject[]>): Set<JsonValue> {
  const endless = new Set<JsonValue>();
  const done = new Set<JsonValue>();
  for (const start of targets.keys()) {
    // The way here, in order, and of each schema the ones that it leads to and that are still to be tried.
    const way = new Set<JsonObject>();
    const open: { node: JsonObject; next: JsonObject[] }[] = [];
    const visit = (node: JsonObject) => {
      way.add(node);
      open.push({ node, next: [...(targets.get(node) ?? []), ...besides(node)] });
    };
    if (!done.has(start)) visit(start as JsonObject);
    for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
      const next = at.next.pop();
      if (next === undefined) {
        open.pop();
        way.delete(at.node);
        done.add(at.node);
      } else if (way.has(next)) {
        const ring = [...way];
        for (const node of ring.slice(ring.indexOf(next))) endless.add(node);
      } else if (!done.has(next)) visit(next);
    }
  }
  return endless;
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
