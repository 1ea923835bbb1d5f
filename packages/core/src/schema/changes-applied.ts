import type { JsonValue } from '../json/index.ts';
import type { Part } from './document.ts';
import { pairUp } from './pairs.ts';
import type { Parts } from './prover.ts';
import type { Direction } from './sentence.ts';
import { type Effect, type Location, partsOf, type Walk } from './walk.ts';

/** What changed in the keywords for arrays, and in those that apply schemas to the same value. */

/** Elements with a schema of their own, by position, then all others. The older dialects say it in other keywords. */
export function items(walk: Walk): void {
  if (walk.covers('items')) return;
  const { before, after, location } = walk.pair;
  walk.cover(['items', 'prefixItems', 'additionalItems']);
  const [had, has] = [elements(before, walk.old), elements(after, walk.now)];
  // In the view `unevaluatedItems` counts too.
  const rest: Two = [before.view.items, after.view.items];
  for (let index = 0; index < Math.max(had.prefix.length, has.prefix.length); index++) {
    const where = walk.under(`${has.keyword}/${index}`, `${location.argument}[${index}]`);
    element(walk, where, [had.prefix[index], has.prefix[index]], rest);
  }
  const where = walk.under(has.restKeyword, `${location.argument}[]`);
  element(walk, where, [had.rest, has.rest], rest);
}

type Two = readonly [before: Part | undefined, after: Part | undefined];

/** One side without a schema of its own falls under the rest. */
function element(walk: Walk, location: Location, [from, to]: Two, [oldRest, newRest]: Two): void {
  if (from !== undefined && to !== undefined) {
    walk.descend(from, to, location);
    return;
  }
  if (from === undefined && to === undefined) return;
  const direction = walk.direction(partsOf(from ?? oldRest), partsOf(to ?? newRest));
  walk.limit('items', direction, from?.node, to?.node, { location });
}

function elements(part: Part, node: Walk['old']) {
  const own = node.get('items');
  const several = Array.isArray(own);
  const prefix = several ? own : node.get('prefixItems');
  const rest = several ? node.get('additionalItems') : own;
  return {
    keyword: several ? 'items' : 'prefixItems',
    restKeyword: several ? 'additionalItems' : 'items',
    prefix: Array.isArray(prefix) ? prefix.map((item) => part.document.part(item)) : [],
    rest: rest === undefined ? undefined : part.document.part(rest),
  };
}

export const APPLIED = 'contains minContains maxContains propertyNames not if then else'.split(' ');

/** `contains`, `propertyNames`, `not` and the condition. */
export function applied(walk: Walk): void {
  const { argument } = walk.pair.location;
  const counted = walk.old.has('maxContains') || walk.now.has('maxContains');
  if (both(walk, 'contains', counted ? 'unclear' : 'plain', `${argument}[]`)) counts(walk);
  else walk.leaf(['contains', 'minContains', 'maxContains']);
  if (!both(walk, 'propertyNames', 'plain', `${argument}{names}`)) walk.leaf(['propertyNames']);
  if (!both(walk, 'not', 'reversed', argument)) walk.leaf(['not']);
  if (both(walk, 'if', 'unclear', argument)) {
    both(walk, 'then', 'plain', argument);
    both(walk, 'else', 'plain', argument);
  }
  walk.leaf(['then', 'else', 'if']);
}

/** Goes into a keyword that both sides have. */
function both(walk: Walk, keyword: string, effect: Effect, argument: string): boolean {
  const [from, to] = [walk.old.get(keyword), walk.now.get(keyword)];
  if (from === undefined || to === undefined || walk.covers(keyword)) return false;
  walk.cover([keyword]);
  const { before, after } = walk.pair;
  walk.descend(before.document.part(from), after.document.part(to), walk.under(keyword, argument), effect);
  return true;
}

/** How many elements must be contained: judged as if every element counted. */
function counts(walk: Walk): void {
  const { before, after } = walk.pair;
  for (const keyword of ['minContains', 'maxContains']) {
    if (walk.covers(keyword)) continue;
    walk.cover([keyword]);
    if (!walk.differs(keyword)) continue;
    const [from, to] = [walk.old.get(keyword), walk.now.get(keyword)];
    const make = (part: Part, count: JsonValue | undefined) =>
      part.document.make({ contains: true, ...(count === undefined ? {} : { [keyword]: count }) });
    walk.limit(keyword, walk.direction([make(before, from)], [make(after, to)]), from, to);
  }
}

export function alternatives(walk: Walk): void {
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const [from, to] = [walk.old.get(keyword), walk.now.get(keyword)];
    if (walk.covers(keyword)) continue;
    if (Array.isArray(from) && Array.isArray(to)) members(walk, keyword, from, to);
    else walk.leaf([keyword]);
  }
}

function members(walk: Walk, keyword: 'allOf' | 'anyOf' | 'oneOf', from: JsonValue[], to: JsonValue[]): void {
  walk.cover([keyword]);
  const { before, after } = walk.pair;
  const { pairs, gone, come } = pairUp(walk.prover, before, from, after, to);
  for (const [x, y, index] of pairs) {
    walk.descend(x, y, walk.under(`${keyword}/${index}`), keyword === 'oneOf' ? 'unclear' : 'plain');
  }
  const [whole, next] = walk.cut([keyword]);
  const [removed, added] =
    keyword === 'allOf'
      ? (['constraint-loosened', 'constraint-tightened'] as const)
      : (['alternative-removed', 'alternative-added'] as const);
  // Where exactly one may hold, a member more can take values away; judged only when nothing else changed.
  const ofOne = (others: Parts) => (others.length > 0 ? 'unknown' : walk.direction(whole, next));
  for (const part of gone) {
    const direction = keyword === 'oneOf' ? ofOne(come) : ofMany(walk, keyword, part, next, false);
    walk.report({ kind: removed, keyword, before: part.node, direction });
  }
  for (const part of come) {
    const direction = keyword === 'oneOf' ? ofOne(gone) : ofMany(walk, keyword, part, whole, true);
    walk.report({ kind: added, keyword, after: part.node, direction });
  }
}

/** A member more or less changes nothing when the others already say it. */
function ofMany(
  walk: Walk,
  keyword: 'allOf' | 'anyOf',
  part: Part,
  others: Parts,
  added: boolean,
): Direction {
  const every = keyword === 'allOf';
  const idle = every ? walk.prover.proves(others, [part]) : walk.prover.proves([part], others);
  return idle ? 'none' : added === every ? 'less' : 'more';
}
