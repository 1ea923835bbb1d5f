import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import { riskKeywords, riskLevel } from '@bulla/core/lock';
import { OWN_MEMBERS, type ScanFinding } from '../../app/index.ts';
import { describeTarget } from '../../locks/index.ts';
import type { Surface, Target } from '../../mcp/index.ts';

// The document of the released program, member for member in its order, with what it lacks behind it. Definitions are
// given whole; of a tool, the members that it names come first.

export function scanDocument(
  target: Target,
  surface: Surface,
  findings: readonly ScanFinding[],
  now: Date,
): JsonObject {
  const { protocolVersion, serverInfo } = surface;
  return JsonObject.from([
    ...heading(target, now),
    [
      'serverInfo',
      members({
        name: serverInfo.get('name'),
        version: serverInfo.get('version'),
        protocolVersion,
      }),
    ],
    ['tools', surface.tools.map(toolDocument)],
    ['resources', [...surface.resources]],
    ['prompts', [...surface.prompts]],
    ['resourceTemplates', [...surface.resourceTemplates]],
    ['era', surface.era],
    ['instructions', surface.instructions],
    ['capabilities', surface.capabilities],
    [
      'contents',
      surface.contents.map(({ uri, sha256, mimeType, meta }) => members({ uri, sha256, mimeType, meta })),
    ],
    ['findings', findings.map((finding) => members({ ...finding }))],
  ]);
}

/** The document of a scan that failed: nothing is known, which is not the same as nothing being there. */
export function failureDocument(target: Target, error: unknown, now: Date): JsonObject {
  return JsonObject.from([
    ...heading(target, now),
    ['tools', null],
    ['resources', null],
    ['prompts', null],
    ['resourceTemplates', null],
    ['error', error instanceof Error ? error.message : String(error)],
    ['code', error instanceof BullaError ? error.code : 'UNKNOWN'],
  ]);
}

function heading(target: Target, now: Date): [string, JsonValue][] {
  return [
    ['timestamp', `${now.toISOString().slice(0, 19)}Z`],
    ['command', target.kind === 'http' ? target.url : describeTarget(target)],
  ];
}

/** Members that stand first. */
const FIRST = ['name', 'description', 'inputSchema'];

function toolDocument(tool: JsonObject): JsonObject {
  const [name, description] = [textOf(tool, 'name'), textOf(tool, 'description')];
  const reasons = riskKeywords(name, description).map((word) => `contains dangerous keyword: "${word}"`);
  return JsonObject.from([
    ...FIRST.filter((key) => tool.has(key)).map((key): [string, JsonValue] => [key, tool.get(key)!]),
    ['riskLevel', riskLevel(name, description)],
    ...(reasons.length === 0 ? [] : [['riskReasons', reasons] as [string, JsonValue]]),
    ...[...tool].filter(([key]) => !FIRST.includes(key) && !OWN_MEMBERS.includes(key)),
  ]);
}

/** A text of a definition; empty where the server gives none. */
export function textOf(definition: JsonObject, key: string): string {
  const value = definition.get(key);
  return typeof value === 'string' ? value : '';
}

function members(entries: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return JsonObject.from(
    Object.entries(entries).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}
