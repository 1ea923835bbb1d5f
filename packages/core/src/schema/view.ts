import type { JsonValue } from '../json/index.ts';
import type { Decimal } from './decimal.ts';
import type { Part } from './document.ts';

/** One end of a range of numbers; `open` when the end itself is outside. */
export interface Bound {
  readonly value: Decimal;
  readonly open: boolean;
}

/** What one schema object says, keyword by keyword, in the same words whatever its dialect. */
export interface View {
  readonly part: Part;
  /**
   * True when something in it cannot be read exactly: a malformed keyword, one of another dialect, a reference that
   * leads nowhere. Then all else is as in an empty schema.
   */
  readonly opaque: boolean;
  readonly types: number;
  /** The values of `enum` and `const`, by their keys. */
  readonly values: ReadonlyMap<string, JsonValue> | undefined;
  readonly low: Bound | undefined;
  readonly high: Bound | undefined;
  readonly multipleOf: Decimal | undefined;
  readonly minLength: number;
  readonly maxLength: number;
  readonly pattern: string | undefined;
  readonly properties: ReadonlyMap<string, Part>;
  readonly patternProperties: ReadonlyMap<string, Part>;
  readonly additional: Part | undefined;
  readonly propertyNames: Part | undefined;
  readonly required: ReadonlySet<string>;
  readonly minProperties: number;
  readonly maxProperties: number;
  readonly dependentRequired: ReadonlyMap<string, ReadonlySet<string>>;
  readonly dependentSchemas: ReadonlyMap<string, Part>;
  readonly prefix: readonly Part[];
  readonly items: Part | undefined;
  readonly contains: Part | undefined;
  readonly minContains: number;
  readonly maxContains: number;
  readonly minItems: number;
  readonly maxItems: number;
  readonly unique: boolean;
  /** `allOf`, and where `$ref` leads. */
  readonly all: readonly Part[];
  readonly anyOf: readonly Part[] | undefined;
  readonly oneOf: readonly Part[] | undefined;
  readonly not: Part | undefined;
  readonly conditional: Conditional | undefined;
}

export interface Conditional {
  readonly condition: Part;
  /** What must hold when the condition does, and what when it does not. */
  readonly yes: Part;
  readonly no: Part;
}

/** Keywords that never decide whether a value is accepted; `format` is one of them, as 2020-12 has it. */
const ANNOTATIONS = new Set(
  'title description default examples deprecated readOnly writeOnly format contentEncoding contentMediaType contentSchema $comment $schema $id $anchor $dynamicAnchor $defs definitions'.split(
    ' ',
  ),
);

/** Keywords that are understood in every dialect. */
const COMMON = new Set(
  'type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern properties patternProperties additionalProperties propertyNames required minProperties maxProperties items contains minItems maxItems uniqueItems allOf anyOf oneOf not if then else $ref'.split(
    ' ',
  ),
);
const SINCE_2019 = 'dependentRequired dependentSchemas minContains maxContains unevaluatedProperties'.split(
  ' ',
);
const BY_DIALECT = {
  '2020-12': new Set([...SINCE_2019, 'prefixItems', 'unevaluatedItems']),
  '2019-09': new Set([...SINCE_2019, 'additionalItems']),
  'draft-07': new Set(['additionalItems', 'dependencies']),
};
/** Keywords of some dialect, past or foreign; where they are not understood, the schema around them is opaque. */
const FOREIGN = new Set([
  ...SINCE_2019,
  ...'prefixItems unevaluatedItems additionalItems dependencies $dynamicRef $recursiveRef $recursiveAnchor nullable discriminator divisibleBy extends disallow'.split(
    ' ',
  ),
]);

/** What a keyword is to a document: said to be understood, an annotation, of another dialect, or unknown to all. */
export function keywordKind(part: Part, keyword: string): 'known' | 'annotation' | 'foreign' | 'unknown' {
  const { dialect } = part.document;
  if (ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) return 'annotation';
  if (dialect === undefined) return 'foreign';
  if (COMMON.has(keyword) || BY_DIALECT[dialect].has(keyword)) return 'known';
  return FOREIGN.has(keyword) ? 'foreign' : 'unknown';
}
