import type { Code } from '../codes.ts';
import {
  type AnyObject,
  isInteger,
  isObject,
  keysOf,
  member,
  pointer,
  toNumber,
  valuesOf,
} from '../json/index.ts';
import { HEAD, type Kind, OPTION, SEAL_FIELDS, SECTION_NAMES, SECTIONS, TOOL_CALL } from './model.ts';

/** One thing that is wrong with a capsule: where (a JSON Pointer), a stable code, a sentence. */
export interface LintFinding {
  readonly path: string;
  /** An error keeps a capsule from being sealed here; a warning does so only where the sealer is asked to be strict. */
  readonly severity: 'error' | 'warning';
  readonly code: Code;
  readonly message: string;
}

export function problem(path: string, code: Code, message: string): LintFinding {
  return { path, severity: 'error', code, message };
}

export function warning(path: string, code: Code, message: string): LintFinding {
  return { path, severity: 'warning', code, message };
}

/** A table of fields, with what the walk needs at hand: every sealed capsule passes it. */
interface Fields {
  readonly keys: readonly string[];
  readonly kinds: readonly Kind[];
  readonly elements: readonly (Elements | undefined)[];
  /** Keys that may stand there besides; nothing is asked of them here. */
  readonly others: readonly string[];
}

function fields(table: Readonly<Record<string, Kind>>, others: readonly string[] = []): Fields {
  const kinds = Object.values(table);
  return { keys: Object.keys(table), kinds, elements: kinds.map((kind) => elements[kind]), others };
}

type Elements = (list: readonly unknown[], at: string, key: string, findings: LintFinding[]) => void;

const elements: { readonly [kind in Kind]?: Elements } = {
  list(list, at, key, findings) {
    for (let i = 0; i < list.length; i++)
      if (typeof list[i] !== 'string') wrong(`${at}/${key}/${i}`, 'string', findings);
  },
  records(list, at, key, findings) {
    for (let i = 0; i < list.length; i++)
      if (!isObject(list[i])) wrong(`${at}/${key}/${i}`, 'object', findings);
  },
  options: (list, at, key, findings) => checkRecords(list, OPTION_FIELDS, `${at}/${key}`, findings),
  calls: (list, at, key, findings) => checkRecords(list, CALL_FIELDS, `${at}/${key}`, findings),
};

const ROOT = fields(HEAD, ['spec_version', ...SECTION_NAMES, ...SEAL_FIELDS]);
const SECTION_FIELDS = SECTION_NAMES.map((name) => fields(SECTIONS[name]));
const OPTION_FIELDS = fields(OPTION);
const CALL_FIELDS = fields(TOOL_CALL);

/** Adds a finding for every field that is missing, unknown or of the wrong type, at every typed level. */
export function checkShape(value: unknown, findings: LintFinding[]): void {
  if (!isObject(value)) {
    findings.push(problem('', 'wrong_type', 'A capsule must be an object.'));
    return;
  }
  checkRecord(value, ROOT, '', findings);
  const version = member(value, 'spec_version');
  if (version !== undefined && typeof version !== 'string') wrong('/spec_version', 'string', findings);
  for (let i = 0; i < SECTION_NAMES.length; i++) {
    const name = SECTION_NAMES[i]!;
    const section = member(value, name);
    if (section === undefined) missing(`/${name}`, findings);
    else if (!isObject(section)) wrong(`/${name}`, 'object', findings);
    else checkRecord(section, SECTION_FIELDS[i]!, `/${name}`, findings);
  }
}

function checkRecord(record: AnyObject, table: Fields, at: string, findings: LintFinding[]): void {
  const keys = keysOf(record);
  // What createCapsule makes has its keys in this order, and then none is missing, unknown or inherited.
  const inOrder = sameKeys(keys, table.keys);
  const values = inOrder ? valuesOf(record) : undefined;
  for (let i = 0; i < table.keys.length; i++) {
    const key = table.keys[i]!;
    const value = values === undefined ? member(record, key) : values[i];
    if (value === undefined) missing(`${at}/${key}`, findings);
    else if (!fits(table.kinds[i]!, value)) wrong(`${at}/${key}`, table.kinds[i]!, findings);
    else table.elements[i]?.(value as unknown[], at, key, findings);
  }
  if (inOrder) return;
  for (const key of keys) {
    if (table.keys.includes(key) || table.others.includes(key)) continue;
    findings.push(problem(at + pointer([key]), 'unknown_key', 'The protocol has no such key here.'));
  }
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function fits(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'text':
      return value === null || typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'float':
      return toNumber(value) !== undefined;
    case 'integer':
      return isInteger(value) && Number.isSafeInteger(toNumber(value));
    case 'object':
      return isObject(value);
    case 'any':
      return true;
    default:
      return Array.isArray(value);
  }
}

function checkRecords(list: readonly unknown[], table: Fields, at: string, findings: LintFinding[]): void {
  for (let i = 0; i < list.length; i++) {
    const record = list[i];
    if (isObject(record)) checkRecord(record, table, `${at}/${i}`, findings);
    else wrong(`${at}/${i}`, 'object', findings);
  }
}

const NAMES: Readonly<Record<Kind, string>> = {
  string: 'a string',
  text: 'a string or null',
  integer: 'an integer within ±(2^53-1), written without fraction or exponent',
  float: 'a number',
  boolean: 'true or false',
  object: 'an object',
  any: 'any JSON value',
  list: 'an array of strings',
  records: 'an array of objects',
  options: 'an array of options',
  calls: 'an array of tool calls',
};

function wrong(path: string, kind: Kind, findings: LintFinding[]): void {
  findings.push(problem(path, 'wrong_type', `This must be ${NAMES[kind]}.`));
}

function missing(path: string, findings: LintFinding[]): void {
  findings.push(problem(path, 'missing_field', 'This key is required.'));
}
