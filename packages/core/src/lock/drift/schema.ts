import { JsonObject, type JsonValue, parsePointer, valueAt } from '../../json/index.ts';
import { compareSchemas, type SchemaChange, type SchemaComparison } from '../../schema/index.ts';
import { counted } from '../../text/index.ts';
import {
  type DriftItem,
  isText,
  itemOf,
  type Severity,
  type Subject,
  shownValue,
  sides,
  worst,
} from './item.ts';
import { isTextKeyword } from './text.ts';

type Head = 'inputSchema' | 'outputSchema';

/**
 * How a schema changed for its callers, its texts aside. Null when nothing but texts changed.
 *
 * Of what a caller sends, critical is what can break a call that was good (a new required argument, another type, a
 * tighter limit) and what is not understood; moderate is what takes more, and a new optional argument, through which
 * data can leave; info is what is proven to change nothing. Of what a caller gets back it is the other way round:
 * values that were never seen before are what can break.
 */
export function schemaItem(
  subject: Subject,
  head: Head,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  texts: number,
  maxSteps: number,
): DriftItem | null {
  const code = head === 'inputSchema' ? 'input-schema-changed' : 'output-schema-changed';
  const name = head === 'inputSchema' ? 'The input schema' : 'The output schema';
  const whole = compareSchemas(before ?? true, after ?? true, { maxSteps });
  const changes = whole.changes
    .filter((change) => !isWords(change))
    .map((change) => (head === 'inputSchema' ? change : ofOutput(change)));
  if (changes.length === 0 && texts > 0) return null;
  const schema = { ...whole, changes };
  const severity = severityOf(schema, head);
  const sentence =
    before === undefined
      ? `${name} is new.`
      : after === undefined
        ? `${name} is gone.`
        : `${name} ${relationWords(schema, head)}.`;
  return itemOf(subject, 'changed', code, severity, [head], sentence, { ...sides(before, after), schema });
}

/** Whether a change is told by its words. */
function isWords({ kind, keyword, before, after }: SchemaChange): boolean {
  const isAnnotation = kind === 'description-changed' || kind === 'annotation-changed';
  return isAnnotation && isTextKeyword(keyword) && isText(before) && isText(after);
}

function severityOf({ relation, changes }: SchemaComparison, head: Head): Severity {
  if (changes.length === 0) return relation === 'same' ? 'info' : 'critical';
  return worst(changes.map((change) => severityOfChange(change, head)));
}

/** The directions that break the other side: of what is sent `less`, of what comes back `more`. */
const BREAKING = { inputSchema: 'less', outputSchema: 'more' } as const;

function severityOfChange({ kind, direction }: SchemaChange, head: Head): Severity {
  switch (kind) {
    // By itself a described argument narrows an open schema; but nobody sends what was never described.
    case 'argument-added':
    case 'default-changed':
    case 'annotation-changed':
    case 'description-changed':
    case 'definition-added':
      return 'moderate';
    default:
      if (direction === 'none') return 'info';
      return direction === BREAKING[head] || direction === 'both' || direction === 'unknown'
        ? 'critical'
        : 'moderate';
  }
}

const RELATIONS: Readonly<Record<Head, Readonly<Record<SchemaComparison['relation'], string>>>> = {
  inputSchema: {
    same: 'is written differently and accepts the same',
    'accepts-less': 'accepts less: a call that was good can fail now',
    'accepts-more': 'accepts more than before',
    both: 'refuses calls that were good, and accepts others that were not',
    unknown: 'changed, and whether calls that were good still work cannot be told',
  },
  outputSchema: {
    same: 'is written differently and allows the same',
    'accepts-less': 'allows less than before',
    'accepts-more': 'allows more: a caller can get what it never saw',
    both: 'allows results that it did not, and no longer some that it did',
    unknown: 'changed, and whether results are still what they were cannot be told',
  },
};

function relationWords({ relation, changes }: SchemaComparison, head: Head): string {
  const added = changes.filter(({ kind }) => kind === 'argument-added').length;
  if (added === changes.length && added > 0)
    return `has ${counted(added, head === 'inputSchema' ? 'new argument' : 'new member')}`;
  return RELATIONS[head][relation];
}

/** The sentences of a comparison speak of an input. */
function ofOutput(change: SchemaChange): SchemaChange {
  return { ...change, message: change.message.replace(/^The input(?= )/, 'The output') };
}

/** A change of a schema as a line for people: its sentence, and of a new argument what it takes. */
export function changeWords(change: SchemaChange, schema: JsonValue | undefined): string {
  const { kind, after, message } = change;
  if (kind !== 'argument-added' || after === undefined) return message;
  const node = after instanceof JsonObject ? after : new JsonObject();
  const type = node.get('type') ?? node.get('$ref');
  const words = type === undefined ? 'of any type' : typeWords(type);
  return `${message.slice(0, -1)}: ${words}, ${isRequired(change, schema) ? 'must be given' : 'may be left out'}.`;
}

function typeWords(type: JsonValue): string {
  if (Array.isArray(type)) return type.map(typeWords).join(' or ');
  return typeof type === 'string' ? type : shownValue(type);
}

/** Whether the object that an argument was added to requires it. */
function isRequired({ path }: SchemaChange, schema: JsonValue | undefined): boolean {
  const steps = parsePointer(path)!;
  const name = steps.at(-1)!;
  const value = valueAt(schema, steps.slice(0, -2));
  const required = value instanceof JsonObject ? value.get('required') : undefined;
  return Array.isArray(required) && required.includes(name);
}
