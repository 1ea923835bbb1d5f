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

const plain = (words: string, is: (value: JsonValue) => boolean): KeywordForm => ({
  fault: (value) => (is(value) ? null : words),
  holds: 'nothing',
  inPlace: false,
});
const holding = (holds: KeywordForm['holds'], inPlace: boolean, words: string): KeywordForm => ({
  fault: (value) => (FORMS[holds](value) ? null : words),
  holds,
  inPlace,
});
const FORMS: Readonly<Record<KeywordForm['holds'], (value: JsonValue) => boolean>> = {
  nothing: () => true,
  schema: () => true,
  list: (value) => Array.isArray(value) && value.length > 0,
  map: (value) => value instanceof JsonObject,
};

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

const TYPE_WORDS = `one of ${[...TYPES.keys()].join(', ')}, or a list of these, each once`;
const SCHEMA = holding('schema', false, 'a schema');
const BESIDE = holding('schema', true, 'a schema');
const ALTERNATIVES = holding('list', true, 'a list of schemas that is not empty');
const MAP = holding('map', false, 'an object of schemas');
const TEXT = plain('a text', isText);
const BOOLEAN = plain('true or false', (value) => typeof value === 'boolean');
const NUMBER = plain('a number', (value) => value instanceof JsonNumber);
const COUNT = plain('a whole number that is not negative', isCount);
const ANYTHING = plain('any value', () => true);
const LIST = plain('a list', Array.isArray);

/**
 * The keywords of Draft 2020-12 and what their values may be, as its meta-schemas say: core, applicator, unevaluated,
 * validation, meta-data, format and content.
 */
export const KEYWORD_FORMS: ReadonlyMap<string, KeywordForm> = new Map([
  ['$schema', TEXT],
  [
    '$id',
    plain('an address without a fragment', (value) => isText(value) && /^[^#]*#?$/.test(value as string)),
  ],
  ['$ref', TEXT],
  ['$dynamicRef', TEXT],
  ['$anchor', plain('a name of letters, digits, `-`, `.` and `_`', isAnchor)],
  ['$dynamicAnchor', plain('a name of letters, digits, `-`, `.` and `_`', isAnchor)],
  ['$vocabulary', plain('an object of true and false', isVocabulary)],
  ['$comment', TEXT],
  ['$defs', MAP],
  ['definitions', MAP],
  ['type', plain(TYPE_WORDS, isType)],
  ['enum', LIST],
  ['const', ANYTHING],
  ['default', ANYTHING],
  ['examples', LIST],
  ['title', TEXT],
  ['description', TEXT],
  ['deprecated', BOOLEAN],
  ['readOnly', BOOLEAN],
  ['writeOnly', BOOLEAN],
  ['format', TEXT],
  ['contentEncoding', TEXT],
  ['contentMediaType', TEXT],
  ['contentSchema', SCHEMA],
  ['multipleOf', plain('a number above 0', isPositive)],
  ['maximum', NUMBER],
  ['exclusiveMaximum', NUMBER],
  ['minimum', NUMBER],
  ['exclusiveMinimum', NUMBER],
  ['maxLength', COUNT],
  ['minLength', COUNT],
  ['pattern', TEXT],
  ['maxItems', COUNT],
  ['minItems', COUNT],
  ['uniqueItems', BOOLEAN],
  ['maxContains', COUNT],
  ['minContains', COUNT],
  ['maxProperties', COUNT],
  ['minProperties', COUNT],
  ['required', plain('a list of names that are all different', isTexts)],
  ['dependentRequired', plain('an object of lists of names', isNameLists)],
  ['properties', MAP],
  ['patternProperties', MAP],
  ['additionalProperties', SCHEMA],
  ['propertyNames', SCHEMA],
  ['unevaluatedProperties', SCHEMA],
  ['prefixItems', holding('list', false, 'a list of schemas that is not empty')],
  ['items', SCHEMA],
  ['contains', SCHEMA],
  ['unevaluatedItems', SCHEMA],
  ['allOf', ALTERNATIVES],
  ['anyOf', ALTERNATIVES],
  ['oneOf', ALTERNATIVES],
  ['not', BESIDE],
  ['if', BESIDE],
  ['then', BESIDE],
  ['else', BESIDE],
  ['dependentSchemas', holding('map', true, 'an object of schemas')],
]);

function isAnchor(value: JsonValue): boolean {
  return isText(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value as string);
}

function isVocabulary(value: JsonValue): boolean {
  return value instanceof JsonObject && value.values.every((use) => typeof use === 'boolean');
}

function isNameLists(value: JsonValue): boolean {
  return value instanceof JsonObject && value.values.every(isTexts);
}
