import { BullaError, pointer } from '../../error.ts';
import type { JsonObject, JsonValue } from '../../json/index.ts';
import {
  type Path,
  type Reading,
  readArray,
  readObject,
  readOptionalText,
  readRecord,
  readText,
  readWord,
} from './fields.ts';
import type { PromptHashes, TemplateHashes, ToolHashes } from './hashes.ts';
import { type Artifact, readArtifact } from './package.ts';
import { RISK_LEVELS } from './risk.ts';

// Reading what the released program writes. It reads its own files loosely: unknown keys are passed over,
// keys are compared without case, of two equal ones the second wins or is merged into the first. Here all of
// that is refused.

export const LOCK_VERSIONS = ['1.0', '2.0', '3.0'] as const;
export type LockVersion = (typeof LOCK_VERSIONS)[number];

/** The part of a lockfile that the released program knows. Null is what a version does not have. */
export interface Released {
  readonly version: LockVersion;
  readonly generator: string | null;
  readonly updatedAt: string | null;
  /** What the server called itself when it was scanned. */
  readonly serverName: string | null;
  readonly serverCommand: string | null;
  readonly artifact: Artifact | null;
  readonly tools: ReadonlyMap<string, ToolHashes>;
  readonly prompts: ReadonlyMap<string, PromptHashes> | null;
  readonly resourceTemplates: ReadonlyMap<string, TemplateHashes> | null;
}

/**
 * The one key of ours in a file of version 3. The released program passes over it and signs it with the rest.
 */
export const NATIVE_KEY = 'bulla';

const V2 = { required: ['version', 'server_command', 'tools'], optional: ['artifact'] };
const V3 = {
  required: ['lockFileVersion', 'meta', 'server', 'prompts', 'resources', 'tools'],
  optional: [NATIVE_KEY],
};
const TOOL = { required: ['description_hash', 'input_schema_hash', 'risk_level'] };
const PROMPT = { required: ['argumentsHash'], optional: ['titleHash', 'descriptionHash'] };
const TEMPLATE = {
  required: ['uriTemplate', 'templateHash'],
  optional: ['nameHash', 'descriptionHash', 'mimeType'],
};

/** Stands for a hash that a leniently read file does not have; no definition hashes to it. */
const NO_HASH = 'missing';

/**
 * Reads the part of a lockfile that the released program knows. Throws with the path: `LOCK_VERSION`, `LOCK_VERSION_NEWER`, `LOCK_VERSION`, the `LOCK_FIELD_…` codes,
 * `LOCK_CASE_TWIN` and `LOCK_DUPLICATE`. A hash need only be a string: old files hold some that can match
 * nothing.
 */
export function readReleased(document: JsonObject, reading: Reading): Released {
  const version = detectVersion(document);
  return version === '3.0' ? readV3(document, reading) : readV2(document, version, reading);
}

function detectVersion(document: JsonObject): LockVersion {
  const [old, current] = [document.get('version'), document.get('lockFileVersion')];
  if (old !== undefined && current !== undefined) {
    const message = 'The file has version and lockFileVersion, and programs would go by either.';
    throw new BullaError('LOCK_VERSION', message, { path: '/version' });
  }
  const version = current ?? old;
  if (typeof version !== 'string' || version === '')
    throw new BullaError('LOCK_VERSION', 'The file does not say which version of lockfile it is.');
  const path = current === undefined ? '/version' : '/lockFileVersion';
  const known: readonly string[] = current === undefined ? ['1.0', '2.0'] : ['3.0'];
  if (known.includes(version)) return version as LockVersion;
  const [, major, minor] = /^([0-9]{1,9})\.([0-9]{1,9})$/.exec(version) ?? [];
  const newer = major !== undefined && (Number(major) > 3 || (known.includes(`${major}.0`) && minor !== '0'));
  throw newer
    ? new BullaError('LOCK_VERSION_NEWER', `Version ${version} is newer than what this reader knows.`, {
        path,
      })
    : new BullaError('LOCK_VERSION', `${JSON.stringify(version)} is no version of a lockfile.`, {
        path,
      });
}

function readV2(document: JsonObject, version: LockVersion, reading: Reading): Released {
  // Version 1 has the same keys but no artifact.
  const fields = {
    ...V2,
    optional: version === '2.0' ? V2.optional : [],
    others: [...V2.optional, ...V3.required],
  };
  readRecord(document, [], fields, reading);
  const artifact = version === '2.0' ? document.get('artifact') : undefined;
  return {
    version,
    generator: null,
    updatedAt: null,
    serverName: null,
    serverCommand: readText(document, 'server_command', []),
    artifact: artifact === undefined ? null : readArtifact(artifact, ['artifact'], reading),
    tools: readTools(document, reading),
    prompts: null,
    resourceTemplates: null,
  };
}

function readV3(document: JsonObject, reading: Reading): Released {
  readRecord(document, [], { ...V3, others: [...V2.required, ...V2.optional] }, reading);
  const meta = readRecord(document.get('meta'), ['meta'], { required: ['generator', 'updatedAt'] }, reading);
  const serverFields = { required: ['name'], optional: ['artifact'] };
  const server = readRecord(document.get('server'), ['server'], serverFields, reading);
  const artifact = server.get('artifact');
  return {
    version: '3.0',
    generator: readText(meta, 'generator', ['meta']),
    updatedAt: readText(meta, 'updatedAt', ['meta']),
    serverName: readText(server, 'name', ['server']),
    serverCommand: null,
    artifact: artifact === undefined ? null : readArtifact(artifact, ['server', 'artifact'], reading),
    tools: readTools(document, reading),
    prompts: readPrompts(document.get('prompts'), reading),
    resourceTemplates: readTemplates(document.get('resources'), reading),
  };
}

function readTools(document: JsonObject, reading: Reading): Map<string, ToolHashes> {
  const tools = new Map<string, ToolHashes>();
  for (const [name, value] of readObject(document.get('tools'), ['tools'])) {
    const at = ['tools', name];
    const tool = readRecord(value, at, TOOL, reading);
    const absent = (key: string) => reading.lenient && !tool.has(key);
    const hash = (key: string) => (absent(key) ? NO_HASH : readText(tool, key, at));
    tools.set(name, {
      description_hash: hash('description_hash'),
      input_schema_hash: hash('input_schema_hash'),
      risk_level: absent('risk_level') ? 'HIGH' : readWord(tool, 'risk_level', at, RISK_LEVELS),
    });
  }
  return tools;
}

function readPrompts(value: JsonValue | undefined, reading: Reading): Map<string, PromptHashes> {
  const section = readRecord(value, ['prompts'], { required: ['definitions'] }, reading);
  const prompts = new Map<string, PromptHashes>();
  for (const [name, definition] of readObject(section.get('definitions'), ['prompts', 'definitions'])) {
    const at = ['prompts', 'definitions', name];
    const prompt = readRecord(definition, at, PROMPT, reading);
    prompts.set(name, {
      argumentsHash: readText(prompt, 'argumentsHash', at),
      titleHash: readOptionalText(prompt, 'titleHash', at),
      descriptionHash: readOptionalText(prompt, 'descriptionHash', at),
    });
  }
  return prompts;
}

function readTemplates(value: JsonValue | undefined, reading: Reading): Map<string, TemplateHashes> {
  const section = readRecord(value, ['resources'], { required: ['templates'] }, reading);
  const templates = new Map<string, TemplateHashes>();
  readArray(section.get('templates'), ['resources', 'templates']).forEach((element, i) => {
    const at: Path = ['resources', 'templates', i];
    const template = readRecord(element, at, TEMPLATE, reading);
    const uriTemplate = readText(template, 'uriTemplate', at);
    if (templates.has(uriTemplate)) {
      const message = `The template ${JSON.stringify(uriTemplate)} is listed twice.`;
      throw new BullaError('LOCK_DUPLICATE', message, { path: pointer(at) });
    }
    templates.set(uriTemplate, {
      uriTemplate,
      templateHash: readText(template, 'templateHash', at),
      nameHash: readOptionalText(template, 'nameHash', at),
      descriptionHash: readOptionalText(template, 'descriptionHash', at),
      mimeType: readOptionalText(template, 'mimeType', at),
    });
  });
  return templates;
}
