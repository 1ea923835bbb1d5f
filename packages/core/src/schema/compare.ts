import { type JsonNumber, type JsonValue, sameValue } from '../json/index.ts';
import { schemaChanges } from './changes.ts';
import { cutDown } from './cut-down.ts';
import { numberKey } from './decimal.ts';
import { type Formats, SchemaDocument } from './document.ts';
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

export interface CompareOptions {
  /** Whether `format` decides what is accepted. Default `annotate`: it does not, as 2020-12 has it. */
  readonly formats?: Formats;
  /** How many steps the proofs may take before they are given up as `unknown`. Default 50,000. */
  readonly maxSteps?: number;
}

/**
 * Compares two JSON Schemas (2020-12; 2019-09 and draft 7 where `$schema` says so) with the question of a caller: does
 * the new one accept everything that the old one accepted, and does it accept more? A claim is made only when it is
 * proven (see {@link SchemaRelation}); a schema with references out of itself, in a dialect or with keywords that are
 * not understood, or too intricate for the budget, is `unknown` where that matters. Regular expressions count as equal
 * when they are equal texts. Keywords that no dialect knows are annotations, as the specification says, but where one
 * changes the relation is `unknown`. Values are exact: 1 and 1.0 are one number, and no bound is rounded. Never throws
 * and never recurses; what is malformed is `unknown` unless it is the same in both.
 */
export function compareSchemas(
  before: JsonValue,
  after: JsonValue,
  options: CompareOptions = {},
): SchemaComparison {
  const documents = [
    new SchemaDocument('b', before, options.formats),
    new SchemaDocument('a', after, options.formats),
  ] as const;
  const remote = documents.some((document) => document.remote.length > 0);
  if (!remote && sameValue(before, after, sameNumber)) return { relation: 'same', changes: [] };
  const refers = documents.some((document) => document.references.size > 0);
  const [was, is] = cutDown(before, after, refers);
  const old = was === before ? documents[0].root : new SchemaDocument('b', was, options.formats).root;
  const now = is === after ? documents[1].root : new SchemaDocument('a', is, options.formats).root;
  const steps = options.maxSteps ?? 50_000;
  const changes = schemaChanges(old, now, steps);
  const doubtful: readonly ChangeKind[] = ['unknown-keyword-changed', 'too-many'];
  if (changes.some(({ kind }) => doubtful.includes(kind))) return { relation: 'unknown', changes };
  // One prover, which knows what it has proven; but each question has steps of its own.
  const prover = new Prover(steps);
  const asked = (share: number) => {
    prover.budget = new Budget(steps / share);
    return prover;
  };
  const keeps = asked(1).proves([old], [now]);
  const adds = !asked(1).proves([now], [old]);
  const refused = keeps ? undefined : witness(asked(4), [old], [now]);
  const admitted = adds ? witness(asked(4), [now], [old]) : undefined;
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
