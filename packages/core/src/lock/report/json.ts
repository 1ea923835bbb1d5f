import { type JsonValue, stringify } from '../../json/index.ts';
import { type Drift, verdict } from '../drift/drift.ts';
import type { DriftItem } from '../drift/item.ts';
import { changeWords } from '../drift/schema.ts';
import { DEFAULT_LOCKFILE, type ReportOptions } from './report.ts';

/**
 * A drift as one JSON document in the released program's shape: its members first, in its order and with its words
 * where it has some; ours follow (`stored`, `unseen`, and in each difference all that an item holds). Indented by two
 * spaces down to the differences, with a newline at the end. Characters that a person does not see, and those that
 * HTML would trip over, stand as escapes: a parser reads the server's text exactly, and a terminal is not moved by it.
 */
export function driftJson(drift: Drift, options: ReportOptions = {}): string {
  const { lockfile = DEFAULT_LOCKFILE, failOn = 'critical', policy } = options;
  const { critical, moderate, info, total } = drift.counts;
  const { outcome } = verdict(drift, failOn);
  const document = {
    lockfileVersion: drift.version,
    server: drift.server ?? '',
    lockfile,
    summary: { critical, moderate, info, total },
    drift: drift.items.map(entry),
    ...(policy && { policy: { preset: policy.preset, passed: policy.passed, reasons: policy.reasons } }),
    failOn,
    outcome: policy?.passed === false ? 'FAIL' : outcome,
    lockSha256: drift.sha256,
    stored: drift.stored,
    unseen: drift.unseen,
    ...(drift.leftOut.length === 0 ? {} : { leftOut: drift.leftOut }),
  };
  return `${safe(indented(document, ''))}\n`;
}

type Shape = Readonly<Record<string, unknown>>;

function entry(item: DriftItem): Shape {
  const { kind, name, change, code, severity, path, sentence, details, before, after } = item;
  const { parts, prose, schema, from, hashes } = item;
  return defined({
    type: typeOf(item),
    severity,
    identifier: name === '' ? kind : name,
    oldHash: hashes?.before ?? undefined,
    newHash: hashes?.after ?? undefined,
    message: messageOf(item),
    ...{ kind, change, code, path, sentence, details, renamedFrom: from, prose, before, after, parts },
    schema: schema === undefined ? undefined : schemaShape(item),
  });
}

function schemaShape({ schema, after }: DriftItem): Shape {
  const { relation, changes, refused, admitted } = schema!;
  const told = changes.map((change) => ({ ...change, message: changeWords(change, after) }));
  return defined({ relation, changes: told, refused, admitted });
}

function defined(members: Shape): Shape {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** The released program's events; ours are named in the same way. */
function typeOf({ kind, change, code }: DriftItem): string {
  if (kind === 'prompt' && change === 'changed') {
    if (code.startsWith('argument')) return 'PROMPT_ARGS_CHANGED';
    if (code === 'description-changed') return 'PROMPT_DESC_CHANGED';
  }
  return `${kind}_${change}`.toUpperCase();
}

const LISTED: Readonly<Record<string, string>> = {
  tool: 'Tool',
  prompt: 'Prompt',
  template: 'Template',
};

/** The released program's sentence where it has one, else ours. */
function messageOf({ kind, name, change, code, sentence, hashes }: DriftItem): string {
  const word = LISTED[kind];
  if (word === undefined) return sentence;
  const subject = `${word} [${name}]`;
  if (change === 'added') return `${subject} has been added to the server`;
  if (change === 'removed') return `${subject} has been removed from the server`;
  if (change !== 'changed' || hashes === undefined) return sentence;
  const step = `${short(hashes.before)} → ${short(hashes.after)}`;
  if (code === 'description-changed') return `${subject} description changed`;
  if (code === 'input-schema-changed') return `${subject} schema changed: ${step}`;
  if (code === 'arguments-changed') return `${subject} arguments changed: ${step}`;
  return kind === 'template' ? `${subject} changed: ${step}` : sentence;
}

function short(hash: string | null): string {
  return hash !== null && hash.length > 20 ? `${hash.slice(0, 20)}...` : (hash ?? '');
}

/** Our own members a line each; what came from a server stays on one line, however deep it is. */
function indented(value: unknown, indent: string): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value) && value.length > 0 && indent === '  ') {
    const elements = value.map((element) => `${deeper}${indented(element, deeper)}`);
    return `[\n${elements.join(',\n')}\n${indent}]`;
  }
  if (isShape(value) && indent.length <= 4 && Object.keys(value).length > 0) {
    const members = Object.entries(value).map(
      ([key, member]) => `${deeper}${JSON.stringify(key)}: ${indented(member, deeper)}`,
    );
    return `{\n${members.join(',\n')}\n${indent}}`;
  }
  return stringify(value as JsonValue, Number.POSITIVE_INFINITY);
}

function isShape(value: unknown): value is Shape {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Everything that is not seen for what it is, marks that pile up or stand on what is no letter, and what HTML reads as
 * markup. None of it is JSON's own.
 */
const UNSAFE =
  /[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}<>\&]--[ \n]]|(?<![\p{L}\p{N}\p{M}])\p{M}+|\p{M}{5,}/gv;

/** Inside strings alone these characters can stand, and there an escape means the same. */
export function safe(json: string): string {
  return json.replace(UNSAFE, (found) =>
    Array.from({ length: found.length }, (_, i) => {
      return `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
