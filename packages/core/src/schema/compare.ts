import { type JsonNumber, type JsonValue, sameValue } from '../json/index.ts';
import { schemaChanges } from './changes.ts';
import { cutDown } from './cut-down.ts';
import { numberKey } from './decimal.ts';
import { SchemaDocument } from './document.ts';
import { Prover } from './prover.ts';
import type { ChangeKind, SchemaChange } from './sentence.ts';
import { Budget } from './steps.ts';
import { witness } from './witness.ts';

/**
 * What a caller of the old schema meets at the new one.
 * - `same`: proven that both accept the same values.
 * - `accepts-more`: proven that every value the old one accepts the new one accepts; the reverse is not proven.
 * - `accepts-less`: proven that every value the new one accepts the old one accepts; the reverse is not proven.
 * - `both`: the new one refuses a value that the old one accepts, and accepts one that the old one refuses; both
 *   values are at hand in `refused` and `admitted`.
 * - `unknown`: none of these is proven.
 */
export type SchemaRelation = 'same' | 'accepts-less' | 'accepts-more' | 'both' | 'unknown';

export interface SchemaComparison {
  readonly relation: SchemaRelation;
  /** Each difference by its place; empty only when the schemas are the same to the letter, or differ in nothing told. */
  readonly changes: readonly SchemaChange[];
  /** A value that the old schema accepts and the new one refuses, if one was found: a call that breaks. */
  readonly refused?: JsonValue;
  /** A value that the old schema refuses and the new one accepts, if one was found. */
  readonly admitted?: JsonValue;
}

/**
 * Compares two JSON Schemas (2020-12; 2019-09 and draft 7 where `$schema` says so) with the question of a caller: does
 * the new one accept everything that the old one accepted, and does it accept more? A claim is made only when it is
 * proven (see {@link SchemaRelation}); a schema with references out of itself, in a dialect or with keywords that are
 * not understood, or too intricate for the budget, is `unknown` where that matters. Regular expressions count as equal
 * when they are equal texts. `format` is an annotation. Keywords that no dialect knows are annotations, as the specification says, but where one
 * changes the relation is `unknown`. Values are exact: 1 and 1.0 are one number, and no bound is rounded. Never throws
 * and never recurses; what is malformed is `unknown` unless it is the same in both. Proofs take up to `maxSteps`, and
 * are then given up as `unknown`.
 */
export function compareSchemas(
  before: JsonValue,
  after: JsonValue,
  { maxSteps = 50_000 }: { readonly maxSteps?: number } = {},
): SchemaComparison {
  const documents = [new SchemaDocument('b', before), new SchemaDocument('a', after)] as const;
  const remote = documents.some((document) => document.remote.length > 0);
  if (!remote && sameValue(before, after, sameNumber)) return { relation: 'same', changes: [] };
  const refers = documents.some((document) => document.references.size > 0);
  const [was, is] = cutDown(before, after, refers);
  const old = was === before ? documents[0].root : new SchemaDocument('b', was).root;
  const now = is === after ? documents[1].root : new SchemaDocument('a', is).root;
  const changes = schemaChanges(old, now, maxSteps);
  const doubtful: readonly ChangeKind[] = ['unknown-keyword-changed', 'too-many'];
  if (changes.some(({ kind }) => doubtful.includes(kind))) return { relation: 'unknown', changes };
  // One prover, which knows what it has proven; but each question has steps of its own.
  const prover = new Prover(maxSteps);
  const within = (steps: number) => {
    prover.budget = new Budget(steps);
    return prover;
  };
  const keeps = within(maxSteps).proves([old], [now]);
  const adds = !within(maxSteps).proves([now], [old]);
  const refused = keeps ? undefined : witness(within(maxSteps / 4), [old], [now]);
  const admitted = adds ? witness(within(maxSteps / 4), [now], [old]) : undefined;
  return {
    relation: relationOf(keeps, adds, refused, admitted),
    changes,
    ...(refused === undefined ? {} : { refused }),
    ...(admitted === undefined ? {} : { admitted }),
  };
}

function relationOf(
  keeps: boolean,
  adds: boolean,
  refused: JsonValue | undefined,
  admitted: JsonValue | undefined,
): SchemaRelation {
  if (keeps) return adds ? 'accepts-more' : 'same';
  if (!adds) return 'accepts-less';
  return refused !== undefined && admitted !== undefined ? 'both' : 'unknown';
}

function sameNumber(a: JsonNumber, b: JsonNumber): boolean {
  return numberKey(a.lexeme) === numberKey(b.lexeme);
}
