import type { JsonValue } from '../json/index.ts';
import { arrayImplied } from './arrays.ts';
import {
  alikeFrom,
  type Conjunction,
  conjunction,
  impliesBound,
  noNumber,
  partsAt,
  partsAtIndex,
  wholeBound,
} from './conjunction.ts';
import { isMultiple, ONE } from './decimal.ts';
import { disjunctions, NO_SPLIT, type Split } from './disjunctions.ts';
import { type Part, SchemaDocument } from './document.ts';
import { evaluate, every } from './evaluate.ts';
import { Identity } from './identical.ts';
import { logicImplied } from './logic.ts';
import { objectImplied } from './objects.ts';
import { isTrivial, type Truth } from './pattern.ts';
import { Budget, call, OUT_OF_STEPS, run, type Step } from './steps.ts';
import { ARRAY, FRACTION, NUMBER, OBJECT, STRING } from './value.ts';
import type { View } from './view.ts';

/** Schemas that must all hold; none at all accepts everything. */
export type Parts = readonly Part[];

/**
 * Proves that one schema accepts all that another accepts. It only ever says "proven" or "not proven": whatever the
 * left schema says beyond what is understood is dropped, which makes it accept more, and whatever the right one says
 * must be shown to follow. Where a schema leads back to itself, the claim is assumed for values further inside, which
 * is induction on the value. A budget of steps bounds the work.
 */
export class Prover {
  budget: Budget;
  /** How far inside the value we are. */
  #depth = 0;
  /** The claims being proven, with the depth at which each began. */
  readonly #open = new Map<string, { depth: number; index: number }>();
  /** The outermost open claim that the current proof leans on. */
  #leans = Number.POSITIVE_INFINITY;
  readonly #proven = new Map<string, boolean>();
  readonly #empty = new Map<string, boolean>();
  readonly #identity = new Identity();
  readonly #identical = new Map<string, boolean>();
  readonly #numberSets = new Map<Parts, ReadonlySet<number | Part>>();
  readonly #conjunctions = new Map<string, Conjunction>();

  constructor(steps: number) {
    this.budget = new Budget(steps);
  }

  /** Whether everything that all of `left` accept is accepted by all of `right`, if that could be proven. */
  proves(left: Parts, right: Parts): boolean {
    return this.#ask(false, () => right.every((part) => run(this.included(left, part))));
  }

  /** Whether all of the parts accept a value, if that is certain. */
  accepts(parts: Parts, value: JsonValue): Truth {
    return this.#ask(undefined, () => run(this.evaluateAll(parts, value)));
  }

  /** What the parts say together; undefined when there are no steps left to find out. */
  together(parts: Parts): Conjunction | undefined {
    return this.#ask(undefined, () => this.conjunction(parts));
  }

  /** Inside a proof: whether two schemas say the same in the same words, annotations aside. */
  identical(a: Part, b: Part): boolean {
    const key = `${a.id}=${b.id}`;
    let known = this.#identical.get(key);
    if (known === undefined) {
      known = this.#identity.same(a, b, this.budget);
      this.#identical.set(key, known);
    }
    return known;
  }

  /** What a question outside a proof gives, or undefined when the steps for it are not there. */
  affordable<T>(question: (budget: Budget) => T): T | undefined {
    return this.#ask<T | undefined>(undefined, () => question(this.budget));
  }

  /** A question that runs out of steps has no answer. */
  #ask<T>(none: T, question: () => T): T {
    if (!this.budget.take(1)) return none;
    try {
      return question();
    } catch (error) {
      if (error !== OUT_OF_STEPS) throw error;
      this.#open.clear();
      this.#depth = 0;
      this.#leans = Number.POSITIVE_INFINITY;
      return none;
    }
  }

  conjunction(parts: Parts): Conjunction {
    const key = keyOf(parts);
    const known = this.#conjunctions.get(key) ?? conjunction(parts, this.budget);
    this.#conjunctions.set(key, known);
    return known;
  }

  evaluateAll(parts: Parts, value: JsonValue): Step<Truth> {
    return every(parts.map((part) => evaluate(value, part, this.budget)));
  }

  /** The same question about something inside the value: a member, an element, a name. */
  *inside<T>(step: Step<T>): Step<T> {
    this.#depth++;
    const result = yield* call(step);
    this.#depth--;
    return result;
  }

  /** Whether `left` ⊆ `right` is proven. `split` holds the alternatives that have been taken apart on the way here. */
  *included(left: Parts, right: Part, split: Split = NO_SPLIT): Step<boolean> {
    this.budget.spend(1 + left.length);
    if (right.node === true || left.some((part) => part === right || part.node === false)) return true;
    const key = `${keyOf(left)}<${right.id}`;
    const known = this.#proven.get(key);
    if (known !== undefined) return known;
    const open = this.#open.get(key);
    if (open !== undefined) {
      if (this.#depth <= open.depth) return false;
      this.#leans = Math.min(this.#leans, open.index);
      return true;
    }
    const index = this.#open.size;
    const leansBefore = this.#leans;
    this.#leans = Number.POSITIVE_INFINITY;
    this.#open.set(key, { depth: this.#depth, index });
    const result = yield* call(this.#includedNow(left, right, split));
    this.#open.delete(key);
    // A proof that leans on a claim still open is good only for as long as that one may turn out true.
    const leans = result && this.#leans < index ? this.#leans : Number.POSITIVE_INFINITY;
    if (leans === Number.POSITIVE_INFINITY) this.#proven.set(key, result);
    this.#leans = Math.min(leansBefore, leans);
    return result;
  }

  *#includedNow(left: Parts, right: Part, split: Split): Step<boolean> {
    if (left.some((part) => this.identical(part, right))) return true;
    const have = this.conjunction(left);
    const need = this.conjunction([right]);
    if (need.cyclic) return false;
    if (yield* call(this.isEmpty(left))) return true;
    if (have.values !== undefined) {
      for (const value of have.values.values()) {
        if ((yield* call(this.evaluateAll(left, value))) === false) continue;
        if ((yield* call(evaluate(value, right, this.budget))) !== true) return false;
      }
      return true;
    }
    if ((have.types & ~need.types) !== 0) return false;
    let implied = true;
    for (const view of need.views) {
      implied &&= yield* call(this.#implied(left, have, view, split));
    }
    if (implied) return true;
    const next = disjunctions(have, need).find(({ owner }) => !split.has(owner));
    if (next === undefined) return false;
    const further = new Set(split).add(next.owner);
    for (const choice of next.choices) {
      if (!(yield* call(this.included([...left, ...choice], right, further)))) return false;
    }
    return true;
  }

  /** Whether everything on the left satisfies one schema object on the right. */
  *#implied(left: Parts, have: Conjunction, view: View, split: Split): Step<boolean> {
    this.budget.spend();
    if (view.opaque) return have.parts.some((part) => this.identical(part, view.part));
    if ((have.types & ~view.types) !== 0 || view.values !== undefined) return false;
    if ((have.types & NUMBER) !== 0 && !numberImplied(have, view)) return false;
    if ((have.types & STRING) !== 0 && !stringImplied(have, view)) return false;
    if ((have.types & OBJECT) !== 0 && !(yield* call(objectImplied(this, left, have, view)))) return false;
    if ((have.types & ARRAY) !== 0 && !(yield* call(arrayImplied(this, have, view)))) return false;
    return yield* call(logicImplied(this, left, have, view, split));
  }

  /** What stands for the wording of a schema, or for itself if it has references. */
  numberOf(part: Part): number | Part {
    return this.#identity.number(part, this.budget) ?? part;
  }

  numbersOf(parts: Parts): ReadonlySet<number | Part> {
    const known = this.#numberSets.get(parts) ?? new Set(parts.map((part) => this.numberOf(part)));
    this.#numberSets.set(parts, known);
    return known;
  }

  /** Whether it is proven that no value satisfies all of the parts. */
  *isEmpty(parts: Parts, split: Split = NO_SPLIT): Step<boolean> {
    this.budget.spend(1 + parts.length);
    if (parts.some(({ node }) => node === false)) return true;
    const key = keyOf(parts);
    const known = this.#empty.get(key);
    if (known !== undefined) return known;
    // A schema that needs itself inside itself accepts nothing finite, but we do not try to prove that.
    this.#empty.set(key, false);
    const leansBefore = this.#leans;
    this.#leans = Number.POSITIVE_INFINITY;
    const result = yield* call(this.#isEmptyNow(parts, split));
    if (result && this.#leans < Number.POSITIVE_INFINITY) this.#empty.delete(key);
    else this.#empty.set(key, result);
    this.#leans = result ? Math.min(leansBefore, this.#leans) : leansBefore;
    return result;
  }

  *#isEmptyNow(parts: Parts, split: Split): Step<boolean> {
    const have = this.conjunction(parts);
    if (have.types === 0) return true;
    if (have.values !== undefined) {
      for (const value of have.values.values()) {
        if ((yield* call(this.evaluateAll(parts, value))) !== false) return false;
      }
      return true;
    }
    if (yield* call(this.#noTypeLeft(have))) return true;
    for (const { not } of have.views) {
      if (not !== undefined && (yield* call(this.included(parts, not)))) return true;
    }
    const next = disjunctions(have, undefined).find(({ owner }) => !split.has(owner));
    if (next === undefined) return false;
    const further = new Set(split).add(next.owner);
    for (const choice of next.choices) {
      if (!(yield* call(this.isEmpty([...parts, ...choice], further)))) return false;
    }
    return true;
  }

  /** Whether each type that is left has no value left. */
  *#noTypeLeft(have: Conjunction): Step<boolean> {
    if ((have.types & ~(NUMBER | STRING | OBJECT | ARRAY)) !== 0) return false;
    if ((have.types & NUMBER) !== 0 && !noNumber(have)) return false;
    if ((have.types & STRING) !== 0 && have.minLength <= have.maxLength) return false;
    if ((have.types & ARRAY) !== 0 && have.minItems <= have.maxItems) {
      let empty = false;
      for (let index = 0; index < have.minItems && index <= alikeFrom(have) && !empty; index++) {
        const parts = partsAtIndex(have, index);
        if (parts.length === 0) break;
        empty = yield* call(this.inside(this.isEmpty(parts)));
      }
      if (!empty) return false;
    }
    if ((have.types & OBJECT) !== 0) {
      const least = Math.max(have.minProperties, have.required.size);
      let empty = least > have.maxProperties;
      for (const name of have.required) {
        const parts = partsAt(have, name, this.budget);
        empty ||= parts.length > 0 && (yield* call(this.inside(this.isEmpty(parts))));
      }
      if (!empty) return false;
    }
    return true;
  }
}

function keyOf(parts: Parts): string {
  return [...new Set(parts.map(({ id }) => id))].sort().join();
}

/** Whether every number on the left satisfies what one schema says of numbers. */
function numberImplied(have: Conjunction, view: View): boolean {
  const integer = (have.types & FRACTION) === 0;
  const low = wholeBound(view.low, 1, integer);
  const high = wholeBound(view.high, -1, integer);
  if (low !== undefined && !impliesBound(have.low, low, 1)) return false;
  if (high !== undefined && !impliesBound(have.high, high, -1)) return false;
  const unit = view.multipleOf;
  if (unit === undefined || (integer && isMultiple(ONE, unit) === true)) return true;
  return have.views.some(
    ({ multipleOf }) => multipleOf !== undefined && isMultiple(multipleOf, unit) === true,
  );
}

/** The same for strings. A pattern follows only from the same pattern. */
function stringImplied(have: Conjunction, { minLength, maxLength, pattern }: View): boolean {
  if (have.minLength < minLength || have.maxLength > maxLength) return false;
  return pattern === undefined || isTrivial(pattern) || have.views.some((view) => view.pattern === pattern);
}

/** Enough for arguments of some megabytes under the schemas that a manifest may hold. */
const MAX_STEPS = 2_000_000;

/**
 * Whether a JSON Schema (2020-12; 2019-09 and draft 7 where `$schema` says so) accepts a value; undefined where that
 * cannot be told, or not within the steps. `format` is an annotation. Values are exact. Never throws for a value that
 * was parsed, and never recurses.
 */
export function accepts(schema: JsonValue, value: JsonValue, maxSteps = MAX_STEPS): boolean | undefined {
  return new Prover(maxSteps).accepts([new SchemaDocument('s', schema).root], value);
}
