import { JsonObject, type JsonValue, type Path, pointer, stringify } from '../../json/index.ts';
import type { SchemaComparison } from '../../schema/index.ts';
import { type DiffPart, visible } from '../../text/index.ts';
import type { ListKind } from '../file/surface.ts';
import type { DriftCode } from './codes.ts';

/** The released program's words, the worst first. */
export const SEVERITIES = ['critical', 'moderate', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What a difference is about. */
export type DriftKind =
  | 'tool'
  | 'prompt'
  | 'resource'
  | 'template'
  | 'server'
  | 'instructions'
  | 'capabilities'
  | 'content'
  | 'identity'
  | 'authorization'
  | 'artifact'
  | 'lock';

/** `suspicious` is what a change brought with it, told beside the change itself. */
export type DriftChange = 'added' | 'removed' | 'changed' | 'renamed' | 'suspicious';

/** One difference between a lock and what is there now. */
export interface DriftItem {
  readonly kind: DriftKind;
  /** The name, URI or URI template as the server has it; empty for what a server has one of. */
  readonly name: string;
  readonly change: DriftChange;
  readonly code: DriftCode;
  readonly severity: Severity;
  /** JSON Pointer into our key, leaving out the steps `definition`: `/tools/read_file/description`. */
  readonly path: string;
  /** For people, on one line, safe in a terminal. Markup is not escaped. */
  readonly sentence: string;
  /** What exactly, a line each, as safe as the sentence. */
  readonly details?: readonly string[];
  /** As it was locked, where the lock tells. It is the server's word and may be hostile. */
  readonly before?: JsonValue;
  /** As it is now, where this is known. It is the server's word and may be hostile. */
  readonly after?: JsonValue;
  /** Of a text: what changed, word by word, where both texts are known. */
  readonly parts?: readonly DiffPart[];
  /**
   * Of a text: no address, hidden character, name of another tool, order, word for secrets or encoded text is new in
   * it, the tool's risk did not rise, and what changed is short enough to be shown whole. It says what was not found,
   * not that the text is harmless: a person should still read the difference.
   */
  readonly prose?: boolean;
  /** Of a schema: what changed for a caller, without the texts, which are told by themselves. */
  readonly schema?: SchemaComparison;
  /** Of a renamed definition: the name in the lock. */
  readonly from?: string;
  /** The hashes that the released program compares; null where one side has none. */
  readonly hashes?: { readonly before: string | null; readonly after: string | null };
}

/** What a list's definitions are called here. */
export const KIND_OF: Readonly<Record<ListKind, DriftKind & ('tool' | 'prompt' | 'resource' | 'template')>> =
  {
    tools: 'tool',
    prompts: 'prompt',
    resources: 'resource',
    resourceTemplates: 'template',
  };

/** What items are about, and where it stands in our key. */
export interface Subject {
  readonly kind: DriftKind;
  readonly name: string;
  readonly at: Path;
}

type More = Omit<DriftItem, 'kind' | 'name' | 'change' | 'code' | 'severity' | 'path' | 'sentence'>;

export function itemOf(
  { kind, name, at }: Subject,
  change: DriftChange,
  code: DriftCode,
  severity: Severity,
  path: Path,
  sentence: string,
  more: More = {},
): DriftItem {
  return { kind, name, change, code, severity, path: pointer([...at, ...path]), sentence, ...more };
}

/** The members `before` and `after`, without the one that is not there. */
export function sides(before: JsonValue | undefined, after: JsonValue | undefined): More {
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}

/** The worst of some severities; `info` for none. */
export function worst(severities: Iterable<Severity>): Severity {
  const found = new Set(severities);
  return SEVERITIES.find((severity) => found.has(severity)) ?? 'info';
}

const MAX_SHOWN = 120;

/** A server's text on one line, every character seen, cut where it is long. */
export function shown(text: string, max = MAX_SHOWN): string {
  if (text.length <= max) return visible(text, { ordinary: true });
  const cut = Array.from(text.slice(0, max)).slice(0, -1).join('');
  return `${visible(cut, { ordinary: true })}…`;
}

/** The same in quotation marks. */
export function quoted(text: string, max = MAX_SHOWN): string {
  return `"${shown(text, max)}"`;
}

/** A JSON value on one line: strings in quotation marks, the rest as compact JSON. */
export function shownValue(value: JsonValue, max = MAX_SHOWN): string {
  return typeof value === 'string'
    ? quoted(value, max)
    : shown(stringify(value, Number.POSITIVE_INFINITY), max);
}

/** How many details are told one by one. */
const MAX_DETAILS = 5;

/** The first details, and how many more there are. */
export function some(details: readonly string[]): string[] {
  const first = details.slice(0, MAX_DETAILS);
  return details.length > first.length ? [...first, `and ${details.length - first.length} more`] : first;
}

/** A string, or nothing at all. */
export function isText(value: JsonValue | undefined): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

/** The object, or an empty one where there is none. */
export function asObject(value: JsonValue | undefined): JsonObject {
  return value instanceof JsonObject ? value : EMPTY;
}
const EMPTY = new JsonObject();
