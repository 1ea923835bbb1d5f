import { JsonObject, type JsonValue } from '../json/index.ts';
import { DIALECT_2020_12, KEYWORD_FORMS } from '../schema/index.ts';

/** What was done to a schema, or could not be. */
export interface SchemaNote {
  readonly code:
    | 'schema-closed'
    | 'schema-open'
    | 'schema-patterns'
    | 'dialect-dropped'
    | 'dialect-kept'
    | 'type-added';
  readonly message: string;
}

/** Keywords that describe members elsewhere than under `properties`, where `additionalProperties` does not look. */
const ELSEWHERE = [
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'then',
  'else',
  'dependentSchemas',
];

/** Keywords that an older dialect does not have, or that have another meaning or none in Draft 2020-12. */
const CHANGED: ReadonlySet<string> = new Set(
  'additionalItems dependencies prefixItems dependentRequired dependentSchemas minContains maxContains unevaluatedProperties unevaluatedItems $anchor $dynamicAnchor $dynamicRef $recursiveRef $recursiveAnchor $id id'.split(
    ' ',
  ),
);

/**
 * A server's input schema as a manifest may have it: in Draft 2020-12, of an object, closed. Each step is taken only
 * where every call that the schema describes stays what it was; what was not done is told, and left to a person.
 */
export function draftSchema(source: JsonValue | undefined): { schema: JsonObject; notes: SchemaNote[] } {
  const notes: SchemaNote[] = [];
  let schema = source instanceof JsonObject ? source : new JsonObject();
  schema = withDialect(schema, notes);
  if (!schema.has('type')) {
    schema = JsonObject.from([['type', 'object'], ...schema]);
    notes.push({
      code: 'type-added',
      message: 'It did not say that its input is an object, which it always is.',
    });
  }
  const open = whyOpen(schema);
  if (open !== null) notes.push({ code: 'schema-open', message: `It was not closed: ${open}` });
  else if (!schema.has('additionalProperties')) {
    schema = JsonObject.from([...schema, ['additionalProperties', false]]);
    notes.push({
      code: 'schema-closed',
      message: 'It took arguments that it did not describe, and takes none now.',
    });
  }
  if (open === null && schema.has('patternProperties')) {
    const message = 'Arguments whose names fit a pattern still pass; look whether each is meant.';
    notes.push({ code: 'schema-patterns', message });
  }
  return { schema, notes };
}

function withDialect(schema: JsonObject, notes: SchemaNote[]): JsonObject {
  const named = schema.get('$schema');
  if (named === undefined || (typeof named === 'string' && named.replace(/#$/, '') === DIALECT_2020_12))
    return schema;
  const changed = changedKeyword(schema);
  if (changed !== null) {
    const message = `It is written in another dialect, in which \`${changed}\` does not mean the same.`;
    notes.push({ code: 'dialect-kept', message });
    return schema;
  }
  notes.push({
    code: 'dialect-dropped',
    message: 'It named another dialect; all that it says means the same in 2020-12.',
  });
  return JsonObject.from([...schema].filter(([keyword]) => keyword !== '$schema'));
}

/** The first keyword of which the older dialects and Draft 2020-12 do not agree. Never recurses. */
function changedKeyword(root: JsonObject): string | null {
  const open: JsonValue[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!(node instanceof JsonObject)) continue;
    for (const [keyword, value] of node) {
      if (CHANGED.has(keyword) || (keyword === 'items' && Array.isArray(value))) return keyword;
      // Older dialects ignore what stands beside a reference.
      if (keyword === '$ref' && node.size > 1) return keyword;
      const holds = KEYWORD_FORMS.get(keyword)?.holds ?? 'nothing';
      if (holds === 'schema') open.push(value);
      else if (holds === 'list' && Array.isArray(value)) for (const inner of value) open.push(inner);
      else if (holds === 'map' && value instanceof JsonObject)
        for (const inner of value.values) open.push(inner);
    }
  }
  return null;
}

/** Why a schema cannot be closed without refusing calls that it describes; null when it can be, or is. */
function whyOpen(schema: JsonObject): string | null {
  const additional = schema.get('additionalProperties');
  if (additional === false) return null;
  if (additional !== undefined)
    return 'the server says of `additionalProperties` that arguments it does not describe are meant.';
  const elsewhere = ELSEWHERE.find((keyword) => schema.has(keyword));
  if (elsewhere !== undefined)
    return `\`${elsewhere}\` may describe arguments that \`properties\` does not name.`;
  const properties = schema.get('properties');
  const required = schema.get('required');
  const names = properties instanceof JsonObject ? properties : new JsonObject();
  if (Array.isArray(required) && !schema.has('patternProperties')) {
    const missing = required.find((name) => typeof name === 'string' && !names.has(name));
    if (missing !== undefined) return 'an argument that must be given is not described.';
  }
  return null;
}
