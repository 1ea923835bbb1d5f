/** A JSON Schema as a server gives it; only what is read here. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly minimum?: number;
}

/**
 * Arguments that a schema permits: what is required, or everything that it names. `values` has values for properties
 * by their names, where any text would not do, such as a path; they are always given. Throws for a schema that it
 * cannot read.
 */
export function argumentsFor(
  schema: Schema,
  values: Readonly<Record<string, unknown>>,
  isWhole: boolean,
): Record<string, unknown> {
  const { properties = {}, required = [] } = schema;
  const names = Object.keys(properties).filter(
    (name) => isWhole || required.includes(name) || Object.hasOwn(values, name),
  );
  return Object.fromEntries(
    names.map((name) => [
      name,
      Object.hasOwn(values, name) ? values[name] : valueFor(properties[name]!, values, isWhole),
    ]),
  );
}

function valueFor(schema: Schema, values: Readonly<Record<string, unknown>>, isWhole: boolean): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return valueFor(schema.anyOf[0]!, values, isWhole);
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  switch (type) {
    case 'string':
      return 'text'.padEnd(schema.minLength ?? 0, '.');
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () =>
        valueFor(schema.items!, values, isWhole),
      );
    case 'object':
      return argumentsFor(schema, values, isWhole);
    default:
      throw new Error(`There is no value for ${JSON.stringify(schema)}.`);
  }
}
