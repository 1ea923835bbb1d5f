import { JsonObject, type JsonValue, pointer, sameValue } from '../json/index.ts';
import type { Part } from './document.ts';
import { type Parts, Prover } from './prover.ts';
import { type ChangeKind, type Direction, type SchemaChange, sentence } from './sentence.ts';
import { ANY, typeWords, valueKey } from './value.ts';
import { witness } from './witness.ts';

/**
 * How a change inside tells on the whole: as it is; the other way round (below `not`); unclear (below `oneOf` and
 * `if`, unless it changes nothing); hidden (beside what is not understood, even if it changes nothing by itself); not
 * at all (in a definition that nothing refers to).
 */
export type Effect = 'plain' | 'reversed' | 'unclear' | 'hidden' | 'unused';

/** Where a change stands in a schema, and the argument that it is about. */
export type Location = Pick<SchemaChange, 'path' | 'argument'>;

const ROOT: Location = { path: '', argument: '' };

/** Two schemas that stand at the same location. */
interface Pair {
  readonly before: Part;
  readonly after: Part;
  readonly location: Location;
  readonly effect: Effect;
  /** Whether annotations of this very schema count; not where a reference stands on one side only. */
  readonly annotations: boolean;
}

/** A change at the pair at hand, or at a location of its own. */
interface Finding {
  readonly kind: ChangeKind;
  readonly keyword: string;
  /** The keyword that said it before, if it was another. */
  readonly former?: string | undefined;
  readonly before?: JsonValue | undefined;
  readonly after?: JsonValue | undefined;
  /** What the sentence says in location of the values. */
  readonly said?: readonly [before: string, after: string];
  readonly direction: Direction;
  readonly location?: Location;
}

/** The kinds for a change that accepts less, more, or anything else. */
export type Kinds = readonly [less: ChangeKind, more: ChangeKind, other: ChangeKind];
export const LIMIT: Kinds = ['constraint-tightened', 'constraint-loosened', 'constraint-changed'];

const PATTERN: Kinds = ['pattern-changed', 'pattern-changed', 'pattern-changed'];

const ANNOTATION_KINDS = new Set<ChangeKind>([
  'description-changed',
  'default-changed',
  'annotation-changed',
]);

/** More schemas than this are not compared one by one. */
const MAX_PAIRS = 10_000;

/** What was found at a pair. It can be reached on several ways; the least favourable effect counts. */
interface Visit {
  readonly pair: Pair;
  effect: Effect;
  readonly hiding: boolean;
  readonly found: readonly Finding[];
  readonly inner: readonly Pair[];
}

/** Compares some keywords of the pair at hand; called only where one of them stands, if it names them. */
export interface Handler {
  readonly keywords?: readonly string[];
  handle(walk: Walk): void;
}

/** Goes through two schemas side by side, pair by pair, and collects what differs. */
export class Walk {
  readonly prover: Prover;
  /** Pairs that are compared in the end, if nothing has led to them. */
  readonly later: Pair[] = [];
  /** The pair at hand, as objects of keywords. */
  pair!: Pair;
  old!: JsonObject;
  now!: JsonObject;
  readonly #handlers: readonly Handler[];
  readonly #visits = new Map<string, Visit>();
  readonly #seen = new Set<string>();
  #cut = false;
  #covered = new Set<string>();
  #found: Finding[] = [];
  #inner: Pair[] = [];

  constructor(handlers: readonly Handler[], steps: number) {
    this.#handlers = handlers;
    this.prover = new Prover(steps);
  }

  /** Compares a pair and all pairs inside it, outer ones first. */
  go(first: Pair): void {
    const open = [first];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const key = keyOf(pair);
      let visit = this.#visits.get(key);
      if (visit === undefined && this.#visits.size === MAX_PAIRS) {
        this.#cut = true;
        return;
      }
      if (visit === undefined) {
        visit = this.#visit(pair);
        this.#visits.set(key, visit);
        this.#seen.add(`${pair.before.id}=${pair.after.id}`);
      } else {
        const effect = worse(visit.effect, pair.effect);
        if (effect === visit.effect) continue;
        visit.effect = effect;
      }
      const outer = visit.hiding ? joined(visit.effect, 'hidden') : visit.effect;
      for (const inner of visit.inner.toReversed())
        open.push({ ...inner, effect: joined(outer, inner.effect) });
    }
  }

  hasSeen(before: Part, after: Part): boolean {
    return this.#seen.has(`${before.id}=${after.id}`);
  }

  /** All that was found, in the order in which it was met. */
  changes(): SchemaChange[] {
    const changes = [...this.#visits.values()].flatMap(({ pair, effect, hiding, found }) =>
      found.map((finding) => change(finding, pair.location, hiding ? joined(effect, 'hidden') : effect)),
    );
    if (this.#cut)
      changes.push(change({ kind: 'too-many', keyword: '', direction: 'unknown' }, ROOT, 'plain'));
    return changes;
  }

  #visit(pair: Pair): Visit {
    this.pair = pair;
    this.#covered = new Set();
    this.#found = [];
    this.#inner = [];
    const { before, after } = pair;
    const [old, now] = [objectOf(before), objectOf(after)];
    if (old !== undefined && now !== undefined) {
      [this.old, this.now] = [old, now];
      const there = new Set(this.keywords());
      for (const { handle, keywords } of this.#handlers) {
        if (keywords?.some((keyword) => there.has(keyword)) ?? true) handle(this);
      }
      for (const keyword of there) {
        if (!this.#covered.has(keyword) && this.differs(keyword)) {
          this.limit(keyword, 'unknown', this.old.get(keyword), this.now.get(keyword));
        }
      }
    } else if (differ(before.node, after.node)) {
      this.limit('', this.direction([before], [after]), before.node, after.node);
    }
    const hiding = isHiding(before) || isHiding(after);
    return { pair, effect: pair.effect, hiding, found: this.#settled(), inner: this.#inner };
  }

  /** The findings of a pair. Those that take each other back, as a whole, change nothing. */
  #settled(): readonly Finding[] {
    const { before, after } = this.pair;
    const directions = new Set(this.#found.map(({ direction }) => direction));
    const opposed = directions.has('less') && directions.has('more');
    if (!opposed || this.direction([before], [after]) !== 'none') return this.#found;
    return this.#found.map((found) => ({ ...found, direction: 'none' }));
  }

  /** Says that these keywords of the pair have been looked at. */
  cover(keywords: readonly string[]): void {
    for (const keyword of keywords) this.#covered.add(keyword);
  }

  covers(keyword: string): boolean {
    return this.#covered.has(keyword);
  }

  /** The keywords of both sides, those of the new one first. */
  keywords(): string[] {
    return [...new Set([...this.now.keys, ...this.old.keys])];
  }

  /** What both sides say under a keyword. */
  values(keyword: string): Pick<Finding, 'before' | 'after'> {
    return { before: this.old.get(keyword), after: this.now.get(keyword) };
  }

  differs(keyword: string): boolean {
    return differ(this.old.get(keyword), this.now.get(keyword));
  }

  report(finding: Finding): void {
    this.#found.push(finding);
  }

  /** Reports a change whose kind follows from its direction. */
  limit(
    keyword: string,
    direction: Direction,
    before: JsonValue | undefined,
    after: JsonValue | undefined,
    more: Partial<Pick<Finding, 'location' | 'former' | 'said'>> & { readonly kinds?: Kinds } = {},
  ): void {
    const { kinds = LIMIT, ...rest } = more;
    const kind = direction === 'less' ? kinds[0] : direction === 'more' ? kinds[1] : kinds[2];
    this.report({ kind, keyword, before, after, direction, ...rest });
  }

  /** Reports keywords that belong together and are compared as a whole. */
  leaf(group: readonly string[]): void {
    const changed = group.filter((keyword) => !this.covers(keyword) && this.differs(keyword));
    this.cover(group);
    if (changed.length === 0) return;
    const keyword = changed.find((name) => this.now.has(name)) ?? changed[0]!;
    const former = changed.find((name) => this.old.has(name));
    const was = former === undefined ? undefined : this.old.get(former);
    const kinds = keyword === 'pattern' ? PATTERN : LIMIT;
    this.limit(keyword, this.direction(...this.cut(group)), was, this.now.get(keyword), { kinds, former });
  }

  descend(before: Part, after: Part, location: Location, effect: Effect = 'plain', annotations = true): void {
    if (isSameHere(before, after)) return;
    this.#inner.push({ before, after, location, effect, annotations });
  }

  /** What a step from some schemas to others does, by itself. */
  direction(before: Parts, after: Parts): Direction {
    const { prover } = this;
    if (!prover.budget.take(1)) return 'unknown';
    const keeps = prover.proves(before, after);
    const adds = !prover.proves(after, before);
    if (keeps) return adds ? 'more' : 'none';
    if (!adds) return 'less';
    const both = witness(prover, before, after) !== undefined && witness(prover, after, before) !== undefined;
    return both ? 'both' : 'unknown';
  }

  /** The pair cut down to some keywords, and to the types that either side takes. */
  cut(keywords: readonly string[]): [Parts, Parts] {
    const { before, after } = this.pair;
    const types = before.view.types | after.view.types;
    const cut = (part: Part, node: JsonObject): Part => {
      const members: Record<string, JsonValue> = types === ANY ? {} : { type: typeWords(types) };
      for (const keyword of keywords) {
        const value = node.get(keyword);
        if (value !== undefined) members[keyword] = value;
      }
      return part.document.make(members);
    };
    return [[cut(before, this.old)], [cut(after, this.now)]];
  }

  /** A location under a keyword of the pair; the argument is the same unless given. */
  under(keyword: string, argument: string = this.pair.location.argument): Location {
    return { path: `${this.pair.location.path}/${keyword}`, argument };
  }

  /** The location of a member of a map of schemas. */
  named(keyword: string, name: string): Location {
    const path = this.pair.location.path + pointer([keyword, name]);
    return { path, argument: this.pair.location.argument + this.#step(keyword, name) };
  }

  /** What leads from the argument of a map of schemas to that of a member; other maps are about the same argument. */
  #step(keyword: string, name: string): string {
    if (keyword === 'patternProperties') return `{/${name}/}`;
    if (keyword !== 'properties') return '';
    if (!/^[A-Za-z_$][\w$-]*$/.test(name)) return `[${JSON.stringify(name)}]`;
    return this.pair.location.argument === '' ? name : `.${name}`;
  }
}

/** Whether there is nothing to tell of a pair: the same words, in the same dialect, that refer to nothing elsewhere. */
function isSameHere(before: Part, after: Part): boolean {
  const [old, now] = [before.document, after.document];
  if (old.dialect !== now.dialect || old.references.size + now.references.size > 0) return false;
  // Not further than this, or a deep schema would be read again at each of its levels.
  return sameValue(before.node, after.node, undefined, 100);
}

/** Where a pair was met before. Schemas that are just true or false have no identity, so their location counts. */
function keyOf({ before, after, location, annotations }: Pair): string {
  const plain = typeof before.node === 'boolean' && typeof after.node === 'boolean';
  return `${before.id}=${after.id} ${annotations} ${plain ? location.path : ''}`;
}

function change(found: Finding, at: Location, effect: Effect): SchemaChange {
  const { kind, keyword, former, before, after, said } = found;
  const { path, argument } = found.location ?? at;
  return {
    ...{ kind, path, argument, keyword },
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    direction: ANNOTATION_KINDS.has(kind) ? 'none' : told(found.direction, effect),
    message: sentence(kind, {
      ...{ argument, keyword, former: former ?? keyword },
      before: said?.[0] ?? before,
      after: said?.[1] ?? after,
    }),
  };
}

/** The schema as an object of keywords; `true` is the empty one. */
function objectOf({ node }: Part): JsonObject | undefined {
  return node instanceof JsonObject ? node : node === true ? EMPTY : undefined;
}
const EMPTY = new JsonObject();

/** Whether no change beside it can be judged by itself: something is not understood, or depends on all the rest. */
function isHiding(part: Part): boolean {
  const node = objectOf(part);
  return (
    part.view.opaque || node?.has('unevaluatedProperties') === true || node?.has('unevaluatedItems') === true
  );
}

/** No schema at all accepts everything. */
export function partsOf(part: Part | undefined): Parts {
  return part === undefined ? [] : [part];
}

export function firstPair(before: Part, after: Part): Pair {
  return { before, after, location: ROOT, effect: 'plain', annotations: true };
}

function differ(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === undefined || b === undefined) return a !== b;
  return valueKey(a) !== valueKey(b);
}

function joined(outer: Effect, inner: Effect): Effect {
  for (const effect of ['unused', 'hidden', 'unclear'] as const) {
    if (outer === effect || inner === effect) return effect;
  }
  return outer === inner ? 'plain' : 'reversed';
}

/** The effect of what is reached in two ways. */
function worse(one: Effect, other: Effect): Effect {
  if (one === other || other === 'unused') return one;
  if (one === 'unused') return other;
  return one === 'hidden' || other === 'hidden' ? 'hidden' : 'unclear';
}

function told(direction: Direction, effect: Effect): Direction {
  if (effect === 'unused') return 'none';
  if (effect === 'hidden') return 'unknown';
  if (direction === 'none' || effect === 'plain') return direction;
  if (effect === 'unclear') return 'unknown';
  return direction === 'less' ? 'more' : direction === 'more' ? 'less' : direction;
}
