import { JsonObject, type JsonValue, sameValue } from '../json/index.ts';

/** Keywords beside which a property that may be left out has no bearing on the others. */
const SIMPLE: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'title',
  'description',
]);

/**
 * Two schemas of closed objects without the properties that both describe alike and neither requires. What the two
 * accept compares as before: an object is accepted with such a property exactly when it is without, and the property
 * is good by the one schema that both have for it. So does what they refuse, since values without it are left. Other
 * schemas are given back as they are, as are those in which something refers elsewhere: the caller says so.
 */
export function cutDown(before: JsonValue, after: JsonValue, refers: boolean): [JsonValue, JsonValue] {
  if (refers || !isSimple(before) || !isSimple(after)) return [before, after];
  const [had, has] = [before.get('properties') as JsonObject, after.get('properties') as JsonObject];
  const needed = new Set([...namesIn(before), ...namesIn(after)]);
  const idle = new Set(
    has.keys.filter((name) => {
      const old = had.get(name);
      return !needed.has(name) && old !== undefined && sameValue(old, has.get(name)!);
    }),
  );
  if (idle.size === 0) return [before, after];
  const without = (schema: JsonObject, properties: JsonObject) => {
    const left = JsonObject.from([...properties].filter(([name]) => !idle.has(name)));
    return new JsonObject(
      schema.keys,
      schema.values.map((value, i) => (schema.keys[i] === 'properties' ? left : value)),
    );
  };
  return [without(before, had), without(after, has)];
}

function isSimple(schema: JsonValue): schema is JsonObject {
  return (
    schema instanceof JsonObject &&
    schema.get('additionalProperties') === false &&
    schema.get('properties') instanceof JsonObject &&
    schema.keys.every((keyword) => SIMPLE.has(keyword))
  );
}

function namesIn(schema: JsonObject): JsonValue[] {
  const required = schema.get('required');
  return Array.isArray(required) ? required : [];
}
