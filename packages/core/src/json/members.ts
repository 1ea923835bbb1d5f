import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import { type Path, pointer } from './pointer.ts';
import { JsonNumber, JsonObject, type JsonValue } from './value.ts';

// The one reader of typed members: what is not exactly expected is refused with its path, and nothing is repaired.
// That a key stands there once, the parser has made sure.

export interface Fields {
  readonly required: readonly string[];
  readonly optional?: readonly string[];
  /** Members of other versions of the document, whose case twins are refused too. */
  readonly others?: readonly string[];
}

type MemberFault = 'twin' | 'unknown' | 'missing';

/**
 * Reports every member that the table does not allow, in the order of the document, and then those that are missing, in
 * the order of the table. A twin is an unknown member that a reader without regard to case would take for a known one.
 */
export function checkMembers(
  object: { readonly keys: readonly string[] },
  { required, optional = [], others = [] }: Fields,
  report: (fault: MemberFault, key: string) => void,
): void {
  for (const key of object.keys) {
    if (required.includes(key) || optional.includes(key)) continue;
    const isTwin = [required, optional, others].some((names) => names.some((name) => isCaseTwin(key, name)));
    report(isTwin ? 'twin' : 'unknown', key);
  }
  for (const key of required) if (!object.keys.includes(key)) report('missing', key);
}

/**
 * Whether a reader that compares without case, such as Go's decoder, would take `key` for `known`: by Unicode's simple
 * folding, two letters outside ASCII also stand for s and k.
 */
export function isCaseTwin(key: string, known: string): boolean {
  return key !== known && key.length === known.length && fold(key) === fold(known);
}

function fold(key: string): string {
  return key.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
}

/** What the values of a type are called, to go after `This must be`. */
export const TYPE_NAMES = {
  text: 'a string',
  object: 'an object',
  list: 'a list',
  boolean: 'true or false',
  number: 'a number',
} as const;
export type TypeName = keyof typeof TYPE_NAMES;

/** The type of a value; null for null. */
export function typeOf(value: JsonValue): TypeName | null {
  if (value === null) return null;
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  if (value instanceof JsonNumber) return 'number';
  return value instanceof JsonObject ? 'object' : 'list';
}

/** How a kind of document is read. */
export interface Reading {
  /** The codes of refusals. Without one of its own a twin is unknown, and a wrong value has a wrong type. */
  readonly codes: {
    readonly type: Code;
    readonly unknown: Code;
    readonly missing: Code;
    readonly value?: Code;
    readonly twin?: Code;
  };
  /** Pass over unknown members, which are listed here by their pointers, and over missing ones until they are read. */
  readonly ignored?: string[];
}

/** The codes of documents for which a refusal has one code, whatever is wrong. */
export function oneCode(code: Code): Reading {
  return { codes: { type: code, unknown: code, missing: code } };
}

/** A value at its place in a document. All readers throw with the path, by the codes of the reading. */
export class Member {
  /** The value as it was parsed; undefined where a member is missing. */
  readonly value: JsonValue | undefined;
  readonly at: Path;
  readonly #reading: Reading;

  constructor(value: JsonValue | undefined, reading: Reading, at: Path = []) {
    this.value = value;
    this.at = at;
    this.#reading = reading;
  }

  /** An error at this place, to throw. */
  error(code: Code, sentence: string, cause?: unknown): BullaError {
    return new BullaError(code, sentence, { path: pointer(this.at), cause });
  }

  wrongType(what: string): BullaError {
    const { type, missing } = this.#reading.codes;
    if (this.value === undefined)
      return this.error(missing, `The member ${quoted(this.at.at(-1) ?? '')} is missing.`);
    return this.error(type, `This must be ${what}.`);
  }

  wrongValue(sentence: string): BullaError {
    const { value, type } = this.#reading.codes;
    return this.error(value ?? type, sentence);
  }

  /** Checks that this is an object with exactly these members, and gives it back. */
  record(fields: Fields): this {
    const { codes, ignored } = this.#reading;
    checkMembers(this.object(), fields, (fault, key) => {
      const member = this.get(key);
      if (fault === 'twin')
        throw member.error(
          codes.twin ?? codes.unknown,
          `The member ${quoted(key)} could be taken for another.`,
        );
      if (fault === 'unknown' && ignored === undefined)
        throw member.error(codes.unknown, `There is no member ${quoted(key)} here.`);
      if (fault === 'unknown') ignored!.push(pointer(member.at));
      else if (ignored === undefined) throw member.wrongType('there');
    });
    return this;
  }

  /** An object with any members. */
  object(): JsonObject {
    if (this.value instanceof JsonObject) return this.value;
    throw this.wrongType(TYPE_NAMES.object);
  }

  has(key: string): boolean {
    return this.object().has(key);
  }

  /** The member of that name; reading one that is missing throws. */
  get(key: string): Member {
    return new Member(this.object().get(key), this.#reading, [...this.at, key]);
  }

  /** What `read` makes of a member; null where there is none. */
  optional<Value>(key: string, read: (member: Member) => Value): Value | null {
    return this.has(key) ? read(this.get(key)) : null;
  }

  /** What `read` makes of a member, under its name; nothing where there is none. */
  maybe<Key extends string, Value>(
    key: Key,
    read: (member: Member) => Value,
  ): { readonly [K in Key]?: Value } {
    return (this.has(key) ? { [key]: read(this.get(key)) } : {}) as { readonly [K in Key]?: Value };
  }

  entries(): [string, Member][] {
    return this.object().keys.map((key) => [key, this.get(key)]);
  }

  list(): Member[] {
    if (!Array.isArray(this.value)) throw this.wrongType(TYPE_NAMES.list);
    return this.value.map((element, i) => new Member(element, this.#reading, [...this.at, i]));
  }

  text(): string {
    if (typeof this.value === 'string') return this.value;
    throw this.wrongType(TYPE_NAMES.text);
  }

  texts(): string[] {
    return this.list().map((element) => element.text());
  }

  /** What `read` makes of it; null for null. */
  orNull<Value>(read: (member: Member) => Value): Value | null {
    return this.value === null ? null : read(this);
  }

  /** A string that fits; `sentence` says of another what it must be. */
  fitting(fits: (text: string) => boolean, sentence: string): string {
    const text = this.text();
    if (!fits(text)) throw this.wrongValue(sentence);
    return text;
  }

  word<Word extends string>(words: readonly Word[]): Word {
    const text = this.text();
    const word = words.find((known) => known === text);
    if (word === undefined) throw this.wrongValue(`This must be one of ${words.join(', ')}.`);
    return word;
  }

  boolean(): boolean {
    if (typeof this.value === 'boolean') return this.value;
    throw this.wrongType(TYPE_NAMES.boolean);
  }

  /** True; what is not so is left out. */
  flag(): true {
    if (this.value === true) return true;
    throw this.wrongType('true, or left out');
  }

  /** A whole number from 0 in plain digits that a double holds exactly; `of` says what is counted. */
  natural(of = ''): number {
    const { value } = this;
    const number = value instanceof JsonNumber && /^[0-9]+$/.test(value.lexeme) ? value.toNumber() : -1;
    if (Number.isSafeInteger(number) && number >= 0) return number;
    throw this.wrongType(`a whole number${of === '' ? '' : ` of ${of}`}`);
  }
}

/** A key as it may stand in a sentence; whoever wrote the document chose its length. */
export function quoted(key: string | number): string {
  const text = `${key}`;
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64).toWellFormed()}…` : text);
}
