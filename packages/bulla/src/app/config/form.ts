import {
  checkMembers,
  JsonNumber,
  type Member,
  type Path,
  quoted,
  TYPE_NAMES,
  type TypeName,
  typeOf,
} from '@bulla/core/json';
import { similar } from './similar.ts';

// A form says once what a value of the configuration may be. Its schema is what editors get, and its reader is what the
// loader runs; both are made from the same arguments, so that neither can say more than the other.

/** A JSON Schema (2020-12). */
export type Schema = { readonly [keyword: string]: unknown };

/** What the readers of one file share. */
export interface Reading {
  /** The folder of the file: relative paths begin there. */
  readonly folder: string;
  /**
   * Takes what no schema can see: a value that is out of range, or does not go with another one. It is thrown once the
   * form of the whole file is known to be right.
   */
  unsound(at: Path, sentence: string): void;
}

export interface Form<Value> {
  /** What the value must be, to go after `This must be`. */
  readonly what: string;
  readonly type: TypeName;
  readonly schema: Schema;
  /** Throws `CONFIG_INVALID` and `CONFIG_SECRET` with the path, exactly where the schema refuses. */
  read(at: Member, reading: Reading): Value;
}

/** The value that a form reads. */
export type Read<F> = F extends Form<infer Value> ? Value : never;

function refusal<Value>(at: Member, { what, type }: Pick<Form<Value>, 'what' | 'type'>, isShown = false) {
  return at.error('CONFIG_INVALID', `This must be ${what}; it is ${found(at, type, isShown)}.`);
}

/** What stands there instead. A text is quoted only where nobody would put a secret. */
function found({ value }: Member, expected: TypeName | null, isShown: boolean): string {
  const type = typeOf(value!);
  if (type === null) return 'null';
  if (type === 'boolean') return `${value}`;
  if (type === 'text' && isShown) return quoted(value as string);
  return type === expected ? TYPE_NAMES[type].replace(/^an? /, 'another ') : TYPE_NAMES[type];
}

interface TextRules<Value> {
  /** What an editor and the documentation call such a text. Default: a string. */
  readonly title?: string;
  readonly what: string;
  /** A regular expression as JSON Schema has it. */
  readonly pattern: string;
  /** Whether a refusal may quote the text. Default false: it may be a secret in the wrong place. */
  readonly isShown?: boolean;
  /** What is said, with `CONFIG_SECRET`, of a text that does not fit, because it may be a secret. */
  readonly literal?: string;
  /** What is made of it. Default: the text. */
  readonly make?: (text: string, at: Member, reading: Reading) => Value;
}

export function text(rules: TextRules<string> & { readonly make?: never }): Form<string>;
export function text<Value>(rules: TextRules<Value> & Required<Pick<TextRules<Value>, 'make'>>): Form<Value>;
export function text(rules: TextRules<unknown>): Form<unknown> {
  const { title, what, pattern, isShown, literal, make = (found) => found } = rules;
  const expression = new RegExp(pattern, 'u');
  const form: Form<unknown> = {
    what,
    type: 'text',
    schema: { ...(title !== undefined && { title }), type: 'string', pattern },
    read(at, reading) {
      const { value } = at;
      if (typeof value === 'string' && expression.test(value)) return make(value, at, reading);
      if (typeof value === 'string' && literal !== undefined) throw at.error('CONFIG_SECRET', literal);
      throw refusal(at, form, isShown);
    },
  };
  return form;
}

/** One of some words. */
export function word<const Word extends string>(words: readonly Word[]): Form<Word> {
  const form: Form<Word> = {
    what: words.length === 1 ? quoted(words[0]!) : `one of ${words.join(', ')}`,
    type: 'text',
    schema: { enum: words },
    read(at) {
      const chosen = words.find((one) => one === at.value);
      if (chosen !== undefined) return chosen;
      const near = typeof at.value === 'string' ? similar(at.value, words) : undefined;
      const { message } = refusal(at, form, true);
      throw at.error('CONFIG_INVALID', `${message}${meant(near)}`);
    },
  };
  return form;
}

const meant = (near: string | undefined): string =>
  near === undefined ? '' : ` Did you mean ${quoted(near)}?`;

export const yesOrNo: Form<boolean> = {
  what: TYPE_NAMES.boolean,
  type: 'boolean',
  schema: { type: 'boolean' },
  read(at) {
    if (typeof at.value === 'boolean') return at.value;
    throw refusal(at, yesOrNo);
  },
};

/** A whole number in plain digits. */
export function count(minimum: number, maximum: number): Form<number> {
  const form: Form<number> = {
    what: `a whole number from ${minimum} to ${maximum}`,
    type: 'number',
    schema: { type: 'integer', minimum, maximum },
    read(at) {
      const { value } = at;
      const number = value instanceof JsonNumber && /^[0-9]+$/.test(value.lexeme) ? value.toNumber() : -1;
      if (number >= minimum && number <= maximum) return number;
      throw refusal(at, form);
    },
  };
  return form;
}

interface ListRules {
  readonly minItems?: number;
  /** Whether no element may stand there twice; only of texts. */
  readonly uniqueItems?: boolean;
}

export function list<Value>(
  element: Form<Value>,
  { minItems = 0, uniqueItems = false }: ListRules = {},
): Form<readonly Value[]> {
  const form: Form<readonly Value[]> = {
    what: minItems === 0 ? TYPE_NAMES.list : `a list of at least ${minItems}`,
    type: 'list',
    schema: {
      type: 'array',
      items: element.schema,
      ...(minItems > 0 && { minItems }),
      ...(uniqueItems && { uniqueItems }),
    },
    read(at, reading) {
      const { value } = at;
      if (!Array.isArray(value) || value.length < minItems) throw refusal(at, form);
      const elements = at.list();
      const values = elements.map((one) => element.read(one, reading));
      const seen = new Set<unknown>();
      for (const one of uniqueItems ? elements : []) {
        if (seen.has(one.value)) throw one.error('CONFIG_INVALID', 'This stands in the list already.');
        seen.add(one.value);
      }
      return values;
    },
  };
  return form;
}

interface MapRules {
  /** What a name is, to go after `A name here is`. */
  readonly names: string;
  readonly pattern: string;
  readonly minProperties?: number;
}

/** An object whose names are chosen by whoever writes it. */
export function map<Value>(
  inner: Form<Value>,
  { names, pattern, minProperties = 0 }: MapRules,
): Form<ReadonlyMap<string, Value>> {
  const expression = new RegExp(pattern, 'u');
  const form: Form<ReadonlyMap<string, Value>> = {
    what: minProperties === 0 ? TYPE_NAMES.object : 'an object that is not empty',
    type: 'object',
    schema: {
      type: 'object',
      propertyNames: { pattern },
      additionalProperties: inner.schema,
      ...(minProperties > 0 && { minProperties }),
    },
    read(at, reading) {
      if (typeOf(at.value!) !== 'object' || at.object().size < minProperties) throw refusal(at, form);
      const entries = at.entries();
      // The name itself is not shown: it may be a line with a secret, such as NAME=VALUE.
      const odd = entries.findIndex(([name]) => !expression.test(name));
      if (odd >= 0)
        throw at.error('CONFIG_INVALID', `A name here is ${names}; that of member ${odd + 1} is not.`);
      return new Map(entries.map(([name, member]) => [name, inner.read(member, reading)]));
    },
  };
  return form;
}

/** A member of a record: its form, and what an editor says of it. */
export interface Field<Value, IsOptional extends boolean> {
  readonly form: Form<Value>;
  readonly description: string;
  readonly isOptional: IsOptional;
  readonly examples: readonly unknown[];
}

export type Fields = Readonly<Record<string, Field<unknown, boolean>>>;

export function required<Value>(
  form: Form<Value>,
  description: string,
  ...examples: unknown[]
): Field<Value, false> {
  return { form, description, isOptional: false, examples };
}

export function optional<Value>(
  form: Form<Value>,
  description: string,
  ...examples: unknown[]
): Field<Value, true> {
  return { form, description, isOptional: true, examples };
}

type ValueOf<F> = F extends Field<infer Value, boolean> ? Value : never;
/** What is read of the members of a record; one that is missing is missing there too. */
export type ReadFields<F> = {
  readonly [Name in keyof F as F[Name] extends Field<unknown, false> ? Name : never]: ValueOf<F[Name]>;
} & {
  readonly [Name in keyof F as F[Name] extends Field<unknown, false> ? never : Name]?: ValueOf<F[Name]>;
};

function schemaOf(fields: Fields): Schema {
  const rows = Object.entries(fields);
  const required = rows.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      rows.map(([name, { form, description, examples }]) => [
        name,
        { description, ...form.schema, ...(examples.length > 0 && { examples }) },
      ]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** Throws for a member that is none of the table. */
function checkNames(fields: Fields, at: Member): void {
  const names = Object.keys(fields);
  checkMembers(at.object(), { required: [], optional: names }, (_, key) => {
    const near = meant(similar(key, names));
    throw at.get(key).error('CONFIG_INVALID', `There is no member ${quoted(key)} here.${near}`);
  });
}

/** Reads the members that are there; throws for one that is missing. */
function readFields(fields: Fields, at: Member, reading: Reading): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, { form, isOptional }] of Object.entries(fields)) {
    const member = at.get(name);
    if (at.has(name)) values[name] = form.read(member, reading);
    else if (!isOptional)
      throw member.error('CONFIG_INVALID', `The member ${quoted(name)} is missing; it must be ${form.what}.`);
  }
  return values;
}

/** An object with exactly these members. */
export function record<const F extends Fields>(fields: F): Form<ReadFields<F>> {
  const form: Form<ReadFields<F>> = {
    what: TYPE_NAMES.object,
    type: 'object',
    schema: schemaOf(fields),
    read(at, reading) {
      if (typeOf(at.value!) !== 'object') throw refusal(at, form);
      checkNames(fields, at);
      return readFields(fields, at, reading) as ReadFields<F>;
    },
  };
  return form;
}

type Variants = Readonly<Record<string, Fields>>;
type ReadVariants<V> = {
  [Name in keyof V]: ReadFields<V[Name]> & { readonly [Other in Exclude<keyof V, Name>]?: undefined };
}[keyof V];

/**
 * An object with some members in any case, and those of exactly one variant. A variant is named after the member that
 * chooses it, which is the one that it requires.
 */
export function variants<const C extends Fields, const V extends Variants>(
  common: C,
  others: V,
): Form<ReadFields<C> & ReadVariants<V>> {
  const choosers = Object.keys(others);
  const all: Fields = Object.fromEntries([...Object.values(others), common].flatMap(Object.entries));
  const form: Form<ReadFields<C> & ReadVariants<V>> = {
    what: TYPE_NAMES.object,
    type: 'object',
    schema: {
      ...schemaOf(
        Object.fromEntries(
          Object.entries(all).map(([name, field]) => [
            name,
            choosers.includes(name) ? { ...field, isOptional: true } : field,
          ]),
        ),
      ),
      oneOf: choosers.map((name) => ({ required: [name] })),
      dependentRequired: Object.fromEntries(
        Object.entries(others).flatMap(([chooser, fields]) =>
          Object.keys(fields)
            .filter((name) => name !== chooser)
            .map((name) => [name, [chooser]]),
        ),
      ),
    },
    read(at, reading) {
      if (typeOf(at.value!) !== 'object') throw refusal(at, form);
      checkNames(all, at);
      const chosen = choosers.filter((name) => at.has(name));
      const either = choosers.map((name) => quoted(name)).join(' and ');
      if (chosen.length !== 1) {
        const why = chosen.length === 0 ? 'none is' : 'more than one is';
        throw at.error('CONFIG_INVALID', `Exactly one of ${either} must be here; ${why}.`);
      }
      const [name] = chosen;
      for (const [chooser, fields] of Object.entries(others)) {
        const stray = chooser === name ? undefined : Object.keys(fields).find((one) => at.has(one));
        if (stray === undefined) continue;
        const sentence = `The member ${quoted(stray)} goes with ${quoted(chooser)}, and not with ${quoted(name!)}.`;
        throw at.get(stray).error('CONFIG_INVALID', sentence);
      }
      return readFields({ ...common, ...others[name!] }, at, reading) as ReadFields<C> & ReadVariants<V>;
    },
  };
  return form;
}

/**
 * What one of some forms takes. They differ in their types, or are records that differ in a member which they require:
 * the one whose turn it is says what is wrong.
 */
export function either<const F extends readonly Form<unknown>[]>(...forms: F): Form<Read<F[number]>> {
  const form: Form<Read<F[number]>> = {
    what: forms.map(({ what }) => what).join(' or '),
    type: forms[0]!.type,
    schema: { anyOf: forms.map(({ schema }) => schema) },
    read(at, reading) {
      const type = typeOf(at.value!);
      const fitting = forms.filter((one) => one.type === type);
      const isNamed = ({ schema }: Form<unknown>) =>
        ((schema.required ?? []) as readonly string[]).every((name) => at.has(name));
      const chosen = fitting.length === 1 ? fitting[0] : fitting.find(isNamed);
      if (chosen === undefined) throw refusal(at, form);
      return chosen.read(at, reading) as Read<F[number]>;
    },
  };
  return form;
}
