import { JsonNumber, type JsonValue, stringify } from '../json/index.ts';

/** The stable names of changes. */
export type ChangeKind =
  | 'argument-added'
  | 'argument-removed'
  | 'required-added'
  | 'required-removed'
  | 'type-widened'
  | 'type-narrowed'
  | 'type-changed'
  | 'enum-added'
  | 'enum-removed'
  | 'const-changed'
  | 'constraint-loosened'
  | 'constraint-tightened'
  | 'constraint-changed'
  | 'pattern-changed'
  | 'additional-closed'
  | 'additional-opened'
  | 'additional-changed'
  | 'alternative-added'
  | 'alternative-removed'
  | 'default-changed'
  | 'description-changed'
  | 'annotation-changed'
  | 'reference-changed'
  | 'reference-unresolved'
  | 'dialect-changed'
  | 'definition-added'
  | 'definition-removed'
  | 'unsupported-keyword-changed'
  | 'unknown-keyword-changed'
  | 'too-many';

/** Whether a change by itself lets fewer values pass, more, some of both, the same, or this cannot be told. */
export type Direction = 'less' | 'more' | 'both' | 'none' | 'unknown';

/** One difference between two schemas. */
export interface SchemaChange {
  readonly kind: ChangeKind;
  /** JSON Pointer into the new schema; into the old one for what is gone. */
  readonly path: string;
  /** The argument it speaks of, such as `options.depth`, `files[]` or `headers.*`; empty for the whole input. */
  readonly argument: string;
  readonly keyword: string;
  readonly before?: JsonValue;
  readonly after?: JsonValue;
  /**
   * What this change does by itself, the rest of the schema being as it is. `less` and `more` are proven to be no worse
   * than that; whether the schema as a whole accepts less or more is for `relation` to say.
   */
  readonly direction: Direction;
  /** A sentence. It quotes names and values of the schemas as they are: show it through `visible`. */
  readonly message: string;
}

const MAX_QUOTE = 80;

export function quote(value: JsonValue): string {
  const text = value instanceof JsonNumber ? value.lexeme : stringify(value, Number.POSITIVE_INFINITY);
  return text.length <= MAX_QUOTE ? text : `${Array.from(text.slice(0, MAX_QUOTE)).slice(0, -1).join('')}…`;
}

const list = (value: JsonValue | undefined) => (Array.isArray(value) ? value.map(quote).join(', ') : '');
const types = (value: JsonValue | undefined) =>
  value === undefined
    ? 'of any type'
    : typeof value === 'string'
      ? value
      : Array.isArray(value)
        ? value.map((word) => (typeof word === 'string' ? word : quote(word))).join(' or ')
        : quote(value);

interface Told {
  readonly kind: ChangeKind;
  readonly argument: string;
  readonly keyword: string;
  /** The keyword that said it before. */
  readonly former: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** What happened, for people. */
export function sentence({ kind, argument, keyword, former, before, after }: Told): string {
  const it = argument === '' ? 'The input' : JSON.stringify(argument);
  const of = argument === '' ? '' : ` of ${JSON.stringify(argument)}`;
  const step =
    before === undefined
      ? `is now ${quote(after ?? null)}`
      : after === undefined
        ? `was ${quote(before)} and is gone`
        : `was ${quote(before)} and is now ${former === keyword ? '' : `${keyword} `}${quote(after)}`;
  const others = keyword.endsWith('Items') ? 'elements' : 'members';
  switch (kind) {
    case 'argument-added':
      return `${it} is new.`;
    case 'argument-removed':
      return `${it} is no longer described.`;
    case 'required-added':
      return `${it} must now be given.`;
    case 'required-removed':
      return `${it} may now be left out.`;
    case 'type-widened':
    case 'type-narrowed':
    case 'type-changed':
      return `${it} was ${types(before)} and is now ${types(after)}.`;
    case 'enum-added':
      return `${it} now also takes ${list(after)}.`;
    case 'enum-removed':
      return `${it} no longer takes ${list(before)}.`;
    case 'const-changed':
      return `${it} had to be ${quote(before ?? null)} and now has to be ${quote(after ?? null)}.`;
    case 'pattern-changed':
      return `The pattern${of} ${step}.`;
    case 'additional-closed':
      return after === false
        ? `${it} takes no ${others} that are not described.`
        : `${it} takes fewer ${others} that are not described.`;
    case 'additional-opened':
      return before === false
        ? `${it} now takes ${others} that are not described.`
        : `${it} takes more ${others} that are not described.`;
    case 'additional-changed':
      return `What ${it} takes of ${others} that are not described changed.`;
    case 'alternative-added':
      return `${it} has a new alternative.`;
    case 'alternative-removed':
      return `${it} has lost an alternative.`;
    case 'reference-changed':
      return `The reference${of} ${step}.`;
    case 'reference-unresolved':
      return `${it} is described in another place, ${quote(after ?? null)}, which was not read.`;
    case 'dialect-changed':
      return `The dialect of the schema ${step}.`;
    case 'definition-added':
      return `The definition ${JSON.stringify(keyword)} is new.`;
    case 'definition-removed':
      return `The definition ${JSON.stringify(keyword)} is gone.`;
    case 'unsupported-keyword-changed':
    case 'unknown-keyword-changed':
      return `The keyword \`${keyword}\`${of}, whose meaning is not known here, ${step}.`;
    case 'too-many':
      return 'The schema is too large for its differences to be told one by one.';
    case 'description-changed':
      return `The description${of} ${before === undefined ? 'is new' : after === undefined ? 'is gone' : 'changed'}.`;
    default:
      return keyword === '' ? `${it} ${step}.` : `\`${former}\`${of} ${step}.`;
  }
}
