import { JsonNumber, JsonObject, type JsonValue, type Path } from '../json/index.ts';
import { PatternBudget } from '../schema/index.ts';
import { checkFields, type Fields, member, text, wrongType } from './fields.ts';
import { checkInputSchema } from './input-schema.ts';
import { checkNames, type Named } from './names.ts';
import { PRESET_SCOPES } from './presets.ts';
import { listed, type Problems, quoted } from './problems.ts';
import {
  type CapabilityFlags,
  compareSensitivity,
  DEFAULT_TIMEOUT_MS,
  FLAGS,
  type Manifest,
  type Scope,
  SENSITIVITIES,
  type Sensitivity,
  type Tool,
} from './types.ts';

/** What a manifest says, apart from its canonical form. */
export type Declared = Omit<Manifest, 'document' | 'canonical' | 'bytes' | 'hash'>;

const MANIFEST: Fields = {
  required: ['schema_version', 'agent_version', 'tools', 'permission_scopes', 'capability_flags'],
  optional: [],
  name: 'a manifest',
};
const TOOL: Fields = {
  required: ['name', 'description_i18n_key', 'input_schema', 'permission_scope'],
  optional: ['timeout_ms', 'required'],
  name: 'a tool',
};
const SCOPE: Fields = {
  required: ['id', 'label_i18n_key', 'sensitivity'],
  optional: ['description_i18n_key'],
  name: 'a scope',
};
const CAPABILITY_FLAGS: Fields = { required: FLAGS, optional: [], name: '`capability_flags`' };

/** The longest time that timers keep: beyond it they fire at once. */
const MAX_TIMEOUT_MS = 2_147_483_647;
const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

/** The grammar of SemVer 2.0.0. */
const NUMBER = '(?:0|[1-9]\\d*)';
const PRE = `(?:${NUMBER}|\\d*[A-Za-z-][0-9A-Za-z-]*)`;
const BUILD = '[0-9A-Za-z-]+';
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRE}(?:\\.${PRE})*)?(?:\\+${BUILD}(?:\\.${BUILD})*)?$`,
);

/** Reads a manifest of version 1.0. The result counts only if no problem was told. */
export function readVersion1(document: JsonObject, problems: Problems): Declared {
  checkFields(document, MANIFEST, [], problems);
  const version = text(document, 'agent_version', [], problems) ?? '';
  if (version !== '' && !SEMVER.test(version)) {
    const message = `${quoted(version)} is no version by SemVer 2.0.0.`;
    problems.add('MANIFEST_AGENT_VERSION', ['agent_version'], message, 'Write three numbers, such as 1.4.0.');
  }
  const scopeEntries = objects(document, 'permission_scopes', 'A scope', problems);
  const scopes = scopeEntries.map(({ object, at }) => readScope(object, at, problems));
  const ids = new Set(scopes.map(({ id }) => id));
  const patterns = new PatternBudget();
  const toolEntries = objects(document, 'tools', 'A tool', problems);
  const tools = toolEntries.map(({ object, at }) => readTool(object, at, ids, patterns, problems));
  const toolNames = tools.map(({ name }, i) => ({ name, at: [...toolEntries[i]!.at, 'name'] }));
  const scopeNames = scopes.map(({ id }, i) => ({ name: id, at: [...scopeEntries[i]!.at, 'id'] }));
  checkNames(toolNames, 'tool', problems);
  checkNames(scopeNames, 'scope', problems);
  unusedScopes(scopeNames, tools, problems);
  return {
    schema_version: '1.0',
    agent_version: version,
    tools,
    permission_scopes: scopes,
    capability_flags: readFlags(document, problems),
  };
}

function objects(document: JsonObject, key: string, what: string, problems: Problems) {
  const list = (member(document, key, 'list', [], problems) ?? []) as JsonValue[];
  return list.flatMap((value, i) => {
    const at: Path = [key, i];
    if (value instanceof JsonObject) return [{ object: value, at }];
    wrongType(at, what, 'object', problems);
    return [];
  });
}

function readTool(
  object: JsonObject,
  at: Path,
  scopes: ReadonlySet<string>,
  patterns: PatternBudget,
  problems: Problems,
): Tool {
  checkFields(object, TOOL, at, problems);
  const name = text(object, 'name', at, problems) ?? '';
  if (name !== '' && !SNAKE_CASE.test(name)) {
    const message = `${quoted(name)} is not snake_case.`;
    const hint = 'Use lower-case letters and digits, in words joined by one `_`, the first of them a letter.';
    problems.add('MANIFEST_TOOL_NAME', [...at, 'name'], message, hint);
  }
  const schema = member(object, 'input_schema', 'object', at, problems) as JsonObject | undefined;
  if (schema !== undefined) checkInputSchema(schema, [...at, 'input_schema'], patterns, problems);
  const scope = text(object, 'permission_scope', at, problems) ?? '';
  if (scope !== '' && !scopes.has(scope)) {
    const message = `There is no scope ${quoted(scope)} in \`permission_scopes\`.`;
    const hint = 'Add the scope, or name one that is there.';
    problems.add('MANIFEST_SCOPE_UNKNOWN', [...at, 'permission_scope'], message, hint);
  }
  return {
    name,
    description_i18n_key: text(object, 'description_i18n_key', at, problems) ?? '',
    input_schema: schema ?? new JsonObject(),
    permission_scope: scope,
    timeout_ms: readTimeout(object, at, problems),
    required: member(object, 'required', 'boolean', at, problems) === true,
  };
}

function readTimeout(object: JsonObject, at: Path, problems: Problems): number {
  const value = member(object, 'timeout_ms', 'number', at, problems);
  if (!(value instanceof JsonNumber)) return DEFAULT_TIMEOUT_MS;
  const ms = value.toNumber();
  if (!Number.isInteger(ms) || ms < 1 || ms > MAX_TIMEOUT_MS) {
    const message = '`timeout_ms` must be a whole number of milliseconds, 1 to 2147483647.';
    const hint = `Leave it out for the default of ${DEFAULT_TIMEOUT_MS}.`;
    problems.add('MANIFEST_TIMEOUT', [...at, 'timeout_ms'], message, hint);
  }
  return ms;
}

function readScope(object: JsonObject, at: Path, problems: Problems): Scope {
  checkFields(object, SCOPE, at, problems);
  const id = text(object, 'id', at, problems) ?? '';
  if (id !== '' && !/^[a-z][a-z0-9_.-]*:[a-z][a-z0-9_.-]*$/.test(id)) {
    const message = `${quoted(id)} is not of the form \`<domain>:<action>\`.`;
    const hint = 'It is permitted; `filesystem:read` is the advised form.';
    problems.warn('MANIFEST_SCOPE_FORM', [...at, 'id'], message, hint);
  }
  const description = text(object, 'description_i18n_key', at, problems);
  return {
    id,
    label_i18n_key: text(object, 'label_i18n_key', at, problems) ?? '',
    ...(description === undefined ? {} : { description_i18n_key: description }),
    sensitivity: readSensitivity(object, id, at, problems),
  };
}

function readSensitivity(object: JsonObject, id: string, at: Path, problems: Problems): Sensitivity {
  const value = member(object, 'sensitivity', 'text', at, problems);
  const place = [...at, 'sensitivity'];
  const sensitivity = SENSITIVITIES.find((level) => level === value);
  if (sensitivity === undefined) {
    if (value !== undefined) {
      const message = `${quoted(value as string)} is no sensitivity.`;
      problems.add('MANIFEST_SENSITIVITY', place, message, `Write ${listed(SENSITIVITIES, 'or')}.`);
    }
    return 'high';
  }
  const preset = PRESET_SCOPES.get(id)?.sensitivity;
  const step = preset === undefined ? 0 : compareSensitivity(sensitivity, preset);
  const is = `The preset scope \`${id}\` is \`${preset}\``;
  if (step < 0)
    problems.add('MANIFEST_PRESET_LOWERED', place, `${is}, and cannot be made milder.`, `Write "${preset}".`);
  else if (step > 0)
    problems.warn('MANIFEST_PRESET_RAISED', place, `${is}; here it is graver.`, `"${preset}" is the usual.`);
  return sensitivity;
}

function unusedScopes(scopes: readonly Named[], tools: readonly Tool[], problems: Problems): void {
  const used = new Set(tools.map(({ permission_scope }) => permission_scope));
  for (const { name, at } of scopes) {
    if (name === '' || used.has(name)) continue;
    const hint = 'Remove it until a tool needs it: people are asked for what is listed.';
    problems.warn('MANIFEST_SCOPE_UNUSED', at, `No tool needs ${quoted(name)}.`, hint);
  }
}

function readFlags(document: JsonObject, problems: Problems): CapabilityFlags {
  const at: Path = ['capability_flags'];
  const object = member(document, 'capability_flags', 'object', [], problems);
  if (object instanceof JsonObject) checkFields(object, CAPABILITY_FLAGS, at, problems);
  const flags = object instanceof JsonObject ? object : new JsonObject();
  return Object.fromEntries(
    FLAGS.map((flag) => [flag, member(flags, flag, 'boolean', at, problems) === true]),
  ) as CapabilityFlags;
}
