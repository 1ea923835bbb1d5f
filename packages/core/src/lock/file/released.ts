import { BullaError } from '../../error.ts';
import type { JsonObject, Member } from '../../json/index.ts';
import type { PromptHashes, TemplateHashes, ToolHashes } from './hashes.ts';
import { type Artifact, readArtifact } from './package.ts';
import { readMap } from './reading.ts';
import { RISK_LEVELS } from './risk.ts';

// Reading what the released program writes. It reads its own files loosely: unknown keys are passed over,
// keys are compared without case, of two equal ones the second wins or is merged into the first. Here all of
// that is refused.

const LOCK_VERSIONS = ['1.0', '2.0', '3.0'] as const;
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

/**
 * Reads the part of a lockfile that the released program knows. Throws with the path: `LOCK_VERSION`,
 * `LOCK_VERSION_NEWER`, `LOCK_FIELD`, `LOCK_CASE_TWIN` and `LOCK_DUPLICATE`. A hash need only be a string: old files
 * hold some that can match nothing.
 */
export function readReleased(document: Member): Released {
  const version = detectVersion(document.object());
  return version === '3.0' ? readV3(document) : readV2(document, version);
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
  const message = newer
    ? `Version ${version} is newer than what this reader knows.`
    : `${JSON.stringify(version)} is no version of a lockfile.`;
  throw new BullaError(newer ? 'LOCK_VERSION_NEWER' : 'LOCK_VERSION', message, { path });
}

function readV2(document: Member, version: LockVersion): Released {
  // Version 1 has the same keys but no artifact.
  const optional = version === '2.0' ? V2.optional : [];
  document.record({ ...V2, optional, others: [...V2.optional, ...V3.required] });
  return {
    version,
    generator: null,
    updatedAt: null,
    serverName: null,
    serverCommand: document.get('server_command').text(),
    artifact: version === '2.0' ? document.optional('artifact', readArtifact) : null,
    tools: readTools(document.get('tools')),
    prompts: null,
    resourceTemplates: null,
  };
}

function readV3(document: Member): Released {
  document.record({ ...V3, others: [...V2.required, ...V2.optional] });
  const meta = document.get('meta').record({ required: ['generator', 'updatedAt'] });
  const server = document.get('server').record({ required: ['name'], optional: ['artifact'] });
  return {
    version: '3.0',
    generator: meta.get('generator').text(),
    updatedAt: meta.get('updatedAt').text(),
    serverName: server.get('name').text(),
    serverCommand: null,
    artifact: server.optional('artifact', readArtifact),
    tools: readTools(document.get('tools')),
    prompts: readPrompts(document.get('prompts')),
    resourceTemplates: readTemplates(document.get('resources')),
  };
}

const text = (member: Member) => member.text();

function readTools(value: Member): Map<string, ToolHashes> {
  return readMap(value, (entry) => {
    const tool = entry.record(TOOL);
    return {
      description_hash: tool.get('description_hash').text(),
      input_schema_hash: tool.get('input_schema_hash').text(),
      risk_level: tool.get('risk_level').word(RISK_LEVELS),
    };
  });
}

function readPrompts(value: Member): Map<string, PromptHashes> {
  return readMap(value.record({ required: ['definitions'] }).get('definitions'), (entry) => {
    const prompt = entry.record(PROMPT);
    return {
      argumentsHash: prompt.get('argumentsHash').text(),
      titleHash: prompt.optional('titleHash', text),
      descriptionHash: prompt.optional('descriptionHash', text),
    };
  });
}

function readTemplates(value: Member): Map<string, TemplateHashes> {
  const templates = new Map<string, TemplateHashes>();
  const list = value.record({ required: ['templates'] }).get('templates');
  for (const entry of list.list()) {
    const template = entry.record(TEMPLATE);
    const uriTemplate = template.get('uriTemplate').text();
    if (templates.has(uriTemplate))
      throw entry.error('LOCK_DUPLICATE', `The template ${JSON.stringify(uriTemplate)} is listed twice.`);
    templates.set(uriTemplate, {
      uriTemplate,
      templateHash: template.get('templateHash').text(),
      nameHash: template.optional('nameHash', text),
      descriptionHash: template.optional('descriptionHash', text),
      mimeType: template.optional('mimeType', text),
    });
  }
  return templates;
}
