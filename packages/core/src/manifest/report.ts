import type { JsonObject } from '../json/index.ts';
import { type SchemaComparison, schemaArguments } from '../schema/index.ts';
import { counted, type DiffPart, visible, wordDiff } from '../text/index.ts';
import type { ManifestChange, ManifestDiff, SubjectKind } from './diff.ts';
import { CHANGE_CODES } from './diff-codes.ts';
import { refusedCall, relationSentence, schemaDetails } from './diff-schema.ts';
import { quoted } from './problems.ts';

// What the reports share. Whatever the manifests say passes through `visible`.

/** How a piece of a report is to look. */
export type ReportTone = 'breaking' | 'good' | 'name' | 'added' | 'removed' | 'dim';
export type ReportPaint = (tone: ReportTone, text: string) => string;

/** Marks words that came and went where colour does not. */
export const MARKED: ReportPaint = (tone, text) =>
  tone === 'added' ? `{+${text}+}` : tone === 'removed' ? `[-${text}-]` : text;

/** The changes of one kind about one thing. */
export interface ChangeGroup {
  readonly kind: SubjectKind;
  readonly name: string;
  readonly changes: readonly ManifestChange[];
}

/** The changes by what they are about, in the order of the diff. */
export function groupsOf(changes: readonly ManifestChange[]): ChangeGroup[] {
  return [...Map.groupBy(changes, ({ kind, name }) => `${kind} ${name}`).values()].map((own) => {
    const { kind, name } = own[0]!;
    return { kind, name, changes: own };
  });
}

/** `tool fetch_page`, `scope network:http`, `manifest`. */
export function subjectWords({ kind, name }: Pick<ChangeGroup, 'kind' | 'name'>): string {
  if (name === '') return kind;
  return `${kind} ${/^[\w./:-]{1,80}$/.test(name) ? name : quoted(name)}`;
}

/** The sentence of a change; of a schema it says what the change means, and the details follow. */
export function sentenceOf({ message, schema }: ManifestChange): string {
  return schema === undefined ? message : relationSentence(schema);
}

/** What lies under the sentence of a change, a line each. Texts of the manifests begin with `| `. */
export function evidence(change: ManifestChange, paint: ReportPaint): string[] {
  const { code, schema, before, after, input } = change;
  const lines: string[] = [];
  if (schema !== undefined) {
    for (const { sentence, texts } of schemaDetails(schema)) {
      lines.push(`- ${sentence}`);
      if (texts !== undefined) lines.push(`  | ${partsText(wordDiff(...texts), paint)}`);
    }
    const refused = refusedCall(schema);
    if (refused !== null) lines.push(`- For example ${refused} was good and is refused now.`);
    for (const line of todo(schemaTodo(schema))) lines.push(line);
  } else if (WORDS.has(code) && before !== undefined && after !== undefined) {
    lines.push(`| ${partsText(wordDiff(before, after), paint)}`);
  } else if (input !== undefined) for (const line of argumentLines(input)) lines.push(line);
  return [...lines, ...todo(CHANGE_CODES[code].todo)];
}

const MAX_ARGUMENTS = 20;

/** What a new tool takes, an argument a line. */
function argumentLines(input: JsonObject): string[] {
  const all = schemaArguments(input);
  const lines = all.slice(0, MAX_ARGUMENTS).map(({ name, type, required }) => {
    const words = `${type}, ${required ? 'must be given' : 'may be left out'}`;
    return `- ${quoted(name)}: ${seen(words.slice(0, MAX_TEXT))}`;
  });
  return all.length > lines.length ? [...lines, `- and ${all.length - lines.length} more arguments`] : lines;
}

/** Changes of texts, which are shown word by word. */
const WORDS: ReadonlySet<string> = new Set([
  'tool-description-changed',
  'scope-label-changed',
  'scope-description-changed',
]);

function todo(sentence: string): string[] {
  return sentence === '' ? [] : [`→ ${sentence}`];
}

/** What a caller has to do about another input. */
function schemaTodo({ changes, relation }: SchemaComparison): string {
  if (relation === 'same') return 'Callers: nothing to do.';
  if (relation === 'accepts-more') return 'Callers: nothing to do; what the tool takes beyond that is new.';
  const given = changes
    .filter(({ kind, argument }) => kind === 'required-added' && argument !== '')
    .map(({ argument }) => `"${visible(argument)}"`);
  const dropped = changes
    .filter(({ kind, argument }) => kind === 'argument-removed' && argument !== '')
    .map(({ argument }) => `"${visible(argument)}"`);
  const steps = [
    ...(given.length === 0 ? [] : [`give ${given.slice(0, 5).join(', ')}`]),
    ...(dropped.length === 0 ? [] : [`leave out ${dropped.slice(0, 5).join(', ')}`]),
  ];
  const check = relation === 'unknown' ? 'check each call by hand' : 'check calls against the new schema';
  return `Callers: ${[...steps, check].join('; ')}.`;
}

const MAX_TEXT = 2000;
/** Unchanged text around a change is shown this far. */
const CONTEXT = 60;

function partsText(parts: readonly DiffPart[], paint: ReportPaint): string {
  return parts
    .map(({ kind, text }, i) => {
      if (kind !== 'same') return paint(kind, seen(text.slice(0, MAX_TEXT)));
      if (text.length <= 2 * CONTEXT + 20) return seen(text);
      const start = i === 0 ? '' : `${seen(text.slice(0, CONTEXT))} `;
      const end = i === parts.length - 1 ? '' : ` ${seen(text.slice(-CONTEXT))}`;
      return `${start}…${end}`;
    })
    .join('');
}

/** One line, every character seen; half a pair that a cut left over is marked too. */
function seen(text: string): string {
  return visible(text, { ordinary: true });
}

/** The verdict as a sentence. */
export function verdictSentence({ breaking, non_breaking }: ManifestDiff): string {
  if (breaking.length + non_breaking.length === 0) return 'Nothing changed.';
  if (breaking.length === 0)
    return `Not breaking: ${counted(non_breaking.length, 'change')} that nobody needs to review.`;
  const others = non_breaking.length === 0 ? '' : `, and ${counted(non_breaking.length, 'other')}`;
  return `Breaking: ${counted(breaking.length, 'change')} that people must review${others}.`;
}

/**
 * A diff for people at a terminal: the verdict, then what is breaking, then the rest, thing by thing, each with what
 * it was and is, what it means and who has to do what. What the manifests say is shown with each character visible.
 * `color` gives a piece of text its colour; without it words that came and went are marked `{+so+}` and `[-so-]`.
 */
export function diffText(
  diff: ManifestDiff,
  { color = MARKED }: { readonly color?: ReportPaint } = {},
): string {
  const { breaking, non_breaking } = diff;
  const [grave, other] = [color('breaking', 'BREAKING'), color('dim', 'other')];
  const lines = [
    color(breaking.length === 0 ? 'good' : 'breaking', verdictSentence(diff)),
    ...groupsOf(breaking).flatMap((group) => ['', ...groupLines(group, grave, color)]),
    ...groupsOf(non_breaking).flatMap((group) => ['', ...groupLines(group, other, color)]),
  ];
  return `${lines.join('\n')}\n`;
}

function groupLines(group: ChangeGroup, mark: string, paint: ReportPaint): string[] {
  const lines = [`${mark}  ${paint('name', subjectWords(group))}`];
  for (const change of group.changes) {
    lines.push(`  ${sentenceOf(change)} ${paint('dim', `[${change.code}]`)}`);
    for (const line of evidence(change, paint)) lines.push(`    ${line}`);
  }
  return lines;
}

/** A diff as one JSON document, `{"breaking":[{"code","path","message"}],"non_breaking":[…]}`, and a newline. */
export function diffJson({ breaking, non_breaking }: ManifestDiff): string {
  const document = { breaking: breaking.map(changeJson), non_breaking: non_breaking.map(changeJson) };
  return `${JSON.stringify(document)}\n`;
}

/** One change as it stands in a JSON document. */
export function changeJson({ code, path, message }: ManifestChange): {
  readonly code: string;
  readonly path: string;
  readonly message: string;
} {
  return { code, path, message };
}
