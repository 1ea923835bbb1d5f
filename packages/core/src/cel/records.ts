/** A table of records: the fields of each, by name. Types are written as CEL's; other words are records of the table. */
type Records = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** The type as the table writes it. */
  readonly written: string;
  readonly isOptional: boolean;
}

export type FieldType =
  | { readonly kind: 'string' | 'bool' | 'int' | 'dyn' }
  | { readonly kind: 'record'; readonly record: string }
  | { readonly kind: 'list' | 'map'; readonly of: FieldType };

/** An instance of a record: a field that is absent is not there. */
type RecordValue = Record<string, unknown>;

/** What rules of one kind may speak of. */
export interface Vocabulary<Shape extends string = string> {
  /** The record that `input` is, by the shape of the input. */
  readonly shapes: Readonly<Record<Shape, string>>;
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, Field>>;
  /** A class a record, so that the library knows what it holds in its hands. */
  readonly classes: ReadonlyMap<string, new () => RecordValue>;
}

/**
 * Makes a vocabulary of a table of records. A field with a question mark may be absent: a rule asks `has()` first. `dyn`
 * is JSON that somebody else chose.
 */
export function vocabularyOf<Shape extends string>(
  records: Records,
  shapes: Readonly<Record<Shape, string>>,
): Vocabulary<Shape> {
  const typeOf = (text: string): FieldType => {
    const [, list, value] = /^list<(.+)>$|^map<string, (.+)>$/.exec(text) ?? [];
    if (list !== undefined) return { kind: 'list', of: typeOf(list) };
    if (value !== undefined) return { kind: 'map', of: typeOf(value) };
    if (Object.hasOwn(records, text)) return { kind: 'record', record: text };
    return { kind: text as 'string' | 'bool' | 'int' | 'dyn' };
  };
  const fieldsOf = (record: Records[string]) =>
    new Map(
      Object.entries(record).map(([key, written]): [string, Field] => {
        const name = key.replace(/\?$/, '');
        return [name, { name, type: typeOf(written), written, isOptional: name !== key }];
      }),
    );
  return {
    shapes,
    fields: new Map(Object.entries(records).map(([name, record]) => [name, fieldsOf(record)])),
    classes: new Map(
      Object.keys(records).map((name) => [name, { [name]: class {} }[name] as new () => RecordValue]),
    ),
  };
}
