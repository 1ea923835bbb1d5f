import { JsonNumber, type JsonValue, stringify } from '../json/index.ts';

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

/** What the sentence of a change is made of. */
interface Told {
  readonly argument: string;
  readonly keyword: string;
  /** The keyword that said it before. */
  readonly former: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

interface Words extends Told {
  /** The argument, to begin a sentence with; and as what something belongs to, empty for the whole input. */
  readonly it: string;
  readonly of: string;
  /** What became of the value. */
  readonly step: string;
  /** What an object or array has without describing it. */
  readonly others: string;
}

const typeChanged = ({ it, before, after }: Words) =>
  `${it} was ${types(before)} and is now ${types(after)}.`;
const limitChanged = ({ it, of, keyword, former, step }: Words) =>
  keyword === '' ? `${it} ${step}.` : `\`${former}\`${of} ${step}.`;
const keywordChanged = ({ keyword, of, step }: Words) =>
  `The keyword \`${keyword}\`${of}, whose meaning is not known here, ${step}.`;

/** The kinds of changes, each with its sentence. Their names are stable. */
const SENTENCES = {
  'argument-added': ({ it }: Words) => `${it} is new.`,
  'argument-removed': ({ it }: Words) => `${it} is no longer described.`,
  'required-added': ({ it }: Words) => `${it} must now be given.`,
  'required-removed': ({ it }: Words) => `${it} may now be left out.`,
  'type-widened': typeChanged,
  'type-narrowed': typeChanged,
  'type-changed': typeChanged,
  'enum-added': ({ it, after }: Words) => `${it} now also takes ${list(after)}.`,
  'enum-removed': ({ it, before }: Words) => `${it} no longer takes ${list(before)}.`,
  'const-changed': ({ it, before, after }: Words) =>
    `${it} had to be ${quote(before ?? null)} and now has to be ${quote(after ?? null)}.`,
  'constraint-loosened': limitChanged,
  'constraint-tightened': limitChanged,
  'constraint-changed': limitChanged,
  'pattern-changed': ({ of, step }: Words) => `The pattern${of} ${step}.`,
  'additional-closed': ({ it, others, after }: Words) =>
    `${it} takes ${after === false ? 'no' : 'fewer'} ${others} that are not described.`,
  'additional-opened': ({ it, others, before }: Words) =>
    `${it} ${before === false ? 'now takes' : 'takes more'} ${others} that are not described.`,
  'additional-changed': ({ it, others }: Words) =>
    `What ${it} takes of ${others} that are not described changed.`,
  'alternative-added': ({ it }: Words) => `${it} has a new alternative.`,
  'alternative-removed': ({ it }: Words) => `${it} has lost an alternative.`,
  'default-changed': limitChanged,
  'description-changed': ({ of, before, after }: Words) =>
    `The description${of} ${before === undefined ? 'is new' : after === undefined ? 'is gone' : 'changed'}.`,
  'annotation-changed': limitChanged,
  'reference-changed': ({ of, step }: Words) => `The reference${of} ${step}.`,
  'reference-unresolved': ({ it, after }: Words) =>
    `${it} is described in another place, ${quote(after ?? null)}, which was not read.`,
  'dialect-changed': ({ step }: Words) => `The dialect of the schema ${step}.`,
  'definition-added': ({ keyword }: Words) => `The definition ${JSON.stringify(keyword)} is new.`,
  'definition-removed': ({ keyword }: Words) => `The definition ${JSON.stringify(keyword)} is gone.`,
  'unsupported-keyword-changed': keywordChanged,
  'unknown-keyword-changed': keywordChanged,
  'too-many': () => 'The schema is too large for its differences to be told one by one.',
};

export type ChangeKind = keyof typeof SENTENCES;

/** What happened, for people. */
export function sentence(kind: ChangeKind, told: Told): string {
  const { argument, keyword, former, before, after } = told;
  const step =
    before === undefined
      ? `is now ${quote(after ?? null)}`
      : after === undefined
        ? `was ${quote(before)} and is gone`
        : `was ${quote(before)} and is now ${former === keyword ? '' : `${keyword} `}${quote(after)}`;
  return SENTENCES[kind]({
    ...told,
    it: argument === '' ? 'The input' : JSON.stringify(argument),
    of: argument === '' ? '' : ` of ${JSON.stringify(argument)}`,
    step,
    others: keyword.endsWith('Items') ? 'elements' : 'members',
  });
}
