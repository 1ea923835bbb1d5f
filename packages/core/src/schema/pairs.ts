import { JsonObject, type JsonValue } from '../json/index.ts';
import { type Part, schemaObjects } from './document.ts';
import type { Prover } from './prover.ts';

/** Up to this many members that are left over are tried each against each. */
const MAX_TRIED = 30;

/**
 * Which members of two lists of schemas belong together: what is identical first, then, if as many are left on both
 * sides, in their order. Each pair comes with its index in the new list.
 */
export function pairUp(
  prover: Prover,
  before: Part,
  old: JsonValue[],
  after: Part,
  now: JsonValue[],
): { pairs: [Part, Part, number][]; gone: Part[]; come: Part[] } {
  const pairs: [Part, Part, number][] = [];
  const come = new Map(now.map((node, index) => [index, after.document.part(node)]));
  const wordingOf = (part: Part) => prover.affordable(() => prover.numberOf(part));
  const byWording = Map.groupBy([...come.keys()].reverse(), (index) => wordingOf(come.get(index)!));
  const pair = (part: Part, index: number) => {
    pairs.push([part, come.get(index)!, index]);
    come.delete(index);
  };
  const gone: Part[] = [];
  for (const part of old.map((node) => before.document.part(node))) {
    const wording = wordingOf(part);
    const partner = wording === undefined ? undefined : byWording.get(wording)?.pop();
    if (partner === undefined) gone.push(part);
    else pair(part, partner);
  }
  const left: Part[] = [];
  for (const part of gone) {
    const tried = gone.length <= MAX_TRIED && come.size <= MAX_TRIED ? [...come.keys()] : [];
    const partner = tried.find((index) => prover.affordable(() => prover.identical(part, come.get(index)!)));
    if (partner === undefined) left.push(part);
    else pair(part, partner);
  }
  if (left.length !== come.size) return { pairs, gone: left, come: [...come.values()] };
  for (const [i, index] of [...come.keys()].entries()) pair(left[i]!, index);
  return { pairs, gone: [], come: [] };
}

/** Every part that the root refers to, however indirectly; definitions alone count only when one does. */
export function reachable(root: Part): ReadonlySet<Part> {
  const found = new Set<Part>();
  const open: Part[] = [root];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (found.has(part)) continue;
    found.add(part);
    const node = part.node instanceof JsonObject ? withoutDefinitions(part.node) : part.node;
    for (const object of schemaObjects(node)) {
      const reference = object.get('$ref') ?? object.get('$dynamicRef') ?? object.get('$recursiveRef');
      const target = typeof reference === 'string' ? part.document.resolve(reference) : undefined;
      if (target !== undefined) open.push(target);
    }
  }
  return found;
}

function withoutDefinitions(node: JsonObject): JsonObject {
  return JsonObject.from([...node].filter(([keyword]) => keyword !== '$defs' && keyword !== 'definitions'));
}
