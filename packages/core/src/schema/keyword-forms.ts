import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import { decimal, isInteger } from './decimal.ts';
import { TYPES } from './value.ts';

/** What the value of a keyword may be, and in which of its parts schemas stand. */
export interface KeywordForm {
  /** Null if the value is of this form, else what it must be, in words. */
  readonly fault: (value: JsonValue) => string | null;
  /** Where the schemas stand in a value of this form. */
  readonly holds: 'nothing' | 'schema' | 'list' | 'map';
  /** Whether these schemas judge the same value as the one that they stand in. */
  readonly inPlace: boolean;
}

function form(
  words: string,
  is: (value: JsonValue) => boolean,
  holds: KeywordForm['holds'] = 'nothing',
  inPlace = false,
): KeywordForm {
  return { fault: (value) => (is(value) ? null : words), holds, inPlace };
}

const isAny = () => true;
const isMap = (value: JsonValue) => value instanceof JsonObject;
const isList = (value: JsonValue) => Array.isArray(value) && value.length > 0;
const isText = (value: JsonValue) => typeof value === 'string';
const isTexts = (value: JsonValue) =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;

function isCount(value: JsonValue): boolean {
  if (!(value instanceof JsonNumber)) return false;
  if (/^(?:0|[1-9]\d{0,14})$/.test(value.lexeme)) return true;
  const number = decimal(value.lexeme);
  return number !== undefined && !number.negative && isInteger(number);
}

function isPositive(value: JsonValue): boolean {
  return value instanceof JsonNumber && !value.lexeme.startsWith('-') && /^[\d.]*[1-9]/.test(value.lexeme);
}

function isType(value: JsonValue): boolean {
  if (typeof value === 'string') return TYPES.has(value);
  return (
    isTexts(value) && (value as string[]).length > 0 && (value as string[]).every((word) => TYPES.has(word))
  );
}

function isAddress(value: JsonValue): boolean {
  return isText(value) && /^[^#]*#?$/.test(value as string);
}

function isAnchor(value: JsonValue): boolean {
  return isText(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value as string);
}

function isVocabulary(value: JsonValue): boolean {
  return value instanceof JsonObject && value.values.every((use) => typeof use === 'boolean');
}

function isNameLists(value: JsonValue): boolean {
  return value instanceof JsonObject && value.values.every(isTexts);
}

const TYPE_WORDS = `one of ${[...TYPES.keys()].join(', ')}, or a list of these, each once`;
const SCHEMAS = 'a list of schemas that is not empty';

/** Keywords and what their values may be, as the meta-schemas of Draft 2020-12 say. */
const ROWS: readonly (readonly [keywords: string, KeywordForm])[] = [
  ['$schema $ref $dynamicRef $comment title description format pattern', form('a text', isText)],
  ['contentEncoding contentMediaType', form('a text', isText)],
  ['$id', form('an address without a fragment', isAddress)],
  ['$anchor $dynamicAnchor', form('a name of letters, digits, `-`, `.` and `_`', isAnchor)],
  ['$vocabulary', form('an object of true and false', isVocabulary)],
  ['type', form(TYPE_WORDS, isType)],
  ['const default', form('any value', isAny)],
  ['enum examples', form('a list', Array.isArray)],
  ['deprecated readOnly writeOnly uniqueItems', form('true or false', (value) => typeof value === 'boolean')],
  ['multipleOf', form('a number above 0', isPositive)],
  [
    'maximum exclusiveMaximum minimum exclusiveMinimum',
    form('a number', (value) => value instanceof JsonNumber),
  ],
  [
    'maxLength minLength maxItems minItems maxContains minContains maxProperties minProperties',
    form('a whole number that is not negative', isCount),
  ],
  ['required', form('a list of names that are all different', isTexts)],
  ['dependentRequired', form('an object of lists of names', isNameLists)],
  ['$defs definitions properties patternProperties', form('an object of schemas', isMap, 'map')],
  ['dependentSchemas', form('an object of schemas', isMap, 'map', true)],
  [
    'additionalProperties propertyNames unevaluatedProperties items contains unevaluatedItems contentSchema',
    form('a schema', isAny, 'schema'),
  ],
  ['not if then else', form('a schema', isAny, 'schema', true)],
  ['prefixItems', form(SCHEMAS, isList, 'list')],
  ['allOf anyOf oneOf', form(SCHEMAS, isList, 'list', true)],
];

/** The keywords of Draft 2020-12: core, applicator, unevaluated, validation, meta-data, format and content. */
export const KEYWORD_FORMS: ReadonlyMap<string, KeywordForm> = new Map(
  ROWS.flatMap(([keywords, of]) => keywords.split(' ').map((keyword) => [keyword, of] as const)),
);

const having = (is: (form: KeywordForm) => boolean) =>
  [...KEYWORD_FORMS].filter(([, of]) => is(of)).map(([keyword]) => keyword);

/** Keywords of any dialect whose value maps names to schemas. */
export const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  ...having(({ holds }) => holds === 'map'),
  'dependencies',
]);
/** Keywords of any dialect whose value is a schema, or a list of schemas. */
export const APPLICATORS: ReadonlySet<string> = new Set([
  ...having(({ holds }) => holds === 'schema' || holds === 'list'),
  'additionalItems',
]);
/** Keywords that apply other schemas to the same value. */
export const IN_PLACE: readonly string[] = ['$ref', ...having(({ inPlace }) => inPlace)];
