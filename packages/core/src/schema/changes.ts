import { JsonObject, type JsonValue } from '../json/index.ts';
import { APPLIED, alternatives, applied, items } from './changes-applied.ts';
import { additional, properties, required } from './changes-objects.ts';
import type { Part } from './document.ts';
import { reachable } from './pairs.ts';
import type { ChangeKind, Direction, SchemaChange } from './sentence.ts';
import { typeWords } from './value.ts';
import { keywordKind } from './view.ts';
import { firstPair, type Handler, type Kinds, Walk } from './walk.ts';

/**
 * Every difference between two schemas, outer ones first, in the order of the new schema. Never recurses. Whatever the
 * two say differently is told at least once, if only as a keyword that changed.
 */
export function schemaChanges(before: Part, after: Part, steps: number): SchemaChange[] {
  const walk = new Walk(HANDLERS, steps);
  walk.go(firstPair(before, after));
  definitions(walk, before, after);
  return walk.changes();
}

/** Keywords that are judged together, since one can stand for the other. */
const LIMITS: readonly (readonly string[])[] = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
  ['multipleOf'],
  ['minLength'],
  ['maxLength'],
  ['pattern'],
  ['minItems'],
  ['maxItems'],
  ['uniqueItems'],
  ['minProperties'],
  ['maxProperties'],
  ['dependentRequired', 'dependencies'],
];

/** In this order: what an earlier one has covered, a later one leaves alone. */
const HANDLERS: readonly Handler[] = [
  { handle: annotations },
  { handle: notUnderstood },
  { handle: reference, keywords: ['$ref'] },
  { handle: union, keywords: ['anyOf', 'oneOf'] },
  { handle: types, keywords: ['type'] },
  { handle: values, keywords: ['enum', 'const'] },
  ...LIMITS.map((keywords) => ({ handle: (walk: Walk) => walk.leaf(keywords), keywords })),
  { handle: required, keywords: ['required'] },
  { handle: properties, keywords: ['properties', 'patternProperties', 'dependentSchemas'] },
  { handle: additional, keywords: ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'] },
  { handle: items, keywords: ['items', 'prefixItems', 'additionalItems'] },
  { handle: applied, keywords: APPLIED },
  { handle: alternatives, keywords: ['allOf', 'anyOf', 'oneOf'] },
];

const ANNOTATION_KINDS: ReadonlyMap<string, ChangeKind> = new Map([
  ['description', 'description-changed'],
  ['default', 'default-changed'],
]);

function annotations(walk: Walk): void {
  const { before, after } = walk.pair;
  for (const keyword of walk.keywords()) {
    const kinds = [keywordKind(before, keyword), keywordKind(after, keyword)];
    if (!kinds.includes('annotation')) continue;
    walk.cover([keyword]);
    if (DEFINITIONS.includes(keyword)) definitionNames(walk, keyword);
    else if (walk.pair.annotations && walk.differs(keyword)) {
      const kind = ANNOTATION_KINDS.get(keyword) ?? 'annotation-changed';
      walk.report({ kind, keyword, ...walk.values(keyword), direction: 'none' });
    }
  }
  const [was, is] = [before.document.dialect, after.document.dialect];
  if (was === is || before !== before.document.root || after !== after.document.root) return;
  const dialects = { before: was ?? null, after: is ?? null };
  walk.report({ kind: 'dialect-changed', keyword: '$schema', ...dialects, direction: 'unknown' });
}

/** Definitions: one that only one side has is told; one that both have is compared where something refers to it. */
function definitionNames(walk: Walk, keyword: string): void {
  const { before, after } = walk.pair;
  const [had, has] = [mapOf(walk.old, keyword), mapOf(walk.now, keyword)];
  for (const name of new Set([...has.keys, ...had.keys])) {
    const [from, to] = [had.get(name), has.get(name)];
    const location = walk.named(keyword, name);
    if (from !== undefined && to !== undefined) {
      walk.later.push({
        ...walk.pair,
        before: before.document.part(from),
        after: after.document.part(to),
        location,
        annotations: true,
      });
      continue;
    }
    const kind = from === undefined ? 'definition-added' : 'definition-removed';
    walk.report({ kind, keyword: name, before: from, after: to, direction: 'none', location });
  }
}

/** Keywords of another dialect, and those that no dialect knows. */
function notUnderstood(walk: Walk): void {
  const { before, after } = walk.pair;
  for (const keyword of walk.keywords()) {
    const kinds = [keywordKind(before, keyword), keywordKind(after, keyword)];
    const unknown = kinds.includes('unknown');
    if ((!unknown && !kinds.includes('foreign')) || walk.covers(keyword)) continue;
    // What is known to one of the two dialects is compared like everything else.
    if (!unknown && kinds.includes('known')) continue;
    walk.cover([keyword]);
    if (!walk.differs(keyword)) continue;
    const kind = unknown ? 'unknown-keyword-changed' : 'unsupported-keyword-changed';
    walk.report({ kind, keyword, ...walk.values(keyword), direction: 'unknown' });
  }
}

/** Follows references. Where one stands for the whole of a schema, what it leads to is compared instead. */
function reference(walk: Walk): void {
  const { before, after, location } = walk.pair;
  const [from, to] = [walk.old.get('$ref'), walk.now.get('$ref')];
  if (from === undefined && to === undefined) return;
  walk.cover(['$ref']);
  const [target, next] = [follow(before, from), follow(after, to)];
  const same = !walk.differs('$ref');
  const tell = (kind: 'reference-changed' | 'reference-unresolved', direction: Direction) =>
    walk.report({ kind, keyword: '$ref', before: from, after: to, direction });
  if ((from !== undefined && target === undefined) || (to !== undefined && next === undefined)) {
    tell(same ? 'reference-unresolved' : 'reference-changed', 'unknown');
    return;
  }
  if (target !== undefined && next !== undefined) {
    if (!same) tell('reference-changed', 'none');
    walk.descend(target, next, { path: pathOf(to as string), argument: location.argument });
    return;
  }
  const alone = target === undefined ? isAlone(after, walk.now) : isAlone(before, walk.old);
  tell('reference-changed', alone ? 'none' : walk.direction([before], [after]));
  if (!alone) return;
  walk.cover(walk.keywords());
  walk.descend(target ?? before, next ?? after, location, 'plain', false);
}

function follow(part: Part, reference: JsonValue | undefined): Part | undefined {
  return typeof reference === 'string' ? part.document.resolve(reference) : undefined;
}

/** Whether a schema says nothing but one keyword, annotations aside. */
function isAlone(part: Part, node: JsonObject, only = '$ref'): boolean {
  return node.keys.every((keyword) => keyword === only || keywordKind(part, keyword) === 'annotation');
}

function pathOf(reference: string): string {
  const path = decodeURIComponent(reference.slice(reference.indexOf('#') + 1));
  return path === '' || path.startsWith('/') ? path : `#${path}`;
}

const TYPE: Kinds = ['type-narrowed', 'type-widened', 'type-changed'];

/** A schema that has become nothing but a list of alternatives, or was one: told as a change of type. */
function union(walk: Walk): void {
  const { before, after } = walk.pair;
  for (const keyword of ['anyOf', 'oneOf']) {
    if (walk.old.has(keyword) === walk.now.has(keyword)) continue;
    const [part, node] = walk.now.has(keyword) ? [after, walk.now] : [before, walk.old];
    if (!isAlone(part, node, keyword)) continue;
    const direction = walk.direction([before], [after]);
    const [was, is] = [wordsFor(walk, before, walk.old), wordsFor(walk, after, walk.now)];
    const said = was === is ? {} : { kinds: TYPE, said: [was, is] as const };
    walk.limit(keyword, direction, before.node, after.node, said);
    walk.cover(walk.keywords());
  }
}

function wordsFor(walk: Walk, part: Part, node: JsonObject): string {
  const type = node.get('type');
  return typeof type === 'string' ? type : typeWords(walk.prover.together([part])?.types ?? 0).join(' or ');
}

function types(walk: Walk): void {
  if (walk.covers('type') || !walk.differs('type')) return;
  walk.cover(['type']);
  const { before, after } = walk.pair;
  const [was, is] = [walk.old.get('type'), walk.now.get('type')];
  const only = (part: Part, type: JsonValue | undefined) =>
    part.document.make(type === undefined ? {} : { type });
  const direction = walk.direction([only(before, was)], [only(after, is)]);
  // The same types in another order are no change.
  if (direction !== 'none') walk.limit('type', direction, was, is, { kinds: TYPE });
}

function values(walk: Walk): void {
  if (walk.covers('enum')) return;
  const { before, after } = walk.pair;
  const [had, has] = [before.view.values, after.view.values];
  if (had === undefined || has === undefined) {
    walk.leaf(['enum']);
    walk.leaf(['const']);
    return;
  }
  walk.cover(['enum', 'const']);
  const gone = [...had].filter(([key]) => !has.has(key)).map(([, value]) => value);
  const come = [...has].filter(([key]) => !had.has(key)).map(([, value]) => value);
  if (gone.length === 0 && come.length === 0) return;
  const direction = walk.direction(...walk.cut(['enum', 'const']));
  if (walk.old.has('const') && walk.now.has('const')) {
    walk.report({ kind: 'const-changed', keyword: 'const', ...walk.values('const'), direction });
    return;
  }
  const keyword = walk.now.has('enum') ? 'enum' : 'const';
  const certain = direction !== 'none' && direction !== 'unknown';
  if (gone.length > 0) {
    walk.report({ kind: 'enum-removed', keyword, before: gone, direction: certain ? 'less' : direction });
  }
  if (come.length > 0) {
    walk.report({ kind: 'enum-added', keyword, after: come, direction: certain ? 'more' : direction });
  }
}

const DEFINITIONS: readonly string[] = ['$defs', 'definitions'];

/** Definitions that no reference led to: what they say still stands in the schema and is read. */
function definitions(walk: Walk, before: Part, after: Part): void {
  const used = new Set([...reachable(before), ...reachable(after)]);
  for (const pair of walk.later) {
    if (walk.hasSeen(pair.before, pair.after)) continue;
    walk.go({ ...pair, effect: used.has(pair.before) || used.has(pair.after) ? 'unclear' : 'unused' });
  }
}

function mapOf(node: JsonObject, keyword: string): JsonObject {
  const map = node.get(keyword);
  return map instanceof JsonObject ? map : new JsonObject();
}
