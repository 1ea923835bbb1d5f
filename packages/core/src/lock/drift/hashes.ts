import { JsonObject, type JsonValue } from '../../json/index.ts';
import {
  hashNormalized,
  hashPrompt,
  hashTemplate,
  hashText,
  hashTool,
  type LockProfile,
  type PromptHashes,
  type TemplateHashes,
  type ToolHashes,
} from '../file/hashes.ts';
import type { Released } from '../file/released.ts';
import type { RiskLevel } from '../file/risk.ts';
import type { DriftCode } from './codes.ts';
import { type DriftItem, itemOf, quoted, type Subject, sides } from './item.ts';
import { addedItem, inOrder, pairRenames, removedItem, renamedItem, subjectOf } from './lists.ts';
import { type Around, addedItems, notLockable, riskItem } from './members.ts';
import { suspiciousNames, type ToolNames } from './names.ts';
import type { Whole } from './side.ts';
import { steeringItems } from './steering.ts';
import { suspicions } from './suspect.ts';

/** The lists of which the released program keeps hashes. */
type HashedKind = 'tools' | 'prompts' | 'resourceTemplates';

/** One side of a comparison of hashes: what a file holds, or definitions that can be hashed. */
export interface HashedSide {
  readonly released: Pick<Released, HashedKind> | null;
  readonly whole: Whole | null;
}

type Hashes = ToolHashes | PromptHashes | TemplateHashes;

/** A hash of the file, the member that it is of, and how a difference is told. */
type Row = readonly [key: string, member: string, code: DriftCode, name: string];

const DESCRIPTION = ['description', 'description-changed', 'The description'] as const;
const ROWS: Readonly<Record<HashedKind, readonly Row[]>> = {
  tools: [
    ['description_hash', ...DESCRIPTION],
    ['input_schema_hash', 'inputSchema', 'input-schema-changed', 'The input schema'],
  ],
  prompts: [
    ['argumentsHash', 'arguments', 'arguments-changed', 'The list of arguments'],
    ['titleHash', 'title', 'title-changed', 'The title'],
    ['descriptionHash', ...DESCRIPTION],
  ],
  resourceTemplates: [
    ['templateHash', 'mimeType', 'template-changed', 'The template'],
    ['nameHash', 'name', 'name-changed', 'The display name'],
    ['descriptionHash', ...DESCRIPTION],
  ],
};

/** What a definition hashes to. A file that does not say its number rule is met under the one that fits. */
function hashesOf(
  kind: HashedKind,
  name: string,
  definition: JsonObject,
  like: Hashes | undefined,
  profiles: readonly LockProfile[],
): Hashes {
  const at = [kind, name];
  if (kind === 'prompts') return hashPrompt(definition, at);
  if (kind === 'resourceTemplates') return hashTemplate(definition, at);
  const all = profiles.map((rule) => hashTool(definition, rule, at));
  const wanted = (like as ToolHashes | undefined)?.input_schema_hash;
  return all.find(({ input_schema_hash }) => input_schema_hash === wanted) ?? all[0]!;
}

/**
 * The differences of one list of which at least one side is known by hashes alone. Null when a side does not hold
 * this list at all. `profiles` are the number rules under which the schema hashes may stand.
 */
export function hashedItems(
  kind: HashedKind,
  lock: HashedSide,
  current: HashedSide,
  profiles: readonly LockProfile[],
  around: Around,
): DriftItem[] | null {
  const [was, is] = [listed(kind, lock), listed(kind, current)];
  if (was === null || is === null) return null;
  const byName = new Map<string, DriftItem[]>();
  const definition = (name: string) => current.whole?.definition(kind, name);
  const removed: string[] = [];
  for (const name of was) {
    if (!is.has(name)) {
      removed.push(name);
      continue;
    }
    const subject = subjectOf(kind, name);
    try {
      const [before, after] = bothHashes(kind, name, lock, current, profiles);
      const items = compareHashes(kind, subject, before, after, definition(name), around.names);
      if (items.length > 0) byName.set(name, items);
    } catch (error) {
      byName.set(name, [notLockable(subject, error)]);
    }
  }
  const added = [...is].filter((name) => !was.has(name));
  const moves = pairRenames(removed, added, (name, isNew) =>
    bodies(kind, name, isNew ? current : lock, profiles),
  );
  for (const [name, from] of moves.renamed)
    byName.set(name, [renamedItem(subjectOf(kind, name), from, undefined, definition(name), SAME)]);
  for (const name of moves.added) {
    const subject = subjectOf(kind, name);
    const after = definition(name);
    const more = after === undefined ? [] : addedItems(kind, subject, after, around);
    byName.set(name, [addedItem(subject, after), ...more]);
  }
  for (const name of moves.removed)
    byName.set(name, [removedItem(subjectOf(kind, name), lock.whole?.definition(kind, name))]);
  const fresh = added.map((name) => subjectOf(kind, name));
  for (const item of suspiciousNames(fresh, was, around.others)) byName.get(item.name)!.push(item);
  return inOrder(byName);
}

function listed(kind: HashedKind, { whole, released }: HashedSide): ReadonlySet<string> | null {
  if (whole !== null) return new Set(whole.names(kind));
  const held = released?.[kind];
  return held === null || held === undefined ? null : new Set(held.keys());
}

function stored(kind: HashedKind, name: string, { whole, released }: HashedSide): Hashes | undefined {
  return whole === null ? released?.[kind]?.get(name) : undefined;
}

function bothHashes(
  kind: HashedKind,
  name: string,
  lock: HashedSide,
  current: HashedSide,
  profiles: readonly LockProfile[],
): [Hashes, Hashes] {
  const [was, is] = [stored(kind, name, lock), stored(kind, name, current)];
  return [
    was ?? hashesOf(kind, name, lock.whole!.definition(kind, name)!, is, profiles),
    is ?? hashesOf(kind, name, current.whole!.definition(kind, name)!, was, profiles),
  ];
}

function compareHashes(
  kind: HashedKind,
  subject: Subject,
  before: Hashes,
  after: Hashes,
  definition: JsonObject | undefined,
  names: () => ToolNames,
): DriftItem[] {
  const [old, now] = [{ ...before }, { ...after }] as Record<string, string | null>[];
  const items = ROWS[kind].flatMap((row): DriftItem[] => {
    const [key, member] = row;
    const value = definition?.get(member);
    // The released program knows a hash of titles but never writes one.
    if (key === 'titleHash' && (old!.titleHash === null || definition === undefined)) return [];
    if (key === 'titleHash' && typeof value === 'string') now!.titleHash = hashNormalized(value);
    if ((old![key] ?? null) === (now![key] ?? null)) return [];
    return hashedItem(kind, subject, row, old!, now!, value, names);
  });
  if (kind !== 'tools') return items;
  return [...items, ...riskItem(subject, old!.risk_level as RiskLevel, now!.risk_level as RiskLevel)];
}

const NO_DIFF = 'only hashes can be compared, so the difference cannot be shown';
const SAME = ', as far as hashes tell';

function hashedItem(
  kind: HashedKind,
  subject: Subject,
  [key, member, code, name]: Row,
  old: Record<string, string | null>,
  now: Record<string, string | null>,
  value: JsonValue | undefined,
  names: () => ToolNames,
): DriftItem[] {
  const hashes = { before: old[key] ?? null, after: now[key] ?? null };
  if (kind === 'resourceTemplates' && member === 'mimeType' && old.mimeType !== now.mimeType) {
    const words = [old.mimeType, now.mimeType].map((type) => (type === null ? 'none' : quoted(type!)));
    const sentence = `The media type was ${words[0]} and is now ${words[1]}.`;
    const both = { ...sides(old.mimeType ?? undefined, value), hashes };
    return [itemOf(subject, 'changed', 'mime-type-changed', 'critical', [member], sentence, both)];
  }
  const what = isNone(hashes.before) ? 'is new' : isNone(hashes.after) ? 'is gone' : `changed; ${NO_DIFF}`;
  const more = { ...sides(undefined, value), hashes };
  const item = itemOf(subject, 'changed', code, 'critical', [member], `${name} ${what}.`, more);
  if (value === undefined || member === 'mimeType') return [item];
  const known = isNone(hashes.before) ? null : undefined;
  const held = new JsonObject([member], [value]);
  return [
    item,
    ...suspicions(subject, known, held, names),
    ...steeringItems(subject, new JsonObject(), held),
  ];
}

const EMPTY_HASH = hashText('');

function isNone(hash: string | null): boolean {
  return hash === null || hash === '' || hash === EMPTY_HASH;
}

/** By what a definition can be known again under another name; nothing when that is too little. */
function bodies(
  kind: HashedKind,
  name: string,
  side: HashedSide,
  profiles: readonly LockProfile[],
): string[] {
  const held = stored(kind, name, side);
  if (held !== undefined) return bodyOf(kind, held);
  const definition = side.whole!.definition(kind, name)!;
  try {
    return profiles.flatMap((rule) => bodyOf(kind, hashesOf(kind, name, definition, undefined, [rule])));
  } catch {
    // What cannot be hashed is told elsewhere, and is not known again.
    return [];
  }
}

function bodyOf(kind: HashedKind, row: Hashes): string[] {
  if (kind === 'tools') {
    const { description_hash, input_schema_hash } = row as ToolHashes;
    return isNone(description_hash) ? [] : [`${description_hash} ${input_schema_hash}`];
  }
  if (kind === 'prompts') {
    const { argumentsHash, descriptionHash } = row as PromptHashes;
    return isNone(descriptionHash) ? [] : [`${argumentsHash} ${descriptionHash}`];
  }
  const { nameHash, descriptionHash, mimeType } = row as TemplateHashes;
  return isNone(nameHash) || isNone(descriptionHash) ? [] : [`${nameHash} ${descriptionHash} ${mimeType}`];
}
