import { JsonObject, type JsonValue } from '../json/index.ts';
import { propertyParts } from './conjunction.ts';
import type { Part } from './document.ts';
import type { ChangeKind, Direction } from './sentence.ts';
import { ANY, typeWords } from './value.ts';
import { type Kinds, LIMIT, partsOf, type Walk } from './walk.ts';

/** What changed in the keywords for objects. */

export function required(walk: Walk): void {
  if (walk.covers('required')) return;
  const { before, after } = walk.pair;
  const [had, has] = [texts(walk.old.get('required')), texts(walk.now.get('required'))];
  if (had === undefined || has === undefined) return;
  walk.cover(['required']);
  const types = before.view.types | after.view.types;
  const any = after.document.make(types === ANY ? {} : { type: typeWords(types) });
  const change = (kind: ChangeKind, name: string) => {
    const idle = walk.prover.proves([any], [after.document.make({ required: [name] })]);
    const direction = idle ? 'none' : kind === 'required-added' ? 'less' : 'more';
    const where = walk.under('required', walk.named('properties', name).argument);
    walk.report({ kind, keyword: 'required', direction, location: where });
  };
  for (const name of has) if (!had.has(name)) change('required-added', name);
  for (const name of had) if (!has.has(name)) change('required-removed', name);
}

function texts(value: JsonValue | undefined): Set<string> | undefined {
  if (value === undefined) return new Set();
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) return undefined;
  return new Set(value);
}

export function properties(walk: Walk): void {
  named(walk, 'properties', (name, from, to) => {
    const { before, after } = walk.pair;
    const both = walk.prover.affordable((budget) => [
      propertyParts(before.view, name, budget),
      propertyParts(after.view, name, budget),
    ]);
    const isCertain = both?.every(({ possible }) => possible.length === 0) ?? false;
    const direction = isCertain ? walk.direction(both![0]!.certain, both![1]!.certain) : 'unknown';
    const kind = from === undefined ? 'argument-added' : 'argument-removed';
    const location = walk.named('properties', name);
    walk.report({ kind, keyword: 'properties', before: from?.node, after: to?.node, direction, location });
  });
  let together: Direction | undefined;
  named(walk, 'patternProperties', (pattern, from, to) => {
    // A pattern takes names out of the hands of the others, so they are judged together.
    together ??= walk.direction(...walk.cut(NAMES));
    const direction = together;
    const location = walk.named('patternProperties', pattern);
    walk.limit('patternProperties', direction, from?.node, to?.node, { location });
  });
  named(walk, 'dependentSchemas', (name, from, to) => {
    const direction = walk.direction(partsOf(from), partsOf(to));
    const location = walk.named('dependentSchemas', name);
    walk.limit('dependentSchemas', direction, from?.node, to?.node, { location });
  });
}

const NAMES = ['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties'];

/** Goes into what both sides name; what only one names is for `single`. */
function named(
  walk: Walk,
  keyword: string,
  single: (name: string, from: Part | undefined, to: Part | undefined) => void,
): void {
  const { before, after } = walk.pair;
  const [had, has] = [schemaMap(before, walk.old, keyword), schemaMap(after, walk.now, keyword)];
  if (had === undefined || has === undefined || walk.covers(keyword)) return;
  walk.cover([keyword]);
  for (const name of new Set([...has.keys(), ...had.keys()])) {
    const [from, to] = [had.get(name), has.get(name)];
    if (from === undefined || to === undefined) single(name, from, to);
    else walk.descend(from, to, walk.named(keyword, name));
  }
}

/** A map of schemas as it stands in the node, also where the rest of the node is not understood. */
function schemaMap(part: Part, node: JsonObject, keyword: string): Map<string, Part> | undefined {
  const map = node.get(keyword) ?? new JsonObject();
  if (!(map instanceof JsonObject)) return undefined;
  if (!map.values.every((value) => value instanceof JsonObject || typeof value === 'boolean'))
    return undefined;
  return new Map(Array.from(map, ([name, value]) => [name, part.document.part(value)]));
}

const ADDITIONAL: Kinds = ['additional-closed', 'additional-opened', 'additional-changed'];

/** `additionalProperties` and its kin: absent is the same as true. */
export function additional(walk: Walk): void {
  const { before, after, location } = walk.pair;
  for (const keyword of ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']) {
    if (walk.covers(keyword)) continue;
    walk.cover([keyword]);
    const [from, to] = [walk.old.get(keyword), walk.now.get(keyword)];
    const where = walk.under(keyword, `${location.argument}${keyword.endsWith('Items') ? '[]' : '.*'}`);
    if (from instanceof JsonObject && to instanceof JsonObject) {
      walk.descend(before.document.part(from), after.document.part(to), where);
    } else if (walk.differs(keyword)) {
      const direction = walk.direction(
        [before.document.part(from ?? true)],
        [after.document.part(to ?? true)],
      );
      walk.limit(keyword, direction, from, to, { kinds: direction === 'none' ? LIMIT : ADDITIONAL });
    }
  }
}
