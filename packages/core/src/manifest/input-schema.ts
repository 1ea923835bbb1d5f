import type { Code } from '../codes.ts';
import { JsonObject, type Path } from '../json/index.ts';
import { type PatternBudget, type SchemaFault, schemaFaults } from '../schema/index.ts';
import { nearest } from './fields.ts';
import { type Problems, quoted } from './problems.ts';

/** What each fault of a schema is called here. `form` is told with what was expected. */
const FAULTS: Readonly<
  Record<
    Exclude<SchemaFault['kind'], 'form' | 'keyword-unknown'>,
    readonly [code: Code, is: string, hint: string]
  >
> = {
  dialect: [
    'MANIFEST_INPUT_DIALECT',
    'names another dialect than Draft 2020-12, or stands inside the schema.',
    'Write the schema in Draft 2020-12 and leave `$schema` out.',
  ],
  identifier: [
    'MANIFEST_INPUT_ID',
    'gives a part of the schema an address of its own, which moves where references lead.',
    'Leave `$id` out, or use `$anchor`.',
  ],
  'reference-remote': [
    'MANIFEST_INPUT_REF_REMOTE',
    'leads out of the schema: what is accepted would depend on another place.',
    'Put what it refers to under `$defs`, and refer to it as `#/$defs/…`.',
  ],
  'reference-broken': [
    'MANIFEST_INPUT_REF_BROKEN',
    'leads to no schema in this document.',
    'Refer to a schema that stands here, such as one under `$defs`.',
  ],
  'reference-endless': [
    'MANIFEST_INPUT_REF_ENDLESS',
    'comes back to itself without going into the value: no validator ends on it.',
    'Let the circle pass through a property or an element.',
  ],
  'pattern-invalid': [
    'MANIFEST_INPUT_PATTERN',
    'is no regular expression of ECMA-262 with the flag `u`.',
    'Mend the expression; with `u` only characters that have a meaning may be escaped.',
  ],
  'pattern-explodes': [
    'MANIFEST_INPUT_PATTERN_EXPLODES',
    'can take time that doubles with each character of a text.',
    'Write it so that a text can be read in one way only, such as `(a|b)*` for `(a*|b*)*`.',
  ],
  'pattern-unproven': [
    'MANIFEST_INPUT_PATTERN_EXPLODES',
    'is too intricate to be shown safe, or the schemas hold too many such patterns.',
    'Write a shorter expression, or check the text in the tool.',
  ],
};

/**
 * Judges the `input_schema` of a tool: valid by the rules of Draft 2020-12, of an object, closed, whole in itself, and
 * with patterns that end.
 */
export function checkInputSchema(
  schema: JsonObject,
  at: Path,
  patterns: PatternBudget,
  problems: Problems,
): void {
  const type = schema.get('type');
  if (type !== 'object') {
    const message = 'The `type` of an `input_schema` must be "object".';
    problems.add('MANIFEST_INPUT_OBJECT', [...at, 'type'], message, 'Write "type": "object".');
  }
  if (schema.get('additionalProperties') !== false) {
    const message = 'An `input_schema` must say `"additionalProperties": false`.';
    const hint = 'Add it, and describe each argument under `properties`.';
    problems.add('MANIFEST_INPUT_OPEN', [...at, 'additionalProperties'], message, hint);
  }
  for (const fault of schemaFaults(schema, patterns)) tell(fault, at, problems);
  impossible(schema, at, problems);
}

function tell({ kind, at: below, expected }: SchemaFault, at: Path, problems: Problems): void {
  const place = [...at, ...below];
  const what = below.length === 0 ? 'The schema' : `\`${quoted(String(below.at(-1))).slice(1, -1)}\``;
  if (kind === 'form') {
    problems.add('MANIFEST_INPUT_SCHEMA', place, `${what} must be ${expected}.`, `Write ${expected} here.`);
  } else if (kind === 'keyword-unknown') {
    const keyword = String(below.at(-1));
    const meant = FORMER.get(keyword) ?? nearest(keyword, USUAL);
    const hint =
      meant === undefined ? 'Remove it, or begin its name with `x-`.' : `Perhaps \`${meant}\` is meant.`;
    problems.warn('MANIFEST_INPUT_KEYWORD', place, `Draft 2020-12 gives ${what} no meaning.`, hint);
  } else {
    const [code, is, hint] = FAULTS[kind];
    problems.add(code, place, `${what} ${is}`, hint);
  }
}

/** Keywords of older dialects, and what says the same now. */
const FORMER: ReadonlyMap<string, string> = new Map([
  ['additionalItems', 'items'],
  ['dependencies', 'dependentRequired'],
  ['id', '$id'],
  ['$recursiveRef', '$dynamicRef'],
  ['$recursiveAnchor', '$dynamicAnchor'],
  ['nullable', 'type'],
]);
const USUAL = [
  'required',
  'properties',
  'description',
  'additionalProperties',
  'pattern',
  'items',
  'enum',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'format',
  'title',
];

/** A name that must be given and may not be: then nobody can ever call the tool. */
function impossible(schema: JsonObject, at: Path, problems: Problems): void {
  const required = schema.get('required');
  const properties = schema.get('properties');
  if (!Array.isArray(required) || schema.has('patternProperties')) return;
  for (const [i, name] of required.entries()) {
    if (typeof name !== 'string' || (properties instanceof JsonObject && properties.has(name))) continue;
    const message = `${quoted(name)} must be given, but is not described: no call can be good.`;
    const hint = 'Describe it under `properties`, or take it out of `required`.';
    problems.warn('MANIFEST_INPUT_IMPOSSIBLE', [...at, 'required', i], message, hint);
  }
}
