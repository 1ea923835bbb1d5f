import { digest, profile, sortNames } from '../../canon/index.ts';
import { sha256Hex } from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { isCaseTwin, JsonNumber, JsonObject, type JsonValue, type Path, pointer } from '../../json/index.ts';
import { located } from './reading.ts';
import { type RiskLevel, riskLevel } from './risk.ts';
import { pathTo, walk } from './walk.ts';

// The hashes of the lockfile, as the seed defines them for tools and the released program for the rest. Their
// names are those of the file.

/**
 * The number rules for `input_schema_hash`: as in the source, or through a double as the released program
 * does.
 */
export const LOCK_PROFILES = ['mcptrust-v1', 'mcptrust-v1-go'] as const;
export type LockProfile = (typeof LOCK_PROFILES)[number];

/** What the lockfile holds of a tool in every version. */
export interface ToolHashes {
  readonly description_hash: string;
  /** Empty for a tool without schema, or with `{}`. */
  readonly input_schema_hash: string;
  readonly risk_level: RiskLevel;
}

/** What version 3 holds of a prompt; null where the file has no such key. */
export interface PromptHashes {
  readonly argumentsHash: string;
  /** Known to version 3 but never written. */
  readonly titleHash: string | null;
  readonly descriptionHash: string | null;
}

/** What version 3 holds of a resource template; null where the file has no such key. */
export interface TemplateHashes {
  readonly uriTemplate: string;
  readonly templateHash: string;
  readonly nameHash: string | null;
  readonly descriptionHash: string | null;
  readonly mimeType: string | null;
}

/** The lists of which the released program keeps hashes, with where version 3 has them. */
export const HASHED_LISTS = {
  tools: ['tools'],
  prompts: ['prompts', 'definitions'],
  resourceTemplates: ['resources', 'templates'],
} as const;
export const HASHED_KINDS = Object.keys(HASHED_LISTS) as readonly HashedKind[];
export type HashedKind = keyof typeof HASHED_LISTS;
export type Hashes = ToolHashes | PromptHashes | TemplateHashes;

/** The hashes of a definition of one list. Throws what `hashTool`, `hashPrompt` and `hashTemplate` throw. */
export function hashDefinition(
  kind: HashedKind,
  definition: JsonObject,
  rule: LockProfile,
  at: Path = [],
): Hashes {
  if (kind === 'tools') return hashTool(definition, rule, at);
  return kind === 'prompts' ? hashPrompt(definition, at) : hashTemplate(definition, at);
}

/** The hashes that a lockfile holds, each map in the order of the file. */
export type HashedLists = Readonly<Record<HashedKind, ReadonlyMap<string, Hashes>>>;

/** Hashes every definition. Throws what `hashDefinition` throws, with the path. */
export function hashDefinitions(
  definitionsOf: (kind: HashedKind) => ReadonlyMap<string, JsonObject>,
  rule: LockProfile,
): HashedLists {
  const hashed = HASHED_KINDS.map((kind) => [
    kind,
    mapSorted(definitionsOf(kind), (definition, name) =>
      hashDefinition(kind, definition, rule, [kind, name]),
    ),
  ]);
  return Object.fromEntries(hashed);
}

/** Maps the values, keys in the order of their UTF-8 bytes. */
export function mapSorted<From, To>(
  from: ReadonlyMap<string, From>,
  change: (value: From, key: string) => To,
): Map<string, To> {
  return new Map(sortNames([...from.keys()], 'mcptrust-v1').map((key) => [key, change(from.get(key)!, key)]));
}

/**
 * The hashes and the risk level of a tool definition. Throws `LOCK_DEFINITION` where a known member has
 * another type than the protocol says, `LOCK_CASE_TWIN` where the released program would read another member,
 * and `CANON_NOT_FINITE` for a number that no double holds.
 */
export function hashTool(definition: JsonObject, rule: LockProfile, at: Path = []): ToolHashes {
  refuseTwins(definition, ['name', 'description', 'inputSchema'], at);
  const description = textOf(definition, 'description', at);
  return {
    description_hash: hashText(description),
    input_schema_hash: located([...at, 'inputSchema'], () =>
      hashSchema(schemaOf(definition, 'inputSchema', at), rule),
    ),
    risk_level: riskLevel(textOf(definition, 'name', at), description),
  };
}

/** The hashes of a prompt definition. Throws `LOCK_DEFINITION`, `LOCK_CASE_TWIN`, `LOCK_DUPLICATE`. */
export function hashPrompt(definition: JsonObject, at: Path = []): PromptHashes {
  refuseTwins(definition, ['name', 'description', 'arguments'], at);
  const description = textOf(definition, 'description', at);
  return {
    argumentsHash: hashArguments(definition, at),
    titleHash: null,
    descriptionHash: description === '' ? null : hashNormalized(description),
  };
}

/** The hashes of a resource template. Throws `LOCK_DEFINITION` and `LOCK_CASE_TWIN`. */
export function hashTemplate(definition: JsonObject, at: Path = []): TemplateHashes {
  refuseTwins(definition, ['uriTemplate', 'name', 'description', 'mimeType'], at);
  const [name, description] = [textOf(definition, 'name', at), textOf(definition, 'description', at)];
  const uriTemplate = textOf(definition, 'uriTemplate', at);
  const mimeType = textOf(definition, 'mimeType', at);
  return {
    uriTemplate,
    templateHash: hashV2(mimeType === '' ? { uriTemplate } : { uriTemplate, mimeType }),
    nameHash: name === '' ? null : hashNormalized(name),
    descriptionHash: description === '' ? null : hashNormalized(description),
    mimeType: mimeType === '' ? null : mimeType,
  };
}

/** `SHA-256(tool.Description)`: the string as it is, without any normalisation. */
export function hashText(text: string): string {
  return `sha256:${sha256Hex(text)}`;
}

/** `SHA-256(CanonicalJSON(schema))`; no schema, null and `{}` have no hash but the empty string. */
export function hashSchema(schema: JsonValue | undefined, rule: LockProfile): string {
  if (schema === undefined || schema === null || (schema instanceof JsonObject && schema.size === 0))
    return '';
  return `sha256:${digest(schema, rule)}`;
}

const goNumber = profile('mcptrust-v1-go').numbers;

/** Whether the two number rules give a tool's schema two different hashes. Throws `CANON_NOT_FINITE`. */
export function rulesPart(definition: JsonObject, at: Path): boolean {
  const schema = schemaOf(definition, 'inputSchema', at) ?? null;
  let part = false;
  walk(schema, (value, key, above) => {
    if (!(value instanceof JsonNumber)) return;
    const written = located([...at, 'inputSchema', ...pathTo(key, above)], () =>
      goNumber.lexeme(value.lexeme, false),
    );
    if (written !== value.lexeme) part = true;
  });
  return part;
}

/** Line ends become `\n`, and spaces and tabs before them go; nothing else is changed. */
export function hashNormalized(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').split('\n');
  return hashText(lines.map(trimRight).join('\n'));
}

/** A loop, because the regular expression for it takes quadratic time on a long run of spaces. */
function trimRight(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--;
  return line.slice(0, end);
}

function hashV2(value: unknown): string {
  return `sha256:${digest(value, 'mcptrust-v2')}`;
}

/**
 * Each argument as its name, with `description` only if it has one and `required` only if true, sorted by
 * name.
 */
function hashArguments(prompt: JsonObject, at: Path): string {
  const given = prompt.get('arguments') ?? null;
  if (given !== null && !Array.isArray(given)) throw malformed([...at, 'arguments'], 'an array');
  const byName = new Map<string, Record<string, string | boolean>>();
  (given ?? []).forEach((argument, i) => {
    const where = [...at, 'arguments', i];
    if (!(argument instanceof JsonObject)) throw malformed(where, 'an object');
    refuseTwins(argument, ['name', 'description', 'required'], where);
    const name = textOf(argument, 'name', where);
    const description = textOf(argument, 'description', where);
    const required = argument.get('required') ?? false;
    if (typeof required !== 'boolean') throw malformed([...where, 'required'], 'true or false');
    if (byName.has(name)) {
      const message = `Two arguments are called ${JSON.stringify(name)}.`;
      throw new BullaError('LOCK_DUPLICATE', message, { path: pointer(where) });
    }
    byName.set(name, {
      name,
      ...(description === '' ? {} : { description }),
      ...(required ? { required } : {}),
    });
  });
  return hashV2(sortNames([...byName.keys()], 'mcptrust-v1').map((name) => byName.get(name)!));
}

/** The string under a key; empty when it is absent or null, as Go decodes it. Throws `LOCK_DEFINITION`. */
export function textOf(definition: JsonObject, key: string, at: Path): string {
  const value = definition.get(key) ?? '';
  if (typeof value !== 'string') throw malformed([...at, key], 'a string');
  return value;
}

/**
 * The schema under a key; undefined when it is absent or null. Throws `LOCK_DEFINITION` for what is no
 * object.
 */
export function schemaOf(definition: JsonObject, key: string, at: Path): JsonObject | undefined {
  const value = definition.get(key) ?? undefined;
  if (value !== undefined && !(value instanceof JsonObject)) throw malformed([...at, key], 'an object');
  return value;
}

function malformed(at: Path, what: string): BullaError {
  return new BullaError('LOCK_DEFINITION', `The protocol wants ${what} here.`, { path: pointer(at) });
}

/**
 * Go would read a twin as the member itself, so that a host and the released program would see different
 * tools.
 */
function refuseTwins(definition: JsonObject, known: readonly string[], at: Path): void {
  for (const key of definition.keys) {
    if (known.some((name) => isCaseTwin(key, name))) {
      const message = `The key ${JSON.stringify(key)} could be taken for another.`;
      throw new BullaError('LOCK_CASE_TWIN', message, { path: pointer([...at, key]) });
    }
  }
}
