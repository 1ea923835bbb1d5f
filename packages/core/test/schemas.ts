/** A small source of chance, the same for the same seed. */
export class Chance {
  #state: number;
  /** What schemas and values are mostly about, so that keywords meet that bear on each other. */
  theme: keyof typeof THEMES = 'everything';
  /** Whether the schema being made is a definition. */
  defining = false;

  constructor(seed: number) {
    this.#state = seed | 0 || 1;
  }

  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }

  often(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  some<T>(list: readonly T[], percent = 50): T[] {
    return list.filter(() => this.often(percent));
  }
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Schema = boolean | { [keyword: string]: Json };

const NAMES = ['a', 'b', 'c'];
const SCALARS: readonly Json[] = [null, true, false, 0, 1, 2, 3, 0.5, '', 'a', 'b', 'ab'];
const TYPES = ['null', 'boolean', 'object', 'array', 'string', 'number', 'integer'];
const PATTERNS = ['^a', 'b$', '^[ab]+$', 'a', '^(a|b)*$'];

/** The keywords of a theme, by the names of the recipes below, and the kind of values that it speaks of. */
const THEMES = {
  everything: { recipes: undefined, kind: undefined },
  numbers: {
    recipes: [
      'enum',
      'const',
      'low',
      'high',
      'openLow',
      'openHigh',
      'low',
      'high',
      'multipleOf',
      'anyOf',
      'not',
      'type',
    ],
    kind: 0,
  },
  objects: {
    recipes:
      'required fewest most dependentRequired properties properties patternProperties patternProperties closed additional propertyNames dependentSchemas unevaluatedProperties allOf anyOf reference itself'.split(
        ' ',
      ),
    kind: 8,
  },
  arrays: {
    recipes:
      'minItems maxItems unique items prefixItems prefixItems contains counted unevaluatedItems allOf anyOf itself'.split(
        ' ',
      ),
    kind: 6,
  },
  logic: {
    recipes:
      'type type const enum minLength maxLength pattern low allOf anyOf anyOf oneOf not conditional reference required'.split(
        ' ',
      ),
    kind: undefined,
  },
} as const;

const NUMBERS = [-1, 0, 0.25, 0.5, 1, 1.5, 2, 2.25, 2.5, 2.75, 3, 4];

/** A value that the schemas below speak of. */
export function value(chance: Chance, depth = 2): Json {
  const { kind: usual } = THEMES[chance.theme];
  if (usual === 0 && chance.often(70)) return chance.pick(NUMBERS);
  const kind =
    usual !== undefined && depth === 2 && chance.often(85) ? usual : chance.below(depth > 0 ? 10 : 6);
  if (kind < 6) return chance.pick([...SCALARS, -1, 4, 1.5, 'ba', 'aab', 'x']);
  if (kind < 8) return Array.from({ length: chance.below(4) }, () => value(chance, depth - 1));
  return Object.fromEntries(
    chance.some([...NAMES, 'd', 'ab', ''], 40).map((name) => [name, value(chance, depth - 1)]),
  );
}

/** A schema of 2020-12 over few names and values, so that two of them often speak of the same. */
export function schema(chance: Chance, depth = 2, defs = true): Schema {
  if (defs) chance.theme = chance.pick(Object.keys(THEMES) as (keyof typeof THEMES)[]);
  if (chance.often(depth > 0 ? 6 : 15)) return chance.often(75);
  const made: { [keyword: string]: Json } = {};
  const count = 1 + chance.below(3);
  for (let i = 0; i < count; i++) Object.assign(made, keyword(chance, depth));
  if (chance.often(chance.theme === 'everything' ? 45 : 20))
    made.type = chance.often(70) ? chance.pick(TYPES) : distinct(chance.some(TYPES, 40), 'string');
  if (defs) {
    chance.defining = true;
    made.$defs = { d: schema(chance, 1, false), e: schema(chance, 1, false) };
    chance.defining = false;
  }
  return made;
}

function distinct(list: string[], otherwise: string): string[] {
  return list.length > 0 ? list : [otherwise];
}

/** One keyword, or a few that belong together. */
export function keyword(chance: Chance, depth: number): { [keyword: string]: Json } {
  const inner = () => schema(chance, depth - 1, false) as Json;
  const several = () => Array.from({ length: 1 + chance.below(3) }, inner);
  const small = () => chance.pick([0, 1, 2, 3]);
  const flat: Record<string, () => { [keyword: string]: Json }> = {
    type: () => ({ type: chance.pick(TYPES) }),
    enum: () => ({ enum: [...new Set(chance.some(SCALARS, 35))].concat(chance.often(20) ? [[]] : []) }),
    const: () => ({ const: chance.pick([...SCALARS, [], {}, [1], { a: 1 }]) }),
    low: () => ({ minimum: chance.pick([0, 1, 2, 0.5]) }),
    high: () => ({ maximum: chance.pick([1, 2, 3, 2.5]) }),
    openLow: () => ({ exclusiveMinimum: chance.pick([0, 1, 2, 0.5]) }),
    openHigh: () => ({ exclusiveMaximum: chance.pick([1, 2, 3, 2.5]) }),
    multipleOf: () => ({ multipleOf: chance.pick([1, 2, 0.5, 3, 1.5, 0.25]) }),
    minLength: () => ({ minLength: small() }),
    maxLength: () => ({ maxLength: small() }),
    pattern: () => ({ pattern: chance.pick(PATTERNS) }),
    required: () => ({ required: chance.some(NAMES, 40) }),
    fewest: () => ({ minProperties: small() }),
    most: () => ({ maxProperties: small() }),
    minItems: () => ({ minItems: small() }),
    maxItems: () => ({ maxItems: small() }),
    unique: () => ({ uniqueItems: chance.often(70) }),
    dependentRequired: () => ({ dependentRequired: { [chance.pick(NAMES)]: chance.some(NAMES, 50) } }),
    title: () => ({ title: chance.pick(['x', 'y']) }),
    closed: () => ({ additionalProperties: chance.often(40) }),
    // Not from one definition to another: a circle that reads no further into the value means nothing.
    reference: () => (chance.defining ? {} : { $ref: chance.pick(['#/$defs/d', '#/$defs/e']) }),
  };
  const nested: typeof flat = {
    properties: () => ({
      properties: Object.fromEntries(chance.some(NAMES, 60).map((name) => [name, inner()])),
    }),
    patternProperties: () => ({
      patternProperties: Object.fromEntries(chance.some(PATTERNS, 35).map((pattern) => [pattern, inner()])),
    }),
    additional: () => ({ additionalProperties: inner() }),
    propertyNames: () => ({ propertyNames: inner() }),
    dependentSchemas: () => ({ dependentSchemas: { [chance.pick(NAMES)]: inner() } }),
    items: () => ({ items: inner() }),
    prefixItems: () => ({ prefixItems: several() }),
    contains: () => ({ contains: inner(), ...(chance.often(40) ? { minContains: small() } : {}) }),
    counted: () => ({ contains: inner(), maxContains: small() }),
    unevaluatedProperties: () => ({ unevaluatedProperties: chance.often(50) ? false : inner() }),
    unevaluatedItems: () => ({ unevaluatedItems: chance.often(50) ? false : inner() }),
    allOf: () => ({ allOf: several() }),
    anyOf: () => ({ anyOf: several() }),
    oneOf: () => ({ oneOf: several() }),
    not: () => ({ not: inner() }),
    conditional: () =>
      Object.fromEntries(['if', ...chance.some(['then', 'else'], 65)].map((name) => [name, inner()])),
    itself: () =>
      chance.pick([
        { properties: { a: { $ref: '#' } } },
        { items: { $ref: '#' } },
        { additionalProperties: { $ref: '#' } },
      ]),
  };
  const recipes = depth > 0 ? { ...flat, ...nested } : flat;
  const themed = chance.often(80)
    ? THEMES[chance.theme].recipes?.filter((name) => name in recipes)
    : undefined;
  return recipes[chance.pick(themed ?? Object.keys(recipes))]!();
}

/** A schema that differs from another in a few places. */
export function mutated(original: Schema, chance: Chance): Schema {
  const copy = structuredClone(original);
  const edits = chance.pick([1, 1, 1, 2, 3]);
  let result: Schema = copy;
  for (let i = 0; i < edits; i++) result = edited(result, chance);
  return result;
}

/** Keywords under which schemas stand. */
const ONE = [
  'additionalProperties',
  'propertyNames',
  'items',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedProperties',
  'unevaluatedItems',
];
const MANY = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', '$defs'];

function edited(node: Schema, chance: Chance): Schema {
  if (typeof node === 'boolean') return chance.often(50) ? !node : schema(chance, 1, false);
  const inside: [Json[] | { [key: string]: Json }, string | number][] = [];
  for (const [key, held] of Object.entries(node)) {
    if (ONE.includes(key)) inside.push([node, key]);
    if (MANY.includes(key)) for (const i of (held as Json[]).keys()) inside.push([held as Json[], i]);
    if (NAMED.includes(key))
      for (const name of Object.keys(held as object)) inside.push([held as { [key: string]: Json }, name]);
  }
  if (inside.length > 0 && chance.often(65)) {
    const [holder, key] = chance.pick(inside) as [{ [key: string]: Json }, string];
    const { defining } = chance;
    chance.defining ||= holder === node.$defs;
    holder[key] = edited(holder[key] as Schema, chance) as Json;
    chance.defining = defining;
    return node;
  }
  return editedHere(node, chance);
}

function editedHere(node: { [keyword: string]: Json }, chance: Chance): Schema {
  const keys = Object.keys(node).filter((key) => key !== '$defs');
  const key = keys.length > 0 ? chance.pick(keys) : 'title';
  const held = node[key];
  switch (chance.below(9)) {
    case 0:
    case 1:
      if (keys.length > 0) delete node[key];
      return node;
    case 2:
    case 3:
      return Object.assign(node, keyword(chance, 1));
    case 4:
      if (typeof held === 'number')
        node[key] = key === 'multipleOf' ? held * 2 : Math.max(0, held + chance.pick([1, -1]));
      return node;
    case 5:
      if (Array.isArray(held) && held.length > 1) held.splice(chance.below(held.length), 1);
      return node;
    case 6:
      if (Array.isArray(held) && MANY.includes(key)) held.push(schema(chance, 1, false) as Json);
      if (key === 'required') node.required = [...new Set([...(held as string[]), chance.pick(NAMES)])];
      if (key === 'enum') node.enum = [...new Set([...(held as Json[]), chance.pick(SCALARS)])];
      if (key === 'properties')
        (held as { [key: string]: Json })[chance.pick(NAMES)] = schema(chance, 0, false) as Json;
      return node;
    case 7: {
      const { $defs, ...rest } = node;
      const wrapped = {
        [chance.pick(['allOf', 'anyOf', 'oneOf'])]: [
          rest,
          ...(chance.often(50) ? [schema(chance, 0, false)] : []),
        ],
      };
      return ($defs === undefined ? wrapped : { ...wrapped, $defs }) as Schema;
    }
    default:
      if (typeof node.type === 'string')
        node.type = distinct([...new Set([node.type, chance.pick(TYPES)])], 'null');
      else if (Array.isArray(node.type)) node.type = node.type[0]!;
      return node;
  }
}

/** Keywords that draft 7 does not have in any form. */
const NEWER = ['unevaluatedProperties', 'unevaluatedItems', 'minContains', 'maxContains'];

/** The same schema in the words of draft 7, except that there nothing beside a reference counts. */
export function inDraft7(source: Schema, root = true): Schema {
  if (typeof source === 'boolean') return source;
  const made: { [keyword: string]: Json } = root
    ? { $schema: 'http://json-schema.org/draft-07/schema#' }
    : {};
  const inner = (held: Json) => inDraft7(held as Schema, false) as Json;
  for (const [key, held] of Object.entries(source)) {
    if (NEWER.includes(key)) continue;
    if (key === 'prefixItems') made.items = (held as Json[]).map(inner);
    else if (key === 'items' && source.prefixItems !== undefined) made.additionalItems = inner(held);
    else if (key === 'dependentRequired') made.dependencies = held;
    else if (key === 'dependentSchemas') made.dependencies = mapped(held, inner);
    else if (ONE.includes(key)) made[key] = inner(held);
    else if (MANY.includes(key)) made[key] = (held as Json[]).map(inner);
    else if (NAMED.includes(key)) made[key] = mapped(held, inner);
    else made[key] = held;
  }
  return made;
}

function mapped(held: Json, inner: (held: Json) => Json): Json {
  return Object.fromEntries(Object.entries(held as object).map(([name, value]) => [name, inner(value)]));
}
