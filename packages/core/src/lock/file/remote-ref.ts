import { BullaError } from '../../error.ts';
import { JsonObject, type Path, pointer } from '../../json/index.ts';
import { schemaOf } from './hashes.ts';
import { pathTo, walk } from './walk.ts';

/** Throws `LOCK_REMOTE_REF` for a tool with a schema that points outside itself, and `LOCK_DEFINITION`. */
export function refuseRemoteSchemas(tools: ReadonlyMap<string, JsonObject>): void {
  for (const [name, definition] of tools) {
    for (const key of ['inputSchema', 'outputSchema']) {
      const schema = schemaOf(definition, key, ['tools', name]);
      if (schema !== undefined) refuseRemoteRefs(schema, ['tools', name, key]);
    }
  }
}

const REFERENCES: readonly (string | number)[] = ['$ref', '$dynamicRef', '$recursiveRef'];

/**
 * Refuses a schema that points outside itself: what stands there can change while every digest stays the
 * same. A reference may start with `#`, or be an absolute URI that is the `$id` of the schema or of one of
 * its `$defs`. Relative references are refused, because what they mean hangs on every `$id` around them; so
 * is a member named `$ref` inside an example or an enum, which a pointer could turn into a schema. Throws
 * `LOCK_REMOTE_REF`.
 */
function refuseRemoteRefs(schema: JsonObject, at: Path): void {
  let known: ReadonlySet<string> | undefined;
  walk(schema, (value, key, above) => {
    if (typeof value !== 'string' || !REFERENCES.includes(key) || value.startsWith('#')) return;
    known ??= absoluteIds(schema);
    if (known.has(value.split('#', 1)[0]!)) return;
    const message = `The schema points to ${JSON.stringify(value)}, outside itself.`;
    throw new BullaError('LOCK_REMOTE_REF', message, { path: pointer([...at, ...pathTo(key, above)]) });
  });
}

function absoluteIds(schema: JsonObject): Set<string> {
  const ids = new Set<string>();
  const definitions = ['$defs', 'definitions'].map((key) => schema.get(key));
  const inner = definitions.flatMap((group) => (group instanceof JsonObject ? group.values : []));
  for (const part of [schema, ...inner]) {
    const id = part instanceof JsonObject ? part.get('$id') : undefined;
    if (typeof id === 'string' && /^[a-z][a-z0-9+.-]*:/i.test(id)) ids.add(id.split('#', 1)[0]!);
  }
  return ids;
}
