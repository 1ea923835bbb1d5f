import { JsonObject, type JsonValue } from '../json/index.ts';
import { type Part, schemaObjects } from './document.ts';
import type { Prover } from './prover.ts';

/** Which members of two lists of schemas belong together. */
interface Pairing {
  /** With the index in the new list. */
  readonly pairs: readonly (readonly [Part, Part, number])[];
  readonly gone: readonly Part[];
  readonly come: readonly Part[];
}

/** Up to this many members that are left over are tried each against each. */
const MAX_TRIED = 30;

/** Pairs what is identical first, then, if as many are left on both sides, in their order. */
export function pairUp(
  prover: Prover,
  before: Part,
  old: JsonValue[],
  after: Part,
  now: JsonValue[],
): Pairing {
  const pairs: [Part, Part, number][] = [];
  const come = new Map(now.map((node, index) => [index, after.document.part(node)]));
  const byWording = new Map<number | undefined, number[]>();
  for (const index of [...come.keys()].reverse()) {
    const wording = prover.wording(come.get(index)!);
    const alike = byWording.get(wording);
    if (alike === undefined) byWording.set(wording, [index]);
    else alike.push(index);
  }
  const pair = (part: Part, index: number) => {
    pairs.push([part, come.get(index)!, index]);
    come.delete(index);
  };
  const gone: Part[] = [];
  for (const part of old.map((node) => before.document.part(node))) {
    const wording = prover.wording(part);
    const partner = wording === undefined ? undefined : byWording.get(wording)?.pop();
    if (partner === undefined) gone.push(part);
    else pair(part, partner);
  }
  const left: Part[] = [];
  for (const part of gone) {
    const tried = gone.length <= MAX_TRIED && come.size <= MAX_TRIED ? [...come.keys()] : [];
    const partner = tried.find((index) => prover.looksIdentical(part, come.get(index)!));
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
