import { canonicalize } from '../canon/index.ts';
import { attempt, BullaError } from '../error.ts';
import { readEvidence } from '../evidence/index.ts';
import { JsonObject, parse, stringify } from '../json/index.ts';
import type { Artifact } from './artifact.ts';
import { authorizationIn, text } from './trace-walk.ts';

type Capsules = Artifact<'capsules'>;

/** A record, and the artifact that holds it. */
export interface Held {
  readonly record: JsonObject;
  readonly holder: Capsules;
}

/** The records of one call among those at hand. */
export interface CallRecords {
  readonly start: string;
  readonly intent: JsonObject;
  /** The artifact that holds the intent; the longest good chain, where it stands in several. */
  readonly holder: Capsules;
  /** Other chains that hold the intent too, and do not lead to the same records. */
  readonly forks: readonly Capsules[];
  /**
   * The records that speak of the intent, or of the consent, the envelope or the authorization that it names: those of
   * its holder first, then those of other files that verify by themselves. Copies of one record count once.
   */
  readonly near: readonly Held[];
  /** Other files with such records that do not verify: they prove nothing, and are told of. */
  readonly unproven: readonly Capsules[];
}

/** What is known of the artifacts from their verdicts. */
interface Known {
  isGood(artifact: Artifact): boolean;
  /** How many records a chain has, and the hash of the last one. */
  headOf(chain: Capsules): { readonly count: number; readonly hash: string | null };
  isVerified(held: Held): boolean;
}

/**
 * Finds the records of the call that a capsule belongs to, named by its id or hash: an outcome leads to its intent. Reads
 * chains a few times and keeps nothing but those records. Of a source that breaks off, those before count: its own
 * verdict tells of the rest. Null where no artifact holds the capsule.
 */
export async function recordsOf(
  start: string,
  artifacts: readonly Artifact[],
  { isGood, headOf, isVerified }: Known,
): Promise<CallRecords | null> {
  // A good chain before any other, so that a long bad one takes the place of none.
  const rankOf = (source: Capsules) => (source.capsule !== null ? 0 : isGood(source) ? 2 : 1);
  const sources = artifacts
    .filter((artifact) => artifact.kind === 'capsules')
    .toSorted((a, b) => rankOf(b) - rankOf(a) || headOf(b).count - headOf(a).count);
  const [named] = await find(sources, start, ['id', 'hash']);
  if (named === undefined) return null;
  const parentId = text(named.record, 'parent_id');
  const [parent] = parentId === '' ? [] : await find(sources, parentId, ['id']);
  const isOutcome = parent !== undefined && isOutcomeOf(named.record, parent.record);
  const { record: intent, holder } = isOutcome ? parent : named;
  const { consent, envelope } = readEvidence(intent) ?? {};
  const names = [
    ...[text(intent, 'id'), consent?.id, consent?.asked, consent?.answered],
    ...[envelope?.exec_hash, authorizationIn(intent)],
  ].filter((name) => name !== undefined);
  const ordered = [holder, ...sources.filter((source) => source !== holder)];
  const copies = new Map<string, Held>();
  const unproven = new Set<Capsules>();
  for await (const held of recordsAmong(ordered, names)) {
    // What no capsule can hold, such as 1e999, is compared as it was written.
    const form = attempt(() => canonicalize(held.record, 'cps'));
    const whole = form instanceof BullaError ? stringify(held.record) : form;
    if (!names.some((name) => whole.includes(name)) || copies.has(whole)) continue;
    if (held.holder === holder || isVerified(held)) copies.set(whole, held);
    else unproven.add(held.holder);
  }
  const forks: Capsules[] = [];
  for (const { holder: other } of await find(sources, text(intent, 'id'), ['id'])) {
    if (other === holder || other.capsule !== null) continue;
    const isPart = async (inner: Capsules, outer: Capsules) => {
      const { hash } = headOf(inner);
      return hash !== null && (await find([outer], hash, ['hash'])).length > 0;
    };
    if (!(await isPart(other, holder)) && !(await isPart(holder, other))) forks.push(other);
  }
  return { start, intent, holder, forks, near: [...copies.values()], unproven: [...unproven] };
}

/** The records that speak of one of these names, as a text at least. */
async function* recordsAmong(sources: readonly Capsules[], names: readonly string[]): AsyncGenerator<Held> {
  for (const holder of sources) for await (const record of recordsIn(holder, names)) yield { record, holder };
}

/** The first record in each source that has this name. */
async function find(
  sources: readonly Capsules[],
  name: string,
  members: readonly ('id' | 'hash')[],
): Promise<Held[]> {
  const found: Held[] = [];
  for (const source of sources)
    for await (const held of recordsAmong([source], [name])) {
      if (!members.some((member) => text(held.record, member) === name)) continue;
      found.push(held);
      break;
    }
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
      const parsed = attempt(() => parse(record));
      if (parsed instanceof JsonObject) yield parsed;
    }
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
  }
}

/** An outcome says of which intent it is the outcome; a denial inside of a call has the same parent and does not. */
export function isOutcomeOf(record: JsonObject, intent: JsonObject): boolean {
  const id = text(intent, 'id');
  const evidence = attempt(() => readEvidence(record));
  return text(record, 'parent_id') === id && !(evidence instanceof BullaError) && evidence?.intent === id;
}
