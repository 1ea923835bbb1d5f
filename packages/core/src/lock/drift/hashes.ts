import { JsonObject, type JsonValue } from '../../json/index.ts';
import {
  type HashedKind,
  type Hashes,
  hashDefinition,
  hashNormalized,
  hashText,
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

/** One list of one side of a comparison of hashes: what a file holds, or definitions that can be hashed. */
export interface HashedList {
  readonly names: ReadonlySet<string>;
  definition(name: string): JsonObject | undefined;
  /** Of a tool those under each number rule that may apply. Throws what `hashDefinition` throws. */
  hashes(name: string): readonly Hashes[];
}

/** Null for a file that does not hold the list. `profiles` are the number rules that may apply to definitions. */
export function hashedList(
  kind: HashedKind,
  whole: Whole | null,
  released: Pick<Released, HashedKind> | null,
  profiles: readonly LockProfile[],
): HashedList | null {
  if (whole !== null) {
    const definition = (name: string) => whole.definition(kind, name);
    return {
      names: new Set(whole.names(kind)),
      definition,
      hashes: (name) => profiles.map((rule) => hashDefinition(kind, definition(name)!, rule, [kind, name])),
    };
  }
  const held: ReadonlyMap<string, Hashes> | null = released?.[kind] ?? null;
  if (held === null) return null;
  return {
    names: new Set(held.keys()),
    definition: () => undefined,
    hashes: (name) => [held.get(name)!],
  };
}

/** The differences of one list of which at least one side is known by hashes alone. */
export function hashedItems(
  kind: HashedKind,
  lock: HashedList,
  current: HashedList,
  around: Around,
): DriftItem[] {
  const byName = new Map<string, DriftItem[]>();
  const [removed, added]: [string[], string[]] = [[], []];
  for (const name of current.names) if (!lock.names.has(name)) added.push(name);
  for (const name of lock.names) {
    if (!current.names.has(name)) {
      removed.push(name);
      continue;
    }
    const subject = subjectOf(kind, name);
    try {
      const [before, after] = fittingHashes(lock.hashes(name), current.hashes(name));
      const items = compareHashes(kind, subject, before, after, current.definition(name), around.names);
      if (items.length > 0) byName.set(name, items);
    } catch (error) {
      byName.set(name, [notLockable(subject, error)]);
    }
  }
  const moves = pairRenames(removed, added, (name, isNew) => bodies(kind, name, isNew ? current : lock));
  for (const [name, from] of moves.renamed)
    byName.set(name, [renamedItem(subjectOf(kind, name), from, undefined, current.definition(name), SAME)]);
  for (const name of moves.added) {
    const subject = subjectOf(kind, name);
    const after = current.definition(name);
    const more = after === undefined ? [] : addedItems(kind, subject, after, around);
    byName.set(name, [addedItem(subject, after), ...more]);
  }
  for (const name of moves.removed)
    byName.set(name, [removedItem(subjectOf(kind, name), lock.definition(name))]);
  const fresh = added.map((name) => subjectOf(kind, name));
  for (const item of suspiciousNames(fresh, lock.names, around.others)) byName.get(item.name)!.push(item);
  return inOrder(byName);
}

/** A file that does not say its number rule is compared under the one that fits. */
function fittingHashes(before: readonly Hashes[], after: readonly Hashes[]): [Hashes, Hashes] {
  const schemaHash = (hashes: Hashes) => (hashes as Partial<ToolHashes>).input_schema_hash;
  const fitting = (all: readonly Hashes[], [other]: readonly Hashes[]) =>
    all.find((hashes) => schemaHash(hashes) === schemaHash(other!)) ?? all[0]!;
  return [fitting(before, after), fitting(after, before)];
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
function bodies(kind: HashedKind, name: string, list: HashedList): string[] {
  try {
    return list.hashes(name).flatMap((hashes) => bodyOf(kind, hashes));
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
