import { type JsonObject, type JsonValue, stringify } from '../../json/index.ts';
import { schemaArguments } from '../../schema/index.ts';
import { counted, type DiffPart, visible } from '../../text/index.ts';
import type { Drift } from '../drift/drift.ts';
import {
  asObject,
  type DriftItem,
  type DriftKind,
  SEVERITIES,
  type Severity,
  shown,
  worst,
} from '../drift/item.ts';
import { changeWords } from '../drift/schema.ts';
import { MAX_TEXT } from '../drift/text.ts';

// What all reports share. Whatever comes from a server passes through `visible` here: each of its characters is seen,
// and none of them moves a cursor, reorders a line or ends one.

/** What a report wants to know beside the drift. */
export interface ReportOptions {
  /** The path of the lockfile, as the reader knows it. Default `mcp-lock.json`. */
  readonly lockfile?: string;
  /** The threshold of the verdict. Default `critical`. */
  readonly failOn?: Severity;
  /** What a policy says of the same server. */
  readonly policy?: PolicyResult | undefined;
}

/** The result of a policy in the released program's words: one that did not pass fails the verdict. */
export interface PolicyResult {
  /** The name of the preset or the file. */
  readonly preset: string;
  readonly passed: boolean;
  readonly reasons: readonly string[];
}

export const DEFAULT_LOCKFILE = 'mcp-lock.json';

/** The items about one thing. */
export interface Group {
  readonly kind: DriftKind;
  readonly name: string;
  /** The old name, if it was renamed. */
  readonly from: string | undefined;
  readonly severity: Severity;
  readonly items: readonly DriftItem[];
}

/** The items by what they are about, the worst first, else in the order of the drift. */
export function groupsOf({ items }: Drift): Group[] {
  const groups = [...Map.groupBy(items, ({ kind, name }) => `${kind} ${name}`).values()].map((own): Group => {
    const { kind, name } = own[0]!;
    const from = own.find((item) => item.from !== undefined)?.from;
    return { kind, name, from, severity: worst(own.map(({ severity }) => severity)), items: own };
  });
  return SEVERITIES.flatMap((severity) => groups.filter((group) => group.severity === severity));
}

/** A name for a heading: bare where it is a plain word, else in quotation marks. */
export function nameWords(name: string): string {
  return /^[\w./:@{}~+-]{1,120}$/.test(name) ? name : `"${shown(name)}"`;
}

/** `tool read_file`, `server`, `tool old → new`. */
export function subjectWords({ kind, name, from }: Pick<Group, 'kind' | 'name' | 'from'>): string {
  const old = from === undefined ? '' : `${nameWords(from)} → `;
  return name === '' ? kind : `${kind} ${old}${nameWords(name)}`;
}

/** `3 differences: 1 critical, 2 info.` */
export function countWords({ counts }: Drift, paint: Paint = MARKED): string {
  const found = SEVERITIES.filter((severity) => counts[severity] > 0);
  const words = found.map((severity) => paint(severity, `${counts[severity]} ${severity}`));
  return `${counted(counts.total, 'difference')}: ${words.join(', ')}.`;
}

/** How a piece of a report is to look. */
type Tone = Severity | 'good' | 'name' | 'added' | 'removed' | 'dim';
export type Paint = (tone: Tone, text: string) => string;

/** Marks words that came and went where colour does not. */
export const MARKED: Paint = (tone, text) =>
  tone === 'added' ? `{+${text}+}` : tone === 'removed' ? `[-${text}-]` : text;

/** A text of the server's, every character seen; lines stay lines. */
function seen(text: string): string {
  return visible(text, { newlines: true, tabs: true, ordinary: true }).replaceAll('\r\n', '\n');
}

/** Unchanged text around a change is shown this far. */
const CONTEXT = 80;

/** The sentence of an item, with the detail where there is only one. */
export function sentenceOf({ sentence, details }: DriftItem): string {
  if (details?.length !== 1) return sentence;
  return `${sentence.slice(0, -1)}: ${details[0]!.replace(/\.$/, '')}.`;
}

/** What lies under the sentence of an item, a line each. Lines that quote the server begin with `| `. */
export function evidence(item: DriftItem, paint: Paint): string[] {
  const { change, parts, schema, details, before, after } = item;
  if (parts !== undefined) return quoteLines(partsText(parts, paint));
  if (schema !== undefined) return schemaLines(item);
  if (details !== undefined) return details.length === 1 ? [] : details.map((detail) => `- ${detail}`);
  if (change === 'added' && after !== undefined) return definitionLines(asObject(after), paint, 'added');
  if (change === 'removed' && before !== undefined)
    return definitionLines(asObject(before), paint, 'removed');
  // Only hashes could be compared, so that what is there now is all that can be shown.
  if (item.hashes !== undefined && before === undefined && after !== undefined) {
    if (item.code === 'input-schema-changed') return ['It now takes:', ...argumentLines(after)];
    const text = typeof after === 'string' ? after : stringify(after, Number.POSITIVE_INFINITY);
    return ['It is now:', ...quoteLines(cut(text))];
  }
  return [];
}

function quoteLines(text: string): string[] {
  return text.split('\n').map((line) => `| ${line}`);
}

function cut(text: string): string {
  if (text.length <= MAX_TEXT) return seen(text);
  return `${seen(head(text, MAX_TEXT))} … (${text.length - MAX_TEXT} more characters)`;
}

/** The parts of a word diff; of a long stretch that did not change the ends are shown. */
function partsText(parts: readonly DiffPart[], paint: Paint): string {
  return parts
    .map(({ kind, text }, i) => {
      if (kind !== 'same') return lineWise(cut(text), (line) => paint(kind, line));
      if (text.length <= 2 * CONTEXT + 20) return seen(text);
      const start = i === 0 ? '' : `${seen(head(text, CONTEXT))} `;
      const end = i === parts.length - 1 ? '' : ` ${seen(tail(text, CONTEXT))}`;
      return `${start}…${end}`;
    })
    .join('');
}

function lineWise(text: string, change: (line: string) => string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : change(line)))
    .join('\n');
}

/** The first characters; no pair is cut in two. */
function head(text: string, length: number): string {
  const cutAt = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length;
  return text.slice(0, cutAt);
}

function tail(text: string, length: number): string {
  const start = text.length - length;
  return text.slice(/[\udc00-\udfff]/.test(text.charAt(start)) ? start + 1 : start);
}

function schemaLines({ schema, code, after }: DriftItem): string[] {
  const { changes, relation, refused } = schema!;
  const added = new Set(
    changes.filter(({ kind }) => kind === 'argument-added').map(({ argument }) => argument),
  );
  const lines = changes
    // Of a new argument it is told at once whether it must be given.
    .filter(({ kind, argument }) => kind !== 'required-added' || !added.has(argument))
    .map((change) => `- ${shown(changeWords(change, after), 400)}`);
  const breaks = relation === 'accepts-less' || relation === 'both';
  const onlyNew = changes.every(({ kind }) => kind === 'argument-added');
  if (refused === undefined || !breaks || onlyNew || code !== 'input-schema-changed') return lines;
  return [...lines, `- For example ${shown(stringify(refused, Number.POSITIVE_INFINITY))} is refused now.`];
}

/** Of a definition that came or went: its description and what it takes. */
function definitionLines(definition: JsonObject, paint: Paint, tone: 'added' | 'removed'): string[] {
  const description = definition.get('description');
  const text =
    typeof description === 'string' && description !== ''
      ? quoteLines(lineWise(cut(description), (line) => paint(tone, line)))
      : [];
  const input = definition.get('inputSchema');
  return input === undefined ? text : [...text, ...argumentLines(input)];
}

const MAX_ARGUMENTS = 40;

function argumentLines(schema: JsonValue): string[] {
  const all = schemaArguments(schema);
  const lines = all.slice(0, MAX_ARGUMENTS).map(({ name, type, required, description }) => {
    const words = `${type}, ${required ? 'must be given' : 'may be left out'}`;
    return `- ${nameWords(name)} (${shown(words)})${description === undefined ? '' : `: ${shown(description, 200)}`}`;
  });
  return all.length > lines.length ? [...lines, `- and ${all.length - lines.length} more arguments`] : lines;
}

/** What a reader must know of what was not compared, or left out; nothing where all was. */
export function limitWords({ stored, unseen, leftOut }: Drift, nameOf = nameWords): string[] {
  const lines = stored
    ? []
    : ['The lock holds hashes and no definitions: it tells that something changed, but not what.'];
  if (unseen.length > 0) lines.push(`Not compared, because one side does not tell: ${unseen.join(', ')}.`);
  if (leftOut.length > 0)
    lines.push(
      `Left out of the lock on purpose: ${counted(leftOut.length, 'tool')} (${fewNames(leftOut, nameOf)}).`,
    );
  return lines;
}

const MAX_NAMES = 20;

function fewNames(names: readonly string[], nameOf: (name: string) => string): string {
  const more = names.length > MAX_NAMES ? [`and ${names.length - MAX_NAMES} more`] : [];
  return [...names.slice(0, MAX_NAMES).map(nameOf), ...more].join(', ');
}
