import { BullaError } from '../error.ts';
import { pointer } from '../json/index.ts';
import { untilAborted } from './abort.ts';

/** What one problem of an input is, as Standard Schema has it. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** Any schema with the interface of standardschema.dev, version 1: zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: some libraries can say what they accept and what they give. */
    readonly jsonSchema?: StandardJsonSchema | undefined;
  };
}

export interface StandardJsonSchema {
  readonly input: (options: { readonly target: 'draft-2020-12' }) => unknown;
  readonly output: (options: { readonly target: 'draft-2020-12' }) => unknown;
}

/** What a schema turns an input into. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];

/**
 * Where the hashed form of a schema comes from. `toJSONSchema` is the rule of the specification: what the method of
 * that name returns, else `{vendor, version}`. The other two take Standard JSON Schema before they fall back to that.
 */
export type SchemaSource = 'toJSONSchema' | 'standard-input' | 'standard-output';
export const SCHEMA_SOURCES: readonly SchemaSource[] = ['toJSONSchema', 'standard-input', 'standard-output'];

/** Checks the interface of a schema. Throws `CAPABILITY_SCHEMA`. */
export function checkSchema(schema: unknown): asserts schema is StandardSchema {
  const holder = typeof schema === 'object' || typeof schema === 'function' ? schema : null;
  const standard = (holder as Partial<StandardSchema> | null)?.['~standard'];
  if (
    typeof standard !== 'object' ||
    standard === null ||
    standard.version !== 1 ||
    typeof standard.vendor !== 'string' ||
    typeof standard.validate !== 'function'
  ) {
    throw new BullaError('CAPABILITY_SCHEMA', 'This is no schema of Standard Schema, version 1.', {
      path: '/inputSchema',
    });
  }
}

/** Whether all that a hash knows of a schema is who made it, so that two different ones hash alike. */
export function isOpaqueSchema(schema: StandardSchema, source: SchemaSource = 'toJSONSchema'): boolean {
  return conversion(schema, source) === undefined;
}

/**
 * The form in which a schema is hashed: what its `toJSONSchema()` returns; else, where the source says so, what its
 * Standard JSON Schema is; else `{vendor, version}`. Throws `CAPABILITY_SCHEMA` when it cannot be converted, or gives a
 * promise or nothing.
 */
export function schemaToHashInput(schema: StandardSchema, source: SchemaSource = 'toJSONSchema'): unknown {
  checkSchema(schema);
  const convert = conversion(schema, source);
  if (convert === undefined) {
    const { vendor, version } = schema['~standard'];
    return { vendor, version };
  }
  const refuse = (why: string, cause?: unknown) =>
    new BullaError('CAPABILITY_SCHEMA', why, { path: '/schema', cause });
  let converted: unknown;
  try {
    converted = convert();
  } catch (cause) {
    throw refuse('The schema has no form as JSON Schema, so the tool cannot be hashed.', cause);
  }
  if (isThenable(converted)) throw refuse('The schema gives a promise where its JSON Schema is needed.');
  if (converted === undefined) throw refuse('The schema gives nothing where its JSON Schema is needed.');
  return converted;
}

/** How the schema is turned into JSON Schema, or undefined when it cannot say. */
function conversion(schema: StandardSchema, source: SchemaSource): (() => unknown) | undefined {
  const { toJSONSchema } = schema as { toJSONSchema?: unknown };
  if (typeof toJSONSchema === 'function') return () => toJSONSchema.call(schema);
  if (source === 'toJSONSchema') return undefined;
  const standard = schema['~standard'].jsonSchema;
  const convert = source === 'standard-input' ? standard?.input : standard?.output;
  return typeof convert === 'function'
    ? () => convert.call(standard, { target: 'draft-2020-12' })
    : undefined;
}

function isThenable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof (value as { then: unknown }).then === 'function'
  );
}

/**
 * What the schema makes of an input. Throws `CAPABILITY_INPUT_INVALID` with the path of the first issue and all
 * issues as its cause (their texts may quote the input, so the sentence does not repeat them), and
 * `CAPABILITY_SCHEMA` when the schema throws instead of answering.
 */
export async function validateInput(
  schema: StandardSchema,
  input: unknown,
  signal?: AbortSignal,
): Promise<unknown> {
  let result: StandardResult<unknown>;
  try {
    const answer = schema['~standard'].validate(input);
    result = isThenable(answer)
      ? await untilAborted(signal, answer as Promise<StandardResult<unknown>>)
      : (answer as StandardResult<unknown>);
  } catch (cause) {
    if (cause instanceof BullaError && cause.code === 'CAPABILITY_ABORTED') throw cause;
    throw new BullaError('CAPABILITY_SCHEMA', 'The schema failed instead of judging the input.', {
      cause,
    });
  }
  if (typeof result !== 'object' || result === null || !('value' in result || Array.isArray(result.issues))) {
    throw new BullaError('CAPABILITY_SCHEMA', 'The schema gave no verdict on the input.');
  }
  if (result.issues === undefined) return result.value;
  const count = result.issues.length;
  const more = count > 1 ? `, and at ${count - 1} more ${count === 2 ? 'place' : 'places'}` : '';
  const path = issuePath(result.issues[0]);
  const where = path === '' ? 'as a whole' : `at ${path}`;
  throw new BullaError('CAPABILITY_INPUT_INVALID', `The input does not fit its schema ${where}${more}.`, {
    path,
    cause: result.issues,
  });
}

function issuePath(issue: StandardIssue | undefined): string {
  const keys = (issue?.path ?? []).map((step) => (typeof step === 'object' ? step.key : step));
  return pointer(keys.map((key) => (typeof key === 'number' ? key : String(key))));
}
