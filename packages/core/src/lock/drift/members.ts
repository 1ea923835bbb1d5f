import { BullaError } from '../../error.ts';
import { JsonObject, type JsonValue, type Path, pointer } from '../../json/index.ts';
import { entryOf } from '../file/entry.ts';
import { hashDefinition, hashSchema, hashText, type LockProfile } from '../file/hashes.ts';
import { refuseRemoteSchemas } from '../file/remote-ref.ts';
import { RISK_LEVELS, type RiskLevel, riskLevel } from '../file/risk.ts';
import { LISTS, type ListKind } from '../file/surface.ts';
import type { DriftCode } from './codes.ts';
import {
  asObject,
  type DriftItem,
  isText,
  itemOf,
  quoted,
  type Severity,
  type Subject,
  shown,
  shownValue,
  sides,
} from './item.ts';
import type { ToolNames } from './names.ts';
import { argumentItems } from './prompt.ts';
import { schemaItem } from './schema.ts';
import { steeringItems } from './steering.ts';
import { suspicions } from './suspect.ts';
import { type Changed, schemaTextItems, suspiciousPaths, textItem } from './text.ts';

/** What the comparison of definitions needs to know around them. */
export interface Around {
  readonly names: () => ToolNames;
  /** Names of other servers' definitions of the same kind. */
  readonly others: readonly string[];
  readonly exclusions: readonly string[];
  readonly profile: LockProfile;
  /** Two lockfiles are compared, not a lock with a server. */
  readonly isLock: boolean;
}

/** In which order members are told, whatever order the server gives them. */
const ORDER = ['description', 'title', 'name', 'inputSchema', 'outputSchema', 'arguments', 'annotations'];

/** What changed between two definitions, their names aside. */
export function changedItems(
  kind: ListKind,
  subject: Subject,
  before: JsonObject,
  after: JsonObject,
  around: Around,
  maxSteps: number,
): DriftItem[] {
  const suspect = [
    ...suspicions(subject, without(before, LISTS[kind]), without(after, LISTS[kind]), around.names),
    ...steeringItems(subject, before, after),
    ...lockableItems(kind, subject, after),
  ];
  const risk = kind === 'tools' ? riskItem(subject, riskOf(before), riskOf(after)) : [];
  const suspicious = suspiciousPaths(suspect);
  if (risk[0]?.severity === 'moderate') suspicious.add(pointer([...subject.at, 'description']));
  const changed = { subject, before, after, suspicious };
  const differing = differingKeys(after, before, around.exclusions);
  const items = [...new Set([...ORDER.filter((key) => differing.includes(key)), ...differing])]
    .filter((key) => key !== LISTS[kind])
    .flatMap((key) => memberItems(kind, changed, key, around, maxSteps));
  return beside([...items, ...risk], suspect);
}

/** Puts what is suspicious in a text behind the change of that text, and the rest at the end. */
export function beside(items: readonly DriftItem[], suspect: readonly DriftItem[]): DriftItem[] {
  const waiting = Map.groupBy(suspect, ({ path }) => path);
  const placed = items.flatMap((item) => {
    const here = waiting.get(item.path) ?? [];
    waiting.delete(item.path);
    return [item, ...here];
  });
  return [...placed, ...[...waiting.values()].flat()];
}

/** What there is to say of a new definition beyond that it is new. */
export function addedItems(kind: ListKind, subject: Subject, after: JsonObject, around: Around): DriftItem[] {
  return [
    ...suspicions(subject, null, without(after, LISTS[kind]), around.names),
    ...steeringItems(subject, new JsonObject(), after),
    ...lockableItems(kind, subject, after),
  ];
}

/** The keys of both objects, those of the first first, under which they differ, exclusions aside. */
export function differingKeys(
  one: JsonObject,
  other: JsonObject,
  exclusions: readonly string[] = [],
): string[] {
  const keys = [...new Set([...one.keys, ...other.keys])];
  return keys.filter((key) => !sameMember(key, one, other, exclusions));
}

function sameMember(key: string, one: JsonObject, other: JsonObject, exclusions: readonly string[]): boolean {
  const [was, is] = [one.get(key), other.get(key)];
  if (was === undefined || is === undefined) return was === is;
  if (typeof was === 'string' || typeof is === 'string') return was === is;
  const [a, b] = [was, is].map((value) => entryOf(new JsonObject([key], [value]), exclusions));
  return a!.digest === b!.digest && a!.sourceDigest === b!.sourceDigest;
}

export function without(definition: JsonObject, member: string): JsonObject {
  return JsonObject.from([...definition].filter(([key]) => key !== member));
}

const SIMPLE: Readonly<Record<string, { code: DriftCode; severity: Severity; name: string }>> = {
  execution: { code: 'execution-changed', severity: 'moderate', name: 'How the tool is executed' },
  _meta: { code: 'meta-changed', severity: 'moderate', name: 'The metadata' },
  icons: { code: 'icons-changed', severity: 'moderate', name: 'What the icons are' },
  mimeType: { code: 'mime-type-changed', severity: 'critical', name: 'The media type' },
};

const TEXTS = ['description', 'title', 'name'] as const;

function memberItems(
  kind: ListKind,
  changed: Changed,
  key: string,
  around: Around,
  maxSteps: number,
): DriftItem[] {
  const { subject, before, after } = changed;
  const [was, is] = [before.get(key), after.get(key)];
  const text = TEXTS.find((name) => name === key);
  if (text !== undefined && isText(was) && isText(is)) {
    const item = textItem(changed, `${text}-changed`, [key], was, is);
    const hashes = { before: hashText(was ?? ''), after: hashText(is ?? '') };
    return [kind === 'tools' && key === 'description' ? { ...item, hashes } : item];
  }
  if ((key === 'inputSchema' || key === 'outputSchema') && kind === 'tools') {
    const texts = schemaTextItems(changed, key);
    const item = schemaItem(subject, key, was, is, texts.length, maxSteps);
    if (item === null) return texts;
    return [
      key === 'inputSchema' ? { ...item, hashes: schemaHashes(was, is, around.profile) } : item,
      ...texts,
    ];
  }
  if (key === 'annotations') return annotationItems(kind, changed, around.exclusions);
  if (key === 'arguments' && kind === 'prompts') return argumentItems(changed);
  if (Object.hasOwn(SIMPLE, key)) {
    const { code, severity, name } = SIMPLE[key]!;
    return [valueItem(subject, code, severity, [key], name, was, is)];
  }
  // A known text of another type cannot be read as the protocol says.
  const severity = text !== undefined ? 'critical' : 'moderate';
  return [valueItem(subject, 'member-changed', severity, [key], `The member ${quoted(key)}`, was, is)];
}

/** A value that is not what was locked, with both values in the sentence. */
export function valueItem(
  subject: Subject,
  code: DriftCode,
  severity: Severity,
  path: Path,
  name: string,
  was: JsonValue | undefined,
  is: JsonValue | undefined,
): DriftItem {
  return itemOf(subject, 'changed', code, severity, path, `${name} ${valueWords(was, is)}.`, sides(was, is));
}

/** What became of a value, to go after its name. */
export function valueWords(was: JsonValue | undefined, is: JsonValue | undefined): string {
  if (was === undefined) return `is new: ${shownValue(is ?? null)}`;
  if (is === undefined) return `is gone; it was ${shownValue(was)}`;
  return `was ${shownValue(was)} and is now ${shownValue(is)}`;
}

/** The hashes of both schemas under the rule of the lock; of what cannot be hashed there are none. */
function schemaHashes(was: JsonValue | undefined, is: JsonValue | undefined, rule: LockProfile) {
  try {
    return { before: hashSchema(was, rule), after: hashSchema(is, rule) };
  } catch {
    return { before: null, after: null };
  }
}

/** What is assumed of a tool that does not say (2026-07-28, ToolAnnotations). */
const DEFAULT_HINTS: Readonly<Record<string, boolean>> = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** Hosts ask less, or more, by these. */
const GRAVE_HINTS: readonly string[] = ['readOnlyHint', 'destructiveHint', 'openWorldHint'];

function annotationItems(kind: ListKind, changed: Changed, exclusions: readonly string[]): DriftItem[] {
  const { subject } = changed;
  const [wasAll, isAll] = [changed.before.get('annotations'), changed.after.get('annotations')];
  const [before, after] = [asObject(wasAll), asObject(isAll)];
  // Exclusions lead through the member `annotations`.
  const only = (annotations: JsonObject, key: string) =>
    new JsonObject(['annotations'], [JsonObject.from([...annotations].filter(([name]) => name === key))]);
  const keys = [...new Set([...after.keys, ...before.keys])].filter(
    (key) => !sameMember('annotations', only(before, key), only(after, key), exclusions),
  );
  if (keys.length === 0) {
    const name = 'The member "annotations"';
    return [valueItem(subject, 'annotation-changed', 'info', ['annotations'], name, wasAll, isAll)];
  }
  return keys.map((key) => {
    const path = ['annotations', key];
    const [was, is] = [before.get(key), after.get(key)];
    if (key === 'title' && isText(was) && isText(is))
      return textItem(changed, 'title-changed', path, was, is);
    const initial = kind === 'tools' && Object.hasOwn(DEFAULT_HINTS, key) ? DEFAULT_HINTS[key] : undefined;
    const idle = initial !== undefined && (was ?? initial) === (is ?? initial);
    const severity = idle ? 'info' : GRAVE_HINTS.includes(key) && kind === 'tools' ? 'critical' : 'moderate';
    return valueItem(subject, 'annotation-changed', severity, path, `The annotation ${quoted(key)}`, was, is);
  });
}

/** The released program's risk level; what has no text is as risky as can be. */
function riskOf(tool: JsonObject): RiskLevel {
  const [name, description] = [tool.get('name'), tool.get('description') ?? ''];
  return typeof name === 'string' && typeof description === 'string' ? riskLevel(name, description) : 'HIGH';
}

/** A risk level that rose is moderate: the released program counts words, and counts them badly. */
export function riskItem(subject: Subject, was: RiskLevel, is: RiskLevel): DriftItem[] {
  if (was === is) return [];
  const severity = RISK_LEVELS.indexOf(is) > RISK_LEVELS.indexOf(was) ? 'moderate' : 'info';
  const sentence = `The risk level of the released program, which counts parts of words, was ${was} and is now ${is}.`;
  return [itemOf(subject, 'changed', 'risk-changed', severity, [], sentence, sides(was, is))];
}

/** Whether the definition could be locked as it is now; why not, if it could not. */
function lockableItems(kind: ListKind, subject: Subject, after: JsonObject): DriftItem[] {
  try {
    if (kind !== 'resources') hashDefinition(kind, after, 'mcptrust-v1', subject.at);
    if (kind === 'tools') refuseRemoteSchemas(new Map([[subject.name, after]]));
    return [];
  } catch (error) {
    return [notLockable(subject, error)];
  }
}

/** Rethrows anything but a `BullaError`. */
export function notLockable(subject: Subject, error: unknown): DriftItem {
  if (!(error instanceof BullaError)) throw error;
  const sentence = 'The definition cannot be locked.';
  const details = [shown(error.message)];
  const item = itemOf(subject, 'suspicious', 'not-lockable', 'critical', [], sentence, { details });
  return error.path === undefined ? item : { ...item, path: error.path };
}
