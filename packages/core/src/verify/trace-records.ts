import { BullaError } from '../error.ts';
import { readEvidence } from '../evidence/index.ts';
import { JsonObject, parse, textAt } from '../json/index.ts';
import { type Artifact, read } from './artifact.ts';

type Capsules = Artifact<'capsules'>;

/** The records of one call among those at hand. */
export interface CallRecords {
  readonly intent: JsonObject;
  /** What came of it; null where that is not at hand. */
  readonly outcome: JsonObject | null;
  /** How many outcomes it has; more than one contradict each other. */
  readonly outcomes: number;
  /** The artifact that holds the intent; a chain, where it stands in several. */
  readonly holder: Capsules;
  /** A record that the intent names, by its id. */
  byId(id: string): JsonObject | undefined;
}

/**
 * Finds the records of the call that a capsule belongs to, named by its id or hash: an outcome leads to its intent. Reads
 * chains three times at most and keeps nothing but those records. Of a source that breaks off, those before count: its
 * own verdict tells of the rest. Null where no artifact holds the capsule.
 */
export async function recordsOf(start: string, artifacts: readonly Artifact[]): Promise<CallRecords | null> {
  const sources = artifacts.filter((artifact) => artifact.kind === 'capsules');
  const [named] = await gather(sources, [start], (record) =>
    [text(record, 'id'), text(record, 'hash')].includes(start),
  );
  if (named === undefined) return null;
  const parentId = text(named.record, 'parent_id');
  const [parent] =
    parentId === '' ? [] : await gather(sources, [parentId], (record) => text(record, 'id') === parentId);
  const isOutcome = parent !== undefined && isOutcomeOf(named.record, parent.record);
  const { record: intent, holder } = isOutcome ? parent : named;
  const id = text(intent, 'id');
  const { asked, answered } = readEvidence(intent)?.consent ?? {};
  const others = [asked, answered].filter((other) => other !== undefined);
  const near = await gather(
    sources,
    [id, ...others],
    (record) => others.includes(text(record, 'id')) || text(record, 'parent_id') === id,
  );
  // Of copies of one record, the one in a chain comes first.
  const outcomes = new Map<string, JsonObject>();
  for (const { record } of near) {
    const own = text(record, 'id');
    if (isOutcomeOf(record, intent) && !outcomes.has(own)) outcomes.set(own, record);
  }
  return {
    intent,
    holder,
    outcome: outcomes.get(start) ?? [...outcomes.values()][0] ?? null,
    outcomes: outcomes.size,
    byId: (other) => near.find(({ record }) => text(record, 'id') === other)?.record,
  };
}

interface Held {
  readonly record: JsonObject;
  readonly holder: Capsules;
}

/** The records that speak of one of these names and are wanted; chains before single capsules. */
async function gather(
  sources: readonly Capsules[],
  names: readonly string[],
  isWanted: (record: JsonObject) => boolean,
): Promise<Held[]> {
  const found: Held[] = [];
  for (const holder of sources.toSorted((a, b) => Number(a.capsule !== null) - Number(b.capsule !== null)))
    for await (const record of recordsIn(holder, names)) if (isWanted(record)) found.push({ record, holder });
  return found;
}

async function* recordsIn(
  { source, capsule }: Capsules,
  names: readonly string[],
): AsyncGenerator<JsonObject> {
  if (capsule !== null) {
    if (capsule instanceof JsonObject) yield capsule;
    return;
  }
  const decoder = new TextDecoder();
  try {
    for await (const record of source.records()) {
      // A stored canonical text has its seal beside it, and is no capsule by itself.
      if (typeof record !== 'string' && !(record instanceof Uint8Array)) continue;
      const whole = typeof record === 'string' ? record : decoder.decode(record);
      // A name can also be written with escapes.
      if (!whole.includes('\\u') && !names.some((name) => whole.includes(name))) continue;
      const parsed = read(() => parse(record));
      if (parsed instanceof JsonObject) yield parsed;
    }
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
  }
}

/** An outcome says of which intent it is the outcome; a denial inside of a call has the same parent and does not. */
function isOutcomeOf(record: JsonObject, intent: JsonObject): boolean {
  const id = text(intent, 'id');
  const evidence = read(() => readEvidence(record));
  return text(record, 'parent_id') === id && !(evidence instanceof BullaError) && evidence?.intent === id;
}

function text(record: JsonObject, key: string): string {
  return textAt(record, [key]) ?? '';
}
