import { JsonObject, type JsonValue } from '../json/index.ts';
import { compare, type Decimal, decimal, isInteger } from './decimal.ts';
import type { Part } from './document.ts';
import { IN_PLACE } from './keyword-forms.ts';
import { ANY, isNumber, TYPES, valueKey } from './value.ts';
import { type Bound, type Conditional, keywordKind, type View } from './view.ts';

/** Thrown and caught in this file: the schema cannot be read exactly. */
class Unreadable extends Error {}

/** Reads a schema. Keywords unknown to every dialect are taken for annotations, as the specification says. */
export function readView(part: Part): View {
  const { node } = part;
  try {
    if (node instanceof JsonObject) return readKeywords(part, node);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
  }
  const anything = readKeywords(part, new JsonObject());
  if (node === false) return { ...anything, types: 0 };
  return { ...anything, opaque: node !== true };
}

function readKeywords(part: Part, node: JsonObject): View {
  const { document } = part;
  for (const keyword of node.keys) {
    if (keywordKind(part, keyword) === 'foreign') throw new Unreadable();
  }
  // Only a document of its own may change the dialect.
  if (node !== document.root.node && node.has('$schema')) throw new Unreadable();
  const read = new Reader(part, node);
  const reference = read.text('$ref');
  const all = read.schemas('allOf') ?? [];
  if (reference !== undefined) {
    const target = document.resolve(reference);
    if (target === undefined) throw new Unreadable();
    // Draft 7 ignores what stands beside a reference, but not every validator does.
    const beside = node.keys.some((keyword) => keyword !== '$ref' && keywordKind(part, keyword) === 'known');
    if (beside && document.dialect === 'draft-07') throw new Unreadable();
    all.push(target);
  }
  const [minimum, exclusiveMinimum] = [read.number('minimum'), read.number('exclusiveMinimum')];
  const [maximum, exclusiveMaximum] = [read.number('maximum'), read.number('exclusiveMaximum')];
  const multipleOf = read.number('multipleOf');
  if (multipleOf !== undefined && (multipleOf.negative || multipleOf.digits === '0')) throw new Unreadable();
  const unique = node.get('uniqueItems');
  if (unique !== undefined && typeof unique !== 'boolean') throw new Unreadable();
  return {
    part,
    opaque: false,
    types: read.types(),
    values: read.values(),
    low: tighter(minimum, exclusiveMinimum, 1),
    high: tighter(maximum, exclusiveMaximum, -1),
    multipleOf,
    ...read.limits('minLength', 'maxLength'),
    ...read.limits('minProperties', 'maxProperties'),
    ...read.limits('minItems', 'maxItems'),
    ...read.limits('minContains', 'maxContains', 1),
    pattern: read.text('pattern'),
    ...objectKeywords(read, node),
    ...arrayKeywords(read, part, node),
    unique: unique === true,
    all,
    anyOf: read.schemas('anyOf'),
    oneOf: read.schemas('oneOf'),
    not: read.schema('not'),
    conditional: read.conditional(),
  };
}

function objectKeywords(read: Reader, node: JsonObject) {
  const dependencies = read.dependencies();
  let additional = read.schema('additionalProperties');
  const unevaluated = read.schema('unevaluatedProperties');
  if (unevaluated !== undefined && unevaluated.node !== true) {
    // Alone it is the same as `additionalProperties`; beside schemas that apply in place it depends on what they did.
    if (IN_PLACE.some((keyword) => node.has(keyword))) throw new Unreadable();
    additional ??= unevaluated;
  }
  return {
    properties: read.schemaMap('properties'),
    patternProperties: read.schemaMap('patternProperties'),
    additional,
    propertyNames: read.schema('propertyNames'),
    required: new Set(read.texts('required')),
    dependentRequired: dependencies.required,
    dependentSchemas: dependencies.schemas,
  };
}

function arrayKeywords(read: Reader, { document }: Part, node: JsonObject) {
  const contains = read.schema('contains');
  if (document.dialect !== '2020-12') {
    const several = Array.isArray(node.get('items'));
    const beyond = read.schema('additionalItems');
    return several
      ? { prefix: read.schemas('items') ?? [], items: beyond, contains }
      : { prefix: [], items: read.schema('items'), contains };
  }
  let items = read.schema('items');
  const unevaluated = read.schema('unevaluatedItems');
  if (unevaluated !== undefined && unevaluated.node !== true) {
    if ([...IN_PLACE, 'contains'].some((keyword) => node.has(keyword))) throw new Unreadable();
    items ??= unevaluated;
  }
  return { prefix: read.schemas('prefixItems') ?? [], items, contains };
}

/** Of a closed and an open bound the one that lets less pass; `sign` is 1 for lower bounds, -1 for upper ones. */
function tighter(closed: Decimal | undefined, open: Decimal | undefined, sign: number): Bound | undefined {
  if (open !== undefined && (closed === undefined || compare(open, closed) * sign >= 0))
    return { value: open, open: true };
  return closed === undefined ? undefined : { value: closed, open: false };
}

/** Reads keywords by their form; throws `Unreadable` for another form. */
class Reader {
  readonly part: Part;
  readonly node: JsonObject;

  constructor(part: Part, node: JsonObject) {
    this.part = part;
    this.node = node;
  }

  text(keyword: string): string | undefined {
    const value = this.node.get(keyword);
    if (value !== undefined && typeof value !== 'string') throw new Unreadable();
    return value;
  }

  texts(keyword: string, value: JsonValue | undefined = this.node.get(keyword)): string[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw new Unreadable();
    return value.map((item) => {
      if (typeof item !== 'string') throw new Unreadable();
      return item;
    });
  }

  number(keyword: string): Decimal | undefined {
    const value = this.node.get(keyword);
    if (value === undefined) return undefined;
    const number = isNumber(value) ? decimal(value.lexeme) : undefined;
    if (number === undefined) throw new Unreadable();
    return number;
  }

  /** Two counts; without them everything from `least` on is permitted. */
  limits<Low extends string, High extends string>(low: Low, high: High, least = 0) {
    const limits = {
      [low]: this.#count(low) ?? least,
      [high]: this.#count(high) ?? Number.POSITIVE_INFINITY,
    };
    return limits as Record<Low | High, number>;
  }

  #count(keyword: string): number | undefined {
    const number = this.number(keyword);
    if (number === undefined) return undefined;
    const count = Number(`${number.digits}e${number.power}`);
    if (number.negative || !isInteger(number) || !Number.isSafeInteger(count)) throw new Unreadable();
    return count;
  }

  types(): number {
    const value = this.node.get('type');
    if (value === undefined) return ANY;
    let types = 0;
    for (const word of typeof value === 'string' ? [value] : this.texts('type')) {
      const bits = TYPES.get(word);
      if (bits === undefined) throw new Unreadable();
      types |= bits;
    }
    if (types === 0) throw new Unreadable();
    return types;
  }

  values(): ReadonlyMap<string, JsonValue> | undefined {
    const list = this.node.get('enum');
    if (list !== undefined && !Array.isArray(list)) throw new Unreadable();
    const only = this.node.get('const');
    const values = list && new Map(list.map((value) => [valueKey(value), value]));
    if (only === undefined) return values;
    const key = valueKey(only);
    return values === undefined || values.has(key) ? new Map([[key, only]]) : new Map();
  }

  schema(keyword: string): Part | undefined {
    const value = this.node.get(keyword);
    return value === undefined ? undefined : this.#schemaOf(value);
  }

  schemas(keyword: string): Part[] | undefined {
    const value = this.node.get(keyword);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.length === 0) throw new Unreadable();
    return value.map((item) => this.#schemaOf(item));
  }

  schemaMap(keyword: string): ReadonlyMap<string, Part> {
    const value = this.node.get(keyword);
    if (value === undefined) return new Map();
    if (!(value instanceof JsonObject)) throw new Unreadable();
    return new Map(Array.from(value, ([name, schema]) => [name, this.#schemaOf(schema)]));
  }

  dependencies() {
    const required = new Map<string, ReadonlySet<string>>();
    const schemas = new Map(this.schemaMap('dependentSchemas'));
    for (const keyword of ['dependentRequired', 'dependencies']) {
      const value = this.node.get(keyword);
      if (value === undefined) continue;
      if (!(value instanceof JsonObject)) throw new Unreadable();
      for (const [name, rule] of value) {
        if (Array.isArray(rule)) required.set(name, new Set(this.texts(keyword, rule)));
        else if (keyword === 'dependencies') schemas.set(name, this.#schemaOf(rule));
        else throw new Unreadable();
      }
    }
    return { required, schemas };
  }

  conditional(): Conditional | undefined {
    const condition = this.schema('if');
    const [yes, no] = [this.schema('then'), this.schema('else')];
    if (condition === undefined || (yes === undefined && no === undefined)) return undefined;
    const anything = this.part.document.part(true);
    return { condition, yes: yes ?? anything, no: no ?? anything };
  }

  #schemaOf(value: JsonValue): Part {
    if (!(value instanceof JsonObject) && typeof value !== 'boolean') throw new Unreadable();
    return this.part.document.part(value);
  }
}
