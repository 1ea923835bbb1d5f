import { type JsonObject, stringify } from '../json/index.ts';
import {
  type ChangeKind,
  compareSchemas,
  type SchemaComparison,
  type SchemaRelation,
} from '../schema/index.ts';
import { visible } from '../text/index.ts';
import { quoted } from './problems.ts';

const RELATIONS: Readonly<Record<SchemaRelation, string>> = {
  same: 'is written differently and accepts the same',
  'accepts-less': 'accepts less: calls that were good can fail now',
  'accepts-more': 'accepts more than before; calls that were good still are',
  both: 'refuses calls that were good, and accepts others that were not',
  unknown: 'changed, and whether calls that were good still are cannot be told',
};

/** Limit on the work to tell what a change of a schema means. */
const MAX_STEPS = 20_000;

/** More sentences than this are counted in a message; reports show them all. */
const MAX_SENTENCES = 5;
const MAX_SENTENCE = 300;

/** How an `input_schema` changed for its callers, with a sentence that says it all in short. */
export function schemaChange(
  name: string,
  before: JsonObject,
  after: JsonObject,
): { message: string; schema: SchemaComparison } {
  const schema = compareSchemas(before, after, { maxSteps: MAX_STEPS });
  const details = schemaDetails(schema);
  const shown = details.slice(0, MAX_SENTENCES).map(({ sentence }) => sentence);
  if (details.length > shown.length) shown.push(`And ${details.length - shown.length} more.`);
  const message = [`The input of ${quoted(name)} ${RELATIONS[schema.relation]}.`, ...shown].join(' ');
  return { message, schema };
}

/** The relation alone, as a sentence. */
export function relationSentence({ relation }: SchemaComparison): string {
  return `The input ${RELATIONS[relation]}.`;
}

/** One difference of a schema for people: its sentence, every character visible, and the texts if it is one of words. */
interface SchemaDetail {
  readonly sentence: string;
  readonly texts?: readonly [before: string, after: string];
}

/** Each difference as a sentence. Of a new argument it is told at once whether it must be given. */
export function schemaDetails({ changes }: SchemaComparison): SchemaDetail[] {
  const namesOf = (wanted: ChangeKind) =>
    new Set(changes.filter(({ kind }) => kind === wanted).map(({ argument }) => argument));
  const [required, added] = [namesOf('required-added'), namesOf('argument-added')];
  return changes
    .filter(({ kind, argument }) => kind !== 'required-added' || !added.has(argument))
    .map(({ kind, argument, message, before, after }) => {
      if (kind === 'argument-added') {
        const must = required.has(argument) ? 'must be given' : 'may be left out';
        return { sentence: cut(`${message.slice(0, -1)} and ${must}.`) };
      }
      const isText =
        kind === 'description-changed' && typeof before === 'string' && typeof after === 'string';
      return { sentence: cut(message), ...(isText ? { texts: [before, after] as const } : {}) };
    });
}

/** A call that was good and is refused now, as it would be written; null where none is at hand. */
export function refusedCall({ refused, relation }: SchemaComparison): string | null {
  if (refused === undefined || (relation !== 'accepts-less' && relation !== 'both')) return null;
  return cut(stringify(refused, Number.POSITIVE_INFINITY));
}

function cut(text: string): string {
  if (text.length <= MAX_SENTENCE) return visible(text);
  return `${visible(Array.from(text.slice(0, MAX_SENTENCE)).slice(0, -1).join(''))}…`;
}
